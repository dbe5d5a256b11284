"""Thrift structs that are written back as they were read."""

from __future__ import annotations

from hmsclient.genthrift.hive_metastore import ttypes
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.transport.TTransport import TMemoryBuffer

from hiveacid.metastore.raw_structs import RawStruct


def test_every_field_comes_back() -> None:
    """Also fields that the client's own `Table` lacks, and maps with keys that are lists."""
    skewed = RawStruct()
    key = (11, [b"a", b"b"])
    skewed.fields[3] = (13, (15, 11, [(key, b"file:/a")]))
    storage = ttypes.StorageDescriptor(
        cols=[ttypes.FieldSchema("id", "int", "é")],
        location="file:/t",
        serdeInfo=ttypes.SerDeInfo("", "orc", {"a": "b"}),
        numBuckets=-1,
        compressed=False,
    )
    table = ttypes.Table("t", "d", createTime=7, sd=storage, parameters={"x": "ü"})
    buffer = TMemoryBuffer()
    table.write(TBinaryProtocolAccelerated(buffer))
    raw = RawStruct()
    raw.read(TBinaryProtocolAccelerated(TMemoryBuffer(buffer.getvalue())))
    raw.set_long(25, 99)
    raw.struct(7).set_struct(11, skewed)

    written = TMemoryBuffer()
    raw.write(TBinaryProtocolAccelerated(written))
    again = RawStruct()
    again.read(TBinaryProtocolAccelerated(TMemoryBuffer(written.getvalue())))
    assert again.texts(9) == {"x": "ü"}
    assert again.fields[25] == (10, 99)
    assert again.struct(7).struct(11).fields == skewed.fields
    known = ttypes.Table()
    known.read(TBinaryProtocolAccelerated(TMemoryBuffer(buffer.getvalue())))
    assert known == table
