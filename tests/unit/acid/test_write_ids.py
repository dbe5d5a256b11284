from hypothesis import given
from hypothesis import strategies as st

from hiveacid.acid.write_ids import NO_OPEN_ID, RangeResponse, ValidTxnList, ValidWriteIdList

ids = st.integers(min_value=1, max_value=30)


@st.composite
def write_id_lists(draw):
    high_watermark = draw(st.integers(min_value=0, max_value=30))
    below = st.frozensets(ids.filter(lambda i: i <= max(high_watermark, 1)), max_size=10)
    open_ids = draw(below) if high_watermark else frozenset()
    aborted = (draw(below) if high_watermark else frozenset()) - open_ids
    return ValidWriteIdList(high_watermark, open_ids, aborted, table="shop.orders")


@given(write_id_lists())
def test_a_write_id_list_reads_back_as_printed(write_ids):
    assert ValidWriteIdList.parse(str(write_ids)) == write_ids


def test_a_write_id_list_prints_as_hive_does():
    write_ids = ValidWriteIdList(9, frozenset({7, 4}), frozenset({2}), table="shop.orders")
    assert str(write_ids) == "shop.orders:9:4:4,7:2"
    assert str(ValidWriteIdList(3, table="shop.orders")) == f"shop.orders:3:{NO_OPEN_ID}::"


def test_a_transaction_list_prints_as_hive_does():
    txns = ValidTxnList(12, frozenset({10}), frozenset({3, 2}))
    assert str(txns) == "12:10:10:2,3"
    assert ValidTxnList.parse("12:10:10:2,3") == txns


@given(write_id_lists(), ids, ids)
def test_a_range_is_as_valid_as_its_ids(write_ids, one, other):
    low, high = min(one, other), max(one, other)
    valid = [write_ids.is_valid(i) for i in range(low, high + 1)]
    expected = (
        RangeResponse.ALL
        if all(valid)
        else RangeResponse.SOME
        if any(valid)
        else RangeResponse.NONE
    )
    assert write_ids.is_range_valid(low, high) is expected


@given(write_id_lists(), ids, ids)
def test_a_reversed_range_has_no_invalid_id(write_ids, one, other):
    """`ValidReaderWriteIdList.isWriteIdRangeValid` of Hive 4.0.1 and 3.1.3 with min above max."""
    low, high = max(one, other) + 1, min(one, other)
    above = low > write_ids.high_watermark
    expected = RangeResponse.NONE if above else RangeResponse.ALL
    assert write_ids.is_range_valid(low, high) is expected


@given(write_id_lists(), ids)
def test_a_compacted_base_is_valid_only_below_every_open_id(write_ids, write_id):
    fits = write_id <= write_ids.high_watermark and all(i > write_id for i in write_ids.open)
    assert write_ids.is_valid_base(write_id) == fits


def test_very_many_aborted_ids_are_put_together_once():
    write_ids = ValidWriteIdList(200_000, frozenset({3}), frozenset(range(5, 100_000)))
    assert write_ids.invalid is write_ids.invalid
    assert sum(map(write_ids.is_valid, range(1, 200_001))) == 200_000 - 99_995 - 1
