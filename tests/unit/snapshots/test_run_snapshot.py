"""One run, one snapshot: order of calls, threads, later tables, ends."""

from __future__ import annotations

import inspect
import threading

import pytest

from hiveacid.errors import (
    ConcurrentDdlError,
    HiveAcidError,
    LockTimeoutError,
    MetastoreError,
    SnapshotEndedError,
    TableNotFoundError,
    TransactionLostError,
    UnreadableTableError,
)
from hiveacid.jvm.scratch import Scratch
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import (
    Column,
    LockState,
    LockType,
    Partition,
    ServerInfo,
    StorageDescriptor,
    TableName,
    TransactionState,
)
from hiveacid.snapshots import transaction
from tests.unit.snapshots.fake_metastore import (
    CREATED,
    CUSTOMERS,
    ORDERS,
    FakeClient,
    acid_table,
    event,
    wait_until,
)

ITEMS = TableName("shop", "items")


class Cancelled(Exception):
    """Raised on a thread whose result nobody needs any more."""


def test_the_fake_has_the_signatures_of_the_real_client():
    for name, method in inspect.getmembers(FakeClient, inspect.isfunction):
        if not name.startswith("_"):
            expected = list(inspect.signature(getattr(MetastoreClient, name)).parameters)
            assert list(inspect.signature(method).parameters) == expected, name


