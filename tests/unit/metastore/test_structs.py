"""The structs on the wire, with thrift's Python and its C implementation."""

import pytest
from hmsclient.genthrift.hive_metastore import ttypes
from thrift.protocol.TBinaryProtocol import TBinaryProtocol, TBinaryProtocolAccelerated
from thrift.transport.TTransport import TMemoryBuffer

from hiveacid.acid.write_ids import ValidWriteIdList
from hiveacid.metastore import thrift
from hiveacid.metastore.conversion import table_from_thrift

PROTOCOLS = [TBinaryProtocol, TBinaryProtocolAccelerated]


def encode(struct, protocol) -> bytes:
    buffer = TMemoryBuffer()
    struct.write(protocol(buffer))
    return buffer.getvalue()


def decode(struct, data: bytes, protocol):
    struct.read(protocol(TMemoryBuffer(data)))
    return struct


def test_both_implementations_are_there():
    assert TBinaryProtocolAccelerated(TMemoryBuffer())._fast_decode is not None


@pytest.mark.parametrize("writer", PROTOCOLS)
@pytest.mark.parametrize("reader", PROTOCOLS)
def test_open_transactions_as_hive_3_and_4_send_them(writer, reader):
    # Field 1: i64 9; field 2: list of i64 [3, 5]; field 3: i64 3; field 4: binary 02.
    wire = bytes.fromhex(
        "0a0001" + "0000000000000009"
        "0f0002" + "0a" + "00000002" + "0000000000000003" + "0000000000000005"
        "0a0003" + "0000000000000003"
        "0b0004" + "00000001" + "02"
        "00"
    )
    response = decode(thrift.GetOpenTxnsResponse(), wire, reader)
    assert vars(response) == {
        "txn_high_water_mark": 9,
        "open_txns": [3, 5],
        "min_open_txn": 3,
        "abortedBits": b"\x02",
    }
    assert encode(response, writer) == wire


@pytest.mark.parametrize("reader", PROTOCOLS)
def test_the_set_of_hive_2_is_told_from_an_empty_list(reader):
    old = ttypes.GetOpenTxnsResponse(txn_high_water_mark=9, open_txns={3})
    response = decode(thrift.GetOpenTxnsResponse(), encode(old, TBinaryProtocol), reader)
    assert response.txn_high_water_mark == 9
    assert response.open_txns is None


@pytest.mark.parametrize("reader", PROTOCOLS)
def test_the_directories_of_skewed_values_are_skipped(reader):
    """Thrift's Python makes a dict of them, whose keys would be lists."""
    skewed = ttypes.SkewedInfo(["v"], [["a"]], {("a",): "file:/t/v=a"})
    sent = ttypes.StorageDescriptor(location="file:/t", skewedInfo=skewed, parameters={"a": "b"})
    found = decode(thrift.StorageDescriptor(), encode(sent, TBinaryProtocol), reader)
    assert (found.location, found.parameters) == ("file:/t", {"a": "b"})


@pytest.mark.parametrize("reader", PROTOCOLS)
def test_a_table_has_its_id_and_fields_that_we_do_not_use_are_skipped(reader):
    class Newer(thrift.Struct):
        thrift_spec = thrift.spec(
            *(field for field in thrift.Table.thrift_spec if field),
            (17, 11, "catName", "UTF8", None),
            (28, 10, "txnId", None, None),
        )

    newer = Newer(tableName="t", dbName="d", parameters={"a": "ü"}, id=7, catName="hive", txnId=3)
    table = decode(thrift.Table(), encode(newer, TBinaryProtocol), reader)
    assert (table.tableName, table.id, table.parameters) == ("t", 7, {"a": "ü"})


@pytest.mark.parametrize("reader", PROTOCOLS)
@pytest.mark.parametrize(
    "text",
    [
        "9$shop.orders:5:7:7:3$shop.ids:1:9223372036854775807::",
        '{"validTxnList":"9$shop.orders:5:7:7:3$shop.ids:1:8::","tableSnapshots":null}',
        None,
    ],
)
def test_a_materialized_view_says_what_it_has_seen(reader, text):
    creation = thrift.CreationMetadata(validTxnList=text)
    storage = ttypes.StorageDescriptor(cols=[], location="file:/t")
    sent = thrift.Table(tableName="ids", dbName="shop", sd=storage, creationMetadata=creation)
    view = table_from_thrift(decode(thrift.Table(), encode(sent, TBinaryProtocol), reader))
    seen = ValidWriteIdList(5, frozenset({7}), frozenset({3}), table="shop.orders")
    assert view.seen == (() if text is None else (seen,))


def test_a_misspelt_field_is_refused():
    with pytest.raises(TypeError, match="TxnToWriteId has no field writeid"):
        thrift.TxnToWriteId(writeid=1)


def test_structs_are_compared_by_their_fields():
    assert thrift.TxnToWriteId(txnId=1) == thrift.TxnToWriteId(txnId=1)
    assert thrift.TxnToWriteId(txnId=1) != thrift.TxnToWriteId(txnId=2)
