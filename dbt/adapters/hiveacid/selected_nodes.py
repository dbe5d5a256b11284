"""Nodes that a dbt command has selected, and the sources that they read, by dbt's manifest."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from dbt import selected_resources
from hiveacid.metastore.models import TableName

INTERNAL_PACKAGES = ("dbt", "dbt_spark", "dbt_hiveacid")
"""The packages whose macros read no sources but those of the node that they build."""

_SOURCE_CALL = re.compile(r"\bsource\s*\(")


class Selection:
    """The nodes that this invocation selected.

    dbt-core keeps them in a module variable that outlives an invocation. Each selection binds the
    variable again, so what is bound when this object is made belongs to an earlier invocation.
    """

    def __init__(self) -> None:
        self._earlier = selected_resources.SELECTED_RESOURCES

    def ids(self) -> list[str] | None:
        """Return the unique ids of the selected nodes; None before the command has selected."""
        selected = selected_resources.SELECTED_RESOURCES
        return None if selected is self._earlier else list(selected)

    def sources(self, manifest: Any) -> list[Any]:
        """Return the sources that the selected nodes read, directly or through ephemeral models."""
        selected = self.ids()
        if selected is None or manifest is None:
            return []
        return find_sources(manifest, selected)


def find_sources(manifest: Any, unique_ids: Iterable[str]) -> list[Any]:
    """Return the source definitions among `unique_ids`, and those that the nodes among them read.

    A node reads what it depends on. An ephemeral model is part of whoever reads it.
    """
    found = {
        source.unique_id: source for id_ in unique_ids for source in _sources_of(manifest, id_)
    }
    return list(found.values())


def find_acid_readers(
    manifest: Any,
    selected: Iterable[str],
    transactional: Callable[[set[TableName]], Collection[TableName]],
) -> frozenset[str]:
    """Return the unique ids of the nodes among `selected` that may read an ACID source.

    A node may read one if the manifest says that it depends on one. dbt finds no source in what it
    does not run when it parses (`{% if execute %}`). So a node counts, too, if a macro that it
    depends on calls `source`, or if the node itself calls it and the manifest knows no source of
    it. A macro that dbt calls by itself, such as a materialization, makes every node count.

    Args:
        transactional: returns those of some tables that are ACID tables.
    """
    macros = _macros_calling_source(manifest)
    if _are_called_by_dbt(manifest, macros.values()):
        return frozenset(selected)

    def may_read(unique_id: str) -> bool:
        sources = find_sources(manifest, [unique_id])
        tables = {TableName(source.schema, source.identifier) for source in sources}
        return bool(transactional(tables)) or any(
            _hides_a_source(manifest, id_, macros)
            for id_ in (unique_id, *find_ephemeral_parents(manifest, unique_id))
        )

    return frozenset(filter(may_read, selected))


def find_ephemeral_parents(manifest: Any, unique_id: str) -> list[str]:
    """Return the unique ids of the ephemeral models whose SQL is part of a node's."""
    found: list[str] = []
    pending = [unique_id]
    while pending:
        for parent in _parents(manifest, pending.pop()):
            if parent not in (unique_id, *found) and _is_ephemeral(manifest, parent):
                found.append(parent)
                pending.append(parent)
    return found


def _sources_of(manifest: Any, unique_id: str) -> Iterator[Any]:
    sources = getattr(manifest, "sources", {})
    if unique_id in sources:
        yield sources[unique_id]
        return
    for node in (unique_id, *find_ephemeral_parents(manifest, unique_id)):
        for parent in _parents(manifest, node):
            if parent in sources:
                yield sources[parent]


def _parents(manifest: Any, unique_id: str) -> Iterable[str]:
    depends_on = getattr(_node(manifest, unique_id), "depends_on", None)
    return getattr(depends_on, "nodes", ())


def _is_ephemeral(manifest: Any, unique_id: str) -> bool:
    return bool(getattr(_node(manifest, unique_id), "is_ephemeral_model", False))


def _node(manifest: Any, unique_id: str) -> Any:
    return getattr(manifest, "nodes", {}).get(unique_id)


def _macros_calling_source(manifest: Any) -> dict[str, Any]:
    """Return the macros that call `source`, themselves or by other macros, by their unique ids."""
    macros = {
        unique_id: macro
        for unique_id, macro in getattr(manifest, "macros", {}).items()
        if macro.package_name not in INTERNAL_PACKAGES
    }
    callers: dict[str, list[str]] = {}
    for unique_id, macro in macros.items():
        for called in macro.depends_on.macros:
            callers.setdefault(called, []).append(unique_id)
    found: dict[str, Any] = {}
    pending = [id_ for id_, macro in macros.items() if _SOURCE_CALL.search(macro.macro_sql)]
    while pending:
        unique_id = pending.pop()
        if unique_id not in found:
            found[unique_id] = macros[unique_id]
            pending += callers.get(unique_id, ())
    return found


def _are_called_by_dbt(manifest: Any, macros: Iterable[Any]) -> bool:
    """Whether any of the macros is a materialization or overrides a macro of an internal package.

    dbt calls these for nodes whose manifest entries do not name them.
    """
    internal = {
        _without_prefix(macro.name)
        for macro in getattr(manifest, "macros", {}).values()
        if macro.package_name in INTERNAL_PACKAGES
    }
    return any(
        macro.name.startswith("materialization_") or _without_prefix(macro.name) in internal
        for macro in macros
    )


def _without_prefix(name: str) -> str:
    """Return the name by which a macro is dispatched: `fill` for `default__fill`."""
    return name.rpartition("__")[2] if "__" in name.strip("_") else name


def _hides_a_source(manifest: Any, unique_id: str, macros: Collection[str]) -> bool:
    """Whether a node may read a source that the manifest does not name."""
    node = _node(manifest, unique_id)
    if node is None:
        return False
    if any(macro in macros for macro in node.depends_on.macros):
        return True
    sources = getattr(manifest, "sources", {})
    if any(parent in sources for parent in _parents(manifest, unique_id)):
        return False
    return any(_SOURCE_CALL.search(text) for text in _texts(node))


def _texts(node: Any) -> Iterator[str]:
    yield node.raw_code or ""
    for hooks in ("pre_hook", "post_hook"):  # Data tests have none.
        for hook in getattr(node.config, hooks, ()):
            yield hook.sql
