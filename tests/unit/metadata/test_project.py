from types import SimpleNamespace

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.hiveacid.metadata.project import Project
from hiveacid.metastore.models import TableName
from tests.unit.metadata.fakes import manifest, node, source

ORDERS, ITEMS = TableName("shop", "orders"), TableName("shop", "items")


def project(*args, **kwargs):
    found = manifest(*args, **kwargs)
    return Project(lambda: found)


def test_sources_are_tables_in_any_case():
    declared = project([source("Shop", "Orders"), source("shop", "items", loaded_at_query="…")])
    assert declared.sources() == {ORDERS, ITEMS}
    assert declared.has_freshness_query(ITEMS) and not declared.has_freshness_query(ORDERS)


def in_zone(schema, identifier, zone):
    return source(schema, identifier, config={"hiveacid": {"parquet_time_zone": zone}})


def test_zones_are_told_for_the_tables_that_are_asked_for():
    sources = [in_zone("Shop", "Orders", "Asia/Tokyo"), source("shop", "orders")]
    declared = project([*sources, in_zone("shop", "items", [1])])
    assert declared.parquet_time_zones({ORDERS, TableName("shop", "other")}) == {
        ORDERS: "Asia/Tokyo"
    }
    with pytest.raises(DbtRuntimeError, match="`parquet_time_zone` must be"):
        declared.parquet_time_zones({ITEMS})


def test_sources_of_one_table_have_one_zone():
    declared = project([in_zone("shop", "orders", "UTC"), in_zone("shop", "orders", "Asia/Tokyo")])
    with pytest.raises(DbtRuntimeError, match=r"parquet_time_zone: one has UTC, shop.orders has"):
        declared.parquet_time_zones({ORDERS})


def test_a_node_makes_a_table_unless_it_is_part_of_others():
    declared = project(
        nodes=[
            node("Shop", "Orders"),
            node("shop", "items", is_ephemeral_model=True),
            node("other", "a_test", is_relational=False),
        ]
    )
    assert declared.makes(ORDERS) and not declared.makes(ITEMS)
    assert declared.makes_any_in(["other", "shop"]) and not declared.makes_any_in(["other"])
    assert declared.documents(ORDERS) and not declared.documents(ITEMS)


def test_functions_are_those_of_a_schema():
    functions = [SimpleNamespace(schema=schema, alias="Plus_One") for schema in ("Marts", "other")]
    assert project(functions=functions).functions_in("marts") == {"plus_one"}


def test_a_command_without_a_manifest_declares_nothing():
    nothing = Project(lambda: None)
    assert nothing.sources() == set() and not nothing.makes(ORDERS)
    assert nothing.functions_in("marts") == set()


def test_a_materialization_is_the_projects_or_a_packages_own():
    macros = {
        ("table", "spark"): SimpleNamespace(package_name="dbt_spark", name="…_table_spark"),
        ("test", "spark"): SimpleNamespace(package_name="checks", name="…_test_default"),
    }
    found = SimpleNamespace(
        find_materialization_macro_by_name=lambda root, name, adapter: (
            macros.get((name, adapter)) if root == "shop" else None
        )
    )
    declared = Project(lambda: found)
    assert declared.materialization("test", "shop") == ("checks", "…_test_default")
    assert declared.materialization("table", "shop") is None
    assert declared.materialization("unknown", "shop") is None
    assert Project(lambda: None).materialization("test", "shop") is None
