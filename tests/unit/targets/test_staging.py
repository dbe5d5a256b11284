from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from dbt.adapters.hiveacid.node_context import Statements
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.targets import recovery, staging
from dbt.adapters.hiveacid.targets.recovery import Recovery
from dbt.adapters.hiveacid.targets.staging import (
    Leftover,
    Staging,
    build_location,
    discard,
    leftovers,
    next_to,
    remove_backup,
    stage_of,
    switch,
)

INVOCATION = "0123abcd-ffff-4fff-8fff-ffffffffffff"
TARGET = HiveAcidRelation.create(schema="marts", identifier="orders", type="table")


class Catalog:
    """Tables and views by name; `failing` names a rename that does not work."""

    def __init__(self, *names, failing=None):
        self.names = list(names)
        self.failing = failing

    def rename_relation(self, from_relation, to_relation):
        if str(from_relation) == self.failing:
            raise RuntimeError("the metastore said no")
        self.names[self.names.index(str(from_relation))] = str(to_relation)

    def drop_relation(self, relation):
        if str(relation) in self.names:
            self.names.remove(str(relation))


class NoSession:
    """Stands for a session that must not be asked."""

    def __getattr__(self, name):
        raise AssertionError("a managed table's files are the catalog's business")


def test_stages_of_different_invocations_do_not_meet():
    stage = stage_of(TARGET, INVOCATION, None)
    assert str(stage.relation) == "marts.orders__dbt_stage_0123abcd"
    assert stage.relation.type == "table"


def test_batches_of_a_model_do_not_meet():
    names = [
        str(stage_of(TARGET, INVOCATION, None, batch=batch).relation.identifier)
        for batch in ("20240102", "20240102T07", None)
    ]
    assert names == [
        "orders__dbt_stage_0123abcd_20240102",
        "orders__dbt_stage_0123abcd_20240102t07",
        "orders__dbt_stage_0123abcd",
    ]
    assert [left.name for left in leftovers("orders", names, "ffff0000")] == names


def test_each_build_of_an_external_table_has_its_own_directory():
    assert build_location("s3a://lake/", "marts", "orders", INVOCATION) == (
        "s3a://lake/orders/marts__dbt_build_0123abcd"
    )


@pytest.mark.parametrize(
    ("location", "is_removed"),
    [
        ("s3a://lake/orders/marts__dbt_build_ffff0000", True),
        ("s3a://lake/orders/archive__dbt_build_ffff0000", False),
        ("s3a://lake/orders/20240101", False),
        ("s3a://lake/marts__orders__dbt_stage_ffff0000", True),
        ("s3a://lake/marts__orders__dbt_stage_ffff0000_20240101", True),
        ("s3a://lake/marts__orders__dbt_changes_ffff0000", True),
        ("s3a://lake/archive__orders__dbt_stage_ffff0000", False),
        ("s3a://lake/other/marts__dbt_build_ffff0000", False),
    ],
)
def test_only_a_directory_of_a_build_goes_with_a_former_table(monkeypatch, location, is_removed):
    removed = []
    monkeypatch.setattr(staging, "table_location", lambda session, schema, name: location)
    monkeypatch.setattr(staging, "delete_directory", lambda session, path: removed.append(path))
    backup = next_to(TARGET, "backup", INVOCATION)
    remove_backup(Catalog(str(backup)), backup, TARGET, NoSession())
    assert removed == ([location] if is_removed else [])


def test_a_new_table_is_renamed():
    stage = stage_of(TARGET, INVOCATION, None)
    catalog = Catalog(str(stage.relation))
    assert switch(catalog, stage, None) is None
    assert catalog.names == ["marts.orders"]


@pytest.mark.parametrize("kind", ["table", "view"])
def test_the_former_table_or_view_goes(kind):
    stage = stage_of(TARGET, INVOCATION, None)
    catalog = Catalog("marts.orders", str(stage.relation))
    backup = switch(catalog, stage, TARGET.incorporate(type=kind))
    assert sorted(catalog.names) == ["marts.orders", "marts.orders__dbt_backup_0123abcd"]
    remove_backup(catalog, backup, stage.target, None)
    assert catalog.names == ["marts.orders"]


def test_a_failed_switch_leaves_the_former_table_in_place():
    stage = stage_of(TARGET, INVOCATION, None)
    catalog = Catalog("marts.orders", str(stage.relation), failing=str(stage.relation))
    with pytest.raises(RuntimeError, match="the metastore said no"):
        switch(catalog, stage, TARGET)
    assert catalog.names == ["marts.orders", str(stage.relation)]


