"""Client of a Hive metastore with the calls that writing transactions need."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes
from thrift.Thrift import TException

from hiveacid.errors import TableNotFoundError
from hiveacid.metastore import conversion
from hiveacid.metastore.alterations import Change
from hiveacid.metastore.client import (
    PARTITION_BATCH,
    PROCESSOR_IDENTIFIER,
    MetastoreClient,
    table_request,
)
from hiveacid.metastore.errors import is_unknown_method
from hiveacid.metastore.models import LockResponse, LockType, Table, TableName
from hiveacid.metastore.new_tables import table_struct
from hiveacid.metastore.raw_structs import RawStruct
from hiveacid.metastore.thrift import Call, ThriftMetastore
from hiveacid.metastore.writing_calls import (
    ADD_DYNAMIC_PARTITIONS,
    ADD_PARTITIONS,
    ALTER_PARTITIONS,
    ALTER_PARTITIONS_OF_HIVE_3,
    ALTER_TABLE,
    ALTER_TABLE_OF_HIVE_3,
    COMMIT,
    CREATE_TABLE,
    GET_DATABASE,
    GET_PARTITIONS,
    GET_TABLE,
    REALLOCATE,
    AddDynamicPartitions,
    AllocateRequest,
    CommitRequest,
)

_STATISTICS = "COLUMN_STATS_ACCURATE"
"""Parameter of a table or partition whose statistics Hive takes for its answers
(`StatsSetupConst.COLUMN_STATS_ACCURATE`)."""

_CAPABILITIES = [
    "EXTREAD",
    "EXTWRITE",
    "HIVEBUCKET2",
    "HIVEFULLACIDREAD",
    "HIVEFULLACIDWRITE",
    "HIVEMANAGEDINSERTREAD",
    "HIVEMANAGEDINSERTWRITE",
    "HIVEMANAGESTATS",
    "HIVESQL",
]
"""What the client says that it can do (`processorCapabilities`)."""

_TABLE_PARAMETERS, _TABLE_WRITE_ID, _TABLE_STORAGE = 9, 19, 7
_PARTITION_PARAMETERS, _PARTITION_WRITE_ID = 7, 10
_LOCATION, _MANAGED_LOCATION = 3, 10
"""Fields of a database."""


class Operation(Enum):
    """What a transaction does to a table (thrift `DataOperationType`)."""

    INSERT = 2
    UPDATE = 3
    DELETE = 4
    NO_TXN = 6
    """None: its definition changes. Leaves no trace of a write (`TXN_COMPONENTS`)."""


class RowsToWrap(Enum):
    """Which rows of full-ACID tables are written with ACID columns, as Hive writes them.

    Minor compactions that are queries refuse deltas without them. Compactions that merge files lose
    all files of other names than Hive's own, which files without them have.
    """

    NONE = "none"
    ADDED = "added"
    ALL = "all"


@dataclass(frozen=True)
class WriteLock:
    """A lock that a writing transaction asks for."""

    name: TableName
    type: LockType
    operation: Operation
    is_partitioned: bool


@dataclass(frozen=True)
class NewPartition:
    """A partition that a transaction adds: its values as the metastore keeps them."""

    values: tuple[str, ...]
    location: str


class WritingClient(MetastoreClient):
    """A metastore client whose transactions may write. See `MetastoreClient` for the errors."""

    def rows_to_wrap(self) -> RowsToWrap:
        """Return which rows of full-ACID tables need ACID columns, by the metastore's settings."""
        if self.merges_files():
            return RowsToWrap.ALL
        if self._is_true("hive.compactor.crud.query.based", "false"):
            return RowsToWrap.ADDED
        return RowsToWrap.NONE

    def lock_to_write(
        self, txn_id: int, locks: Sequence[WriteLock], user: str, host: str, agent_info: str
    ) -> LockResponse:
        """Ask for locks to write, in one request that is granted as a whole.

        The write ids must have been allocated before: else the metastore notes none for the
        transaction's work (`TXN_COMPONENTS`).
        """
        components = [
            ttypes.LockComponent(
                type=lock.type.value,
                level=ttypes.LockLevel.TABLE,
                dbname=lock.name.database,
                tablename=lock.name.table,
                operationType=lock.operation.value,
                isAcid=True,
                isDynamicPartitionWrite=lock.is_partitioned,
            )
            for lock in sorted(locks, key=lambda lock: lock.name)
        ]
        request = ttypes.LockRequest(
            component=components, txnid=txn_id, user=user, hostname=host, agentInfo=agent_info
        )
        return conversion.lock_response_from_thrift(
            self._channel.once(
                "lock",
                f"table {', '.join(str(lock.name) for lock in locks)} in transaction {txn_id}",
                lambda calls: calls.lock(request),
            )
        )

    def get_managed_location(self, database: str) -> str:
        """Return the directory where a database's managed tables are made, or its other one.

        Raises `MetastoreError` if there is no such database.
        """
        found = self._channel.repeatable(
            "get_database",
            f"database {database}",
            lambda calls: calls.invoke(GET_DATABASE, name=database),
        )
        return found.text(_MANAGED_LOCATION) or found.text(_LOCATION)

    def find_table(self, name: TableName) -> Table | None:
        """Return the metadata of a table or view; None if there is none."""
        try:
            return self.get_table(name)
        except TableNotFoundError:
            return None

    def create_table(self, table: Table) -> None:
        """Create a table where the metastore wants it: its own location is not looked at."""
        request = RawStruct()
        request.set_struct(1, table_struct(table))
        request.set_text_list(9, _CAPABILITIES)
        request.set_text(10, PROCESSOR_IDENTIFIER)
        self._send("create_table_req", table.name, request, CREATE_TABLE)

    def drop_table(self, name: TableName) -> None:
        """Drop a table with its files."""
        self._channel.once(
            "drop_table",
            f"table {name}",
            lambda calls: calls.drop_table(name.database, name.table, True),
        )

    def alter_table(self, name: TableName, change: Change, *, cascade: bool = False) -> None:
        """Change the definition of a table; with `cascade` columns change in its partitions, too.

        To be called under an EXCLUSIVE lock: what others change meanwhile is lost.
        """
        table, request = self._raw_table(name), RawStruct()
        change(table)
        request.set_text(1, "hive")
        request.set_text(2, name.database)
        request.set_text(3, name.table)
        request.set_struct(4, table)
        if cascade:
            context = RawStruct()
            context.set_texts(1, {"CASCADE": "true"})
            request.set_struct(5, context)
        self._send("alter_table_req", name, request, ALTER_TABLE)

    def reallocate_write_id(self, txn_id: int, name: TableName) -> int:
        """Give the transaction another write id in a table, the highest one, and return it."""
        request = AllocateRequest(
            dbName=name.database, tableName=name.table, txnIds=[txn_id], reallocate=True
        )
        response = self._channel.once(
            "allocate_table_write_ids",
            f"table {name} in transaction {txn_id}",
            lambda calls: calls.invoke(REALLOCATE, rqst=request),
        )
        return response.txnToWriteIds[0].writeId

    def add_partitions(
        self, name: TableName, partitions: Sequence[NewPartition], write_id: int
    ) -> None:
        """Add the partitions that do not exist yet. They outlive an abort, without rows."""
        storage = self._raw_table(name).struct(_TABLE_STORAGE)
        for start in range(0, len(partitions), PARTITION_BATCH):
            batch = partitions[start : start + PARTITION_BATCH]
            request = RawStruct()
            request.set_text(1, name.database)
            request.set_text(2, name.table)
            request.set_structs(3, [_new_partition(name, storage, it, write_id) for it in batch])
            request.set_flag(4, True)
            request.set_flag(5, False)
            self._send("add_partitions_req", name, request, ADD_PARTITIONS)

    def add_dynamic_partitions(
        self,
        txn_id: int,
        write_id: int,
        name: TableName,
        partitions: Sequence[str],
        operation: Operation,
    ) -> None:
        """Register the partitions that the transaction writes.

        Conflicts of writers, compaction and the cleaner go by them.
        """
        request = AddDynamicPartitions(
            txnid=txn_id,
            writeid=write_id,
            dbname=name.database,
            tablename=name.table,
            partitionnames=list(partitions),
            operationType=operation.value,
        )
        self._channel.once(
            "add_dynamic_partitions",
            f"table {name} in transaction {txn_id}",
            lambda calls: calls.invoke(ADD_DYNAMIC_PARTITIONS, rqst=request),
        )

    def invalidate_statistics(
        self, name: TableName, write_id: int, partitions: Sequence[str]
    ) -> None:
        """Mark the statistics of a table, and of its partitions, as inaccurate.

        Hive answers `count(*)` from statistics that are marked accurate, whatever was written since
        by others. To be called under the lock, and before the commit.
        """
        table = self._raw_table(name)
        valid = f"{name}:{write_id}:{write_id}:{write_id}:"
        if _take_mark(table, _TABLE_PARAMETERS):
            table.set_long(_TABLE_WRITE_ID, write_id)
            request = _alter_request(name, write_id, valid)
            request.set_struct(4, table)
            older = _older_request(name)
            older.set_struct(3, table)
            self._alter(ALTER_TABLE, request, ALTER_TABLE_OF_HIVE_3, older, name)
        for start in range(0, len(partitions), PARTITION_BATCH):
            batch = list(partitions[start : start + PARTITION_BATCH])
            marked = [
                it
                for it in self._raw_partitions(name, batch)
                if _take_mark(it, _PARTITION_PARAMETERS)
            ]
            for partition in marked:
                partition.set_long(_PARTITION_WRITE_ID, write_id)
            if marked:
                request = _alter_request(name, write_id, valid)
                request.set_structs(4, marked)
                older = _older_request(name)
                older.set_structs(3, marked)
                self._alter(ALTER_PARTITIONS, request, ALTER_PARTITIONS_OF_HIVE_3, older, name)

    def commit_txn(self, txn_id: int) -> None:
        """Commit what the transaction has written, and release the locks.

        The metastore checks for conflicts: of two transactions that were open together and updated
        the same table or partition, the first to commit wins.

        Raises:
            TransactionLostError: the transaction is not open any more, or has lost the conflict.
        """
        request = CommitRequest(txnid=txn_id, exclWriteEnabled=False)
        self._channel.once(
            "commit_txn",
            f"transaction {txn_id}",
            lambda calls: calls.invoke(COMMIT, rqst=request),
        )

    def _raw_table(self, name: TableName) -> RawStruct:
        request = table_request(name, _CAPABILITIES)
        answer = self._channel.repeatable(
            "get_table_req", f"table {name}", lambda calls: calls.invoke(GET_TABLE, rqst=request)
        )
        return answer.struct(1)

    def _raw_partitions(self, name: TableName, names: list[str]) -> list[RawStruct]:
        def call(calls: ThriftMetastore) -> Any:
            return calls.invoke(
                GET_PARTITIONS, db_name=name.database, tbl_name=name.table, names=names
            )

        return self._channel.repeatable("get_partitions_by_names", f"table {name}", call)[1]

    def _alter(
        self, call: Call, request: RawStruct, older: Call, arguments: RawStruct, name: TableName
    ) -> None:
        """Alter a table or partitions, by an older call if the metastore does not have the new one.

        `arguments` are those of the older call, which has several.
        """

        def alter(calls: ThriftMetastore) -> None:
            try:
                calls.invoke(call, request=request)
            except TException as error:
                if not is_unknown_method(error):
                    raise
                calls.invoke(older, arguments=arguments)

        self._channel.once(call.name, f"table {name}", alter)

    def _send(self, what: str, name: TableName, request: RawStruct, call: Call) -> None:
        self._channel.once(what, f"table {name}", lambda calls: calls.invoke(call, request=request))


