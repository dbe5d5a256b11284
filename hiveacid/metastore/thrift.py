"""Thrift structs and calls of the metastore that hmsclient does not have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hmsclient.genthrift.hive_metastore import ThriftHiveMetastore, ttypes
from thrift.protocol.TBase import TBase
from thrift.Thrift import TApplicationException, TMessageType, TType

INSERT_ONLY_TABLES = 2
"""`ClientCapability.INSERT_ONLY_TABLES`: without it a metastore refuses insert-only tables."""

TXN_TYPE_READ_ONLY = 2
"""`TxnType.READ_ONLY`, as Hive 4 opens for its own SELECT; Hive 3 skips the field."""

TXN_TYPES_OF_COMPACTIONS = (3, 6)
"""`TxnType.COMPACTION` and `REBALANCE_COMPACTION`, as Hive 4 opens for the work of compactions."""

COMPACTION_REBALANCE = 3
"""`CompactionType.REBALANCE`, which Hive 4 added."""

Field = tuple[int, int, str, Any, Any]
_UTF8_LIST = (TType.STRING, "UTF8", False)
_I64_LIST = (TType.I64, None, False)


def spec(*fields: Field) -> tuple[Field | None, ...]:
    """Return a `thrift_spec`: the fields, each at the index that is its number."""
    by_number = {field[0]: field for field in fields}
    return tuple(by_number.get(number) for number in range(max(by_number, default=-1) + 1))


def struct(number: int, name: str, cls: Any) -> Field:
    """Return a field that holds a struct of the class `cls`."""
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
    """A thrift struct: one attribute for each field of `thrift_spec`, None if it is not set."""

    thrift_spec: tuple[Field | None, ...] = ()

    def __init__(self, **values: object) -> None:
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


class StorageDescriptor(Struct):
    """`StorageDescriptor` without `skewedInfo`.

    A skewed table whose values have directories of their own has a map there whose keys are lists,
    for which Python has no dict.
    """

    thrift_spec = spec(
        *(field for field in ttypes.StorageDescriptor.thrift_spec if field and field[0] != 11)
    )


class CreationMetadata(Struct):
    """`CreationMetadata` of a materialized view: the write ids that its last rebuild has seen."""

    thrift_spec = spec(_string(5, "validTxnList"))


class Table(Struct):
    """`Table`. hmsclient's ends before `writeId` and `id`, which Hive 4 added."""

    thrift_spec = spec(
        _string(1, "tableName"),
        _string(2, "dbName"),
        _string(3, "owner"),
        (4, TType.I32, "createTime", None, None),
        struct(7, "sd", StorageDescriptor),
        _struct_list(8, "partitionKeys", ttypes.FieldSchema),
        (9, TType.MAP, "parameters", (TType.STRING, "UTF8", TType.STRING, "UTF8", False), None),
        _string(11, "viewExpandedText"),
        _string(12, "tableType"),
        struct(16, "creationMetadata", CreationMetadata),
        _i64(19, "writeId"),
        _i64(25, "id"),
    )


class Partition(Struct):
    """`Partition`. hmsclient's ends before `writeId`, which Hive 4 added."""

    thrift_spec = spec(
        _strings(1, "values"),
        (4, TType.I32, "createTime", None, None),
        struct(6, "sd", StorageDescriptor),
        (7, TType.MAP, "parameters", (TType.STRING, "UTF8", TType.STRING, "UTF8", False), None),
        _i64(10, "writeId"),
    )


class GetPartitionsByNamesArguments(Struct):
    """Arguments of `get_partitions_by_names`."""

    thrift_spec = spec(_string(1, "db_name"), _string(2, "tbl_name"), _strings(3, "names"))


class GetPartitionsByNamesResult(Struct):
    """Result of `get_partitions_by_names`: the partitions that exist, or an error."""

    thrift_spec = spec(
        (0, TType.LIST, "success", (TType.STRUCT, [Partition, Partition.thrift_spec], False), None),
        struct(1, "o1", ttypes.MetaException),
        struct(2, "o2", ttypes.NoSuchObjectException),
    )


class GetPartitionNamesArguments(Struct):
    """Arguments of `get_partition_names`."""

    thrift_spec = spec(
        _string(1, "db_name"), _string(2, "tbl_name"), (3, TType.I16, "max_parts", None, None)
    )


