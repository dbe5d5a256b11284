from datetime import datetime, timezone
from types import SimpleNamespace

import pytest
from dbt.adapters.base.relation import EventTimeFilter

from dbt.adapters.hiveacid.relation import HiveAcidRelation, with_format
from dbt.adapters.hiveacid.sources.options import SourceOptions
from hiveacid.metastore.models import TableName

QUOTING = SimpleNamespace(quoting={})


class Sources:
    """Knows one ACID table, and counts how often it is asked."""

    def __init__(self):
        self.asked = []
        self.options = []

    def name_of(self, table: TableName, options: SourceOptions) -> str | None:
        self.asked.append(table)
        self.options.append(str(options))
        return "hiveacid__shop__orders__00000000" if table.table == "orders" else None


def node(resource_type="source", identifier="Orders", config=None):
    return SimpleNamespace(
        resource_type=resource_type,
        database=None,
        schema="Shop",
        identifier=identifier,
        quoting_dict={},
        config=config or {},
        meta={},
        source_name="shop",
        name="orders",
    )


def create(sources, *args, **kwargs):
    return HiveAcidRelation.bound_to(sources).create_from(QUOTING, *args, **kwargs)


def test_the_parser_names_a_source_as_dbt_spark_does_and_asks_nobody():
    sources = Sources()
    assert str(create(sources, node())) == "Shop.Orders"
    assert sources.asked == []


def test_a_source_of_a_statement_is_named_by_its_view():
    relation = create(Sources(), node(), limit=None, event_time_filter=None)
    assert str(relation) == "hiveacid__shop__orders__00000000"
    assert (relation.schema, relation.identifier) == ("Shop", "Orders")
    assert relation.table_name() == TableName("shop", "orders")
    assert str(relation.without_identifier()) == "Shop"


def test_freshness_reads_what_the_options_of_a_source_say():
    """dbt makes the relation as the parser does, and asks for the rows later."""
    sources = Sources()
    config = {"hiveacid": {"partitions": {"day": "2026-01-31"}}}
    relation = create(sources, node(config=config))
    assert sources.asked == []
    assert relation.replace().as_read().acid_view == "hiveacid__shop__orders__00000000"
    create(sources, node(config=config), limit=None)
    create(sources, node(), limit=None)
    of_freshness, of_model, of_other = sources.options
    assert of_freshness == of_model != of_other


@pytest.mark.parametrize(
    ("sql", "as_read"),
    [
        ("select max(t) from Shop.Orders", "select max(t) from VIEW"),
        ("select max(Shop.Orders.t) from (Shop.Orders)", "select max(VIEW.t) from (VIEW)"),
        ("select 'Shop.Orders', t from Shop.Orders o", "select 'Shop.Orders', t from VIEW o"),
        ("select t from Shop.Orders_2, My_Shop.Orders, lake.Shop.Orders, `Shop.Orders`", None),
    ],
)
def test_this_in_a_query_of_freshness_is_the_source(sql, as_read):
    view = "hiveacid__shop__orders__00000000"
    wanted = sql if as_read is None else as_read.replace("VIEW", view)
    assert create(Sources(), node()).read_in(sql) == wanted
    assert create(Sources(), node(identifier="plain")).read_in("Shop.plain") == "Shop.plain"


def test_empty_reads_no_rows_of_the_view():
    relation = create(Sources(), node(), limit=0)
    assert str(relation) == "(select * from hiveacid__shop__orders__00000000 where false limit 0)"


def day(of_january, **fraction):
    return datetime(2024, 1, of_january, **fraction, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    "start, end, condition",
    [
        (day(1), day(2), "at >= '2024-01-01 00:00:00' and at < '2024-01-02 00:00:00'"),
        (day(1, hour=7), None, "at >= '2024-01-01 07:00:00'"),
        (None, day(2), "at < '2024-01-02 00:00:00'"),
        (
            day(1, microsecond=5),
            day(4, microsecond=5),
            "at >= '2024-01-01 00:00:00.000005+00:00' and at < '2024-01-04 00:00:00.000005+00:00'",
        ),
    ],
    ids=["batch", "from", "until", "sample before now"],
)
def test_batches_are_times_of_the_sessions_clock(start, end, condition):
    by_time = EventTimeFilter("at", start=start, end=end)
    relation = create(Sources(), node(), limit=None, event_time_filter=by_time)
    view = "hiveacid__shop__orders__00000000"
    assert str(relation) == f"(select * from {view} where {condition})"


def test_a_source_that_is_not_transactional_stays_as_it_is():
    assert str(create(Sources(), node(identifier="plain"), limit=None)) == "Shop.plain"


def test_a_model_is_never_looked_up():
    sources = Sources()
    assert str(create(sources, node(resource_type="model"), limit=None)) == "Shop.Orders"
    assert sources.asked == []


def test_two_adapters_do_not_share_their_sources():
    one, other = Sources(), Sources()
    first, second = HiveAcidRelation.bound_to(one), HiveAcidRelation.bound_to(other)
    first.create_from(QUOTING, node(), limit=None)
    assert one.asked and not other.asked
    assert second.sources is other
    assert HiveAcidRelation.sources is None


def test_relations_of_the_bound_class_survive_what_dbt_does_with_them():
    relation = create(Sources(), node(), limit=None)
    assert relation.incorporate(type="table").acid_view == relation.acid_view
    assert relation.include(schema=False).render() == relation.acid_view
    assert relation.incorporate(path={"identifier": "ORDERS"}).acid_view == relation.acid_view
    assert relation == relation.replace()
    assert isinstance(relation, HiveAcidRelation)


def test_another_table_than_the_source_is_not_shown_by_its_view():
    """A macro makes it of the source: a table of another year, say. The guard looks at its name."""
    relation = create(Sources(), node(), limit=None)
    others = {
        "Shop.orders_2023": relation.incorporate(path={"identifier": "orders_2023"}),
        "Shop.orders_2024": relation.replace_path(identifier="orders_2024"),
        "archive.Orders": relation.replace_path(schema="archive"),
    }
    for name, other in others.items():
        assert str(other) == name
        assert other.acid_view is None


@pytest.mark.parametrize(
    "information, is_iceberg",
    [
        ("Provider: hive\nTable Properties: [a=b, table_type=ICEBERG, uuid=1]\n", True),
        ("Provider: parquet\nTable Properties: [a=b]\n", False),
        ("Provider: hive\nComment: Table Properties: table_type=iceberg\n", False),
        (None, False),
    ],
)
def test_iceberg_in_the_session_catalog_is_seen(information, is_iceberg):
    relation = HiveAcidRelation.create(
        schema="marts", identifier="m", information=information, is_iceberg=False
    )
    assert with_format(relation).is_iceberg is is_iceberg
