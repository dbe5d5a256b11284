import pytest

from dbt.adapters.hiveacid.errors import RawAcidReferenceError
from dbt.adapters.hiveacid.sources.options import SourceOptions
from dbt.adapters.hiveacid.sources.views import (
    SourceTables,
    SourceView,
    SourceViews,
    view_name,
)
from hiveacid.acid.layout import ListedFile
from hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from hiveacid.metastore.models import StorageDescriptor, Table, TableName
from hiveacid.reader.partition_choice import PartitionChoice
from hiveacid.reader.plan import DataFile, ReadPlan
from hiveacid.snapshots.tables import PinnedTable

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


def unused():
    """Fail: nobody asks for the snapshot before a statement runs."""
    raise AssertionError


@pytest.fixture
def metastore():
    return Metastore()


def views(metastore, foreseen=()):
    return SourceViews(SourceTables(metastore, lambda: foreseen), unused)


def test_view_names_are_stable_and_told_apart_by_their_digits():
    options = SourceOptions()
    assert view_name(ORDERS, options) == view_name(TableName("SHOP", "Orders"), options)
    assert view_name(ORDERS, options) == "hiveacid__shop__orders__5095d330"
    one = view_name(TableName("a__b", "c"), options)
    other = view_name(TableName("a", "b__c"), options)
    assert one[:-8] == other[:-8] and one != other


def test_a_static_source_is_another_one_than_a_changing_one_of_the_same_table(metastore):
    found_views = views(metastore)
    options = SourceOptions(static=True)
    changing, static = (found_views.name_of(ORDERS, o) for o in (SourceOptions(), options))
    found = found_views.among([(changing,), (static,)])
    assert {view.name: view.options.static for view in found} == {changing: False, static: True}


def test_a_view_name_needs_no_quotes_whatever_the_table_is_called():
    assert view_name(TableName("my-db", "a.b c"), SourceOptions())[:-8] == (
        "hiveacid__my_db__a_b_c__"
    )


def test_all_foreseen_sources_are_looked_up_in_one_call_and_once(metastore):
    tables = SourceTables(metastore, lambda: {PLAIN, MISSING})
    assert tables.get(ORDERS).is_transactional
    assert not tables.get(PLAIN).is_transactional
    assert tables.get(MISSING) is None
    assert metastore.calls == [{ORDERS, PLAIN, MISSING}]


def test_a_source_nobody_foresaw_is_looked_up_alone(metastore):
    tables = SourceTables(metastore, lambda: {PLAIN})
    tables.get(PLAIN)
    tables.get(ORDERS)
    assert metastore.calls == [{PLAIN}, {ORDERS}]


def test_only_transactional_tables_get_views(metastore):
    found_views = views(metastore)
    assert found_views.name_of(ORDERS, SourceOptions()) == "hiveacid__shop__orders__5095d330"
    assert found_views.name_of(PLAIN, SourceOptions()) is None
    assert found_views.name_of(MISSING, SourceOptions()) is None


def test_the_views_of_a_statement_are_found_by_name(metastore):
    found_views = views(metastore)
    name = found_views.name_of(ORDERS, SourceOptions())
    found = found_views.among({(name.upper(),), ("shop", "plain"), ("shop", name), ("other",)})
    assert [view.table for view in found] == [ORDERS]


def test_a_view_name_written_by_hand_is_refused(metastore):
    with pytest.raises(RawAcidReferenceError, match="hiveacid__shop__orders__x is not the name"):
        views(metastore).among({("hiveacid__shop__orders__x",)})


class Frame:
    def __init__(self):
        self.views, self.sessions = [], []

    def createOrReplaceTempView(self, name):  # noqa: N802
        self.views.append(name)


class Snapshot:
    """Plans each read once, as `hiveacid.Snapshot` does, and remembers what it was asked."""

    def __init__(self):
        self.asked = []
        self.plans = {}
        self.rows = Frame()

    def plan_table(self, spark, name, choice):
        self.asked.append((spark, name, choice))
        pinned = PinnedTable(table(name, True), (), ValidWriteIdList(1), ValidTxnList(1), 7)
        data = DataFile(ListedFile("b", "/x/b", 9), 0, ("id",), is_acid=True)
        return self.plans.setdefault((name, choice), ReadPlan(pinned, (data,), (), ()))

    def frame(self, spark, plan):
        assert plan in self.plans.values()
        self.rows.sessions.append(spark)
        return self.rows

    def plan_changes(self, spark, name, since, choice, *, max_write_ids):
        return spark, name, since, choice, max_write_ids


def test_a_view_is_made_in_each_session_and_its_files_are_one_reading(metastore):
    snapshot = Snapshot()
    made = SourceViews(SourceTables(metastore, lambda: ()), lambda: snapshot)
    view = SourceView(made.name_of(ORDERS, SourceOptions()), ORDERS)
    one, other = (made.create(session, view) for session in ("one", "other"))
    assert one is other
    assert one.lengths == {"/x/b": 9} and one.pinned.transaction_id == 7
    assert snapshot.rows.views == [view.name, view.name]
    assert snapshot.rows.sessions == ["one", "other"]


def test_another_snapshot_is_another_reading(metastore):
    snapshot = Snapshot()
    made = SourceViews(SourceTables(metastore, lambda: ()), lambda: snapshot)
    view = SourceView(made.name_of(ORDERS, SourceOptions()), ORDERS)
    before = made.create(None, view)
    snapshot.plans.clear()
    assert made.create(None, view) is not before


def test_the_options_of_a_source_choose_its_partitions(metastore):
    snapshot = Snapshot()
    made = SourceViews(SourceTables(metastore, lambda: ()), lambda: snapshot)
    choice = PartitionChoice.of({"day": frozenset({"2026-01-31"})})
    options = SourceOptions(choice)
    view = SourceView(made.name_of(ORDERS, options), ORDERS, options)
    made.create("session", view)
    assert snapshot.asked == [("session", ORDERS, choice)]
    planned = made.plan_changes("session", view, None, max_write_ids=3)
    assert planned == ("session", ORDERS, None, choice, 3)
