"""The library's door on a fake metastore: a snapshot as a block, its reads, and its end."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

import hiveacid
from hiveacid import api, engine
from hiveacid.acid.layout import ListedFile, Listing
from hiveacid.acid.write_ids import ValidWriteIdList, WriteIdRanges
from hiveacid.arguments import seconds_of
from hiveacid.changes import change_feed, commit_times, history
from hiveacid.changes.losses import Extent, Loss
from hiveacid.changes.plan import ChangePlan
from hiveacid.changes.state import SourceState
from hiveacid.errors import (
    HistoryLostError,
    InvalidSettingError,
    InvalidStateError,
    LockTimeoutError,
    MetastoreError,
    SnapshotEndedError,
    TransactionLostError,
    UnreadableTableError,
)
from hiveacid.metastore.models import Column, Compaction, CompactionState, TransactionState
from hiveacid.reader.locations import locations
from hiveacid.reader.plan import DataFile, ReadPlan
from tests.unit.snapshots.fake_metastore import CUSTOMERS, ORDERS

STATE = SourceState(
    ORDERS, 1, 5, True, (("id", "int"),), ValidWriteIdList(2, table="shop.orders"), "", ()
)


class Session(SparkSession):
    """A Spark session that has nothing but settings; `sparkContext` tells that it runs."""

    conf: Any = None
    sparkContext: Any = None

    def __init__(self, ansi="false"):
        self.sparkContext = SimpleNamespace(_jsc=object())
        self.settings = {"spark.sql.ansi.enabled": ansi}
        self.conf = SimpleNamespace(get=self.settings.get, set=self.settings.__setitem__)


SPARK, OTHER = Session(), Session(ansi="true")


@pytest.fixture(autouse=True)
def gated(monkeypatch):
    """Sessions that were given the gate: the sessions of these tests have no JVM."""
    gated = []
    monkeypatch.setattr(api, "install_gate", gated.append)
    return gated


@pytest.fixture
def take(metastore, monkeypatch):
    """Takes snapshots of the fake metastore."""
    monkeypatch.setattr(api, "MetastoreClient", lambda uri, timeout, security: metastore.client())

    def take(*tables, **options):
        return hiveacid.snapshot(SPARK, "thrift://metastore:9083", tables, **options)

    return take


@pytest.fixture
def planned(monkeypatch):
    """Plans instead of reading; `planned.change` changes each plan."""

    class Planned:
        listed = 0
        change = staticmethod(lambda plan: plan)

        def plan(self, spark, pinned, footers):
            self.listed += 1
            return self.change(ReadPlan(pinned, (), (), ()))

    planned = Planned()
    monkeypatch.setattr(engine, "plan_read", planned.plan)
    monkeypatch.setattr(engine, "to_dataframe", lambda spark, plan: (spark, plan))
    return planned


@pytest.fixture
def warnings(monkeypatch):
    said = []
    monkeypatch.setattr(engine.ReadWarnings.__init__.__globals__["logger"], "warning", said.append)
    return said


def test_what_is_public_is_there():
    assert all(hasattr(hiveacid, name) for name in hiveacid.__all__)
    assert sorted(hiveacid.__all__) == list(hiveacid.__all__)


def test_what_files_say_is_kept_only_in_a_directory_that_was_given(tmp_path):
    kept = engine.open_footers(tmp_path / "cache")
    assert kept._kept is not None and engine.open_footers(None)._kept is None
    assert list(tmp_path.iterdir()) == []


class TestBlock:
    def test_all_tables_are_locked_in_one_request_and_released(self, metastore, take):
        with take("shop.orders", CUSTOMERS, description="nightly") as snapshot:
            assert metastore.calls("open_txn") == [("open_txn", "nightly")]
            locks = metastore.calls("lock_shared_read")
            assert locks == [
                ("lock_shared_read", snapshot._engine.transaction_id, [CUSTOMERS, ORDERS])
            ]
            assert snapshot.report().write_ids.keys() == {ORDERS, CUSTOMERS}
        assert metastore.order()[-2:] == ["heartbeat", "commit_txn"]
        assert metastore.locks == []

    def test_a_secured_metastore_is_told_who_asks(self, metastore, monkeypatch):
        security, seen = hiveacid.Security(hiveacid.Kerberos()), []

        def make_client(uri, timeout, security):
            seen.append(security)
            return metastore.client()

        monkeypatch.setattr(api, "MetastoreClient", make_client)
        uri = "thrift://metastore:9083"
        with hiveacid.snapshot(SPARK, uri, ["shop.orders"], security=security):
            pass
        # The calls have one connection, the heartbeats another.
        assert seen == [security, security]

    def test_nothing_is_asked_before_the_block(self, metastore, take):
        take("shop.orders")
        assert metastore.log == []

    def test_an_error_in_the_block_aborts(self, metastore, take):
        with pytest.raises(KeyError), take("shop.orders"):
            raise KeyError
        assert metastore.order()[-1] == "abort_txn"
        assert metastore.locks == []

    def test_a_lock_that_is_not_granted_leaves_nothing(self, metastore, take):
        holder = metastore.exclusive(ORDERS)
        with pytest.raises(LockTimeoutError), take("shop.orders", lock_timeout=0.1):
            pytest.fail("the block is not entered")
        assert metastore.locks == [holder]

    def test_a_block_whose_transaction_was_lost_does_not_end_quietly(self, metastore, take):
        with pytest.raises(TransactionLostError, match="shop.orders, is lost"):
            with take("shop.orders") as snapshot:
                metastore.finish(snapshot._engine.transaction_id, TransactionState.ABORTED)
        assert metastore.order()[-1] == "commit_txn"

    def test_a_block_may_end_its_snapshot_early(self, metastore, take):
        with take("shop.orders") as snapshot:
            snapshot.end()
            assert metastore.locks == []
        assert len(metastore.calls("commit_txn")) == 1

    def test_after_the_block_every_method_is_an_error(self, take, planned):
        with take("shop.orders") as snapshot:
            snapshot.table("shop.orders")
        for use in (
            snapshot.check_alive,
            lambda: snapshot.table("shop.orders"),
            lambda: snapshot.changes("shop.orders"),
            lambda: snapshot.verify("shop.orders"),
        ):
            with pytest.raises(SnapshotEndedError, match="has ended with transaction"):
                use()
        assert snapshot.report().held_seconds > 0

    @pytest.mark.parametrize("name", ["orders", "shop.", ".orders", ""])
    def test_a_name_without_its_database_is_refused(self, take, name):
        with pytest.raises(InvalidSettingError, match="Write it as database.table"):
            take(name)


URI = "thrift://metastore:9083"


class TestWrongArguments:
    """What the issue "Nothing raw, nothing shifted, nothing silently wrong" reports, part 7."""

    def test_one_table_stands_for_a_list_of_one(self, metastore, take, monkeypatch):
        monkeypatch.setattr(api, "MetastoreClient", lambda *args, **kw: metastore.client())
        for tables in ("shop.orders", ORDERS):
            with hiveacid.snapshot(SPARK, URI, tables) as snapshot:
                assert snapshot.report().write_ids.keys() == {ORDERS}

    @pytest.mark.parametrize("auth", [hiveacid.Kerberos(), hiveacid.Jwt("a"), None])
    def test_a_way_to_authenticate_stands_for_its_settings(self, metastore, monkeypatch, auth):
        seen = []

        def make_client(uri, timeout, security):
            seen.append(security)
            return metastore.client()

        monkeypatch.setattr(api, "MetastoreClient", make_client)
        with hiveacid.snapshot(SPARK, URI, ["shop.orders"], security=auth):
            pass
        assert set(seen) == {hiveacid.Security(auth)}

    @pytest.mark.parametrize(
        ("security", "written"),
        [
            ("kerberos", "security=hiveacid.Kerberos()."),
            ("LDAP", "security=hiveacid.Password(user, password)."),
            ("s3cret", "security=hiveacid.Kerberos(), or another class of the library."),
            (hiveacid.Kerberos, "security=hiveacid.Kerberos()."),
            (hiveacid.Tls(), 'security=hiveacid.Security(tls=hiveacid.Tls("ca.pem")).'),
            (True, "security=hiveacid.Kerberos(), or another class of the library."),
        ],
    )
    def test_other_settings_of_security_are_refused(self, security, written):
        with pytest.raises(InvalidSettingError) as error:
            hiveacid.snapshot(SPARK, URI, ["shop.orders"], security=security)
        assert error.value.code == "HIVEACID_INVALID_SECURITY"
        assert error.value.message.endswith(f"Write {written}")
        assert "s3cret" not in error.value.message

    @pytest.mark.parametrize("given", [{"auth": "kerberos"}, {"tls": True}])
    def test_parts_of_security_are_checked(self, given):
        with pytest.raises(InvalidSettingError, match=r"Write hiveacid\.(Kerberos|Tls)\(\)"):
            hiveacid.Security(**given)

    @pytest.mark.parametrize(
        ("arguments", "code"),
        [
            ((URI, SPARK, ["shop.orders"]), "HIVEACID_INVALID_ARGUMENT"),
            ((None, URI, ["shop.orders"]), "HIVEACID_INVALID_ARGUMENT"),
            ((SPARK, ["shop.orders"], URI), "HIVEACID_INVALID_TABLE_NAME"),
            ((SPARK, [URI], ["shop.orders"]), "HIVEACID_INVALID_METASTORE_URI"),
            ((SPARK, URI, [("shop", "orders")]), "HIVEACID_INVALID_TABLE_NAME"),
            ((SPARK, URI, None), "HIVEACID_INVALID_TABLE_NAME"),
        ],
    )
    def test_arguments_in_another_order(self, arguments, code):
        with pytest.raises(InvalidSettingError) as error:
            hiveacid.snapshot(*arguments)
        assert error.value.code == code

    def test_a_duration_may_be_a_number_of_numpy(self):
        assert seconds_of("lock_timeout", np.int64(60)) == 60

    @pytest.mark.parametrize(
        ("given", "code"),
        [
            ({"lock_timeout": "60"}, "HIVEACID_INVALID_DURATION"),
            ({"lock_timeout": None}, "HIVEACID_INVALID_DURATION"),
            ({"lock_timeout": float("nan")}, "HIVEACID_INVALID_DURATION"),
            ({"heartbeat_interval": "60"}, "HIVEACID_INVALID_DURATION"),
            ({"open_files_limit": True}, "HIVEACID_INVALID_DURATION"),
            ({"metastore_timeout": "60"}, "HIVEACID_INVALID_DURATION"),
            ({"metastore_timeout": -1}, "HIVEACID_INVALID_DURATION"),
            ({"orc_columns": 1}, "HIVEACID_INVALID_ARGUMENT"),
            ({"old_dates": {"shop.orders": 1}}, "HIVEACID_INVALID_ARGUMENT"),
            ({"parquet_time_zone": ["UTC"]}, "HIVEACID_INVALID_ARGUMENT"),
            ({"footer_cache": 1}, "HIVEACID_INVALID_ARGUMENT"),
            ({"scratch_directory": 1}, "HIVEACID_INVALID_ARGUMENT"),
            ({"description": None}, "HIVEACID_INVALID_ARGUMENT"),
            ({"hive_views": 4.0}, "HIVEACID_INVALID_HIVE_VIEWS"),
        ],
    )
    def test_options_of_another_type(self, take, given, code):
        with pytest.raises(InvalidSettingError) as error:
            take("shop.orders", **given)
        assert error.value.code == code

    @pytest.mark.parametrize("since", [datetime(2026, 1, 31), date(2026, 1, 31), 1.5, True, [1]])
    def test_changes_have_a_state_or_a_write_id(self, take, since):
        with take("shop.orders") as snapshot, pytest.raises(InvalidSettingError) as error:
            snapshot.changes("shop.orders", since=since)
        assert error.value.code == "HIVEACID_INVALID_SINCE"

    def test_methods_refuse_other_types(self, take):
        with take("shop.orders") as snapshot:
            for wrong in (
                lambda: snapshot.table(1),
                lambda: snapshot.table("shop.orders", spark="local[1]"),
                lambda: snapshot.table("shop.orders", "day=1"),
                lambda: snapshot.table("shop.orders", timestamp_as_of=date(2026, 1, 31)),
                lambda: snapshot.changes("shop.orders", until="3"),
                lambda: snapshot.changes("shop.orders", max_write_ids=1.5),
                lambda: snapshot.table_changes("shop.orders", "1"),
                lambda: snapshot.table_changes("shop.orders", 1, datetime(2026, 1, 31)),
                lambda: snapshot.sql(1),
                lambda: snapshot.sql("select :a", "a"),
                lambda: snapshot.verify(None),
            ):
                with pytest.raises(InvalidSettingError):
                    wrong()

    def test_a_stopped_session_is_named(self, take):
        session = Session()
        with hiveacid.snapshot(session, URI, []) as snapshot:
            session.sparkContext._jsc = None
            for use in (
                lambda: snapshot.table("shop.orders"),
                lambda: hiveacid.snapshot(session, URI, ["shop.orders"]),
            ):
                with pytest.raises(InvalidSettingError, match="session has been stopped") as error:
                    use()
                assert error.value.code == "HIVEACID_SPARK_STOPPED"


class TestTable:
    def test_a_read_is_planned_once(self, take, planned):
        with take("shop.orders") as snapshot:
            (_, one), (_, two) = (snapshot.table(name) for name in ("shop.orders", ORDERS))
            assert one is two and planned.listed == 1

    def test_another_session_may_read(self, take, planned, gated):
        with take("shop.orders") as snapshot:
            assert snapshot.table("shop.orders")[0] is SPARK
            assert snapshot.table("shop.orders", spark=OTHER)[0] is OTHER
        assert gated == [SPARK, OTHER]

    def test_frames_are_built_with_hives_casts(self, take, planned, monkeypatch):
        settings = []
        monkeypatch.setattr(
            engine, "to_dataframe", lambda spark, plan: settings.append(dict(spark.settings))
        )
        with take("shop.orders") as snapshot:
            snapshot.table("shop.orders", spark=OTHER)
        assert settings == [{"spark.sql.ansi.enabled": "false"}]
        assert OTHER.settings == {"spark.sql.ansi.enabled": "true"}

    def test_partitions_are_chosen(self, metastore, take, planned, warnings):
        keys = (Column("day", "date"),)
        metastore.tables[ORDERS] = replace(metastore.tables[ORDERS], partition_keys=keys)
        with take("shop.orders") as snapshot:
            for _ in range(2):
                snapshot.table("shop.orders", partitions={"day": "2026-01-31"})
            snapshot.table("shop.orders")
            assert planned.listed == 2
            with pytest.raises(
                InvalidSettingError, match=r"\] Table shop.orders: the option `part"
            ):
                snapshot.table("shop.orders", partitions=["2026-01-31"])
        assert warnings == [
            "[HIVEACID_WARN_UNKNOWN_PARTITION] "
            "shop.orders has no partition day=2026-01-31, which the option `partitions` of the "
            "source names. Compare the value with SHOW PARTITIONS in Hive."
        ]

    def test_a_table_that_was_not_named_is_locked_late(self, metastore, take, planned):
        with take("shop.orders") as snapshot:
            snapshot.table("shop.customers")
        assert [names for _, _, names in metastore.calls("lock_shared_read")] == [
            [ORDERS],
            [CUSTOMERS],
        ]

    def test_what_was_listed_after_the_loss_of_the_transaction_is_not_read(
        self, metastore, take, planned
    ):
        def lose(plan):
            metastore.finish(plan.pinned.transaction_id, TransactionState.ABORTED)
            return plan

        planned.change = lose
        with pytest.raises(TransactionLostError), take("shop.orders") as snapshot:
            snapshot.table("shop.orders")
        assert planned.listed == 1

    def test_what_changes_values_and_loses_rows_is_warned_of_once(
        self, metastore, take, planned, warnings
    ):
        storage = replace(
            metastore.tables[ORDERS].storage,
            columns=(Column("id", "int"), Column("at", "timestamp")),
        )
        metastore.tables[ORDERS] = replace(metastore.tables[ORDERS], storage=storage)
        file = ListedFile("delta_1_1_0/bucket_00000", "file:/t/delta_1_1_0/bucket_00000", 9)
        data = DataFile(file, 0, ("id", "at"), is_acid=True, nanoseconds=(1,))
        emptied = tuple(f"file:/t/p={i}/delta_1_1_v0000007" for i in range(5))
        outside = (ListedFile("000000_0", "file:/t/000000_0", 1_200),)
        planned.change = lambda plan: replace(
            plan,
            data=(data,),
            rows_hive_will_drop=emptied,
            missing=("file:/t/p=9",),
            ignored_directories=("file:/t/p=3/base_0000002",),
            ignored_files=outside,
        )
        with take("shop.orders") as snapshot:
            for _ in range(2):
                snapshot.table("shop.orders")
            assert snapshot.rows_hive_will_drop == {ORDERS: emptied}
        cut, lost, missing, unseen, hidden = warnings
        assert cut.startswith(
            "[HIVEACID_WARN_NANOSECONDS_CUT] shop.orders has timestamps with nano"
        )
        assert f"at (in {file.path})" in cut
        assert lost.startswith(
            "[HIVEACID_WARN_ROWS_HIVE_WILL_DROP] Hive is going to lose rows of shop.orders: a "
        )
        assert f"{', '.join(emptied[:3])} and 2 more without any file" in lost
        assert missing.startswith(
            "[HIVEACID_WARN_PARTITION_WITHOUT_DIRECTORY] "
            "shop.orders has partitions without a directory: file:/t/p=9. "
        )
        assert unseen.startswith(
            "[HIVEACID_WARN_DIRECTORY_WITHOUT_FILES] "
            "shop.orders has no visible file in file:/t/p=3/base_0000002, as Impala's TRUNCATE "
        )
        assert hidden.startswith(
            "[HIVEACID_WARN_IGNORED_FILES] "
            "shop.orders has 1 file (1.2 kB) outside of all bases and deltas, such as "
            "file:/t/000000_0. "
        )
        assert "LOAD DATA INPATH" in hidden


class Listed:
    """A table whose one location has the directories `NAMES`, and as many writes."""

    NAMES = ("delta_1_1_0000", "delta_2_2_0000", "delta_3_3_0000")

    @pytest.fixture
    def listed(self, metastore, monkeypatch):
        names = self.NAMES
        files = tuple(
            ListedFile(f"{name}/bucket_00000", f"file:/w/{name}/bucket_00000", 9, 1000 * i)
            for i, name in enumerate(names, 1)
        )
        listed = []

        def list_locations(spark, locations):
            listed.append(locations)
            return [Listing("file:/w", files, names) for _ in locations]

        def plan_listed(spark, pinned, listings, footers):
            (location,) = locations(pinned, listings)
            data = tuple(DataFile(file, 0, ("id",), is_acid=True) for file in location.orc_files())
            uncommitted_compactions = tuple(location.uncommitted_compactions)
            return ReadPlan(pinned, data, (), (), uncommitted_compactions=uncommitted_compactions)

        monkeypatch.setattr(history, "list_locations", list_locations)
        monkeypatch.setattr(commit_times, "milliseconds_of", lambda spark, text: int(text))
        monkeypatch.setattr(engine, "list_locations", list_locations)
        monkeypatch.setattr(engine, "plan_listed", plan_listed)
        monkeypatch.setattr(engine, "to_dataframe", lambda spark, plan: plan)
        table = metastore.tables[ORDERS]
        orc = "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat"
        metastore.tables[ORDERS] = replace(
            table, storage=replace(table.storage, input_format=orc, serde="OrcSerde")
        )
        while len(metastore.writes[ORDERS]) < len(names):
            metastore.write(ORDERS)
        return listed


class TestEarlierInstants(Listed):
    @staticmethod
    def directories(plan):
        return [data.file.relative.partition("/")[0] for data in plan.data]

    def test_a_write_id_is_planned_once(self, metastore, take, listed):
        with take("shop.orders") as snapshot:
            clients = metastore.open_clients
            one, two = (snapshot.table("shop.orders", version_as_of=2) for _ in range(2))
            assert one is two and len(listed) == 1
            assert self.directories(one) == ["delta_1_1_0000", "delta_2_2_0000"]
            assert one.pinned.write_ids.high_watermark == 2
            assert snapshot.report().write_ids[ORDERS].high_watermark == 3
            # The cleaner is asked about before and after the listing, on another connection.
            assert len(metastore.calls("get_compactions")) == 2
            assert metastore.open_clients == clients

    def test_a_time_is_mapped_and_planned_once_for_each_time_zone(self, take, listed, metastore):
        zones = [Session(), Session()]
        zones[1].settings["spark.sql.session.timeZone"] = "Asia/Tokyo"
        with take("shop.orders") as snapshot:
            plans = [
                snapshot.table("shop.orders", timestamp_as_of="1500", spark=session)
                for session in (*zones, *zones)
            ]
            assert len({id(plan) for plan in plans}) == 2
            assert [self.directories(plan) for plan in plans] == [["delta_1_1_0000"]] * 4
            assert metastore.calls("get_events") == [("get_events", 0)] * 2

    def test_kinds_of_a_read(self, take, listed, monkeypatch):
        said = []

        def plan_optimized(spark, pinned, listings, footers):
            return ReadPlan(pinned, (), (), ()), WriteIdRanges(((0, 3),))

        monkeypatch.setattr(engine, "plan_optimized", plan_optimized)
        monkeypatch.setattr(engine.logger, "info", said.append)
        with take("shop.orders") as snapshot:
            assert snapshot.table("shop.orders", read="optimized").data == ()
            assert said == ["shop.orders, read optimized, is behind by 3 write ids of 3: 1-3."]
            with pytest.raises(InvalidSettingError, match="Allowed kinds: 'snapshot', 'optimized'"):
                snapshot.table("shop.orders", read="newest")

    def test_changes_between_two_write_ids(self, take, listed, monkeypatch):
        asked = []

        def plan_changes(spark, pinned, since, footers, *, options, max_write_ids, listings):
            asked.append((pinned.write_ids.high_watermark, since, len(listings)))
            return change_plan(pinned, since)

        monkeypatch.setattr(change_feed, "plan_changes", plan_changes)
        monkeypatch.setattr(
            change_feed, "state_of", lambda spark, pinned, listings, options: pinned.write_ids
        )
        with take("shop.orders") as snapshot:
            snapshot.changes("shop.orders", since=1, until=2)
            snapshot.changes("shop.orders", since=1)
            snapshot.changes("shop.orders", until=2)
            snapshot.changes("shop.orders", since=STATE, until=3)
            with pytest.raises(InvalidSettingError, match="given as `since` has seen write id 2"):
                snapshot.changes("shop.orders", since=STATE, until=1)
            for since, until in ((4, None), (-1, None), (1, 4), (2, 1)):
                with pytest.raises(InvalidSettingError):
                    snapshot.changes("shop.orders", since=since, until=until)
        first = ValidWriteIdList(1, table="shop.orders")
        assert asked == [(2, first, 1), (3, first, 1), (2, None, 1), (3, STATE, 1)]


def change_plan(pinned, since, **changes):
    nothing = ReadPlan(pinned, (), (), ())
    plan = ChangePlan(
        pinned, since, STATE, WriteIdRanges(), WriteIdRanges(), (), nothing, nothing, ()
    )
    return replace(plan, **changes)


class TestReplicas(Listed):
    """A base that REPL LOAD has brought, with a transaction of the other metastore."""

    NAMES = ("base_2_v0000070", "delta_2_2_0000", "delta_3_3_0000")
    OWN = Compaction(1, "", CompactionState.WORKING, 70, False, "")

    @pytest.fixture
    def changed(self, monkeypatch):
        """Plans of changes that have nothing but the locations."""

        def plan_changes(spark, pinned, since, footers, *, listings, **options):
            return change_plan(pinned, since, locations=tuple(locations(pinned, listings)))

        def plan_listed_changes(spark, pinned, since, footers, **options):
            listings = history.list_locations(spark, [None])
            return plan_changes(spark, pinned, since, footers, listings=listings)

        monkeypatch.setattr(engine, "plan_changes", plan_listed_changes)
        monkeypatch.setattr(change_feed, "plan_changes", plan_changes)
        monkeypatch.setattr(
            change_feed, "state_of", lambda spark, pinned, listings, options: pinned.write_ids
        )

    @staticmethod
    def reads(snapshot):
        """Reads of changes, each of which would leave a state or rows that lack the base's."""
        yield partial(snapshot.changes, "shop.orders")
        for since, until in ((0, None), (1, None), (None, 1), (0, 1)):
            yield partial(snapshot.changes, "shop.orders", since=since, until=until)
        yield partial(snapshot.table_changes, "shop.orders", 0)

    @pytest.mark.parametrize("is_passed", [False, True])
    @pytest.mark.parametrize("is_open", [False, True])
    def test_no_changes_are_followed(self, metastore, take, listed, changed, is_passed, is_open):
        """Nor where the transaction goes by, or begins, while the snapshot is there."""
        if is_open:
            metastore.states[70] = TransactionState.OPEN
        with take("shop.orders") as snapshot:
            if is_passed:
                metastore.states[70] = metastore.states[90] = TransactionState.UNKNOWN
            for read in self.reads(snapshot):
                with pytest.raises(UnreadableTableError) as error:
                    read()
                assert "changes cannot be followed" in error.value.message
                assert (
                    "a compaction of another metastore made file:/w/base_2_v0000070"
                    in error.value.message
                )

    @pytest.mark.parametrize("write_id", [None, 0, 1, 2, 3])
    def test_reads_are_warned(self, take, listed, warnings, planned, write_id):
        planned.change = lambda plan: replace(
            plan, uncommitted_compactions=(("file:/w/base_2_v0000070", 70),)
        )
        with take("shop.orders") as snapshot:
            snapshot.table("shop.orders", version_as_of=write_id)
        (told,) = warnings
        assert told.startswith(
            "[HIVEACID_WARN_COMPACTION_OF_OTHER_METASTORE] "
            "shop.orders has rows that Hive does not show yet: a compaction of another metastore "
            "made file:/w/base_2_v"
        )

    def test_a_read_goes_on_where_compactions_cannot_be_asked_for(
        self, metastore, take, listed, warnings, planned
    ):
        """The rows are Hive's in any case; a state would rest on the answer."""

        def refuse(call):
            if call == "get_compactions":
                raise MetastoreError("show_compact failed: Permission denied: user=dbt")

        planned.change = lambda plan: replace(
            plan, uncommitted_compactions=(("file:/w/base_2_v0000070", 70),)
        )
        metastore.before = refuse
        with take("shop.orders") as snapshot:
            for _ in range(2):
                snapshot.table("shop.orders")
        (told,) = warnings
        assert told.startswith(
            "[HIVEACID_WARN_UNKNOWN_COMPACTIONS] "
            "shop.orders has directories of compactions that the snapshot"
        )
        assert told.endswith("did not say: show_compact failed: Permission denied: user=dbt")

    def test_changes_need_to_know_of_compactions(self, metastore, take, listed, changed):
        def refuse(call):
            if call == "get_compactions":
                raise MetastoreError("show_compact failed")

        metastore.before = refuse
        with take("shop.orders") as snapshot, pytest.raises(MetastoreError, match="show_compact"):
            snapshot.changes("shop.orders")

    def test_compactions_of_this_metastore_are_known(
        self, metastore, take, listed, changed, warnings
    ):
        metastore.compactions = (self.OWN,)
        with take("shop.orders") as snapshot:
            for read in list(self.reads(snapshot))[:-1]:
                assert read()._plan.locations[0].state.uncommitted_compactions
            snapshot.table("shop.orders", version_as_of=2)
        assert warnings == []


