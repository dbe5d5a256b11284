"""Thrift structs that hmsclient lacks or has in a form that current metastores do not send.

hmsclient's generated code stems from a metastore between Hive 2 and 3. Structs that have not
changed since are taken from it; the ones here are declared anew from Hive's
`hive_metastore.thrift`, with the fields that this adapter uses (thrift skips fields that a reader
does not know):

- `GetOpenTxnsResponse`: since Hive 3 the ids come as a list, not a set, with a bit set of the
  aborted ones. hmsclient's struct reads that as "nothing is open".
- `GetTableRequest`, `GetTablesRequest`, `Table`: the capabilities of the client, the table's id.
- `Table`, `Partition`: the write id by which the statistics were kept.
- `OpenTxnRequest`: the transaction's type (Hive 4).
- Write ids (Hive 3), `add_write_ids_to_min_history` (Hive 4).
"""

from __future__ import annotations

from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes
from thrift.protocol.TBase import TBase
from thrift.Thrift import TType

INSERT_ONLY_TABLES = 2
"""`ClientCapability.INSERT_ONLY_TABLES`: without it a metastore refuses insert-only tables."""

TXN_TYPE_READ_ONLY = 2
"""`TxnType.READ_ONLY`, as Hive 4 opens for its own SELECT; Hive 3 skips the field."""

Field = tuple[int, int, str, Any, Any]
_UTF8_LIST = (TType.STRING, "UTF8", False)
_I64_LIST = (TType.I64, None, False)


def spec(*fields: Field) -> tuple[Field | None, ...]:
    """A `thrift_spec`: the fields, each at the index that is its number."""
    by_number = {field[0]: field for field in fields}
    return tuple(by_number.get(number) for number in range(max(by_number, default=-1) + 1))


def struct(number: int, name: str, cls: Any) -> Field:
    """A field that holds a struct of the class `cls`."""
    return (number, TType.STRUCT, name, [cls, cls.thrift_spec], None)


def _struct_list(number: int, name: str, cls: Any) -> Field:
    return (number, TType.LIST, name, (TType.STRUCT, [cls, cls.thrift_spec], False), None)


def _i64(number: int, name: str) -> Field:
    return (number, TType.I64, name, None, None)


def _string(number: int, name: str) -> Field:
    return (number, TType.STRING, name, "UTF8", None)


def _strings(number: int, name: str) -> Field:
    return (number, TType.LIST, name, _UTF8_LIST, None)