class GetPartitionNamesResult(Struct):
    """Result of `get_partition_names`. hmsclient's lacks the second error, a refusal."""

    thrift_spec = spec(
        (0, TType.LIST, "success", _UTF8_LIST, None),
        struct(1, "o1", ttypes.NoSuchObjectException),
        struct(2, "o2", ttypes.MetaException),
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


class GetOpenTxnsRequest(Struct):
    """Request of `get_open_txns_req`: transactions of these types are left out."""

    thrift_spec = spec((1, TType.LIST, "excludeTxnTypes", (TType.I32, None, False), None))


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
    """Write id of a transaction in one table."""

    thrift_spec = spec(_i64(1, "txnId"), _i64(2, "writeId"))


class AllocateTableWriteIdsResponse(Struct):
    """Response of `allocate_table_write_ids`."""

    thrift_spec = spec(_struct_list(1, "txnToWriteIds", TxnToWriteId))


class AddWriteIdsToMinHistoryArguments(Struct):
    """Arguments of `add_write_ids_to_min_history`: the lowest open write id by table name."""

    thrift_spec = spec(
        _i64(1, "txnId"),
        (2, TType.MAP, "writeIds", (TType.STRING, "UTF8", TType.I64, None, False), None),
    )


class ShowCompactResponseElement(Struct):
    """A compaction. hmsclient's ends before the fields that Hive 4 added."""

    thrift_spec = spec(
        _string(1, "dbname"),
        _string(2, "tablename"),
        _string(3, "partitionname"),
        (4, TType.I32, "type", None, None),
        _string(5, "state"),
        _i64(13, "id"),
        _string(14, "errorMessage"),
        _i64(19, "cleanerStart"),
        _i64(22, "txnId"),
        _i64(24, "hightestWriteId"),
    )


class ShowCompactResponse(Struct):
    """Response of `show_compact`: the compactions that the metastore remembers."""

    thrift_spec = spec(_struct_list(1, "compacts", ShowCompactResponseElement))


class ShowCompactRequest(Struct):
    """Request of `show_compact`. A metastore before Hive 4 skips the names: it lists all."""

    thrift_spec = spec(_string(3, "dbName"), _string(4, "tbName"))


class NotificationEventRequest(Struct):
    """Request of `get_next_notification`. A metastore before Hive 4 skips no types."""

    thrift_spec = spec(
        _i64(1, "lastEvent"),
        (2, TType.I32, "maxEvents", None, None),
        _strings(3, "eventTypeSkipList"),
    )


@dataclass(frozen=True)
class Call:
    """Name of a call on the wire, and the structs of its arguments and its result."""

    name: str
    arguments: type[Struct]
    result: type[Struct]


def _call(name: str, arguments: type[Struct], response: type | None, *errors: type) -> Call:
    """Return a call: `response` is field 0 of the result, the errors are field 1 and later."""
    fields = [struct(number, f"o{number}", cls) for number, cls in enumerate(errors, 1)]
    if response is not None:
        fields.append(struct(0, "success", response))
    result = type(f"{name}_result", (Struct,), {"thrift_spec": spec(*fields)})
    return Call(name, arguments, result)


def _arguments(name: str, *fields: Field) -> type[Struct]:
    return type(f"{name}_args", (Struct,), {"thrift_spec": spec(*fields)})


def request_call(name: str, request: type, response: type | None, *errors: type) -> Call:
    """Return a call whose only argument is one request struct."""
    return _call(name, _arguments(name, struct(1, "rqst", request)), response, *errors)


GET_TABLE_REQ = request_call(
    "get_table_req",
    GetTableRequest,
    GetTableResult,
    ttypes.MetaException,
    ttypes.NoSuchObjectException,
)

GET_TABLE_OBJECTS_BY_NAME_REQ = request_call(
    "get_table_objects_by_name_req",
    GetTablesRequest,
    GetTablesResult,
    ttypes.MetaException,
    ttypes.InvalidOperationException,
    ttypes.UnknownDBException,
)

GET_PARTITIONS_BY_NAMES = Call(
    "get_partitions_by_names",
    GetPartitionsByNamesArguments,
    GetPartitionsByNamesResult,
)
GET_PARTITION_NAMES = Call(
    "get_partition_names", GetPartitionNamesArguments, GetPartitionNamesResult
)
OPEN_TXNS = request_call("open_txns", OpenTxnRequest, ttypes.OpenTxnsResponse)
GET_OPEN_TXNS = _call("get_open_txns", _arguments("get_open_txns"), GetOpenTxnsResponse)
GET_OPEN_TXNS_REQ = request_call("get_open_txns_req", GetOpenTxnsRequest, GetOpenTxnsResponse)
GET_VALID_WRITE_IDS = request_call(
    "get_valid_write_ids",
    GetValidWriteIdsRequest,
    GetValidWriteIdsResponse,
    ttypes.NoSuchTxnException,
    ttypes.MetaException,
)

ALLOCATE_TABLE_WRITE_IDS = request_call(
    "allocate_table_write_ids",
    AllocateTableWriteIdsRequest,
    AllocateTableWriteIdsResponse,
    ttypes.NoSuchTxnException,
    ttypes.TxnAbortedException,
    ttypes.MetaException,
)

GET_NEXT_NOTIFICATION = request_call(
    "get_next_notification", NotificationEventRequest, ttypes.NotificationEventResponse
)

SHOW_COMPACT = request_call("show_compact", ShowCompactRequest, ShowCompactResponse)

ADD_WRITE_IDS_TO_MIN_HISTORY = _call(
    "add_write_ids_to_min_history",
    AddWriteIdsToMinHistoryArguments,
    None,
    ttypes.MetaException,
)


class ThriftMetastore(ThriftHiveMetastore.Client):
    """Calls on one connection. Not thread-safe; raises errors of thrift and the metastore."""

    def invoke(self, call: Call, **arguments: object) -> Any:
        """Make a call and return its value. Raises the errors that the call declares."""
        self._oprot.writeMessageBegin(call.name, TMessageType.CALL, self._seqid)
        call.arguments(**arguments).write(self._oprot)
        self._oprot.writeMessageEnd()
        self._oprot.trans.flush()
        _, message_type, _ = self._iprot.readMessageBegin()
        if message_type == TMessageType.EXCEPTION:
            error = TApplicationException()
            error.read(self._iprot)
            self._iprot.readMessageEnd()
            raise error
        result = call.result()
        result.read(self._iprot)
        self._iprot.readMessageEnd()
        values = dict(vars(result))
        success = values.pop("success", None)
        for declared_error in values.values():
            if declared_error is not None:
                raise declared_error
        if success is None and _returns_a_value(call):
            raise TApplicationException(
                TApplicationException.MISSING_RESULT, f"{call.name} returned no result"
            )
        return success

    def get_table_req(self, req: GetTableRequest) -> GetTableResult:
        return self.invoke(GET_TABLE_REQ, rqst=req)

    def get_table_objects_by_name_req(self, req: GetTablesRequest) -> GetTablesResult:
        return self.invoke(GET_TABLE_OBJECTS_BY_NAME_REQ, rqst=req)

    def get_partitions_by_names(
        self, db_name: str, tbl_name: str, names: list[str]
    ) -> list[Partition]:
        return self.invoke(GET_PARTITIONS_BY_NAMES, db_name=db_name, tbl_name=tbl_name, names=names)

    def get_partition_names(self, db_name: str, tbl_name: str, max_parts: int) -> list[str]:
        return self.invoke(
            GET_PARTITION_NAMES, db_name=db_name, tbl_name=tbl_name, max_parts=max_parts
        )

    def open_txns(self, rqst: OpenTxnRequest) -> ttypes.OpenTxnsResponse:
        return self.invoke(OPEN_TXNS, rqst=rqst)

    def get_open_txns(self) -> GetOpenTxnsResponse:
        return self.invoke(GET_OPEN_TXNS)

    def get_open_txns_req(self, rqst: GetOpenTxnsRequest) -> GetOpenTxnsResponse:
        return self.invoke(GET_OPEN_TXNS_REQ, rqst=rqst)

    def get_valid_write_ids(self, rqst: GetValidWriteIdsRequest) -> GetValidWriteIdsResponse:
        return self.invoke(GET_VALID_WRITE_IDS, rqst=rqst)

    def allocate_table_write_ids(
        self, rqst: AllocateTableWriteIdsRequest
    ) -> AllocateTableWriteIdsResponse:
        return self.invoke(ALLOCATE_TABLE_WRITE_IDS, rqst=rqst)

    def get_next_notification(
        self, rqst: NotificationEventRequest
    ) -> ttypes.NotificationEventResponse:
        return self.invoke(GET_NEXT_NOTIFICATION, rqst=rqst)

    def show_compact(self, rqst: ShowCompactRequest) -> ShowCompactResponse:
        return self.invoke(SHOW_COMPACT, rqst=rqst)

    def add_write_ids_to_min_history(self, txn_id: int, write_ids: Mapping[str, int]) -> None:
        self.invoke(ADD_WRITE_IDS_TO_MIN_HISTORY, txnId=txn_id, writeIds=dict(write_ids))


def _returns_a_value(call: Call) -> bool:
    spec = call.result.thrift_spec
    return bool(spec) and spec[0] is not None
