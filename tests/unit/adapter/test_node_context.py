"""The state of a node on its connection."""

from types import SimpleNamespace

from dbt.adapters.hiveacid.node_context import AcidNames, NodeContext
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.sources.acid_sources import AcidSources, ChangesOf, Source
from dbt.adapters.hiveacid.sources.options import SourceOptions
from dbt.adapters.hiveacid.sources.prepare import _names, _source
from hiveacid.metastore.models import TableName
from hiveacid.reader.partition_choice import PartitionChoice
from hiveacid.sql.prepare import StatementReads
from hiveacid.sql.reads import AcidRead, ChangesRead
from hiveacid.sql.statement import Relation, TableFunction

TARGET = HiveAcidRelation.create(schema="marts", identifier="Orders", type="table")


class Frame:
    """A DataFrame of which temporary views are made."""

    def __init__(self):
        self.views = []
        self.createOrReplaceTempView = self.views.append


def node():
    session = SimpleNamespace()
    return NodeContext(SimpleNamespace(session=session))


def test_a_temporary_view_reads_what_the_statement_behind_it_has_read():
    found, frame = node(), Frame()
    found.reads = frozenset({"a file"})
    view = found.make_temporary_view(TARGET, "tmp", frame)
    assert frame.views == ["`Orders__dbt_tmp`"] and str(view) == "Orders__dbt_tmp"
    assert found.temporary_views == {"orders__dbt_tmp": {"a file"}}


def test_sources_are_found_behind_temporary_views_only():
    found, orders = node(), Source(TableName("shop", "orders"))
    behind = AcidNames(frozenset({orders}), frozenset({ChangesOf(orders, "marts.m")}))
    found.temporary_sources["recent"] = behind
    assert found.sources_behind([("Recent",), ("other",)]) == behind
    assert found.sources_behind([("global_temp", "Recent")]) == behind
    assert found.sources_behind([("marts", "recent"), ("other",)]) == AcidNames()


def test_a_cursor_keeps_what_the_node_has_read_by_then():
    found = node()
    found.has_read = frozenset({1})
    cursor = found.cursor()
    found.has_read |= {2}
    assert cursor.has_read == {1}


def test_a_statement_of_freshness_reads_the_partitions_of_its_source():
    found, orders = node(), TableName("shop", "orders")
    options = SourceOptions(PartitionChoice.parse({"day": ["2026-01-31"]}))
    plain = AcidRead(Relation(("shop", "orders")), orders)
    given = {"partitions": '{"day": ["2026-02-01"]}'}
    of_its_own = AcidRead(Relation(("shop", "orders"), given), orders)
    behind_a_view = AcidRead(Relation(("orders",)), orders, ("shop.recent",))
    other = AcidRead(Relation(("shop", "items")), TableName("shop", "items"))
    with found.reading(orders, options):
        assert _source(found, plain) == Source(orders, options)
        assert _source(found, of_its_own).options.as_clauses().options() == given
        assert _source(found, behind_a_view) == Source(orders)
        assert _source(found, other) == Source(other.table)
        with found.reading(orders, None):
            assert _source(found, plain) == Source(orders, options)
    assert _source(found, plain) == Source(orders)


def test_changes_by_write_id_are_of_the_declared_source():
    """`table_changes` without a last write id next to `acid_changes`."""
    items, orders, parts = (TableName("shop", name) for name in ("items", "orders", "parts"))
    call = TableFunction("table_changes", ())
    ends = {items: None, orders: None, parts: 1}
    feeds = tuple(ChangesRead(call, table, 0, until) for table, until in ends.items())
    found = StatementReads(SimpleNamespace(functions=()), feeds=feeds)
    sources = AcidSources(None, None, is_static=lambda table: table == items)
    expected = {Source(items, SourceOptions(static=True)), Source(orders)}
    assert _names(node(), found, sources).sources == expected