class TestChanges:
    @pytest.fixture
    def asked(self, monkeypatch):
        asked = []

        def plan_changes(spark, pinned, since, footers, *, options, max_write_ids):
            asked.append((since, options, max_write_ids))
            losses = (Loss("day=1", "it was dropped", Extent.LOCATION),) if since else ()
            return change_plan(pinned, since, losses=losses)

        monkeypatch.setattr(engine, "plan_changes", plan_changes)
        return asked

    def test_the_state_may_be_given_as_text(self, take, asked):
        with take("shop.orders") as snapshot:
            first = snapshot.changes("shop.orders")
            snapshot.changes("shop.orders", since=first.state.to_text(), max_write_ids=3)
            snapshot.changes("shop.orders", since=first.state)
        assert asked == [(None, "", None), (STATE, "", 3), (STATE, "", None)]
        assert first.state == STATE and not first.losses and first.is_empty and not first.has_more

    def test_changes_that_cannot_be_told_are_not_shown(self, take, asked):
        with take("shop.orders") as snapshot:
            changes = snapshot.changes("shop.orders", since=STATE)
            assert [str(loss) for loss in changes.losses] == ["partition day=1: it was dropped"]
            with pytest.raises(HistoryLostError) as error:
                _ = changes.rows
        assert error.value.message == (
            "The changes of shop.orders since the state can no longer be determined: partition "
            "day=1: it was dropped. Call `changes` without `since`, replace your copy with its "
            "rows, and store its state."
        )

    @pytest.mark.parametrize("text", ["", "{", "[]", "{}", STATE.to_text()[:-1]])
    def test_a_text_that_is_no_state_is_refused(self, take, text):
        with take("shop.orders") as snapshot:
            with pytest.raises(InvalidStateError, match=f"A text of {len(text)} characters is not"):
                snapshot.changes("shop.orders", since=text)

    def test_a_state_is_read_back_from_its_text(self):
        assert SourceState.parse(STATE.to_text()) == STATE


