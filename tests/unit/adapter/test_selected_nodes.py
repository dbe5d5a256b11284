from types import SimpleNamespace

import pytest

from dbt import selected_resources
from dbt.adapters.hiveacid.selected_nodes import (
    Selection,
    find_acid_parents,
    find_sources,
    manifest_of,
)
from hiveacid.metastore.models import TableName


def node(*parents, materialized="table"):
    return SimpleNamespace(
        depends_on=SimpleNamespace(nodes=list(parents)),
        config=SimpleNamespace(materialized=materialized),
    )


MANIFEST = SimpleNamespace(
    sources={f"source.{name}": SimpleNamespace(unique_id=f"source.{name}") for name in "abcd"},
    nodes={
        "model.direct": node("source.a", "model.other"),
        "model.other": node("source.b"),
        "model.through": node("model.eph2"),
        "model.eph2": node("model.eph1", "source.c", materialized="ephemeral"),
        "model.eph1": node("source.d", "model.eph2", materialized="ephemeral"),
        "model.mart": node("model.view2", "seed.names", "snapshot.kept"),
        "model.view2": node("model.view1", "model.direct", materialized="view"),
        "model.view1": node("source.c", materialized="view"),
        "model.own": node("source.d", materialized="our_kind_of_view"),
        "model.of_own": node("model.own", "function.f"),
        "seed.names": node("source.a", materialized="seed"),
        "snapshot.kept": node("source.a", materialized="snapshot"),
        "model.stored": node("model.inc", "model.mv"),
        "model.inc": node("source.a", materialized="incremental"),
        "model.mv": node("source.a", materialized="materialized_view"),
    },
    functions={"function.f": node("source.b", materialized="function")},
)


def names(unique_ids):
    return sorted(source.unique_id for source in find_sources(MANIFEST, unique_ids))


def test_a_node_reads_its_own_sources_not_those_of_its_parents():
    assert names(["model.direct"]) == ["source.a"]


def test_a_node_reads_what_its_ephemeral_parents_read():
    assert names(["model.through"]) == ["source.c", "source.d"]


def test_a_node_reads_what_views_show_that_are_not_selected():
    assert names(["model.mart"]) == ["source.c"]


def test_who_reads_a_node_of_unknown_kind_may_run_its_sql():
    assert names(["model.of_own"]) == ["source.b", "source.d"]


def test_what_keeps_rows_of_its_own_is_not_looked_through():
    assert names(["model.stored", "model.direct"]) == ["source.a"]
    assert names(["model.stored"]) == []


def test_a_long_chain_of_views_is_looked_through_at_once():
    """Each view reads all before it: 2**400 paths lead to the source."""
    views = {
        f"v{i}": node("source.a", *(f"v{j}" for j in range(i)), materialized="view")
        for i in range(400)
    }
    manifest = SimpleNamespace(sources=MANIFEST.sources, nodes=views)
    assert len(find_sources(manifest, views)) == 1


def test_a_selected_source_is_read_itself():
    assert names(["source.b"]) == ["source.b"]


def test_nothing_is_found_twice_and_unknown_nodes_do_not_matter():
    assert names(["model.direct", "model.other", "source.a", "exposure.x"]) == [
        "source.a",
        "source.b",
    ]


@pytest.fixture
def selected(monkeypatch):
    monkeypatch.setattr(selected_resources, "SELECTED_RESOURCES", ["model.other"])
    return selected_resources.set_selected_resources


def test_a_selection_of_an_earlier_invocation_does_not_count(selected):
    selection = Selection()
    assert selection.sources(MANIFEST) == []
    selected({"model.direct"})
    assert [source.unique_id for source in selection.sources(MANIFEST)] == ["source.a"]


def test_without_a_manifest_nothing_is_foreseen(selected):
    selection = Selection()
    selected({"model.direct"})
    assert selection.sources(None) == []
    assert selection.sources(manifest_of(SimpleNamespace(macros={}))) == []


def test_dbt_retry_selects_nothing_and_its_nodes_are_known(selected):
    selection = Selection({"model.direct"})
    assert selection.ids() == ["model.direct"]
    assert [source.unique_id for source in selection.sources(MANIFEST)] == ["source.a"]
    selected({"model.other"})
    assert selection.ids() == ["model.other"]


def test_acid_targets_among_parents_are_found_through_views():
    def made(file_format, *parents, materialized="table"):
        found = node(*parents, materialized=materialized)
        found.config.get = {"file_format": file_format}.get
        found.schema, found.alias = "Marts", found_name
        return found

    nodes = {}
    for found_name, arguments in {
        "Acid": ("acid",),
        "plain": ("parquet", "acid"),
        "view": ("acid", "Acid", "plain"),
        "mart": ("acid", "view"),
    }.items():
        kind = "view" if found_name == "view" else "table"
        nodes[found_name] = made(*arguments, materialized=kind)
    manifest = SimpleNamespace(sources={}, nodes=nodes)
    assert find_acid_parents(manifest, ["mart"]) == {"Acid": {TableName("marts", "acid")}}
    assert find_acid_parents(manifest, ["Acid", "plain"]) == {}
