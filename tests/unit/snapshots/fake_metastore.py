"""An in-memory metastore: transactions, locks and write ids by the rules that a run relies on."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from hiveacid.errors import MetastoreError, MetastoreUnavailableError, TransactionLostError
from hiveacid.metastore.models import (
    Column,
    Compaction,
    LockInfo,
    LockResponse,
    LockState,
    LockType,
    NotificationEvent,
    Partition,
    ServerInfo,
    StorageDescriptor,
    Table,
    TableName,
    TransactionState,
)

ORDERS = TableName("shop", "orders")
CUSTOMERS = TableName("shop", "customers")
CREATED = 1_700_000_000


def event(id: int, type: str, name: TableName, **message: object) -> NotificationEvent:
    """An entry of the notification log."""
    text = json.dumps(message)
    return NotificationEvent(id, CREATED + id, type, name.database, name.table, text, "json-0.2")


def acid_table(name: TableName, create_time: int = CREATED, **changes) -> Table:
    return replace(
        Table(
            name=name,
            table_type="MANAGED_TABLE",
            storage=StorageDescriptor(f"file:/w/{name}", (Column("id", "int"),)),
            partition_keys=(),
            parameters={"transactional": "true"},
            create_time=create_time,
            id=1,
        ),
        **changes,
    )


@dataclass
class FakeLock:
    lock_id: int
    txn_id: int
    name: TableName
    type: LockType
    state: LockState
    user: str
    host: str
    agent_info: str
    blocked_by: int | None = None


@dataclass
class FakeMetastore:
    """State that all clients share. `log` holds (call, details) in the order of arrival."""

    tables: dict[TableName, Table] = field(default_factory=dict)
    partitions: dict[TableName, tuple[Partition, ...]] = field(default_factory=dict)
    server: ServerInfo = ServerInfo("4.0.1", True, 300.0, False)
    # (write id, transaction id) of each table
    writes: dict[TableName, list[tuple[int, int]]] = field(default_factory=dict)
    states: dict[int, TransactionState] = field(default_factory=dict)
    locks: list[FakeLock] = field(default_factory=list)
    log: list[tuple] = field(default_factory=list)
    min_history: dict[TableName, int] = field(default_factory=dict)
    events: list[NotificationEvent] = field(default_factory=list)
    compactions: tuple[Compaction, ...] = ()
    shows_originals: bool = False
    merges_files: bool = False
    now: int = CREATED + 1000
    down: bool = False
    open_clients: int = 0
    known_user: str | None = None
    longest_waits: list[float] = field(default_factory=list)
    # Called with the name of each call, before it is answered.
    before: Callable[[str], object] = lambda call: None
    mutex: threading.RLock = field(default_factory=threading.RLock)

    def add_table(self, name: TableName, writes: int = 1, **changes) -> None:
        self.tables[name] = acid_table(name, **changes)
        for _ in range(writes):
            self.write(name)

    def begin(self) -> int:
        txn_id = max(self.states, default=0) + 1
        self.states[txn_id] = TransactionState.OPEN
        return txn_id

    def finish(self, txn_id: int, state: TransactionState = TransactionState.UNKNOWN) -> None:
        """End a transaction: UNKNOWN is committed."""
        self.states[txn_id] = state
        self.locks = [lock for lock in self.locks if lock.txn_id != txn_id]
        self._grant()

    def write(self, name: TableName) -> int:
        """A committed write; returns its write id."""
        txn_id = self.begin()
        self.finish(txn_id)
        write_id = len(self.writes.setdefault(name, [])) + 1
        self.writes[name].append((write_id, txn_id))
        return write_id

    def exclusive(self, name: TableName) -> FakeLock:
        """A lock that another transaction takes or waits for."""
        txn_id = self.begin()
        self._request(txn_id, [name], LockType.EXCLUSIVE, "hive", "node3", "hive_2026")
        return self.locks[-1]

    def _request(self, txn_id, names, type_, user, host, agent_info) -> int:
        lock_id = max((lock.lock_id for lock in self.locks), default=0) + 1
        self.locks += [
            FakeLock(lock_id, txn_id, name, type_, LockState.WAITING, user, host, agent_info)
            for name in names
        ]
        self._grant()
        return lock_id

    def _grant(self) -> None:
        """Hive's rule: a request waits for whoever conflicts and came before, even of its own."""
        for lock_id in sorted({lock.lock_id for lock in self.locks}):
            parts = [lock for lock in self.locks if lock.lock_id == lock_id]
            for part in parts:
                part.blocked_by = next(
                    (
                        other.lock_id
                        for other in self.locks
                        if other.lock_id < lock_id
                        and other.name == part.name
                        and LockType.EXCLUSIVE in (other.type, part.type)
                    ),
                    None,
                )
            if all(part.blocked_by is None for part in parts):
                for part in parts:
                    part.state = LockState.ACQUIRED

    def client(self) -> FakeClient:
        self.open_clients += 1
        return FakeClient(self)

    def calls(self, name: str) -> list[tuple]:
        return [entry for entry in self.log if entry[0] == name]

    def order(self) -> list[str]:
        return [entry[0] for entry in self.log]


