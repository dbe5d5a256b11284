"""Conversion of thrift structs to the plain models and back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes

from hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from hiveacid.metastore import thrift
from hiveacid.metastore.models import (
    Column,
    Compaction,
    CompactionState,
    LockInfo,
    LockResponse,
    LockState,
    LockType,
    NotificationEvent,
    Partition,
    StorageDescriptor,
    Table,
    TableName,
)


def table_from_thrift(table: ttypes.Table) -> Table:
    """Convert a `Table`, hmsclient's or ours."""
    return Table(
        name=TableName(table.dbName, table.tableName),
        table_type=table.tableType or "MANAGED_TABLE",
        storage=storage_from_thrift(table.sd),
        partition_keys=_columns(table.partitionKeys),
        parameters=dict(table.parameters or {}),
        create_time=table.createTime or 0,
        owner=table.owner,
        id=getattr(table, "id", None),
        write_id=getattr(table, "writeId", None),
        seen=_seen(table),
        view_text=table.viewExpandedText or None,
    )


def _seen(table: ttypes.Table) -> tuple[ValidWriteIdList, ...]:
    """Convert the lists of a materialized view's tables: `9$shop.orders:…$…`.

    Hive 4 puts the text into JSON (`MaterializationSnapshot`). The view's own list is among them.
    """
    creation = getattr(table, "creationMetadata", None)
    text = getattr(creation, "validTxnList", None) or ""
    if text.startswith("{"):
        text = json.loads(text).get("validTxnList") or ""
    lists = (ValidWriteIdList.parse(part) for part in text.split("$")[1:] if part)
    return tuple(ids for ids in lists if ids.table != f"{table.dbName}.{table.tableName}")


def partition_from_thrift(partition: ttypes.Partition) -> Partition:
    """Convert a `Partition`, hmsclient's or ours."""
    return Partition(
        values=tuple(partition.values),
        storage=storage_from_thrift(partition.sd),
        create_time=partition.createTime or 0,
        parameters=dict(partition.parameters or {}),
        write_id=getattr(partition, "writeId", None),
    )


def storage_from_thrift(storage: ttypes.StorageDescriptor) -> StorageDescriptor:
    """Convert a `StorageDescriptor`. A view has no location: it becomes empty."""
    serde = storage.serdeInfo
    return StorageDescriptor(
        location=storage.location or "",
        columns=_columns(storage.cols),
        input_format=storage.inputFormat,
        serde=serde.serializationLib if serde else None,
        serde_parameters=dict(serde.parameters or {}) if serde else {},
        bucket_columns=tuple(storage.bucketCols or ()),
        num_buckets=-1 if storage.numBuckets is None else storage.numBuckets,
    )


def _columns(fields: Iterable[ttypes.FieldSchema] | None) -> tuple[Column, ...]:
    return tuple(Column(field.name, field.type, field.comment) for field in fields or ())


def valid_txns_from_thrift(response: thrift.GetOpenTxnsResponse) -> ValidTxnList:
    """Convert a `GetOpenTxnsResponse` (Hive's `createValidReadTxnList`)."""
    open_ids, aborted_ids = _split_by_bits(response.open_txns, response.abortedBits)
    return ValidTxnList(response.txn_high_water_mark, open_ids, aborted_ids)


def valid_write_ids_from_thrift(table: thrift.TableValidWriteIds) -> ValidWriteIdList:
    """Convert a `TableValidWriteIds` (Hive's `createValidReaderWriteIdList`)."""
    open_ids, aborted_ids = _split_by_bits(table.invalidWriteIds, table.abortedBits)
    return ValidWriteIdList(
        table.writeIdHighWaterMark, open_ids, aborted_ids, table=table.fullTableName
    )


def _split_by_bits(ids: list[int], aborted_bits: bytes) -> tuple[frozenset[int], frozenset[int]]:
    """Split `ids` into open and aborted ones: bit i, lowest first as in Java's `BitSet`."""
    # The bits may end before the list: after the last one that is set.
    bits = (byte >> bit & 1 for byte in aborted_bits or b"" for bit in range(8))
    aborted = frozenset(id_ for id_, bit in zip(ids, bits, strict=False) if bit)
    return frozenset(ids) - aborted, aborted


def shared_read_request(
    txn_id: int, names: Iterable[TableName], user: str, host: str, agent_info: str
) -> ttypes.LockRequest:
    """Request a shared read lock on each table: sorted, none twice, like Hive's SELECT."""
    components = [
        ttypes.LockComponent(
            type=ttypes.LockType.SHARED_READ,
            level=ttypes.LockLevel.TABLE,
            dbname=name.database,
            tablename=name.table,
            operationType=ttypes.DataOperationType.SELECT,
            isAcid=True,  # hmsclient's name of field 7, `isTransactional` since Hive 3
        )
        for name in sorted(set(names))
    ]
    return ttypes.LockRequest(
        component=components, txnid=txn_id, user=user, hostname=host, agentInfo=agent_info
    )


def lock_response_from_thrift(response: ttypes.LockResponse) -> LockResponse:
    """Convert a `LockResponse`."""
    return LockResponse(response.lockid, LockState(response.state))


def lock_info_from_thrift(lock: ttypes.ShowLocksResponseElement) -> LockInfo:
    """Convert a `ShowLocksResponseElement`."""
    return LockInfo(
        lock_id=lock.lockid,
        state=LockState(lock.state),
        type=LockType(lock.type),
        database=lock.dbname,
        table=lock.tablename,
        partition=lock.partname,
        transaction_id=lock.txnid or 0,
        user=lock.user,
        host=lock.hostname,
        agent_info=lock.agentInfo,
        acquired_at=lock.acquiredat or None,
        blocked_by=lock.blockedByExtId or None,
    )


def compaction_from_thrift(compaction: thrift.ShowCompactResponseElement) -> Compaction:
    """Convert a `ShowCompactResponseElement`."""
    fields: Any = compaction
    return Compaction(
        id=fields.id or 0,
        partition=fields.partitionname or "",
        state=CompactionState(fields.state),
        transaction_id=fields.txnId or None,
        cleaning_began=bool(fields.cleanerStart),
        error=fields.errorMessage or "",
        renumbers=fields.type == thrift.COMPACTION_REBALANCE,
    )


def event_from_thrift(event: ttypes.NotificationEvent) -> NotificationEvent:
    """Convert a `NotificationEvent`."""
    return NotificationEvent(
        id=event.eventId,
        time=event.eventTime,
        type=event.eventType or "",
        database=event.dbName or "",
        # Derby's metastore of Hive 3.1 has a blank for no name.
        table=(event.tableName or "").strip(),
        message=event.message or "",
        message_format=event.messageFormat or "",
    )
