from datetime import datetime, timezone
from types import SimpleNamespace

import pytest
from dbt.adapters.base.relation import EventTimeFilter

from dbt.adapters.hiveacid.relation import HiveAcidRelation, with_format
from hiveacid.metastore.models import TableName
from hiveacid.sql.clauses import render_read

QUOTING = SimpleNamespace(quoting={})


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


def create(*args, **kwargs):
    return HiveAcidRelation.create_from(QUOTING, *args, **kwargs)


JANUARY = {"hiveacid": {"partitions": {"day": "2026-01-31"}}}
READ_IN_JANUARY = render_read("Shop.Orders", {"partitions": '{"day": ["2026-01-31"]}'})


def test_a_source_is_named_as_dbt_spark_names_it():
    assert str(create(node())) == "Shop.Orders"
    relation = create(node(), limit=None, event_time_filter=None)
    assert str(relation) == "Shop.Orders"
    assert relation.table_name() == TableName("shop", "orders")
    assert str(relation.without_identifier()) == "Shop"


def test_a_statement_reads_a_source_with_its_options():
    """The parser and the docs name it; freshness makes the relation as they do, and reads later."""
    relation = create(node(config=JANUARY))
    assert str(relation) == "Shop.Orders"
    assert str(relation.as_read()) == READ_IN_JANUARY
    assert str(create(node(config=JANUARY), limit=None)) == READ_IN_JANUARY
    static = create(node(config={"hiveacid": {"static": True}}), limit=None)
    assert str(static) == render_read("Shop.Orders", {"static": "true"})


def test_options_stand_before_the_limit_of_empty():
    relation = create(node(config=JANUARY), limit=0)
    assert str(relation) == f"(select * from {READ_IN_JANUARY} where false limit 0)"
    assert str(create(node(), limit=0)) == "(select * from Shop.Orders where false limit 0)"


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
    relation = create(node(), limit=None, event_time_filter=by_time)
    assert str(relation) == f"(select * from Shop.Orders where {condition})"


def test_a_model_has_no_options():
    assert str(create(node(resource_type="model", config=JANUARY), limit=None)) == "Shop.Orders"


def test_a_source_keeps_its_options_through_what_dbt_does_with_it():
    relation = create(node(config=JANUARY), limit=None)
    assert str(relation.incorporate(type="table")) == READ_IN_JANUARY
    assert str(relation.incorporate(path={"identifier": "ORDERS"})) == READ_IN_JANUARY
    assert relation == relation.replace()
    assert isinstance(relation, HiveAcidRelation)


def test_another_table_than_the_source_has_none_of_its_options():
    """A macro makes it of the source: a table of another year, say."""
    relation = create(node(config=JANUARY), limit=None)
    others = {
        "Shop.orders_2023": relation.incorporate(path={"identifier": "orders_2023"}),
        "Shop.orders_2024": relation.replace_path(identifier="orders_2024"),
        "archive.Orders": relation.replace_path(schema="archive"),
    }
    for name, other in others.items():
        assert str(other) == name


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
