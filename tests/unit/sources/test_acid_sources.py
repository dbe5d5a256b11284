import json
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.hiveacid.errors import IncrementalError
from dbt.adapters.hiveacid.sources.acid_sources import (
    AcidSources,
    ChangesOf,
    Source,
)
from dbt.adapters.hiveacid.sources.options import SourceOptions
from hiveacid.acid.layout import ListedFile
from hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from hiveacid.errors import TableNotFoundError
from hiveacid.jvm.scratch import Scratch
from hiveacid.metastore.models import HiveSql, StorageDescriptor, Table, TableName
from hiveacid.reader.partition_choice import PartitionChoice
from hiveacid.reader.plan import DataFile, ReadPlan
from hiveacid.snapshots.read_options import AsOf, ReadKind
from hiveacid.snapshots.tables import PinnedTable
from hiveacid.sql.known_tables import KnownTables
from hiveacid.sql.statement import TableFunction

ORDERS = TableName("shop", "orders")
PLAIN = TableName("shop", "plain")
MISSING = TableName("shop", "missing")


def table(name, transactional):
    parameters = {"transactional": "true"} if transactional else {}
    return Table(name, "MANAGED_TABLE", StorageDescriptor("/x", ()), (), parameters, 0)


class Metastore:
    def __init__(self):
        self.calls = []

    def get_tables(self, names):
        self.calls.append(set(names))
        known = {ORDERS: table(ORDERS, True), PLAIN: table(PLAIN, False)}
        return {name: known[name] for name in names if name in known}


@pytest.fixture
def metastore():
    return Metastore()


def known_tables(metastore, expected=(), declared=(), hive_views=None):
    return KnownTables(
        lambda: nullcontext(metastore), lambda: expected, lambda: declared, hive_views
    )


def sources(metastore, snapshot=None):
    return AcidSources(known_tables(metastore), lambda: snapshot)


def test_all_foreseen_sources_are_looked_up_in_one_call_and_once(metastore):
    tables = known_tables(metastore, {PLAIN, MISSING})
    assert tables.get(ORDERS).is_transactional
    assert not tables.get(PLAIN).is_transactional
    assert tables.get(MISSING) is None
    assert metastore.calls == [{ORDERS, PLAIN, MISSING}]


def test_a_source_nobody_foresaw_is_looked_up_alone(metastore):
    tables = known_tables(metastore, {PLAIN})
    tables.get(PLAIN)
    tables.get(ORDERS)
    assert metastore.calls == [{PLAIN}, {ORDERS}]


def test_a_table_that_spark_lacks_is_looked_up_in_the_metastore(metastore):
    found = known_tables(metastore)
    assert found.has(ORDERS, in_spark=False)
    assert not found.has(PLAIN, in_spark=False)
    assert not found.has(MISSING, in_spark=False)


def test_of_a_table_that_spark_has_the_metastore_is_asked_only_if_it_is_a_source(metastore):
    assert not known_tables(metastore).has(ORDERS, in_spark=True)
    assert metastore.calls == []
    assert known_tables(metastore, declared={ORDERS}).has(ORDERS, in_spark=True)


def test_columns_are_found_without_the_snapshot(metastore):
    columns = SimpleNamespace(columns_of=lambda session, table: table.name)
    assert sources(metastore, columns).columns(None, ORDERS) == ORDERS
    with pytest.raises(TableNotFoundError, match="no table shop.missing"):
        sources(metastore, columns).columns(None, MISSING)


CHOICE = PartitionChoice.of({"day": frozenset({"2026-01-31", "it's"})})


@pytest.mark.parametrize(
    "options", [SourceOptions(), SourceOptions(CHOICE), SourceOptions(CHOICE, static=True)]
)
def test_changes_are_read_as_they_are_rendered(options):
    changes = ChangesOf(Source(ORDERS, options), "marts.orders")
    assert changes.render().startswith("acid_changes('shop.orders', 'marts.orders'")
    given = [str(ORDERS), "marts.orders"]
    if options != SourceOptions():
        given.append(json.dumps(options.as_clauses().options()))
    assert ChangesOf.of(TableFunction("acid_changes", tuple(given))) == changes


@pytest.mark.parametrize("arguments", [(), ("shop.orders",), ("orders", "m"), ("a.b", "m", "x")])
def test_changes_that_no_model_asks_for_are_refused(arguments):
    with pytest.raises(DbtRuntimeError, match=r"calls acid_changes\(…\) and is not the SQL"):
        ChangesOf.of(TableFunction("acid_changes", arguments))


