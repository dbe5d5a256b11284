"""Client of a Hive metastore: plain models in, plain models out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import methodcaller
from types import TracebackType

from hmsclient.genthrift.hive_metastore import ttypes
from thrift.Thrift import TException

from hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from hiveacid.errors import (
    MetastoreError,
    MetastoreUnavailableError,
    WriteIdsNotSupportedError,
)
from hiveacid.metastore import conversion, thrift
from hiveacid.metastore.connection import Channel, parse_addresses
from hiveacid.metastore.errors import is_unknown_method
from hiveacid.metastore.models import (
    Compaction,
    HiveSql,
    LockInfo,
    LockResponse,
    NotificationEvent,
    Partition,
    ServerInfo,
    Table,
    TableName,
    TransactionState,
    parse_seconds,
)
from hiveacid.metastore.security.settings import NO_SECURITY, Security
from hiveacid.metastore.thrift import ThriftMetastore

MIN_HISTORY_WRITE_IDS = "metastore.txn.use.minhistorywriteid"
MIN_HISTORY_LEVEL = "metastore.txn.use.minhistorylevel"
PARTITION_BATCH = 300
"""Partitions of one call, as in Hive's own client (`metastore.batch.retrieve.max`)."""

_CAPABILITIES = ttypes.ClientCapabilities(values=[thrift.INSERT_ONLY_TABLES])
_PROCESSOR_CAPABILITIES = [
    # Hive 4 alters the answer to a client that does not say what it can read
    # (`metastore.metadata.transformer.class`).
    "EXTREAD",
    "EXTWRITE",
    "HIVEBUCKET2",
    "HIVEFULLACIDREAD",
    "HIVEMANAGEDINSERTREAD",
    "HIVEONLYMQTWRITE",
    "HIVESQL",
    "SPARKSQL",
]
PROCESSOR_IDENTIFIER = "hiveacid"


