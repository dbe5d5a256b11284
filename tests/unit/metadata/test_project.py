from types import SimpleNamespace

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.hiveacid.metadata.project import Project
from hiveacid.metastore.models import TableName
from hiveacid.snapshots.tables import FileSettings
from tests.unit.metadata.fakes import manifest, node, source

ORDERS, ITEMS = TableName("shop", "orders"), TableName("shop", "items")


def project(*args, **kwargs):
    found = manifest(*args, **kwargs)
    return Project(lambda: found)


def test_sources_are_tables_in_any_case():
    declared = project([source("Shop", "Orders"), source("shop", "items", loaded_at_query="…")])
    assert declared.sources() == {ORDERS, ITEMS}
    assert declared.has_freshness_query(ITEMS) and not declared.has_freshness_query(ORDERS)


def reads_by(schema, identifier, **words):
    return source(schema, identifier, config={"hiveacid": words})


def test_how_files_are_read_is_told_for_the_tables_that_are_asked_for():
    sources = [reads_by("Shop", "Orders", orc_columns="name"), source("shop", "orders")]
    zone = reads_by("shop", "orders", parquet_time_zone="Europe/Berlin")
    declared = project([*sources, zone, reads_by("shop", "items", orc_columns="wrong")])
    told = FileSettings("name", None, "Europe/Berlin")
    assert declared.file_settings({ORDERS, TableName("shop", "other")}) == {ORDERS: told}
    with pytest.raises(DbtRuntimeError, match="`orc_columns` must be one of position, name, not"):
        declared.file_settings({ITEMS})


def test_sources_of_one_table_read_its_files_alike():
    first = reads_by("shop", "orders", orc_columns="name", old_dates="file")
    declared = project([first, reads_by("shop", "orders", orc_columns="position")])
    message = "one has orc_columns: name, old_dates: file, shop.orders has orc_columns: position."
    with pytest.raises(DbtRuntimeError, match=message):
        declared.file_settings({ORDERS})


def test_a_table_is_static_if_all_its_sources_are():
    static = reads_by("Shop", "Orders", static=True)
    assert project([static]).is_static(ORDERS)
    assert not project([static]).is_static(ITEMS)
    assert not project([static, source("shop", "orders")]).is_static(ORDERS)


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
