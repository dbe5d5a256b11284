from dataclasses import replace

import pytest

from dbt.adapters.hiveacid.errors import RawAcidReferenceError
from dbt.adapters.hiveacid.sources import views as views_module
from dbt.adapters.hiveacid.sources.options import SourceOptions
from dbt.adapters.hiveacid.sources.views import (
    SourceTables,
    SourceView,
    SourceViews,
    view_name,
)
from hiveacid.acid.layout import ListedFile
from hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from hiveacid.errors import TransactionLostError
from hiveacid.metastore.models import Column, StorageDescriptor, Table, TableName
from hiveacid.reader.orc_footers import OrcFooters
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


def no_pin(names):
    raise AssertionError("nothing is pinned before a statement runs")


@pytest.fixture
def metastore():
    return Metastore()


def views(metastore, foreseen=()):
    tables = SourceTables(metastore, lambda: foreseen)
    return SourceViews(tables, no_pin, lambda: None, lambda: foreseen, OrcFooters())


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


class View:
    def createOrReplaceTempView(self, name):  # noqa: N802
        pass


def test_what_changes_values_and_loses_rows_is_warned_of_once_a_run(metastore, monkeypatch):
    storage = StorageDescriptor("file:/t", (Column("id", "int"), Column("at", "timestamp")))
    pinned = PinnedTable(
        replace(table(ORDERS, transactional=True), storage=storage),
        (),
        ValidWriteIdList(1),
        ValidTxnList(1),
        transaction_id=1,
    )
    file = ListedFile("delta_1_1_0/bucket_00000", "file:/t/delta_1_1_0/bucket_00000", 9)
    data = DataFile(file, 0, ("id", "at"), is_acid=True, nanoseconds=(1,))
    emptied = tuple(f"file:/t/p={i}/delta_1_1_v0000007" for i in range(5))
    plan = ReadPlan(pinned, (data,), (), (), to_be_lost=emptied, missing=("file:/t/p=9",))
    warnings = []
    monkeypatch.setattr(views_module, "plan_read", lambda *_: plan)
    monkeypatch.setattr(views_module, "to_dataframe", lambda *_: View())
    monkeypatch.setattr(views_module.logger, "warning", warnings.append)
    tables = SourceTables(metastore, lambda: ())
    made = SourceViews(
        tables, lambda names: {ORDERS: pinned}, lambda: None, lambda: (), OrcFooters()
    )
    view = SourceView(made.name_of(ORDERS, SourceOptions()), ORDERS)
    for _ in range(2):
        made.create(None, view)
    cut, lost, missing = warnings
    assert cut.startswith("shop.orders has timestamps with nanoseconds")
    assert f"at (in {file.path})" in cut
    assert lost.startswith("shop.orders has rows that Hive is going to lose")
    assert f"{', '.join(emptied[:3])} and 2 more without any file" in lost
    assert missing.startswith("shop.orders has partitions without a directory: file:/t/p=9. ")
    assert made.tables_to_lose("file:/t/p=4/delta_1_1/a was listed") == [str(ORDERS)]
    assert made.tables_to_lose("file:/elsewhere/delta_1_1/a was listed") == []


def test_what_was_listed_after_the_loss_of_the_transaction_is_not_read(metastore, monkeypatch):
    calls = []

    def lost():
        calls.append("asked")
        raise TransactionLostError("transaction 1 is gone")

    pinned = PinnedTable(
        table(ORDERS, transactional=True), (), ValidWriteIdList(1), ValidTxnList(1), 1
    )
    monkeypatch.setattr(views_module, "plan_read", lambda *_: calls.append("listed"))
    monkeypatch.setattr(views_module, "to_dataframe", lambda *_: pytest.fail("it is read"))
    tables = SourceTables(metastore, lambda: ())
    made = SourceViews(tables, lambda names: {ORDERS: pinned}, lost, lambda: (), OrcFooters())
    view = SourceView(made.name_of(ORDERS, SourceOptions()), ORDERS)
    with pytest.raises(TransactionLostError, match="transaction 1 is gone"):
        made.create(None, view)
    assert calls == ["listed", "asked"]


def test_a_value_that_no_partition_has_is_warned_of_once(metastore, monkeypatch):
    pinned = PinnedTable(
        replace(table(ORDERS, transactional=True), partition_keys=(Column("day", "date"),)),
        (),
        ValidWriteIdList(1),
        ValidTxnList(1),
        transaction_id=1,
    )
    warnings = []
    monkeypatch.setattr(views_module, "plan_read", lambda *_: ReadPlan(pinned, (), (), ()))
    monkeypatch.setattr(views_module, "to_dataframe", lambda *_: View())
    monkeypatch.setattr(views_module.logger, "warning", warnings.append)
    tables = SourceTables(metastore, lambda: ())
    made = SourceViews(
        tables, lambda names: {ORDERS: pinned}, lambda: None, lambda: (), OrcFooters()
    )
    choice = PartitionChoice.of({"day": frozenset({"2026-01-31"})})
    options = SourceOptions(choice)
    view = SourceView(made.name_of(ORDERS, options), ORDERS, options)
    for _ in range(2):
        made.create(None, view)
    assert warnings == [
        "shop.orders has no partition day=2026-01-31, which the option `partitions` of the source "
        "names."
    ]
