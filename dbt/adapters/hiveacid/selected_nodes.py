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

STORES_ROWS = frozenset({"table", "incremental", "seed", "snapshot", "materialized_view"})
"""Materializations that keep rows of their own: who reads these reads no source.

Any other one may be a view. To take a table for a view holds locks for longer. To take a view for a
table would end the snapshot before its last reader.
"""

_PART = r"(?:\w+|`[^`]+`|\{\{[^{}]*\}\})"
_DOTTED_NAME = re.compile(rf"\b(?:from|join)\s+{_PART}\s*\.\s*{_PART}", re.IGNORECASE)
_NO_READ = re.compile(
    r"\{#.*?#\}"
    r"|^\s*--[^\n]*"
    r"|\bfrom\s+[\w.]+\s+import\b"
    r"|\bdistinct\s+from\b"
    r"|\b(?:extract|trim|substr|substring|overlay|position)\s*\([^()]*?\bfrom\b",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
"""Comments of Jinja, lines that are comments, imports of Python, and FROM within an expression."""


class Selection:
    """The nodes that this invocation selected.

    dbt-core keeps them in a module variable that outlives an invocation. Each selection binds the
    variable again, so what is bound when this object is made belongs to an earlier invocation.
    """

    def __init__(self, retried: Iterable[str] | None = None) -> None:
        """`retried` are the nodes that `dbt retry` runs again, for which it binds no variable."""
        self._earlier = selected_resources.SELECTED_RESOURCES
        self._retried = None if retried is None else list(retried)

    def ids(self) -> list[str] | None:
        """Return the unique ids of the selected nodes; None before the command has selected."""
        selected = selected_resources.SELECTED_RESOURCES
        return self._retried if selected is self._earlier else list(selected)

    def sources(self, manifest: Any) -> list[Any]:
        """Return the sources that the selected nodes read, themselves or through others' SQL."""
        selected = self.ids()
        if selected is None or manifest is None:
            return []
        return find_sources(manifest, selected)


def find_sources(manifest: Any, unique_ids: Iterable[str]) -> list[Any]:
    """Return the source definitions among `unique_ids`, and those that the nodes among them read.

    A node reads what it depends on, and what its transparent parents read (`with_transparent`).
    """
    sources = getattr(manifest, "sources", {})
    found: dict[str, Any] = {}
    for unique_id in with_transparent(manifest, unique_ids):
        for each in (unique_id, *_parents(manifest, unique_id)):
            if each in sources:
                found[each] = sources[each]
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
    it. A macro that dbt calls by itself, such as a materialization, makes every node count. A node
    counts, too, if its own text, or a macro that it depends on, names a relation by its database:
    any table may be behind that name. A node's transparent parents (`with_transparent`) are part of
    it.

    Args:
        transactional: returns those of some tables that are ACID tables.
    """
    selected = frozenset(selected)
    callers = _macros_where(manifest, _calls_source)
    if _are_called_by_dbt(manifest, callers.values()):
        return selected
    macros = {*callers, *_macros_where(manifest, names_a_database)}
    nodes = with_transparent(manifest, selected)
    names = {
        source.unique_id: TableName(source.schema, source.identifier)
        for source in find_sources(manifest, selected)
    }
    acid = transactional(set(names.values()))
    readers = {
        unique_id
        for unique_id in nodes
        if any(names.get(e) in acid for e in (unique_id, *_parents(manifest, unique_id)))
        or _hides_a_read(manifest, unique_id, macros)
    }
    return selected & _with_children(manifest, readers, nodes)


def with_transparent(manifest: Any, unique_ids: Iterable[str]) -> list[str]:
    """Return some nodes and their transparent parents, directly and through one another.

    A parent is transparent if it keeps no rows of its own: who reads it runs its SQL, as with
    ephemeral models, views and functions. It need not be selected.
    """
    found = dict.fromkeys(unique_ids)
    pending = list(found)
    while pending:
        for parent in _parents(manifest, pending.pop()):
            if parent not in found and is_transparent(manifest, parent):
                found[parent] = None
                pending.append(parent)
    return list(found)


def is_transparent(manifest: Any, unique_id: str) -> bool:
    """Tell whether who reads a node runs its SQL; False for what is no node, such as a source."""
    node = _node(manifest, unique_id)
    config = getattr(node, "config", None)
    return node is not None and getattr(config, "materialized", None) not in STORES_ROWS


def _with_children(manifest: Any, readers: Iterable[str], nodes: Iterable[str]) -> set[str]:
    """Return `readers`, and those of `nodes` that read one of them through transparent nodes."""
    children: dict[str, list[str]] = {}
    for unique_id in nodes:
        for parent in _parents(manifest, unique_id):
            children.setdefault(parent, []).append(unique_id)
    found = set(readers)
    pending = list(found)
    while pending:
        parent = pending.pop()
        if is_transparent(manifest, parent):
            new = set(children.get(parent, ())) - found
            found |= new
            pending += new
    return found


def _parents(manifest: Any, unique_id: str) -> Iterable[str]:
    depends_on = getattr(_node(manifest, unique_id), "depends_on", None)
    return getattr(depends_on, "nodes", ())


def _node(manifest: Any, unique_id: str) -> Any:
    found = getattr(manifest, "nodes", {}).get(unique_id)
    return found or getattr(manifest, "functions", {}).get(unique_id)


def _macros_where(manifest: Any, hides_a_read: Callable[[str], bool]) -> dict[str, Any]:
    """Return the macros that hide a read, themselves or by other macros, by their unique ids."""
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
    pending = [id_ for id_, macro in macros.items() if hides_a_read(macro.macro_sql)]
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


def _hides_a_read(manifest: Any, unique_id: str, macros: Collection[str]) -> bool:
    """Tell whether a node may read an ACID table that the manifest does not name."""
    node = _node(manifest, unique_id)
    if node is None:
        return False
    if any(macro in macros for macro in node.depends_on.macros):
        return True
    if any(map(names_a_database, _texts(node))):
        return True
    sources = getattr(manifest, "sources", {})
    if any(parent in sources for parent in _parents(manifest, unique_id)):
        return False
    return any(map(_calls_source, _texts(node)))


def _calls_source(text: str) -> bool:
    return bool(_SOURCE_CALL.search(text))


def names_a_database(text: str) -> bool:
    """Tell whether SQL reads a relation that it names by its database, as in `from shop.orders`."""
    return bool(_DOTTED_NAME.search(_NO_READ.sub(" ", text)))


def _texts(node: Any) -> Iterator[str]:
    yield node.raw_code or ""
    for hooks in ("pre_hook", "post_hook"):  # Data tests have none.
        for hook in getattr(node.config, hooks, ()):
            yield hook.sql
