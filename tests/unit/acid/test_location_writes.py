import pytest

from hiveacid.acid.layout import ListedFile, Listing
from hiveacid.acid.location_writes import Compacted, compactions, location_writes
from hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from hiveacid.errors import UnreadableTableError

TXNS = ValidTxnList(100, frozenset({90}))


def listing(times, formats=(), without_files=()):
    """A location with a file of each path; a path without a time is an empty directory."""
    files = tuple(
        ListedFile(path, f"/t/{path}", 9, time) for path, time in times.items() if time is not None
    )
    names = {path.partition("/")[0] for path in times if "/" in path or times[path] is None}
    return Listing(
        "/t", files, tuple(sorted(names)), dict(formats), without_files=frozenset(without_files)
    )


def found(times, high_watermark=9, open_=(), aborted=(), formats=()):
    valid = ValidWriteIdList(high_watermark, frozenset(open_), frozenset(aborted))
    writes = location_writes(listing(times, formats), valid, TXNS)
    return {write.write_id: write.time for write in writes.known}, writes.compacted


def test_each_committed_write_has_the_time_of_its_last_file():
    times = {
        "delta_1_1_0000/bucket_00000": 10,
        "delta_1_1_0000/bucket_00001": 12,
        "delete_delta_2_2_0000/bucket_00000": 20,
        "delta_3_3_0000/bucket_00000": 30,  # aborted
        "delta_4_4_0000/bucket_00000": 40,  # open
        "delta_5_5_0000": None,  # no rows
        "delta_10_10_0000/bucket_00000": 99,  # after the snapshot
    }
    assert found(times, open_={4}, aborted={3}) == ({1: 12, 2: 20}, ())


def test_files_without_a_length_are_no_data():
    empty = ListedFile("delta_1_1_0000/000000_0", "/t/delta_1_1_0000/000000_0", 0, 10)
    found = location_writes(Listing("/t", (empty,), ("delta_1_1_0000",)), ValidWriteIdList(1), TXNS)
    assert found.known == ()


def test_an_overwrite_hides_what_was_there_before():
    times = {
        "000000_0": 1,
        "delta_1_1_0000/bucket_00000": 10,
        "base_2/bucket_00000": 20,
        "delta_3_3_0000/bucket_00000": 30,
    }
    assert found(times) == ({2: 20, 3: 30}, ())
    truncated = {"delta_1_1_0000/bucket_00000": 10, "base_2": None}
    assert found(truncated) == ({}, ())
    # An aborted one does not.
    aborted = {"delta_1_1_0000/bucket_00000": 10, "base_2/bucket_00000": 20}
    assert found(aborted, aborted={2}) == ({1: 10}, ())


def test_a_base_that_hive_does_not_see_hides_nothing():
    listed = listing({"delta_1_1_0000/bucket_00000": 10, "base_2": None}, without_files=["base_2"])
    writes = location_writes(listed, ValidWriteIdList(9), TXNS)
    assert [(write.write_id, write.time) for write in writes.known] == [(1, 10)]


def test_original_files_are_the_first_write():
    assert found({"000000_0": 1, "000000_0_copy_1": 3}) == ({0: 3}, ())
    base = {"000000_0": 1, "base_-9223372036854775808_v50/bucket_00000": 70}
    assert found(base) == ({0: 1}, (Compacted(0, 70),))


def test_a_compaction_is_known_to_be_younger_than_its_writes():
    times = {
        "delta_1_1_0000/bucket_00000": 10,
        "delta_1_2_v50/bucket_00000": 51,
        "delta_1_2_v50/bucket_00001": 52,
        "delete_delta_1_2_v50/bucket_00000": 50,
    }
    assert found(times) == ({1: 10}, (Compacted(2, 50),))
    # The same writes compacted again: the first time is what counts while it is there.
    again = {**times, "base_2_v60/bucket_00000": 61, "delta_3_3_0000/bucket_00000": 80}
    assert found(again) == ({1: 10, 3: 80}, (Compacted(2, 50),))
    # One that is not visible yet does not count, one of Hive 3 does.
    hidden = {"delta_1_1_0000/bucket_00000": 10, "base_1_v90/bucket_00000": 61}
    assert found(hidden) == ({1: 10}, ())
    hive_3 = {"base_1/bucket_00000": 61}
    assert found(hive_3, formats={"base_1": "compacted"}) == ({}, (Compacted(1, 61),))


def test_a_writer_with_several_transactions_is_done_with_its_last_file():
    times = {
        "delta_1_3/bucket_00000": 10,
        "delete_delta_1_3/bucket_00000": 12,
    }
    assert found(times) == ({}, (Compacted(3, 12),))
    assert found({"delta_4_4/bucket_00000": 10}) == ({4: 10}, ())


def test_a_file_that_is_being_written_has_no_time():
    """HDFS has the time of its creation, so a table that is streamed into would look stale."""
    times = {
        "delta_1_1_0000/bucket_00000": 10,
        "delta_2_6/bucket_00000": 20,
        "delta_2_6/bucket_00000_flush_length": 20,
    }
    with pytest.raises(
        UnreadableTableError, match=r"\] /t/delta_2_6/bucket_00000 is still being written"
    ):
        found(times)
    # Nothing of the batch is committed yet, or all of it has been closed.
    assert found(times, high_watermark=1) == ({1: 10}, ())
    del times["delta_2_6/bucket_00000_flush_length"]
    assert found(times) == ({1: 10}, (Compacted(6, 20),))


def test_compactions_name_their_transactions():
    names = {"base_2_v60/a": 1, "delta_1_1_0000/a": 1, "delta_1_2_v50/a": 1, "other/a": 1}
    assert sorted(compactions(listing(names))) == [50, 60]