class FakeClient:
    """The methods of `MetastoreClient` that a run uses."""

    def __init__(self, metastore: FakeMetastore) -> None:
        self._metastore = metastore

    def _answer(self, call: str, *details) -> FakeMetastore:
        self._metastore.before(call)
        with self._metastore.mutex:
            if self._metastore.down:
                raise MetastoreUnavailableError("the metastore is down")
            self._metastore.log.append((call, *details))
        return self._metastore

    def __enter__(self) -> FakeClient:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._metastore.open_clients -= 1

    def get_compactions(self, name: TableName) -> tuple:
        return self._answer("get_compactions", name).compactions

    def get_events(self, after: int, at_most: int, skipped_types: tuple = ()) -> tuple:
        metastore = self._answer("get_events", after)
        return tuple(it for it in metastore.events if it.id > after)

    def wait_at_most(self, seconds: float) -> None:
        self._metastore.longest_waits.append(seconds)

    def known_user(self) -> str | None:
        return self._metastore.known_user

    def server_info(self) -> ServerInfo:
        return self._answer("server_info").server

    def version(self) -> str:
        return self._answer("version").server.version

    def shows_originals(self) -> bool:
        return self._answer("shows_originals").shows_originals

    def merges_files(self) -> bool:
        return self._answer("merges_files").merges_files

    def open_txn(self, user, host, agent_info, read_only=True) -> int:
        return self._answer("open_txn", agent_info).begin()

    def lock_shared_read(self, txn_id, names, user, host, agent_info) -> LockResponse:
        names = sorted(set(names))
        metastore = self._answer("lock_shared_read", txn_id, names)
        with metastore.mutex:
            lock_id = metastore._request(
                txn_id, names, LockType.SHARED_READ, user, host, agent_info
            )
            return LockResponse(lock_id, self._state_of(lock_id))

    def check_lock(self, lock_id: int, txn_id: int) -> LockResponse:
        metastore = self._answer("check_lock", lock_id)
        with metastore.mutex:
            if metastore.states[txn_id] is not TransactionState.OPEN:
                raise TransactionLostError(f"check_lock for transaction {txn_id} failed")
            return LockResponse(lock_id, self._state_of(lock_id))

    def _state_of(self, lock_id: int) -> LockState:
        states = [lock.state for lock in self._metastore.locks if lock.lock_id == lock_id]
        if not states:
            raise MetastoreError("NoSuchLockException")
        return states[0]

    def unlock(self, lock_id: int) -> None:
        metastore = self._answer("unlock", lock_id)
        with metastore.mutex:
            if self._state_of(lock_id) is LockState.ACQUIRED:
                raise MetastoreError("TxnOpenException")
            metastore.locks = [lock for lock in metastore.locks if lock.lock_id != lock_id]
            metastore._grant()

    def show_locks(self, name: TableName | None = None) -> tuple[LockInfo, ...]:
        metastore = self._answer("show_locks", name)
        return tuple(
            LockInfo(
                lock.lock_id,
                lock.state,
                lock.type,
                lock.name.database,
                lock.name.table,
                None,
                lock.txn_id,
                lock.user,
                lock.host,
                lock.agent_info,
                metastore.now * 1000 if lock.state is LockState.ACQUIRED else None,
                lock.blocked_by,
            )
            for lock in metastore.locks
            if name in (None, lock.name)
        )

    def get_valid_txns(self) -> ValidTxnList:
        metastore = self._answer("get_valid_txns")
        with metastore.mutex:
            states = metastore.states
            return ValidTxnList(
                max(states, default=0),
                frozenset(i for i, state in states.items() if state is TransactionState.OPEN),
                frozenset(i for i, state in states.items() if state is TransactionState.ABORTED),
            )

    def get_valid_write_ids(self, names, valid_txns) -> dict[TableName, ValidWriteIdList]:
        names = sorted(set(names))
        metastore = self._answer("get_valid_write_ids", names)
        lists = {}
        for name in names:
            writes = [
                (write_id, txn_id)
                for write_id, txn_id in metastore.writes.get(name, ())
                if txn_id <= valid_txns.high_watermark
            ]
            lists[name] = ValidWriteIdList(
                max((write_id for write_id, _ in writes), default=0),
                frozenset(write_id for write_id, txn_id in writes if txn_id in valid_txns.open),
                frozenset(write_id for write_id, txn_id in writes if txn_id in valid_txns.aborted),
                table=str(name),
            )
        return lists

    def get_tables(self, names) -> dict[TableName, Table]:
        metastore = self._answer("get_tables", sorted(set(names)))
        return {name: metastore.tables[name] for name in names if name in metastore.tables}

    def get_partitions(self, name, partition_names=None) -> tuple[Partition, ...]:
        return self._answer("get_partitions", name).partitions.get(name, ())

    def add_write_ids_to_min_history(self, txn_id, min_open_write_ids) -> None:
        metastore = self._answer("add_write_ids_to_min_history", txn_id)
        metastore.min_history.update(min_open_write_ids)

    def heartbeat(self, txn_id: int) -> TransactionState:
        return self._answer("heartbeat", txn_id).states[txn_id]

    def commit_txn(self, txn_id: int) -> None:
        self._end("commit_txn", txn_id, TransactionState.UNKNOWN)

    def abort_txn(self, txn_id: int) -> None:
        self._end("abort_txn", txn_id, TransactionState.ABORTED)

    def _end(self, call: str, txn_id: int, state: TransactionState) -> None:
        metastore = self._answer(call, txn_id)
        with metastore.mutex:
            if metastore.states[txn_id] is not TransactionState.OPEN:
                raise TransactionLostError(f"{call} for transaction {txn_id} failed")
            metastore.finish(txn_id, state)


def wait_until(condition, timeout: float = 5.0) -> None:
    """Poll until `condition()` is true; fail the test after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.002)