class MetastoreClient:
    """The calls of one metastore connection; threads may share a client (see `Channel`).

    Calls that only read are repeated when the connection fails. Calls that open, lock, commit or
    abort are not repeated, since the metastore may have carried them out.

    Every method raises `MetastoreUnavailableError` when no address can be reached or the connection
    fails (`MetastoreSecurityError` if the login is refused), and `MetastoreError` or a subclass of
    it when the metastore refuses a call.
    """

    def __init__(
        self,
        uris: str,
        timeout: float = 60.0,
        connect_timeout: float = 10.0,
        security: Security = NO_SECURITY,
    ) -> None:
        """Connect to nothing yet.

        Args:
            uris: one or several `thrift://host:port`, comma-separated, tried in this order. An
                address whose connection has failed comes last from then on.
            timeout: seconds to wait for an answer.
            connect_timeout: seconds to wait for one address to accept the connection.
            security: how the client authenticates, and how the connection is protected.

        Raises:
            InvalidSettingError: an address is malformed.
        """
        self._channel = Channel(
            parse_addresses(uris),
            connect_timeout=min(connect_timeout, timeout),
            read_timeout=timeout,
            security=security,
        )

    def __enter__(self) -> MetastoreClient:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def wait_at_most(self, seconds: float) -> None:
        """Wait no longer than this for an answer, from the next connection on."""
        self._channel.wait_at_most(seconds)

    def close(self) -> None:
        """Close the connection; a later call opens a new one."""
        self._channel.close()

    def known_user(self) -> str | None:
        """Return the client's user at the metastore, such as a Kerberos principal.

        None if it is not known, as without authentication. Connects if there is no connection:
        raises `MetastoreUnavailableError`.
        """
        return self._channel.connection().user

    def protocol(self) -> str:
        """Describe the protocol of the connection, for people. Connects if there is none."""
        return self._channel.connection().protocol

    # Databases, tables and partitions

    def get_database_location(self, database: str) -> str:
        """Return the directory of a database, with its scheme.

        New external tables go there; in Hive 4, managed tables go to `managedLocationUri`. Raises
        `MetastoreError` if there is no such database.
        """
        return self._channel.repeatable(
            "get_database",
            f"database {database}",
            lambda thrift: thrift.get_database(database).locationUri,
        )

    def get_default_location(self) -> str:
        """Return the directory of the database `default`, also if the caller may not see it.

        A metastore with storage-based authorization may refuse the database, never the setting that
        the location comes from. Raises `MetastoreError` if the metastore cannot be asked.
        """
        try:
            return self.get_database_location("default")
        except MetastoreUnavailableError:
            raise
        except MetastoreError:
            external = self.get_config_value("metastore.warehouse.external.dir")
            location = external.strip() or self.get_config_value("metastore.warehouse.dir").strip()
            if not location:
                raise
            return location

    def get_table(self, name: TableName) -> Table:
        """Return the metadata of one table. Raises `TableNotFoundError`."""
        request = table_request(name)

        def call(thrift: ThriftMetastore) -> Table:
            try:
                table = thrift.get_table_req(request).table
            except TException as error:
                if not is_unknown_method(error):
                    raise
                table = thrift.get_table(name.database, name.table)  # before Hive 2.3
            return conversion.table_from_thrift(table)

        return self._channel.repeatable("get_table", f"table {name}", call)

    def get_tables(self, names: Iterable[TableName]) -> dict[TableName, Table]:
        """Return the metadata of the tables in `names` that exist, with one call per database."""
        tables = {}
        for database, group in groupby(sorted(set(names)), key=lambda name: name.database):
            request = thrift.GetTablesRequest(
                dbName=database,
                tblNames=[name.table for name in group],
                capabilities=_CAPABILITIES,
                processorCapabilities=_PROCESSOR_CAPABILITIES,
                processorIdentifier=PROCESSOR_IDENTIFIER,
            )
            for thrift_table in self._channel.repeatable(
                "get_table_objects_by_name_req",
                f"tables of database {database}",
                partial(_existing_tables, request=request),
            ):
                table = conversion.table_from_thrift(thrift_table)
                tables[table.name] = table
        return tables

    def get_partition_names(self, name: TableName) -> list[str]:
        """Return the names of all partitions, e.g. `day=2026-01-31/region=eu`."""
        return self._channel.repeatable(
            "get_partition_names",
            f"table {name}",
            lambda thrift: thrift.get_partition_names(name.database, name.table, -1),
        )

    def get_partitions(
        self, name: TableName, partition_names: Sequence[str] | None = None
    ) -> tuple[Partition, ...]:
        """Return all partitions of a table or the named ones, in batches of `PARTITION_BATCH`."""
        if partition_names is None:
            partition_names = self.get_partition_names(name)
        partitions: list[Partition] = []
        for start in range(0, len(partition_names), PARTITION_BATCH):
            batch = list(partition_names[start : start + PARTITION_BATCH])
            found = self._channel.repeatable(
                "get_partitions_by_names",
                f"table {name}",
                methodcaller("get_partitions_by_names", name.database, name.table, batch),
            )
            partitions.extend(map(conversion.partition_from_thrift, found))
        return tuple(partitions)

    # Transactions and write ids

    def open_txn(self, user: str, host: str, agent_info: str, read_only: bool = True) -> int:
        """Open a transaction and return its id. `agent_info` names its owner.

        Hive 4 opens a read-only transaction for a SELECT: it can have no write id, and other
        readers may treat it as committed.
        """
        request = thrift.OpenTxnRequest(
            num_txns=1,
            user=user,
            hostname=host,
            agentInfo=agent_info,
            txn_type=thrift.TXN_TYPE_READ_ONLY if read_only else None,
        )
        response = self._channel.once(
            "open_txns", agent_info, lambda thrift: thrift.open_txns(request)
        )
        return response.txn_ids[0]

    def get_valid_txns(self) -> ValidTxnList:
        """Return every transaction committed by now, as the metastore lists them in one statement.

        The high-water mark is the metastore's, not the caller's transaction: a reader takes the
        list once its locks are granted, and must see what the holders of these locks committed.
        """

        def call(thrift: ThriftMetastore) -> ValidTxnList:
            response = thrift.get_open_txns()
            if response.open_txns is None:
                # A set in place of a list: read as empty it would make open transactions visible.
                raise WriteIdsNotSupportedError(
                    "The metastore lists open transactions in the form of Hive 2: it is older "
                    "than Hive 3 and has no write ids, so no snapshot can be taken. Upgrade "
                    "the metastore, or read the tables through Hive."
                )
            return conversion.valid_txns_from_thrift(response)

        return self._channel.repeatable("get_open_txns", "the list of open transactions", call)

    def get_aborted_writers(self) -> frozenset[int] | None:
        """Return the aborted transactions that were not opened for compactions.

        None from a metastore before Hive 4, which does not list transactions by type.
        """
        request = thrift.GetOpenTxnsRequest(excludeTxnTypes=[*thrift.TXN_TYPES_OF_COMPACTIONS])

        def call(metastore: ThriftMetastore) -> frozenset[int] | None:
            try:
                response = metastore.get_open_txns_req(request)
            except TException as error:
                if not is_unknown_method(error):
                    raise
                return None
            return conversion.valid_txns_from_thrift(response).aborted

        return self._channel.repeatable("get_open_txns_req", "aborted transactions", call)

    def get_valid_write_ids(
        self, names: Iterable[TableName], valid_txns: ValidTxnList
    ) -> dict[TableName, ValidWriteIdList]:
        """Return the write ids of each table that `valid_txns` makes visible, in one call.

        A table that does not exist gets an empty list with high-water mark 0, as does a table
        without any write. Raises `WriteIdsNotSupportedError` for a metastore before Hive 3.
        """
        by_full_name = {str(name): name for name in sorted(set(names))}
        request = thrift.GetValidWriteIdsRequest(
            fullTableNames=list(by_full_name), validTxnList=str(valid_txns)
        )
        subject = "table " + ", ".join(by_full_name) if by_full_name else "no table"
        response = self._channel.repeatable(
            "get_valid_write_ids", subject, lambda thrift: thrift.get_valid_write_ids(request)
        )
        lists = {
            by_full_name[table.fullTableName.lower()]: conversion.valid_write_ids_from_thrift(table)
            for table in response.tblValidWriteIds
        }
        missing = [name for name in by_full_name.values() if name not in lists]
        if missing:
            raise MetastoreError(
                f"The metastore returned no write ids for {', '.join(map(str, missing))}. See "
                "its log, and try again.",
                code="HIVEACID_NO_WRITE_IDS",
            )
        return lists

    def allocate_table_write_ids(self, txn_id: int, name: TableName) -> int:
        """Give the transaction a write id in the table and return it."""
        request = thrift.AllocateTableWriteIdsRequest(
            dbName=name.database, tableName=name.table, txnIds=[txn_id]
        )
        response = self._channel.once(
            "allocate_table_write_ids",
            f"table {name} in transaction {txn_id}",
            lambda thrift: thrift.allocate_table_write_ids(request),
        )
        return response.txnToWriteIds[0].writeId

    def add_write_ids_to_min_history(
        self, txn_id: int, min_open_write_ids: Mapping[TableName, int]
    ) -> None:
        """Register the lowest write id of each table that the transaction may not see.

        The cleaner keeps the files that the transaction needs.

        Only a metastore with `min_history_write_ids` needs it (`ServerInfo`).
        """
        write_ids = {str(name): write_id for name, write_id in min_open_write_ids.items()}
        self._channel.once(
            "add_write_ids_to_min_history",
            f"table {', '.join(write_ids)} in transaction {txn_id}",
            lambda thrift: thrift.add_write_ids_to_min_history(txn_id, write_ids),
        )

    def heartbeat(self, txn_id: int) -> TransactionState:
        """Keep the transaction from timing out and return its state."""
        response = self._channel.repeatable(
            "heartbeat_txn_range",
            f"transaction {txn_id}",
            lambda thrift: thrift.heartbeat_txn_range(
                ttypes.HeartbeatTxnRangeRequest(min=txn_id, max=txn_id)
            ),
        )
        # The call does not raise for a lost transaction: the response lists it.
        if txn_id in response.aborted:
            return TransactionState.ABORTED
        return TransactionState.UNKNOWN if txn_id in response.nosuch else TransactionState.OPEN

    def commit_txn(self, txn_id: int) -> None:
        """Commit and release the locks. Raises `TransactionLostError` if it is not open."""
        self._channel.once(
            "commit_txn",
            f"transaction {txn_id}",
            lambda thrift: thrift.commit_txn(ttypes.CommitTxnRequest(txnid=txn_id)),
        )

    def abort_txn(self, txn_id: int) -> None:
        """Abort and release the locks. Raises `TransactionLostError` if there is none to abort."""
        self._channel.once(
            "abort_txn",
            f"transaction {txn_id}",
            lambda thrift: thrift.abort_txn(ttypes.AbortTxnRequest(txnid=txn_id)),
        )

    # Locks

    def lock_shared_read(
        self, txn_id: int, names: Iterable[TableName], user: str, host: str, agent_info: str
    ) -> LockResponse:
        """Ask for a shared read lock on every table, in one request that is granted as a whole.

        The metastore answers at once; while the state is `WAITING` ask again with `check_lock`.
        It grants a lock on a table that does not exist. Never ask twice: a second lock of one
        transaction on a table queues behind other waiters, and they wait for the first lock.
        """
        request = conversion.shared_read_request(txn_id, names, user, host, agent_info)
        locked = ", ".join(f"{part.dbname}.{part.tablename}" for part in request.component)
        return conversion.lock_response_from_thrift(
            self._channel.once(
                "lock",
                f"table {locked} in transaction {txn_id}",
                lambda thrift: thrift.lock(request),
            )
        )

    def check_lock(self, lock_id: int, txn_id: int) -> LockResponse:
        """Return the current state of a lock request; also a heartbeat for it."""
        return conversion.lock_response_from_thrift(
            self._channel.repeatable(
                "check_lock",
                f"lock {lock_id} of transaction {txn_id}",
                lambda thrift: thrift.check_lock(
                    ttypes.CheckLockRequest(lockid=lock_id, txnid=txn_id)
                ),
            )
        )

    def unlock(self, lock_id: int) -> None:
        """Withdraw a lock request that waits; a transaction's granted locks end with it."""
        self._channel.once(
            "unlock",
            f"lock {lock_id}",
            lambda thrift: thrift.unlock(ttypes.UnlockRequest(lockid=lock_id)),
        )

    def show_locks(self, name: TableName | None = None) -> tuple[LockInfo, ...]:
        """Return all locks, or the locks on a table, its partitions or its database."""
        request = ttypes.ShowLocksRequest(dbname=name.database if name else None, isExtended=True)
        response = self._channel.repeatable(
            "show_locks",
            f"table {name}" if name else "all tables",
            lambda thrift: thrift.show_locks(request),
        )
        locks = map(conversion.lock_info_from_thrift, response.locks or ())
        return tuple(lock for lock in locks if name is None or lock.is_on(name))

    # History

    def get_compactions(self, name: TableName) -> tuple[Compaction, ...]:
        """Return the compactions of a table that the metastore remembers, unordered."""
        request = thrift.ShowCompactRequest(dbName=name.database, tbName=name.table)
        response = self._channel.repeatable(
            "show_compact", f"table {name}", lambda thrift: thrift.show_compact(request)
        )
        return tuple(
            conversion.compaction_from_thrift(found)
            for found in response.compacts or ()
            if (found.dbname.lower(), found.tablename.lower()) == (name.database, name.table)
        )

    def get_events(
        self, after: int, at_most: int, skipped_types: Sequence[str] = ()
    ) -> tuple[NotificationEvent, ...]:
        """Return entries of the notification log, the oldest first.

        Args:
            after: the id of the last entry that is known; 0 begins with the oldest that is kept.
            at_most: the number of entries; the metastore may return fewer.
            skipped_types: types of entries that a metastore of Hive 4 leaves out.

        Raises:
            MetastoreError: the caller may not read the log.
        """
        request = thrift.NotificationEventRequest(
            lastEvent=after, maxEvents=at_most, eventTypeSkipList=list(skipped_types)
        )
        response = self._channel.repeatable(
            "get_next_notification",
            "the notification log",
            lambda thrift: thrift.get_next_notification(request),
        )
        events = map(conversion.event_from_thrift, response.events or ())
        return tuple(sorted(events, key=lambda event: event.id))

    # The server

    def get_config_value(self, key: str, default: str = "") -> str:
        """Return a setting of the metastore, else `default`. Keys begin with `metastore.`."""
        return self._channel.repeatable(
            "get_config_value", key, lambda thrift: thrift.get_config_value(key, default)
        )

    def hive_sql(self, hive_views: str | None = None) -> HiveSql:
        """Return what Hive's SQL depends on in the metastore; `hive_views` as in `HiveSql`."""
        server = self.server_info()
        chosen = self.get_config_value("hive.default.nulls.last").strip().lower()
        if chosen:
            return HiveSql(server.version, chosen == "true", hive_views)
        return HiveSql(server.version, server.sorts_nulls_last, hive_views).with_chosen_order()

    def version(self) -> str:
        """Return the version that the metastore reports; each Apache Hive 3 reports 3.0."""
        return self._channel.repeatable(
            "getVersion", "the server", lambda thrift: thrift.getVersion()
        )

    def server_info(self) -> ServerInfo:
        """Return the metastore's abilities and settings. Opens no transaction.

        Raises `MetastoreError` if its settings make it forget which write ids are open.
        """
        try:
            self.get_valid_write_ids((), self.get_valid_txns())
            supports_write_ids = True
        except WriteIdsNotSupportedError:
            supports_write_ids = False
        version = self.version()
        min_history_write_ids = self._is_true(MIN_HISTORY_WRITE_IDS, "false")
        if min_history_write_ids and version.startswith("4.0."):
            self._refuse_if_forgetful(version)
        return ServerInfo(
            version=version,
            supports_write_ids=supports_write_ids,
            transaction_timeout=parse_seconds(
                self.get_config_value("metastore.txn.timeout", "300s")
            ),
            min_history_write_ids=min_history_write_ids,
        )

    def shows_originals(self) -> bool:
        """Whether files outside of bases and deltas belong to insert-only tables.

        This is Hive's setting `hive.mm.allow.originals`, as the metastore has it.
        """
        return self._is_true("hive.mm.allow.originals", "false")

    def merges_files(self) -> bool:
        """Whether compactions merge files as they are, where they can.

        This is Hive's setting `hive.compaction.merge.enabled`, as the metastore has it.
        """
        return self._is_true("hive.compaction.merge.enabled", "false")

    def _refuse_if_forgetful(self, version: str) -> None:
        # CleanTxnToWriteIdTableFunction then deletes the write ids of open transactions, too. The
        # valid write ids have them as committed, and Hive's own queries show rows of open
        # transactions (integration/test_run_snapshot.py).
        if self._is_true(MIN_HISTORY_LEVEL, "true"):
            raise MetastoreError(
                f"The metastore (version {version}) forgets which write ids belong to open "
                "transactions, so readers, Hive included, would show uncommitted rows: "
                f"{MIN_HISTORY_WRITE_IDS} and {MIN_HISTORY_LEVEL} are both true there. Set "
                f"{MIN_HISTORY_LEVEL} to false in the metastore's configuration.",
                code="HIVEACID_METASTORE_FORGETS_OPEN_WRITE_IDS",
            )

    def _is_true(self, key: str, default: str) -> bool:
        return self.get_config_value(key, default).strip().lower() == "true"


def table_request(
    name: TableName, processor_capabilities: Sequence[str] = _PROCESSOR_CAPABILITIES
) -> thrift.GetTableRequest:
    """Return the request for a table, of a client with these capabilities (of one that reads)."""
    return thrift.GetTableRequest(
        dbName=name.database,
        tblName=name.table,
        capabilities=_CAPABILITIES,
        processorCapabilities=list(processor_capabilities),
        processorIdentifier=PROCESSOR_IDENTIFIER,
    )


def _existing_tables(thrift: ThriftMetastore, request: thrift.GetTablesRequest) -> list:
    try:
        return thrift.get_table_objects_by_name_req(request).tables
    except ttypes.UnknownDBException:
        return []
