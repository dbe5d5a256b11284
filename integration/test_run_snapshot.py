"""One run, one snapshot, on real Hive: locks, DDL, compaction, loss."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from hiveacid.errors import (
    ConcurrentDdlError,
    LockTimeoutError,
    MetastoreError,
    TableNotFoundError,
    TransactionLostError,
)
from hiveacid.metastore.client import MIN_HISTORY_LEVEL, MIN_HISTORY_WRITE_IDS, MetastoreClient
from hiveacid.metastore.models import LockState, LockType, TableName
from hiveacid.snapshots.run_snapshot import RunSnapshot, SnapshotHooks
from hiveacid.snapshots.tables import PinnedTable
from hiveacid.snapshots.transaction import SnapshotSettings
from integration.support.histories.writer import OpenWriter
from integration.support.hive import HiveClient, HiveServer, HiveSettings
from integration.support.metastore import eventually, hold_exclusive

_HOUSEKEEPER_SECONDS = 4
"""In which a housekeeper of Hive that works each second has done all it does."""

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"


@pytest.fixture
def metastore(hive: HiveServer) -> Iterator[MetastoreClient]:
    with MetastoreClient(hive.metastore_uri) as client:
        yield client


class Hooks(SnapshotHooks):
    """Hooks that tell of a loss."""

    def __init__(self, on_lost: Callable[[TransactionLostError], None]) -> None:
        self._on_lost = on_lost

    def on_lost(self, error: TransactionLostError) -> None:
        self._on_lost(error)


@pytest.fixture
def make_snapshot(hive: HiveServer) -> Iterator[Callable[..., RunSnapshot]]:
    made = []

    def make(
        lock_timeout: float = 20,
        on_lost: Callable[[TransactionLostError], None] = lambda error: None,
    ) -> RunSnapshot:
        made.append(
            RunSnapshot(
                lambda: MetastoreClient(hive.metastore_uri),
                SnapshotSettings(lock_timeout=lock_timeout),
                "dbt test run",
                Hooks(on_lost),
                unexplained=unexplained,
            )
        )
        return made[-1]

    yield make
    for snapshot in made:
        snapshot.abort()


def wait_until(condition: Callable[[], object], timeout: float = 20) -> None:
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def directories(table: PinnedTable) -> set[str]:
    """Names of all directories below a table's, which is local here and may be cleaned just now."""
    root = table.table.storage.location.removeprefix("file:")
    return {name for _, names, _ in os.walk(root) for name in names}


def unexplained(pinned: PinnedTable, write_ids: frozenset[int]) -> frozenset[int]:
    """The write ids that no directory's name covers."""
    missing = set(write_ids)
    for name in directories(pinned):
        if base := re.fullmatch(r"base_(\d+)(_v\d+)?", name):
            missing -= set(range(int(base[1]) + 1))
        elif delta := re.fullmatch(r"(?:delete_)?delta_(\d+)_(\d+)(_\d+)?(_v\d+)?", name):
            missing -= set(range(int(delta[1]), int(delta[2]) + 1))
    return frozenset(missing)


def waiting(metastore: MetastoreClient, name: TableName, type_: LockType) -> bool:
    return any(
        lock.state is LockState.WAITING and lock.type is type_
        for lock in metastore.show_locks(name)
    )


@contextmanager
def running(hive: HiveServer, script: str) -> Iterator[threading.Thread]:
    """Hive runs a script in a session of its own; it must be done soon after the block."""
    with HiveClient(hive.hs2_port) as client:
        thread = threading.Thread(target=client.script, args=(script,))
        thread.start()
        yield thread
        thread.join(20)
        assert not thread.is_alive()


@contextmanager
def dropping(hive: HiveServer, metastore: MetastoreClient, name: TableName) -> Iterator[None]:
    """Hive has asked for the EXCLUSIVE lock of a DROP TABLE and waits for it."""
    with running(hive, f"DROP TABLE {name}"):
        wait_until(lambda: waiting(metastore, name, LockType.EXCLUSIVE))
        yield


def create(client: HiveClient, database: str, *names: str, rows: int = 1) -> list[TableName]:
    tables = [TableName(database, name) for name in names]
    for table in tables:
        client.execute(f"CREATE TABLE {table} (id int) {ACID}")
        for row in range(rows):
            client.execute(f"INSERT INTO {table} VALUES ({row})")
    return tables