class Snapshot:
    """Plans each read once, as the engine does, and remembers what it was asked."""

    def __init__(self):
        self.asked = []
        self.plans = {}
        self.sessions = []

    def plan_table(self, spark, name, choice, *, as_of, read):
        self.asked.append((spark, name, choice, as_of, read))
        pinned = PinnedTable(
            table(name, True), (), ValidWriteIdList(1), ValidTxnList(1), 7, scratch=Scratch()
        )
        data = DataFile(ListedFile("b", "/x/b", 9), 0, ("id",), is_acid=True)
        return self.plans.setdefault((name, choice), ReadPlan(pinned, (data,), (), ()))

    def frame(self, spark, plan):
        assert plan in self.plans.values()
        self.sessions.append(spark)
        return f"rows for {spark}"

    def plan_changes(self, spark, name, since, choice, *, max_write_ids):
        return spark, name, since, choice, max_write_ids


def test_rows_are_made_for_each_session_and_their_files_are_one_reading(metastore):
    snapshot = Snapshot()
    found = sources(metastore, snapshot)
    (one, files), (other, same) = (found.rows(it, Source(ORDERS)) for it in ("one", "other"))
    assert (one, other) == ("rows for one", "rows for other")
    assert files is same
    assert files.lengths == {"/x/b": 9} and files.pinned.transaction_id == 7


def test_another_snapshot_is_another_reading(metastore):
    snapshot = Snapshot()
    found = sources(metastore, snapshot)
    _, before = found.rows(None, Source(ORDERS))
    snapshot.plans.clear()
    assert found.rows(None, Source(ORDERS))[1] is not before


def test_the_options_of_a_source_choose_its_partitions(metastore):
    snapshot = Snapshot()
    found, source = sources(metastore, snapshot), Source(ORDERS, SourceOptions(CHOICE))
    found.rows("session", source)
    assert snapshot.asked == [("session", ORDERS, CHOICE, None, ReadKind.SNAPSHOT)]
    planned = found.plan_changes("session", source, None, max_write_ids=3)
    assert planned == ("session", ORDERS, None, CHOICE, 3)


def test_a_run_of_an_earlier_instant_reads_all_tables_so_and_no_changes(metastore):
    snapshot, earlier = Snapshot(), AsOf(timestamp="2026-01-31")
    found = AcidSources(known_tables(metastore), lambda: snapshot, earlier)
    found.rows("session", Source(ORDERS))
    found.rows("session", Source(ORDERS, as_of=AsOf(version=3), read=ReadKind.OPTIMIZED))
    assert [asked[3:] for asked in snapshot.asked] == [
        (earlier, ReadKind.SNAPSHOT),
        (AsOf(version=3), ReadKind.OPTIMIZED),
    ]
    with pytest.raises(IncrementalError, match="in a run with `as_of`, which shows the sources as"):
        found.plan_changes("session", Source(ORDERS), None)


class Views(Metastore):
    """A metastore with a view over a view over two tables, one of them transactional."""

    times_asked = 0

    def get_tables(self, names):
        texts = {
            "above": "SELECT v.id FROM shop.below v",
            "below": "SELECT o.id FROM shop.orders o JOIN shop.plain p ON o.id = p.id",
            "of_plain": "SELECT id FROM shop.plain",
        }
        views = {
            TableName("shop", name): Table(
                TableName("shop", name), "VIRTUAL_VIEW", StorageDescriptor("", ()), (), {}, 0,
                view_text=text,
            )
            for name, text in texts.items()
        }  # fmt: skip
        return super().get_tables(names) | {name: views[name] for name in names if name in views}

    def hive_sql(self, hive_views):
        self.times_asked += 1
        return HiveSql("4.0.1", True, hive_views)


def test_tables_behind_views_of_hives_are_foreseen():
    above, of_plain = TableName("shop", "above"), TableName("shop", "of_plain")
    tables = known_tables(Views())
    assert tables.behind([above, of_plain, MISSING]) == {ORDERS}
    assert tables.behind([ORDERS, PLAIN]) == {ORDERS}
    assert tables.read_in_snapshot([above, of_plain, ORDERS, PLAIN]) == {above, ORDERS}
    metastore = Views()
    found = known_tables(metastore)
    assert found.hive_view(above, in_spark=False).text == "SELECT v.id FROM shop.below v"
    assert found.hive_view(ORDERS, in_spark=False) is None
    # No source of the project: the name is that of another table, in Spark's catalog.
    assert found.hive_view(above, in_spark=True) is None
    declaring = known_tables(metastore, declared=[above])
    assert declaring.hive_view(above, in_spark=True).text == "SELECT v.id FROM shop.below v"
    assert found.hive_sql() == found.hive_sql() == HiveSql("4.0.1", nulls_last=True)
    assert metastore.times_asked == 1
    # What the profile says of the release goes along.
    as_3_1 = known_tables(Views(), hive_views="3.1")
    assert as_3_1.hive_sql() == HiveSql("4.0.1", True, "3.1")