class Struct(TBase):
    """A thrift struct: one attribute a field of `thrift_spec`, None where it is not set."""

    thrift_spec: tuple[Field | None, ...] = ()

    def __init__(self, **values: Any) -> None:
        for field in self.thrift_spec:
            if field is not None:
                setattr(self, field[2], values.pop(field[2], field[4]))
        if values:
            raise TypeError(f"{type(self).__name__} has no field {', '.join(sorted(values))}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({vars(self)})"


class Table(Struct):
    """`Table`. hmsclient's ends before `writeId` and `id`, which Hive 4 added."""

    thrift_spec = spec(
        _string(1, "tableName"),
        _string(2, "dbName"),
        _string(3, "owner"),
        (4, TType.I32, "createTime", None, None),
        struct(7, "sd", ttypes.StorageDescriptor),
        _struct_list(8, "partitionKeys", ttypes.FieldSchema),
        (9, TType.MAP, "parameters", (TType.STRING, "UTF8", TType.STRING, "UTF8", False), None),
        _string(11, "viewExpandedText"),
        _string(12, "tableType"),
        _i64(19, "writeId"),
        _i64(25, "id"),
    )


class Partition(Struct):
    """`Partition`. hmsclient's ends before `writeId`, which Hive 4 added."""

    thrift_spec = spec(
        _strings(1, "values"),
        (4, TType.I32, "createTime", None, None),
        struct(6, "sd", ttypes.StorageDescriptor),
        (7, TType.MAP, "parameters", (TType.STRING, "UTF8", TType.STRING, "UTF8", False), None),
        _i64(10, "writeId"),
    )


class GetPartitionsByNamesArguments(Struct):
    """The arguments of `get_partitions_by_names`."""

    thrift_spec = spec(_string(1, "db_name"), _string(2, "tbl_name"), _strings(3, "names"))


class GetPartitionsByNamesResult(Struct):
    """The result of `get_partitions_by_names`: those partitions that exist, or an error."""

    thrift_spec = spec(
        (0, TType.LIST, "success", (TType.STRUCT, [Partition, Partition.thrift_spec], False), None),
        struct(1, "o1", ttypes.MetaException),
        struct(2, "o2", ttypes.NoSuchObjectException),
    )


class GetTableRequest(Struct):
    """Request of `get_table_req`. `processorCapabilities` are Hive 4's, by name."""

    thrift_spec = spec(
        _string(1, "dbName"),
        _string(2, "tblName"),
        struct(3, "capabilities", ttypes.ClientCapabilities),
        _strings(8, "processorCapabilities"),
        _string(9, "processorIdentifier"),
    )


class GetTableResult(Struct):
    """Response of `get_table_req`."""

    thrift_spec = spec(struct(1, "table", Table))


class GetTablesRequest(Struct):
    """Request of `get_table_objects_by_name_req`, for tables of one database."""

    thrift_spec = spec(
        _string(1, "dbName"),
        _strings(2, "tblNames"),
        struct(3, "capabilities", ttypes.ClientCapabilities),
        _strings(5, "processorCapabilities"),
        _string(6, "processorIdentifier"),
    )


class GetTablesResult(Struct):
    """Response of `get_table_objects_by_name_req`: the tables that exist."""

    thrift_spec = spec(_struct_list(1, "tables", Table))


class OpenTxnRequest(Struct):
    """Request of `open_txns`."""

    thrift_spec = spec(
        (1, TType.I32, "num_txns", None, None),
        _string(2, "user"),
        _string(3, "hostname"),
        _string(4, "agentInfo"),
        (7, TType.I32, "txn_type", None, None),
    )


class GetOpenTxnsResponse(Struct):
    """Response of `get_open_txns`. Bit i of `abortedBits` is set if `open_txns[i]` is aborted."""

    thrift_spec = spec(
        _i64(1, "txn_high_water_mark"),
        (2, TType.LIST, "open_txns", _I64_LIST, None),
        _i64(3, "min_open_txn"),
        (4, TType.STRING, "abortedBits", "BINARY", None),
    )


class GetValidWriteIdsRequest(Struct):
    """Request of `get_valid_write_ids`. Tables are named `db.table`."""

    thrift_spec = spec(_strings(1, "fullTableNames"), _string(2, "validTxnList"))


class TableValidWriteIds(Struct):
    """One table's write ids. `abortedBits` says which of `invalidWriteIds` are aborted."""

    thrift_spec = spec(
        _string(1, "fullTableName"),
        _i64(2, "writeIdHighWaterMark"),
        (3, TType.LIST, "invalidWriteIds", _I64_LIST, None),
        _i64(4, "minOpenWriteId"),
        (5, TType.STRING, "abortedBits", "BINARY", None),
    )


class GetValidWriteIdsResponse(Struct):
    """Response of `get_valid_write_ids`."""

    thrift_spec = spec(_struct_list(1, "tblValidWriteIds", TableValidWriteIds))


class AllocateTableWriteIdsRequest(Struct):
    """Request of `allocate_table_write_ids`."""

    thrift_spec = spec(
        _string(1, "dbName"),
        _string(2, "tableName"),
        (3, TType.LIST, "txnIds", _I64_LIST, None),
    )


class TxnToWriteId(Struct):
    """The write id that a transaction has in one table."""

    thrift_spec = spec(_i64(1, "txnId"), _i64(2, "writeId"))


class AllocateTableWriteIdsResponse(Struct):
    """Response of `allocate_table_write_ids`."""

    thrift_spec = spec(_struct_list(1, "txnToWriteIds", TxnToWriteId))


class AddWriteIdsToMinHistoryArguments(Struct):
    """The arguments of `add_write_ids_to_min_history`: the lowest open write id by table name."""

    thrift_spec = spec(
        _i64(1, "txnId"),
        (2, TType.MAP, "writeIds", (TType.STRING, "UTF8", TType.I64, None, False), None),
    )