class TestFirstPin:
    def test_locks_come_before_the_snapshot_and_partitions_last(self, metastore, make_snapshot):
        partition = Partition(("2026-01-31",), StorageDescriptor("file:/w/p", ()))
        metastore.tables[ORDERS] = acid_table(ORDERS, partition_keys=(Column("day", "date"),))
        metastore.partitions[ORDERS] = (partition,)
        snapshot = make_snapshot()
        assert snapshot.transaction_id is None
        pinned = snapshot.pin([ORDERS, CUSTOMERS, ORDERS])

        assert metastore.order() == [
            "server_info",
            "open_txn",
            "lock_shared_read",
            "get_valid_txns",
            "get_valid_write_ids",
            "get_tables",
            "get_partitions",
        ]
        transaction_id = snapshot.transaction_id
        assert metastore.calls("lock_shared_read") == [
            ("lock_shared_read", transaction_id, [CUSTOMERS, ORDERS])
        ]
        assert pinned.keys() == {ORDERS, CUSTOMERS}
        assert pinned[ORDERS].write_ids.high_watermark == 2
        assert pinned[ORDERS].partitions == (partition,)
        assert pinned[CUSTOMERS].partitions == ()
        assert {table.transaction_id for table in pinned.values()} == {transaction_id}
        assert pinned[ORDERS].valid_txns is pinned[CUSTOMERS].valid_txns

    def test_what_is_committed_while_waiting_for_the_lock_is_seen(self, metastore, make_snapshot):
        holder = metastore.exclusive(ORDERS)

        def commit_at_the_second_question(call):
            if call == "check_lock" and len(metastore.calls("check_lock")) == 1:
                with metastore.mutex:
                    metastore.write(ORDERS)
                    metastore.finish(holder.txn_id)

        metastore.before = commit_at_the_second_question
        snapshot = make_snapshot()
        write_ids = snapshot.pin([ORDERS])[ORDERS].write_ids
        assert write_ids.is_valid(3)
        assert snapshot.report().lock_wait_seconds > 0.05

    def test_no_table_no_transaction(self, metastore, make_snapshot):
        snapshot = make_snapshot()
        assert snapshot.pin([]) == {}
        snapshot.check_alive()
        snapshot.end()
        assert snapshot.report() is None
        assert metastore.log == []

    def test_a_table_stays_as_it_was_first_pinned(self, metastore, make_snapshot):
        snapshot = make_snapshot()
        first = snapshot.pin([ORDERS])
        metastore.write(ORDERS)
        assert snapshot.pin([ORDERS]) == first
        assert len(metastore.calls("lock_shared_read")) == 1

    def test_threads_share_one_transaction_and_one_lock_request(self, metastore, make_snapshot):
        snapshot = make_snapshot()
        barrier = threading.Barrier(4)
        results = []

        def pin() -> None:
            barrier.wait()
            results.append(snapshot.pin([ORDERS, CUSTOMERS]))

        threads = [threading.Thread(target=pin) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 4
        assert all(result == results[0] for result in results)
        assert len(metastore.calls("open_txn")) == len(metastore.calls("lock_shared_read")) == 1

    def test_who_watches_is_told_of_each_pin_and_once_of_the_locks(self, metastore, make_snapshot):
        told = []
        snapshot = make_snapshot(before_pin=told.append, on_held=lambda: told.append("held"))
        snapshot.pin([ORDERS])
        snapshot.pin([ORDERS, CUSTOMERS])
        assert told == [{ORDERS}, "held", {ORDERS, CUSTOMERS}]

    def test_a_pin_that_is_refused_opens_nothing(self, metastore, make_snapshot):
        def refuse(names):
            raise SnapshotEndedError("the run is over")

        with pytest.raises(SnapshotEndedError, match="the run is over"):
            make_snapshot(before_pin=refuse).pin([ORDERS])
        assert metastore.log == []

    def test_a_missing_table_ends_the_transaction(self, metastore, make_snapshot):
        snapshot = make_snapshot()
        with pytest.raises(TableNotFoundError) as error:
            snapshot.pin([ORDERS, ITEMS])
        assert str(error.value.message) == (
            "The metastore has no table shop.items (looked up under its lock in transaction 4). "
            "Check the names of the database and the table; it may just have been dropped."
        )
        assert metastore.order()[-1] == "abort_txn"
        assert metastore.locks == []
        assert snapshot.transaction_id is None
        assert snapshot.pin([ORDERS])[ORDERS].transaction_id == 5

    def test_a_table_that_is_not_transactional(self, metastore, make_snapshot):
        metastore.tables[ORDERS] = acid_table(ORDERS, parameters={})
        with pytest.raises(UnreadableTableError, match="shop.orders is not a transactional table"):
            make_snapshot().pin([ORDERS])

    @pytest.mark.parametrize("shows", [True, False])
    def test_what_hive_does_with_files_is_asked_for_insert_only_tables(
        self, metastore, make_snapshot, shows
    ):
        metastore.shows_originals = metastore.merges_files = shows
        insert_only = {"transactional": "true", "transactional_properties": "insert_only"}
        metastore.tables[ORDERS] = acid_table(ORDERS, parameters=insert_only)
        snapshot = make_snapshot()
        assert not snapshot.pin([CUSTOMERS])[CUSTOMERS].shows_originals
        assert metastore.calls("shows_originals") == metastore.calls("merges_files") == []
        pinned = snapshot.pin([ORDERS])[ORDERS]
        assert pinned.shows_originals is shows
        assert metastore.calls("merges_files") == [], "only the planning of changes needs it"
        assert pinned.merges_files() is pinned.merges_files() is shows
        assert len(metastore.calls("merges_files")) == 1

    def test_copies_of_open_files_go_with_the_transaction(self, make_snapshot, monkeypatch):
        removed = []
        monkeypatch.setattr(Scratch, "remove", lambda scratch: removed.append(scratch))
        snapshot = make_snapshot()
        one, other = (snapshot.pin([name])[name].scratch for name in (ORDERS, CUSTOMERS))
        assert one is other and removed == []
        snapshot.end()
        assert removed == [one]
        snapshot.renew()
        assert snapshot.pin([ORDERS])[ORDERS].scratch is not one
        snapshot.abort()
        assert len(removed) == 2

    def test_an_interrupt_while_copies_are_removed_leaves_no_transaction(
        self, metastore, make_snapshot, monkeypatch
    ):
        def interrupted(scratch):
            raise KeyboardInterrupt

        monkeypatch.setattr(Scratch, "remove", interrupted)
        snapshot = make_snapshot()
        snapshot.pin([ORDERS])
        with pytest.raises(KeyboardInterrupt):
            snapshot.end()
        assert len(metastore.calls("commit_txn")) == 1

    def test_write_ids_are_registered_where_the_cleaner_asks_for_it(self, metastore, make_snapshot):
        metastore.server = ServerInfo("4.0.1", True, 300.0, True)
        make_snapshot().pin([ORDERS, CUSTOMERS])
        assert metastore.min_history == {ORDERS: 0, CUSTOMERS: 0}
        order = metastore.order()
        registered = order.index("add_write_ids_to_min_history")
        assert order.index("lock_shared_read") < registered < order.index("get_valid_txns")

    @pytest.mark.parametrize("error", [KeyError, OSError])  # before and since Python 3.13
    def test_a_user_without_a_name_has_a_number(self, metastore, make_snapshot, monkeypatch, error):
        def getuser():
            raise error("getpwuid(): uid not found: 12345")

        monkeypatch.setattr("getpass.getuser", getuser)
        monkeypatch.setattr("os.getuid", lambda: 12345)
        make_snapshot().pin([ORDERS])
        assert [lock.user for lock in metastore.locks] == ["12345"]


class TestLocks:
    def test_the_holder_is_named_and_no_request_stays_behind(self, metastore, make_snapshot):
        holder = metastore.exclusive(ORDERS)
        snapshot = make_snapshot(lock_timeout=0.2)
        with pytest.raises(LockTimeoutError) as error:
            snapshot.pin([ORDERS, CUSTOMERS])
        assert str(error.value.message) == (
            "No shared lock on shop.customers, shop.orders within 0.2 s (transaction 5). In the "
            "way:\n"
            "  shop.orders: EXCLUSIVE lock 1 on shop.orders held by hive on node3 (transaction 4, "
            "hive_2026)\n"
            "Try again when the holder has ended, raise lock_timeout, or end the holder with ABORT "
            "TRANSACTIONS in Hive."
        )
        assert metastore.locks == [holder]
        assert snapshot.transaction_id is None

    def test_a_run_waits_once_for_a_table_that_stays_locked(self, metastore, make_snapshot):
        holder = metastore.exclusive(ORDERS)
        snapshot = make_snapshot(lock_timeout=0.2)
        with pytest.raises(LockTimeoutError):
            snapshot.pin([ORDERS, CUSTOMERS])
        asked = len(metastore.calls("check_lock"))
        with pytest.raises(LockTimeoutError) as again:
            snapshot.pin([ORDERS, CUSTOMERS])
        assert str(again.value.message).startswith(
            "No shared lock on shop.customers, shop.orders within 0.2 s (transaction 6). An "
            "earlier read of the table has waited this long, so this read did not wait. In the "
            "way:\n  shop.orders: EXCLUSIVE lock 1"
        )
        assert len(metastore.calls("check_lock")) == asked
        assert metastore.locks == [holder]
        metastore.finish(holder.txn_id)
        assert ORDERS in snapshot.pin([ORDERS, CUSTOMERS])

    def test_a_lock_that_is_granted_at_the_last_moment_is_used(self, metastore, make_snapshot):
        holder = metastore.exclusive(ORDERS)

        def grant_before_the_withdrawal(call):
            if call == "unlock":
                with metastore.mutex:
                    metastore.finish(holder.txn_id)

        metastore.before = grant_before_the_withdrawal
        assert ORDERS in make_snapshot(lock_timeout=0.1).pin([ORDERS])

    def test_no_table_is_locked_twice_even_after_a_failure(self, metastore, make_snapshot):
        snapshot = make_snapshot()
        snapshot.pin([ORDERS])
        with pytest.raises(TableNotFoundError):
            snapshot.pin([ORDERS, ITEMS])
        metastore.exclusive(ORDERS)  # waits for our lock: a second one of ours would wait for it
        metastore.add_table(ITEMS, writes=0)
        snapshot.pin([ORDERS, ITEMS])
        assert [details for _, _, details in metastore.calls("lock_shared_read")] == [
            [ORDERS],
            [ITEMS],
        ]

    def test_a_later_table_that_stays_locked_does_not_end_the_run(self, metastore, make_snapshot):
        snapshot = make_snapshot(lock_timeout=0.1)
        first = snapshot.pin([ORDERS])
        metastore.exclusive(CUSTOMERS)
        with pytest.raises(LockTimeoutError, match="shop.customers"):
            snapshot.pin([CUSTOMERS])
        assert [lock for lock in metastore.locks if lock.state is LockState.WAITING] == []
        snapshot.check_alive()
        assert snapshot.pin([ORDERS]) == first

    def test_a_request_whose_fate_is_unknown_is_not_repeated(self, metastore, make_snapshot):
        snapshot = make_snapshot()
        snapshot.pin([ORDERS])

        def connection_fails(call):
            metastore.down = call == "lock_shared_read"

        metastore.before = connection_fails
        with pytest.raises(HiveAcidError, match="is down"):
            snapshot.pin([CUSTOMERS])
        with pytest.raises(HiveAcidError, match="shop.customers, so whether .* is unknown"):
            snapshot.pin([CUSTOMERS])
        snapshot.pin([ORDERS])

    def test_a_connection_that_was_cut_while_spark_worked_is_renewed_before_the_request(
        self, metastore, make_snapshot
    ):
        snapshot = make_snapshot()
        snapshot.pin([ORDERS])
        before = len(metastore.log)
        snapshot.pin([CUSTOMERS])
        assert metastore.order()[before : before + 2] == ["heartbeat", "lock_shared_read"]

    def test_a_request_that_the_metastore_has_queued_with_an_error_is_not_repeated(
        self, metastore, make_snapshot
    ):
        snapshot = make_snapshot()
        snapshot.pin([ORDERS])

        def fail(call):
            if call == "lock_shared_read":
                raise MetastoreError("MetaException")

        metastore.before = fail
        with pytest.raises(MetastoreError, match="MetaException"):
            snapshot.pin([CUSTOMERS])
        metastore.before = lambda call: None
        with pytest.raises(HiveAcidError, match="shop.customers, so whether .* is unknown"):
            snapshot.pin([CUSTOMERS])

    def test_a_request_is_withdrawn_though_nobody_tells_who_is_in_the_way(
        self, metastore, make_snapshot
    ):
        snapshot = make_snapshot(lock_timeout=0.1)
        snapshot.pin([ORDERS])
        holder = metastore.exclusive(CUSTOMERS)

        def fail(call):
            if call == "show_locks":
                raise MetastoreError("MetaException")

        metastore.before = fail
        with pytest.raises(MetastoreError, match="MetaException"):
            snapshot.pin([CUSTOMERS])
        assert [lock for lock in metastore.locks if lock.name == CUSTOMERS] == [holder]

    def test_ending_stops_a_pin_that_waits(self, metastore, make_snapshot):
        holder = metastore.exclusive(ORDERS)
        snapshot = make_snapshot(lock_timeout=60)
        errors = []

        def pin() -> None:
            try:
                snapshot.pin([ORDERS])
            except HiveAcidError as error:
                errors.append(str(error.message))

        thread = threading.Thread(target=pin)
        thread.start()
        wait_until(lambda: metastore.calls("check_lock"))
        snapshot.end()
        thread.join(5)
        assert not thread.is_alive()
        assert len(errors) == 1
        assert "has ended transaction 5" in errors[0]
        assert metastore.locks == [holder]

    def test_a_cancelled_thread_withdraws_its_request_and_others_ask_for_none(
        self, metastore, make_snapshot
    ):
        holder = metastore.exclusive(ORDERS)
        cancelled = threading.Event()

        def raise_if_cancelled():
            if cancelled.is_set():
                raise Cancelled("cancelled")

        snapshot = make_snapshot(lock_timeout=60, raise_if_cancelled=raise_if_cancelled)
        errors = []

        def pin() -> None:
            try:
                snapshot.pin([ORDERS])
            except Cancelled as error:
                errors.append(str(error))

        threads = [threading.Thread(target=pin) for _ in range(2)]
        for thread in threads:
            thread.start()
        wait_until(lambda: metastore.calls("check_lock"))
        cancelled.set()
        for thread in threads:
            thread.join(5)
        assert errors == ["cancelled", "cancelled"]
        assert metastore.locks == [holder]
        assert len(metastore.calls("open_txn")) == len(metastore.calls("abort_txn")) == 1

    def test_a_cancelled_late_pin_leaves_the_snapshot_to_the_others(self, metastore, make_snapshot):
        """Another thread may be about to put a finished table in place."""
        cancelled = []

        def raise_if_cancelled():
            if cancelled:
                raise Cancelled("cancelled")

        snapshot = make_snapshot(lock_timeout=60, raise_if_cancelled=raise_if_cancelled)
        snapshot.pin([ORDERS])
        holder = metastore.exclusive(CUSTOMERS)
        metastore.before = lambda call: cancelled.append(call) if call == "check_lock" else None
        with pytest.raises(Cancelled, match="cancelled"):
            snapshot.pin([CUSTOMERS])
        assert [lock.name for lock in metastore.locks] == [ORDERS, holder.name]
        snapshot.check_alive()


class TestLaterTables:
    def test_it_gets_the_snapshot_of_the_first_ones(self, metastore, make_snapshot):
        asked = []

        def all_explained(pinned, write_ids):
            asked.append((pinned.table.name, write_ids))
            return frozenset()

        snapshot = make_snapshot(unexplained=all_explained)
        first = snapshot.pin([ORDERS])
        new = metastore.write(CUSTOMERS)
        pinned = snapshot.pin([ORDERS, CUSTOMERS])
        assert pinned[CUSTOMERS].valid_txns == first[ORDERS].valid_txns
        assert pinned[CUSTOMERS].write_ids.is_valid(1)
        assert not pinned[CUSTOMERS].write_ids.is_valid(new)
        assert asked == [(CUSTOMERS, frozenset({new}))]

    def test_a_write_id_with_nothing_behind_it(self, metastore, make_snapshot):
        snapshot = make_snapshot(unexplained=lambda pinned, write_ids: write_ids - {2})
        snapshot.pin([ORDERS])
        metastore.write(CUSTOMERS)
        metastore.write(CUSTOMERS)
        with pytest.raises(ConcurrentDdlError) as error:
            snapshot.pin([CUSTOMERS])
        assert str(error.value.message) == (
            "shop.customers was changed after the snapshot was taken (transaction 4), and rows of "
            "the snapshot may be gone (DROP PARTITION, ALTER TABLE): no directory is from write id "
            "3. (An INSERT without rows leaves the same trace.) Take a new snapshot, and name the "
            "table when you open it."
        )
        snapshot.check_alive()

    def test_an_open_write_that_commits_meanwhile_must_be_explained(self, metastore, make_snapshot):
        asked = []
        snapshot = make_snapshot(
            unexplained=lambda pinned, write_ids: (asked.append(write_ids), frozenset())[1]
        )
        writer = metastore.begin()
        metastore.writes[CUSTOMERS].append((2, writer))
        snapshot.pin([ORDERS])
        metastore.finish(writer)
        assert snapshot.pin([CUSTOMERS])[CUSTOMERS].write_ids.open == {2}
        assert asked == [frozenset({2})]

    def test_without_a_listing_any_write_is_an_error(self, metastore, make_snapshot):
        snapshot = make_snapshot()
        snapshot.pin([ORDERS])
        metastore.write(CUSTOMERS)
        with pytest.raises(ConcurrentDdlError, match="write id 2"):
            snapshot.pin([CUSTOMERS])

    @pytest.mark.parametrize("version", ["3.0", "3.1.3000.7.1.9", "unknown"])
    def test_before_hive_4_a_dropped_partition_leaves_no_trace(
        self, metastore, make_snapshot, version
    ):
        metastore.server = ServerInfo(version, True, 300.0, False)
        metastore.tables[CUSTOMERS] = acid_table(CUSTOMERS, partition_keys=(Column("d", "date"),))
        snapshot = make_snapshot()
        snapshot.pin([ORDERS])
        with pytest.raises(ConcurrentDdlError) as error:
            snapshot.pin([CUSTOMERS])
        assert str(error.value.message) == (
            "shop.customers has partitions and was not locked when the snapshot was taken "
            f"(transaction 4). A metastore before Hive 4 ({version}) does not record whether "
            "partitions were dropped or truncated since, and no notification log rules it out. "
            "Take a new snapshot, and name the table when you open it."
        )
        snapshot.end()
        snapshot.renew()
        assert CUSTOMERS in snapshot.pin([ORDERS, CUSTOMERS]), "locked before the snapshot"

    @pytest.mark.parametrize("removal", [None, "DROP_PARTITION", "ALTER_TABLE"])
    def test_before_hive_4_the_notification_log_may_rule_out_a_drop(
        self, metastore, make_snapshot, removal
    ):
        metastore.server = ServerInfo("3.0", True, 300.0, False)
        metastore.tables[CUSTOMERS] = acid_table(CUSTOMERS, partition_keys=(Column("d", "date"),))
        snapshot = make_snapshot()
        snapshot.pin([ORDERS])
        seen = len(metastore.writes[CUSTOMERS])
        metastore.events = [
            event(1, "CREATE_TABLE", CUSTOMERS),
            event(2, "ALLOC_WRITE_ID_EVENT", CUSTOMERS, txnIdList=[9], writeIdList=[seen]),
        ]
        if removal:
            metastore.events.append(event(3, removal, CUSTOMERS, isTruncateOp="true"))
            with pytest.raises(ConcurrentDdlError, match="no notification log rules it out"):
                snapshot.pin([CUSTOMERS])
        else:
            assert CUSTOMERS in snapshot.pin([CUSTOMERS])

    @pytest.mark.parametrize("truncates", [None, False, True])
    @pytest.mark.parametrize("gone", [{1}, {1, 2}])
    def test_before_hive_4_a_truncate_leaves_nothing(
        self, metastore, make_snapshot, gone, truncates
    ):
        """Anything that is left shows that there was none; else the log must, if there is one."""
        metastore.server = ServerInfo("3.0", True, 300.0, False)
        metastore.write(CUSTOMERS)
        if truncates is not None:
            metastore.events = [
                event(1, "CREATE_TABLE", CUSTOMERS),
                event(2, "ALLOC_WRITE_ID_EVENT", CUSTOMERS, txnIdList=[9], writeIdList=[2]),
                event(3, "ALTER_TABLE", CUSTOMERS, isTruncateOp=str(truncates).lower()),
            ]
        snapshot = make_snapshot(unexplained=lambda pinned, write_ids: write_ids & gone)
        snapshot.pin([ORDERS])
        if gone == {1} or truncates is False:
            assert CUSTOMERS in snapshot.pin([CUSTOMERS])
            return
        with pytest.raises(ConcurrentDdlError) as error:
            snapshot.pin([CUSTOMERS])
        assert str(error.value.message) == (
            "shop.customers was not locked when the snapshot was taken (transaction 5), and "
            "no directory is from its write ids. A metastore before Hive 4 (3.0) does not record a "
            "TRUNCATE, and no notification log rules one out. Take a new snapshot, and name the "
            "table when you open it."
        )

    def test_before_hive_4_a_table_is_listed_once(self, metastore, make_snapshot):
        asked = []
        metastore.server = ServerInfo("3.0", True, 300.0, False)
        snapshot = make_snapshot(
            unexplained=lambda pinned, write_ids: (asked.append(write_ids), frozenset())[1]
        )
        snapshot.pin([ORDERS])
        new = metastore.write(CUSTOMERS)
        snapshot.pin([CUSTOMERS])
        assert asked == [frozenset({1, new})]

    def test_before_hive_4_a_conversion_leaves_nothing(self, metastore, make_snapshot):
        """The newest write id of a converted table is the conversion's before any write."""
        metastore.server = ServerInfo("3.0", True, 300.0, False)
        metastore.add_table(ITEMS, writes=1)
        ((_, txn_id),) = metastore.writes[ITEMS]
        metastore.writes[ITEMS] = [(10_000_000, txn_id)]
        snapshot = make_snapshot(unexplained=lambda pinned, write_ids: write_ids)
        snapshot.pin([ORDERS])
        assert ITEMS in snapshot.pin([ITEMS])

    def test_a_table_that_was_dropped_and_created_anew(self, metastore, make_snapshot):
        snapshot = make_snapshot(unexplained=lambda pinned, write_ids: frozenset())
        snapshot.pin([ORDERS])
        metastore.writes[CUSTOMERS] = []  # DROP TABLE forgets them
        metastore.add_table(CUSTOMERS, create_time=metastore.now + 1)
        with pytest.raises(ConcurrentDdlError, match="shop.customers was created at 2023-11-14"):
            snapshot.pin([CUSTOMERS])

    def test_an_old_table_without_any_write(self, metastore, make_snapshot):
        metastore.add_table(ITEMS, writes=0, create_time=CREATED)
        snapshot = make_snapshot()
        snapshot.pin([ORDERS])
        assert snapshot.pin([ITEMS])[ITEMS].write_ids.high_watermark == 0

    def test_a_table_that_was_converted_meanwhile(self, metastore, make_snapshot):
        metastore.add_table(ITEMS, writes=0)
        snapshot = make_snapshot(unexplained=lambda pinned, write_ids: frozenset())
        snapshot.pin([ORDERS])
        metastore.write(ITEMS)
        ((_, txn_id),) = metastore.writes[ITEMS]
        metastore.writes[ITEMS] = [(10_000_001, txn_id)]
        with pytest.raises(ConcurrentDdlError, match="converted .* first write id is 10000001"):
            snapshot.pin([ITEMS])

    def test_a_converted_table_has_no_ids_to_explain_below_the_first(
        self, metastore, make_snapshot
    ):
        asked = []
        metastore.add_table(ITEMS, writes=2)
        (_, first), (_, second) = metastore.writes[ITEMS]
        metastore.writes[ITEMS] = [(10_000_001, first), (10_000_002, second)]
        snapshot = make_snapshot(
            unexplained=lambda pinned, write_ids: (asked.append(write_ids), frozenset())[1]
        )
        snapshot.pin([ORDERS])
        metastore.writes[ITEMS].append((10_000_003, metastore.begin()))
        metastore.finish(metastore.writes[ITEMS][-1][1])
        snapshot.pin([ITEMS])
        assert asked == [frozenset({10_000_003})]


class TestLoss:
    def test_check_alive_asks_the_metastore(self, metastore, make_snapshot):
        lost = []
        snapshot = make_snapshot(on_lost=lost.append)
        snapshot.pin([ORDERS, CUSTOMERS])
        snapshot.check_alive()
        metastore.finish(snapshot.transaction_id, TransactionState.ABORTED)
        with pytest.raises(TransactionLostError) as error:
            snapshot.check_alive()
        assert str(error.value.message) == (
            "Metastore transaction 4, which held the snapshot of shop.customers, shop.orders, is "
            "lost: the metastore has aborted it. Files of the snapshot may be gone, so rows "
            "may be wrong from now on. Take a new snapshot. If it is lost, too, see the "
            "metastore's log, or lower heartbeat_interval."
        )
        with pytest.raises(TransactionLostError) as again:
            snapshot.pin([ORDERS])
        assert [str(each) for each in lost] == [str(error.value)] == [str(again.value)]
        assert again.value is not error.value, "a caller may write into an error, as dbt does"
        snapshot.end()
        snapshot.renew()
        assert snapshot.pin([ORDERS])[ORDERS].transaction_id == 5

    def test_lost_while_waiting_for_a_lock(self, metastore, make_snapshot):
        holder = metastore.exclusive(ORDERS)

        def abort(call):
            if call == "check_lock":
                metastore.finish(holder.txn_id + 1, TransactionState.ABORTED)

        metastore.before = abort
        snapshot = make_snapshot()
        with pytest.raises(TransactionLostError):
            snapshot.pin([ORDERS])
        snapshot.check_alive()

    def test_a_loss_is_over_with_its_transaction(self, metastore, make_snapshot):
        def abort(call):
            if call == "get_tables":
                metastore.finish(snapshot.transaction_id, TransactionState.ABORTED)
                snapshot.check_alive()

        metastore.before = abort
        snapshot = make_snapshot()
        with pytest.raises(TransactionLostError):
            snapshot.pin([ORDERS])
        assert "transaction 4" in str(snapshot.lost)
        metastore.before = lambda call: None
        snapshot.pin([ORDERS])
        assert snapshot.lost is None

    def test_ended_between_lock_and_snapshot(self, metastore, make_snapshot):
        snapshot = make_snapshot()
        metastore.before = lambda call: snapshot.end() if call == "get_tables" else None
        with pytest.raises(SnapshotEndedError, match="has ended transaction 4"):
            snapshot.pin([ORDERS])


class TestEnd:
    def test_it_commits_once_and_closes_the_connections(self, metastore, make_snapshot):
        snapshot = make_snapshot()
        snapshot.pin([ORDERS])
        snapshot.end()
        snapshot.end()
        snapshot.abort()
        assert metastore.calls("commit_txn") == [("commit_txn", 4)]
        assert metastore.calls("abort_txn") == []
        assert metastore.locks == []
        wait_until(lambda: metastore.open_clients == 0)
        report = snapshot.report()
        assert report.transaction_id == 4
        assert report.write_ids[ORDERS].high_watermark == 2
        assert report.held_seconds == snapshot.report().held_seconds

    @pytest.mark.parametrize("end", ["end", "abort"])
    def test_after_the_end_every_use_is_an_error(self, metastore, make_snapshot, end):
        snapshot = make_snapshot()
        snapshot.pin([ORDERS])
        getattr(snapshot, end)()
        told = (
            " is read from a snapshot that has ended with transaction 4: Hive may have removed the "
            "files since. Read inside of the `with` block, or take a new snapshot."
        )
        for use, what in [
            (lambda: snapshot.pin([ORDERS]), "shop.orders"),
            (snapshot.check_alive, "A table"),
        ]:
            with pytest.raises(SnapshotEndedError) as error:
                use()
            assert error.value.message == what + told
        assert len(metastore.calls("open_txn")) == 1

    def test_whoever_ends_it_may_explain_why(self, metastore, make_snapshot):
        snapshot = make_snapshot()
        snapshot.pin([ORDERS])
        snapshot.end(lambda names: f"{names}: after the last reader")
        snapshot.end()
        with pytest.raises(
            SnapshotEndedError,
            match=r"^\[HIVEACID_SNAPSHOT_ENDED\] shop.orders: after the last reader$",
        ):
            snapshot.pin([ORDERS])

    def test_a_new_snapshot_after_the_end(self, metastore, make_snapshot):
        snapshot = make_snapshot()
        snapshot.pin([ORDERS])
        snapshot.end()
        snapshot.renew()
        metastore.write(ORDERS)
        assert snapshot.pin([ORDERS])[ORDERS].write_ids.high_watermark == 3

    def test_a_connection_that_fails_is_given_a_second_chance(self, metastore, make_snapshot):
        snapshot = make_snapshot()
        snapshot.pin([ORDERS])
        attempts = []

        def fail_once(call):
            if call == "commit_txn":
                attempts.append(call)
                metastore.down = len(attempts) == 1

        metastore.before = fail_once
        snapshot.end()
        assert len(attempts) == 2
        assert metastore.locks == []

    @pytest.mark.parametrize("end", ["end", "abort"])
    def test_it_is_made_up_for_when_the_metastore_answers_again(
        self, metastore, make_snapshot, monkeypatch, caplog, end
    ):
        monkeypatch.setattr(transaction, "RETRY_SECONDS", 0.01)
        snapshot = make_snapshot()
        snapshot.pin([ORDERS])
        metastore.down = True
        with caplog.at_level("INFO", "hiveacid"):
            getattr(snapshot, end)()
            assert snapshot.transaction_id is None
            assert "Transaction 4 could not be ended." in caplog.text
            assert "300 s after its last heartbeat. If this process goes on, it" in caplog.text
            assert len(metastore.locks) == 1
            metastore.down = False
            wait_until(lambda: metastore.locks == [] and metastore.open_clients == 0)
        assert "Transaction 4 has been ended: the metastore answers again." in caplog.text

    def test_it_is_left_to_the_metastore_after_the_timeout(
        self, metastore, make_snapshot, monkeypatch
    ):
        monkeypatch.setattr(transaction, "RETRY_SECONDS", 0.01)
        metastore.server = ServerInfo("4.0.1", True, 0.1, False)
        snapshot = make_snapshot(heartbeat_interval=0)
        snapshot.pin([ORDERS])
        metastore.down = True
        snapshot.end()
        wait_until(lambda: metastore.open_clients == 0)
        assert metastore.longest_waits == [0.1 / 6]

    def test_it_never_raises_at_the_exit_of_python(self, metastore, make_snapshot, monkeypatch):
        """Python starts no thread then."""

        def refuse(thread):
            raise RuntimeError("can't create new thread at interpreter shutdown")

        snapshot = make_snapshot(heartbeat_interval=0)
        snapshot.pin([ORDERS])
        metastore.down = True
        monkeypatch.setattr("threading.Thread.start", refuse)
        snapshot.end()
        assert snapshot.transaction_id is None and metastore.open_clients == 0

    def test_at_exit_what_is_open_is_ended_and_nothing_is_kept(
        self, metastore, make_snapshot, monkeypatch
    ):
        hooks = []
        monkeypatch.setattr("atexit.register", hooks.append)
        monkeypatch.setattr("atexit.unregister", hooks.remove)
        snapshot = make_snapshot()
        snapshot.pin([ORDERS])
        (hook,) = hooks
        hook()
        assert metastore.calls("commit_txn") == [("commit_txn", 4)]
        assert hooks == []

    def test_an_interrupted_end_is_made_up_for(self, metastore, make_snapshot, monkeypatch):
        hooks = []
        monkeypatch.setattr("atexit.register", hooks.append)
        monkeypatch.setattr("atexit.unregister", hooks.remove)
        snapshot = make_snapshot()
        snapshot.pin([ORDERS])

        def interrupt(call):
            if call == "commit_txn":
                raise KeyboardInterrupt

        metastore.before = interrupt
        with pytest.raises(KeyboardInterrupt):
            snapshot.end()
        assert snapshot.transaction_id == 4
        metastore.before = lambda call: None
        (hook,) = hooks
        hook()
        assert metastore.calls("commit_txn") == [("commit_txn", 4)]
        assert metastore.locks == [] and hooks == [] and snapshot.transaction_id is None

    def test_an_interrupt_in_the_first_pin_leaves_nothing_open(self, metastore, make_snapshot):
        def interrupt(call):
            if call == "get_tables":
                raise KeyboardInterrupt

        metastore.before = interrupt
        with pytest.raises(KeyboardInterrupt):
            make_snapshot().pin([ORDERS])
        assert metastore.locks == []
        assert metastore.order()[-1] == "abort_txn"


def test_hives_exclusive_lock_waits_for_the_run(metastore, make_snapshot):
    """The fake's own rule, on which the tests above rely."""
    snapshot = make_snapshot()
    snapshot.pin([ORDERS])
    waiting = metastore.exclusive(ORDERS)
    assert (waiting.type, waiting.state) == (LockType.EXCLUSIVE, LockState.WAITING)
    snapshot.end()
    assert waiting.state is LockState.ACQUIRED
