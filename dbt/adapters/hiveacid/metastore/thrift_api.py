"""hmsclient's generated client with the calls that it lacks or gets wrong.

Nothing here opens a connection, retries or translates errors: that is `client.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hmsclient.genthrift.hive_metastore import ThriftHiveMetastore, ttypes
from thrift.Thrift import TApplicationException, TMessageType

from dbt.adapters.hiveacid.metastore import structs


@dataclass(frozen=True)
class Call:
    """A call's name on the wire and the structs of its arguments and its result."""

    name: str
    arguments: type[structs.Struct]
    result: type[structs.Struct]


def _call(name: str, arguments: type[structs.Struct], response: type | None, *errors: type) -> Call:
    """A call: `response` comes in field 0 of the result, the declared errors from field 1 on."""
    fields = [structs.struct(number, f"o{number}", cls) for number, cls in enumerate(errors, 1)]
    if response is not None:
        fields.append(structs.struct(0, "success", response))
    result = type(f"{name}_result", (structs.Struct,), {"thrift_spec": structs.spec(*fields)})
    return Call(name, arguments, result)


def _arguments(name: str, *fields: structs.Field) -> type[structs.Struct]:
    return type(f"{name}_args", (structs.Struct,), {"thrift_spec": structs.spec(*fields)})


def _request_call(name: str, request: type, response: type | None, *errors: type) -> Call:
    """A call whose only argument is one request struct."""
    return _call(name, _arguments(name, structs.struct(1, "rqst", request)), response, *errors)


GET_TABLE_REQ = _request_call(
    "get_table_req",
    structs.GetTableRequest,
    structs.GetTableResult,
    ttypes.MetaException,
    ttypes.NoSuchObjectException,
)
GET_TABLE_OBJECTS_BY_NAME_REQ = _request_call(
    "get_table_objects_by_name_req",
    structs.GetTablesRequest,
    structs.GetTablesResult,
    ttypes.MetaException,
    ttypes.InvalidOperationException,
    ttypes.UnknownDBException,
)
GET_PARTITIONS_BY_NAMES = Call(
    "get_partitions_by_names",
    structs.GetPartitionsByNamesArguments,
    structs.GetPartitionsByNamesResult,
)
OPEN_TXNS = _request_call("open_txns", structs.OpenTxnRequest, ttypes.OpenTxnsResponse)
GET_OPEN_TXNS = _call("get_open_txns", _arguments("get_open_txns"), structs.GetOpenTxnsResponse)
GET_VALID_WRITE_IDS = _request_call(
    "get_valid_write_ids",
    structs.GetValidWriteIdsRequest,
    structs.GetValidWriteIdsResponse,
    ttypes.NoSuchTxnException,
    ttypes.MetaException,
)
ALLOCATE_TABLE_WRITE_IDS = _request_call(
    "allocate_table_write_ids",
    structs.AllocateTableWriteIdsRequest,
    structs.AllocateTableWriteIdsResponse,
    ttypes.NoSuchTxnException,
    ttypes.TxnAbortedException,
    ttypes.MetaException,
)
ADD_WRITE_IDS_TO_MIN_HISTORY = _call(
    "add_write_ids_to_min_history",
    structs.AddWriteIdsToMinHistoryArguments,
    None,
    ttypes.MetaException,
)


class ThriftMetastore(ThriftHiveMetastore.Client):
    """One connection's calls. Not thread-safe; raises what thrift and the metastore raise."""

    def _invoke(self, call: Call, **arguments: Any) -> Any:
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
                TApplicationException.MISSING_RESULT, f"{call.name} answered without a result"
            )
        return success

    def get_table_req(self, req: structs.GetTableRequest) -> structs.GetTableResult:
        return self._invoke(GET_TABLE_REQ, rqst=req)

    def get_table_objects_by_name_req(
        self, req: structs.GetTablesRequest
    ) -> structs.GetTablesResult:
        return self._invoke(GET_TABLE_OBJECTS_BY_NAME_REQ, rqst=req)

    def get_partitions_by_names(
        self, db_name: str, tbl_name: str, names: list[str]
    ) -> list[structs.Partition]:
        return self._invoke(
            GET_PARTITIONS_BY_NAMES, db_name=db_name, tbl_name=tbl_name, names=names
        )

    def open_txns(self, rqst: structs.OpenTxnRequest) -> ttypes.OpenTxnsResponse:
        return self._invoke(OPEN_TXNS, rqst=rqst)

    def get_open_txns(self) -> structs.GetOpenTxnsResponse:
        return self._invoke(GET_OPEN_TXNS)

    def get_valid_write_ids(
        self, rqst: structs.GetValidWriteIdsRequest
    ) -> structs.GetValidWriteIdsResponse:
        return self._invoke(GET_VALID_WRITE_IDS, rqst=rqst)

    def allocate_table_write_ids(
        self, rqst: structs.AllocateTableWriteIdsRequest
    ) -> structs.AllocateTableWriteIdsResponse:
        return self._invoke(ALLOCATE_TABLE_WRITE_IDS, rqst=rqst)

    def add_write_ids_to_min_history(self, txn_id: int, write_ids: Mapping[str, int]) -> None:
        self._invoke(ADD_WRITE_IDS_TO_MIN_HISTORY, txnId=txn_id, writeIds=dict(write_ids))


def _returns_a_value(call: Call) -> bool:
    spec = call.result.thrift_spec
    return bool(spec) and spec[0] is not None