def _take_mark(struct: RawStruct, number: int) -> bool:
    """Remove the mark of accurate statistics; return whether there was one."""
    parameters = struct.texts(number)
    if parameters.pop(_STATISTICS, None) is None:
        return False
    struct.set_texts(number, parameters)
    return True


def _alter_request(name: TableName, write_id: int, valid: str) -> RawStruct:
    """Begin an `AlterTableRequest` or an `AlterPartitionsRequest`; field 4 is still to be set."""
    request = RawStruct()
    request.set_text(1, "hive")
    request.set_text(2, name.database)
    request.set_text(3, name.table)
    request.set_long(6, write_id)
    request.set_text(7, valid)
    return request


def _older_request(name: TableName) -> RawStruct:
    """Begin the arguments of Hive 3's calls; field 3 is still to be set."""
    arguments, context = RawStruct(), RawStruct()
    arguments.set_text(1, name.database)
    arguments.set_text(2, name.table)
    # `StatsSetupConst.DO_NOT_UPDATE_STATS`
    context.set_texts(1, {"DO_NOT_UPDATE_STATS": "true"})
    arguments.set_struct(4, context)
    return arguments


def _new_partition(
    name: TableName, storage: RawStruct, partition: NewPartition, write_id: int
) -> RawStruct:
    own, result = storage.copy(), RawStruct()
    own.set_text(2, partition.location)
    result.set_text_list(1, list(partition.values))
    result.set_text(2, name.database)
    result.set_text(3, name.table)
    result.set_int(4, int(time.time()))
    result.set_struct(6, own)
    result.set_texts(_PARTITION_PARAMETERS, {})
    result.set_text(9, "hive")
    result.set_long(_PARTITION_WRITE_ID, write_id)
    return result
