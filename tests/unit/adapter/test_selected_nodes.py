from types import SimpleNamespace

import pytest

from dbt import selected_resources
from dbt.adapters.hiveacid.selected_nodes import Selection, find_sources


def node(*parents, ephemeral=False):
    return SimpleNamespace(
        depends_on=SimpleNamespace(nodes=list(parents)), is_ephemeral_model=ephemeral
    )


MANIFEST = SimpleNamespace(
    sources={f"source.{name}": SimpleNamespace(unique_id=f"source.{name}") for name in "abcd"},
    nodes={
        "model.direct": node("source.a", "model.other"),
        "model.other": node("source.b"),
        "model.through": node("model.eph2"),
        "model.eph2": node("model.eph1", "source.c", ephemeral=True),
        "model.eph1": node("source.d", "model.eph2", ephemeral=True),
    },
)


def names(unique_ids):
    return sorted(source.unique_id for source in find_sources(MANIFEST, unique_ids))


def test_a_node_reads_its_own_sources_not_those_of_its_parents():
    assert names(["model.direct"]) == ["source.a"]


def test_a_node_reads_what_its_ephemeral_parents_read():
    assert names(["model.through"]) == ["source.c", "source.d"]


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
    assert selection.sources(SimpleNamespace(macros={})) == []