@pytest.mark.parametrize(
    ("location_root", "built_in"),
    [
        (None, "file:/warehouse/orders__dbt_stage_0123abcd"),
        ("s3a://lake", "s3a://lake/orders/marts__dbt_build_0123abcd"),
    ],
)
@pytest.mark.parametrize("is_in_place", [True, False])
def test_a_stage_that_is_the_target_by_now_keeps_its_files(
    monkeypatch, location_root, built_in, is_in_place
):
    removed = []
    lives_in = built_in if is_in_place else "file:/warehouse/orders"
    monkeypatch.setattr(staging, "location_if_any", lambda session, schema, name: f"{lives_in}/")
    monkeypatch.setattr(staging, "default_location", lambda session, schema, name: built_in)
    monkeypatch.setattr(staging, "delete_directory", lambda session, path: removed.append(path))
    stage = stage_of(TARGET, INVOCATION, location_root)
    discard(Catalog("marts.orders"), stage, NoSession())
    assert removed == ([] if is_in_place else [built_in])


@pytest.mark.parametrize("batch", [None, {"id": "20240102"}])
def test_rows_for_a_target_are_external_below_its_location_root(monkeypatch, batch):
    removed, node = [], Node()
    monkeypatch.setattr(staging, "delete_directory", lambda session, path: removed.append(path))
    catalog = Catalog()
    stages = Staging(catalog, statements_of(node), INVOCATION)
    relation, location = stages.stage_rows(TARGET, None, batch)
    assert (relation, location) == (node.stages["stage"].relation, None)
    relation, location = stages.stage_rows(TARGET, "s3a://lake/", batch)
    assert location == f"s3a://lake/marts__{relation.identifier}"
    catalog.names.append(str(relation))
    discard(catalog, node.stages["stage"], NoSession())
    assert (catalog.names, removed) == ([], [location])


def test_what_other_invocations_made_next_to_a_target_is_told_by_its_name():
    names = [
        "orders__dbt_stage_0123abcd",
        "orders__dbt_backup_ffff0000",
        "Orders__DBT_changes_ffff0000",
        "orders",
        "orders__dbt_stage_ffff00001",
        "old_orders__dbt_stage_ffff0000",
        "orders__dbt_tmp",
    ]
    assert leftovers("orders", names, INVOCATION) == [
        Leftover("orders__dbt_backup_ffff0000", "backup", "ffff0000"),
        Leftover("Orders__DBT_changes_ffff0000", "changes", "ffff0000"),
    ]
    name = next_to(TARGET, "backup", INVOCATION).identifier
    assert leftovers("orders", [name], "ffff0000") == [Leftover(name, "backup", "0123abcd")]


class Node:
    """A node that is building."""

    session = NoSession()
    changes_view = None
    has_read = frozenset()
    uninterrupted = staticmethod(nullcontext)

    def __init__(self, **stages):
        self.stages = stages


def statements_of(node):
    return Statements(lambda: node, nullcontext)


class Undroppable(Catalog):
    """A catalog in which a target's previous version cannot be dropped."""

    def drop_relation(self, relation):
        if "__dbt_backup_" in relation.identifier:
            raise RuntimeError("not allowed")
        super().drop_relation(relation)


def test_a_previous_version_that_cannot_be_removed_does_not_undo_a_switch(monkeypatch):
    warnings = []
    monkeypatch.setattr(staging, "logger", SimpleNamespace(warning=warnings.append))
    stage = stage_of(TARGET, INVOCATION, None)
    node = Node(stage=stage)
    catalog = Undroppable("marts.orders", str(stage.relation))
    Staging(catalog, statements_of(node), INVOCATION).switch(TARGET)
    assert node.stages == {}, "nobody may remove the files of what was the stage"
    assert sorted(catalog.names) == ["marts.orders", "marts.orders__dbt_backup_0123abcd"]
    (warning,) = warnings
    assert "marts.orders is up to date, but its previous version" in warning


@pytest.mark.parametrize(
    ("lives_in", "removed"),
    [
        ("file:/warehouse/orders", ["file:/warehouse/orders__dbt_stage_ffff0000"]),
        ("file:/warehouse/orders__dbt_stage_ffff0000", []),
    ],
)
def test_a_stage_that_has_become_the_target_is_no_leftover(monkeypatch, lives_in, removed):
    deleted = []
    stage = "orders__dbt_stage_ffff0000"
    catalog = Undroppable("marts.orders")
    found = Recovery(catalog, statements_of(Node()), None, lambda existing: None, INVOCATION)
    monkeypatch.setattr(
        recovery, "location_if_any", lambda session, schema, name: {"orders": lives_in}.get(name)
    )
    monkeypatch.setattr(recovery, "delete_directory", lambda session, path: deleted.append(path))
    monkeypatch.setattr(staging, "table_location", lambda *names: None)
    found._location = lambda target, name: f"file:/warehouse/{name}"
    found._is_dead = lambda target, left: True
    found._directories = lambda target: set()
    # dbt's cache is from before the other run's switch.
    found._cached = lambda target: {
        name: TARGET.incorporate(path={"identifier": name}) for name in ("orders", stage)
    }
    found.remove_leftovers(TARGET)
    assert deleted == removed