@pytest.mark.parametrize(
    ("given", "orders", "customers"),
    [
        (None, "position", "position"),
        ("name", "name", "name"),
        ({"Shop.orders": "name"}, "name", "position"),
    ],
)
def test_columns_in_orc_files_are_found_as_each_table_says(take, given, orders, customers):
    with take("shop.orders", orc_columns=given) as snapshot:
        # The second one is pinned late.
        found = [
            snapshot._engine.pin([name])[name].orc_columns.value for name in (ORDERS, CUSTOMERS)
        ]
    assert found == [orders, customers]


@pytest.mark.parametrize("given", ["names", {"shop.orders": "names"}])
def test_columns_in_orc_files_are_found_by_position_or_name(take, given):
    with pytest.raises(InvalidSettingError, match="must be `position` or `name`, not 'names'"):
        take("shop.orders", orc_columns=given)


def test_each_table_can_have_settings_of_its_own(take):
    given = {"old_dates": {"shop.orders": "gregorian"}, "parquet_time_zone": "Asia/Tokyo"}
    with take("shop.orders", "shop.customers", **given) as snapshot:
        pinned = snapshot._engine.pin([ORDERS, CUSTOMERS])
    found = {name: (table.gregorian, table.parquet_time_zone) for name, table in pinned.items()}
    assert found == {ORDERS: (True, "Asia/Tokyo"), CUSTOMERS: (False, "Asia/Tokyo")}


class TestSettingsOfTables:
    def test_a_table_that_does_not_exist_has_no_settings(self, metastore, take):
        with pytest.raises(InvalidSettingError) as error:
            with take("shop.orders", orc_columns={"shop.ordres": "name", "shop.orders": "name"}):
                pytest.fail("the block is not entered")
        assert error.value.message.startswith("The settings name shop.ordres, but the ")
        assert metastore.calls("open_txn") == [] and metastore.open_clients == 0

    def test_a_table_that_may_be_locked_late_is_asked_for(self, metastore, take):
        with take("shop.orders", old_dates={"Shop.customers": "gregorian"}) as snapshot:
            assert snapshot._engine.pin([CUSTOMERS])[CUSTOMERS].gregorian
        assert metastore.calls("get_tables")[0] == ("get_tables", [CUSTOMERS])

    def test_nothing_more_is_asked_about_the_tables_of_the_snapshot(self, metastore, take):
        with take("shop.orders", orc_columns={"shop.orders": "name"}):
            assert metastore.order()[0] == "server_info"
