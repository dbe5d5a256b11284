"""Calls of a metastore that writing transactions need, and their thrift structs.

hmsclient's structs are those of Hive 2.
"""

from __future__ import annotations

from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes
from thrift.Thrift import TType

from hiveacid.metastore import thrift
from hiveacid.metastore.raw_structs import RawStruct
from hiveacid.metastore.thrift import Call, Struct


class AllocateRequest(Struct):
    thrift_spec = thrift.spec(
        *thrift.AllocateTableWriteIdsRequest.thrift_spec[1:],  # type: ignore[arg-type]
        (6, TType.BOOL, "reallocate", None, None),
    )


class CommitRequest(Struct):
    """`CommitTxnRequest`. `exclWriteEnabled` is true if it is not set: then conflicts pass."""

    thrift_spec = thrift.spec(
        (1, TType.I64, "txnid", None, None), (6, TType.BOOL, "exclWriteEnabled", None, None)
    )


class AddDynamicPartitions(Struct):
    """`AddDynamicPartitions`. hmsclient's is that of Hive 2, without `writeid`."""

    thrift_spec = thrift.spec(
        (1, TType.I64, "txnid", None, None),
        (2, TType.I64, "writeid", None, None),
        (3, TType.STRING, "dbname", "UTF8", None),
        (4, TType.STRING, "tablename", "UTF8", None),
        (5, TType.LIST, "partitionnames", (TType.STRING, "UTF8", False), None),
        (6, TType.I32, "operationType", None, None),
    )


class NameArguments(Struct):
    """Arguments of a call whose only one is a name."""

    thrift_spec = thrift.spec((1, TType.STRING, "name", "UTF8", None))


class RawArguments(Struct):
    """Arguments of a call whose only one is a `RawStruct`, in field 1."""

    def __init__(self, **values: object) -> None:
        (self._request,) = values.values()

    def write(self, protocol: Any) -> None:
        """Write the arguments to a connection."""
        arguments = RawStruct()
        assert isinstance(self._request, RawStruct)
        arguments.set_struct(1, self._request)
        arguments.write(protocol)


class SeveralArguments(Struct):
    """Arguments of a call, as the fields of a `RawStruct`."""

    def __init__(self, **values: object) -> None:
        (self._arguments,) = values.values()

    def write(self, protocol: Any) -> None:
        """Write the arguments to a connection."""
        assert isinstance(self._arguments, RawStruct)
        self._arguments.write(protocol)


class RawResult(Struct):
    """Result of a call as it came: its value, or the error in one of the other fields."""

    thrift_spec = thrift.spec((0, TType.STRUCT, "success", None, None))

    def read(self, protocol: Any) -> None:
        """Read the result from a connection."""
        raw = RawStruct()
        raw.read(protocol)
        self.success: Any = raw.fields.pop(0, (None, None))[1]
        for _, error in raw.fields.values():
            message = error.fields.get(1, (None, b""))[1]
            self.error = ttypes.MetaException(message=message.decode(errors="replace"))


class NoResult(RawResult):
    """Result of a call without a value."""

    thrift_spec = ()


def _plain_call(name: str, request: type[Struct], response: type | None) -> Call:
    errors = (ttypes.NoSuchTxnException, ttypes.TxnAbortedException, ttypes.MetaException)
    return thrift.request_call(name, request, response, *errors)


REALLOCATE = _plain_call(
    "allocate_table_write_ids", AllocateRequest, thrift.AllocateTableWriteIdsResponse
)
COMMIT = _plain_call("commit_txn", CommitRequest, None)
ADD_DYNAMIC_PARTITIONS = _plain_call("add_dynamic_partitions", AddDynamicPartitions, None)
CREATE_TABLE = Call("create_table_req", RawArguments, NoResult)
GET_DATABASE = Call("get_database", NameArguments, RawResult)
GET_TABLE = Call("get_table_req", thrift.GET_TABLE_REQ.arguments, RawResult)
GET_PARTITIONS = Call("get_partitions_by_names", thrift.GetPartitionsByNamesArguments, RawResult)
ADD_PARTITIONS = Call("add_partitions_req", RawArguments, RawResult)
ALTER_TABLE = Call("alter_table_req", RawArguments, NoResult)
ALTER_PARTITIONS = Call("alter_partitions_req", RawArguments, NoResult)
ALTER_TABLE_OF_HIVE_3 = Call("alter_table_with_environment_context", SeveralArguments, NoResult)
ALTER_PARTITIONS_OF_HIVE_3 = Call(
    "alter_partitions_with_environment_context", SeveralArguments, NoResult
)