class TestLocks:
    def test_hive_shows_one_transaction_and_a_lock_a_source(
        self,
        metastore: MetastoreClient,
        hive_client: HiveClient,
        database: str,
        make_snapshot: Callable[..., RunSnapshot],
    ) -> None:
        tables = create(hive_client, database, "a", "b", "c")
        wait_until(lambda: not metastore.show_locks())
        snapshot = make_snapshot()
        threads = [threading.Thread(target=snapshot.pin, args=(tables,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        txn_id = str(snapshot.transaction_id)
        locks = hive_client.show_locks()
        assert [(lock["table"], lock["lock_type"], lock["lock_state"]) for lock in locks] == [
            ("a", "SHARED_READ", "ACQUIRED"),
            ("b", "SHARED_READ", "ACQUIRED"),
            ("c", "SHARED_READ", "ACQUIRED"),
        ]
        assert {lock["transaction_id"] for lock in locks} == {txn_id}
        assert {lock["agent_info"] for lock in locks} == {"dbt test run"}
        open_ = [txn for txn in hive_client.show_transactions() if txn["state"] == "OPEN"]
        assert [txn["txnid"] for txn in open_] == [txn_id]

        snapshot.end()
        assert hive_client.show_locks() == []
        assert txn_id not in {txn["txnid"] for txn in hive_client.show_transactions()}

    def test_the_holder_of_an_exclusive_lock_is_named(
        self,
        metastore: MetastoreClient,
        hive_client: HiveClient,
        database: str,
        make_snapshot: Callable[..., RunSnapshot],
    ) -> None:
        a, b = create(hive_client, database, "a", "b")
        holder = hold_exclusive(metastore, a)
        snapshot = make_snapshot(lock_timeout=1)
        with pytest.raises(LockTimeoutError) as error:
            snapshot.pin([a, b])
        assert re.search(
            rf"  {a}: EXCLUSIVE lock \d+ on {a} held by etl on node3 "
            rf"\(transaction {holder}, nightly load\)\n",
            error.value.message,
        )
        assert {lock.transaction_id for lock in metastore.show_locks()} == {holder}
        # The next attempt does not wait once more, and gets it if the holder has ended.
        with pytest.raises(LockTimeoutError, match="so this read did not wait"):
            snapshot.pin([a])
        metastore.commit_txn(holder)
        snapshot.pin([a])
        assert snapshot.report() is not None
        assert a in snapshot.report().write_ids  # type: ignore[union-attr]

    def test_a_later_table_that_is_locked_leaves_the_run_alive(
        self,
        metastore: MetastoreClient,
        hive_client: HiveClient,
        database: str,
        make_snapshot: Callable[..., RunSnapshot],
    ) -> None:
        a, b = create(hive_client, database, "a", "b")
        snapshot = make_snapshot(lock_timeout=0.5)
        snapshot.pin([a])
        holder = hold_exclusive(metastore, b)
        with pytest.raises(LockTimeoutError):
            snapshot.pin([b])
        assert not waiting(metastore, b, LockType.SHARED_READ)
        metastore.commit_txn(holder)
        assert snapshot.pin([a, b])[b].write_ids.high_watermark == 1
        snapshot.check_alive()

    def test_a_table_whose_drop_waits_can_still_be_pinned(
        self,
        hive: HiveServer,
        metastore: MetastoreClient,
        hive_client: HiveClient,
        database: str,
        make_snapshot: Callable[..., RunSnapshot],
    ) -> None:
        a, b = create(hive_client, database, "a", "b")
        snapshot = make_snapshot(lock_timeout=5)
        first = snapshot.pin([a])
        with dropping(hive, metastore, a):
            again = snapshot.pin([a, b])
            assert again[a] == first[a]
            snapshot.end()


class TestDdl:
    def test_a_drop_that_was_there_first(
        self,
        hive: HiveServer,
        metastore: MetastoreClient,
        hive_client: HiveClient,
        database: str,
        make_snapshot: Callable[..., RunSnapshot],
    ) -> None:
        (a,) = create(hive_client, database, "a")
        first, second = make_snapshot(), make_snapshot()
        first.pin([a])
        errors: list[BaseException] = []

        def pin() -> None:
            try:
                second.pin([a])
            except TableNotFoundError as error:
                errors.append(error)

        with dropping(hive, metastore, a):
            thread = threading.Thread(target=pin)
            thread.start()
            wait_until(lambda: waiting(metastore, a, LockType.SHARED_READ))
            first.end()
        thread.join(20)
        assert len(errors) == 1
        assert second.transaction_id is None

    def test_drop_create_and_insert_while_waiting_for_the_lock(
        self,
        hive: HiveServer,
        metastore: MetastoreClient,
        hive_client: HiveClient,
        database: str,
        make_snapshot: Callable[..., RunSnapshot],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Bounded by its own transaction's id the snapshot would show the new table as empty."""
        (a,) = create(hive_client, database, "a", rows=2)
        old = metastore.get_table(a)
        first, second = make_snapshot(), make_snapshot()
        first.pin([a])
        done = threading.Event()
        result: dict[TableName, PinnedTable] = {}
        check_lock = MetastoreClient.check_lock

        # The waiting run asks again only once Hive has done all three.
        def check_lock_late(client: MetastoreClient, lock_id: int, txn_id: int) -> object:
            assert done.wait(20)
            return check_lock(client, lock_id, txn_id)

        script = f"""
            DROP TABLE {a};
            CREATE TABLE {a} (id int) {ACID};
            INSERT INTO {a} VALUES (7);
        """
        with running(hive, script) as ddl:
            wait_until(lambda: waiting(metastore, a, LockType.EXCLUSIVE))
            monkeypatch.setattr(MetastoreClient, "check_lock", check_lock_late)
            pinning = threading.Thread(target=lambda: result.update(second.pin([a])))
            pinning.start()
            wait_until(lambda: waiting(metastore, a, LockType.SHARED_READ))
            first.end()
            ddl.join(20)
            done.set()
            pinning.join(20)
        pinned = result[a]
        assert pinned.table.id != old.id
        assert "delta_0000001_0000001_0000" in directories(pinned)
        assert pinned.write_ids.is_valid(1)

    def test_what_a_later_table_survives(
        self,
        metastore: MetastoreClient,
        hive_client: HiveClient,
        database: str,
        make_snapshot: Callable[..., RunSnapshot],
    ) -> None:
        a, b = self._a_and_partitioned_b(hive_client, database)
        for write_id, harmless in enumerate(
            (
                f"INSERT INTO {b} PARTITION (d) VALUES (9, 'x')",
                f"DELETE FROM {b} WHERE id = 0",
                f"UPDATE {b} SET id = 5",
                f"INSERT OVERWRITE TABLE {b} PARTITION (d='x') SELECT 9",
                f"TRUNCATE TABLE {b}",
            ),
            start=3,
        ):
            snapshot = make_snapshot()
            first = snapshot.pin([a])
            hive_client.execute(harmless)
            later = snapshot.pin([b])[b]
            assert later.valid_txns == first[a].valid_txns
            assert later.write_ids.is_valid(write_id - 1)
            assert not later.write_ids.is_valid(write_id)
            assert metastore.get_valid_write_ids([b], metastore.get_valid_txns())[b].is_valid(
                write_id
            )
            assert {"delta_0000001_0000001_0000", "delta_0000002_0000002_0000"} <= directories(
                later
            )
            snapshot.end()

    @pytest.mark.parametrize(
        ("ddl", "message"),
        [
            (
                "ALTER TABLE {b} DROP PARTITION (d='x')",
                "was changed .*no directory is from write id 3",
            ),
            (  # takes none, but leaves the same trace
                "INSERT INTO {b} PARTITION (d) SELECT 9, 'x' FROM {b} WHERE id > 1000",
                "was changed .*no directory is from write id 3",
            ),
            (
                "DROP TABLE {b};\n"
                "CREATE TABLE {b} (id int) PARTITIONED BY (d string) {acid};\n"
                "INSERT INTO {b} PARTITION (d) VALUES (9, 'x')",
                "was created at .*, when the snapshot was taken or later",
            ),
        ],
    )
    def test_ddl_that_may_have_taken_rows_from_a_later_table(
        self,
        hive_client: HiveClient,
        database: str,
        make_snapshot: Callable[..., RunSnapshot],
        ddl: str,
        message: str,
    ) -> None:
        a, b = self._a_and_partitioned_b(hive_client, database)
        snapshot = make_snapshot()
        snapshot.pin([a])
        hive_client.script(ddl.format(b=b, acid=ACID))
        with pytest.raises(ConcurrentDdlError, match=f"{b} {message}"):
            snapshot.pin([b])
        snapshot.end()
        snapshot.renew()
        snapshot.pin([a, b])

    @staticmethod
    def _a_and_partitioned_b(client: HiveClient, database: str) -> tuple[TableName, TableName]:
        (a,) = create(client, database, "a")
        b = TableName(database, "b")
        client.script(f"""
            CREATE TABLE {b} (id int) PARTITIONED BY (d string) {ACID};
            INSERT INTO {b} PARTITION (d) VALUES (0, 'x'), (1, 'y');
            INSERT INTO {b} PARTITION (d) VALUES (2, 'x'), (3, 'y');
        """)
        return a, b


def test_the_cleaner_spares_the_files_of_a_snapshot(
    hive_client: HiveClient, database: str, make_snapshot: Callable[..., RunSnapshot]
) -> None:
    (a,) = create(hive_client, database, "a", rows=3)
    snapshot = make_snapshot()
    pinned = snapshot.pin([a])[a]
    before = directories(pinned)
    hive_client.compact(str(a), "major")
    time.sleep(3)  # several rounds of the cleaner
    assert before < directories(pinned)
    snapshot.end()
    wait_until(lambda: not before & directories(pinned))


class TestLoss:
    def test_a_transaction_that_an_administrator_aborts(
        self,
        hive_client: HiveClient,
        database: str,
        make_snapshot: Callable[..., RunSnapshot],
    ) -> None:
        (a,) = create(hive_client, database, "a")
        lost: list[TransactionLostError] = []
        snapshot = make_snapshot(on_lost=lost.append)
        snapshot.pin([a])
        snapshot.check_alive()
        txn_id = snapshot.transaction_id
        hive_client.execute(f"ABORT TRANSACTIONS {txn_id}")
        with pytest.raises(TransactionLostError) as error:
            snapshot.check_alive()
        assert error.value.message.startswith(
            f"Metastore transaction {txn_id}, which held the snapshot of {a}, is lost: "
        )
        assert [str(each) for each in lost] == [str(error.value)]
        snapshot.end()
        snapshot.renew()
        assert snapshot.pin([a])[a].transaction_id != txn_id

    @pytest.mark.parametrize("way_out", ["pass", "sys.exit(3)", "raise ValueError"])
    def test_a_process_that_forgets_to_end_it(
        self, hive: HiveServer, hive_client: HiveClient, database: str, way_out: str
    ) -> None:
        (a,) = create(hive_client, database, "a")
        program = f"""
import sys
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from hiveacid.snapshots.run_snapshot import RunSnapshot
from hiveacid.snapshots.transaction import SnapshotSettings
snapshot = RunSnapshot(
    lambda: MetastoreClient({hive.metastore_uri!r}), SnapshotSettings(), "forgetful"
)
snapshot.pin([TableName({a.database!r}, {a.table!r})])
print(snapshot.transaction_id)
{way_out}
"""
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
        )
        assert done.stdout.strip().isdigit(), done.stderr
        assert done.stdout.strip() not in {txn["txnid"] for txn in hive_client.show_transactions()}
        assert hive_client.show_locks() == []


@pytest.fixture(scope="module")
def strict_hive() -> Iterator[HiveServer]:
    """A Hive that soon aborts silent transactions and heeds only readers that register."""
    settings = HiveSettings(
        txn_timeout=3,
        reaper_interval=1,
        cleaner_interval=0.5,
        extra={MIN_HISTORY_WRITE_IDS: "true", MIN_HISTORY_LEVEL: "false"},
    )
    with HiveServer(settings) as server:
        yield server


class TestStrictHive:
    def test_heartbeats_keep_a_transaction_and_their_lack_loses_it(
        self, strict_hive: HiveServer
    ) -> None:
        with HiveClient(strict_hive.hs2_port) as client:
            (a,) = create(client, "default", "beats")
        kept, silent = (
            RunSnapshot(
                lambda: MetastoreClient(strict_hive.metastore_uri),
                SnapshotSettings(heartbeat_interval=interval),
                "dbt test run",
            )
            for interval in (None, 0)
        )
        try:
            kept.pin([a])
            silent.pin([a])
            time.sleep(8)
            kept.check_alive()
            with pytest.raises(TransactionLostError):
                silent.check_alive()
        finally:
            kept.end()
            silent.end()

    def test_a_lost_transaction_is_reaped(self, strict_hive: HiveServer) -> None:
        """The two settings that decide how long a lost transaction stays are in force."""
        with (
            HiveClient(strict_hive.hs2_port) as client,
            MetastoreClient(strict_hive.metastore_uri) as metastore,
        ):
            transaction = metastore.open_txn("me", "here", "a test", read_only=False)

            def state() -> str:
                rows = client.show_transactions()
                return next((r["state"] for r in rows if r["txnid"] == str(transaction)), "gone")

            assert state() == "OPEN"
            assert eventually(lambda: state() != "OPEN", seconds=3 + 2 * 1 + 2)

    def test_registered_write_ids_keep_the_cleaner_off(self, strict_hive: HiveServer) -> None:
        with (
            HiveClient(strict_hive.hs2_port) as client,
            MetastoreClient(strict_hive.metastore_uri) as metastore,
        ):
            held, control = create(client, "default", "held", "control", rows=3)
            snapshot = RunSnapshot(
                lambda: MetastoreClient(strict_hive.metastore_uri),
                SnapshotSettings(),
                "dbt test run",
            )
            try:
                pinned = snapshot.pin([held])[held]
                before = directories(pinned)
                client.compact(str(held), "major")
                # A compaction of a table that nobody registered is cleaned though we are open.
                client.compact(str(control), "major", cleaned=True)
                time.sleep(2)
                assert before < directories(pinned)
                assert metastore.server_info().min_history_write_ids
            finally:
                snapshot.end()
            wait_until(lambda: not before & directories(pinned))

    def test_a_write_that_ended_since_is_no_part_of_a_table_that_comes_late(
        self, strict_hive: HiveServer
    ) -> None:
        """The metastore does not forget whose a write id was while the run's transaction is open,
        though nothing says which transactions were open when that began."""
        with (
            HiveClient(strict_hive.hs2_port) as client,
            MetastoreClient(strict_hive.metastore_uri) as metastore,
        ):
            early, late = create(client, "default", "early", "late")
            snapshot = RunSnapshot(
                lambda: MetastoreClient(strict_hive.metastore_uri),
                SnapshotSettings(),
                "dbt test run",
                unexplained=unexplained,
            )
            writer = OpenWriter.begin(metastore, late, None, deletes=False)
            writer.insert([7])
            metastore.heartbeat(writer.txn_id)
            try:
                valid_txns = snapshot.pin([early])[early].valid_txns
                assert not valid_txns.is_valid(writer.txn_id)
                metastore.heartbeat(writer.txn_id)
                metastore.commit_txn(writer.txn_id)
                time.sleep(_HOUSEKEEPER_SECONDS)
                assert not snapshot.pin([late])[late].write_ids.is_valid(writer.write_id)
            finally:
                snapshot.end()


def test_a_metastore_that_forgets_open_write_ids_is_refused() -> None:
    """Hive itself shows the row of a transaction that is open."""
    settings = HiveSettings(reaper_interval=1, extra={MIN_HISTORY_WRITE_IDS: "true"})
    with (
        HiveServer(settings) as hive,
        HiveClient(hive.hs2_port) as client,
        MetastoreClient(hive.metastore_uri) as metastore,
    ):
        (table,) = create(client, "default", "dirty")
        writer = OpenWriter.begin(metastore, table, None, deletes=False)
        writer.insert([7])
        time.sleep(_HOUSEKEEPER_SECONDS)
        assert sorted(client.query(f"SELECT id FROM {table}")) == [(0,), (7,)]
        with pytest.raises(MetastoreError, match="forgets which write ids belong to open"):
            RunSnapshot(
                lambda: MetastoreClient(hive.metastore_uri), SnapshotSettings(), "dbt test run"
            ).pin([table])
        metastore.commit_txn(writer.txn_id)
