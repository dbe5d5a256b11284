"""Nodes that a dbt command has selected, and their sources in dbt's manifest."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypedDict, cast

from dbt.adapters.contracts.macros import MacroResolverProtocol

from dbt import selected_resources
from dbt.adapters.hiveacid.targets.acid_config import is_acid_target
from hiveacid.metastore.models import TableName

if TYPE_CHECKING:
    from dbt.contracts.graph.manifest import Manifest
    from dbt.contracts.graph.nodes import FunctionNode, ManifestNode, SourceDefinition

STORES_ROWS = frozenset({"table", "incremental", "seed", "snapshot", "materialized_view"})
"""Materializations that store rows: a reader of their tables reads no source.

Any other materialization may be a view. To treat a table as a view only holds locks for longer. To
treat a view as a table would end the snapshot before its last reader.
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
"""Jinja comments, comment lines of SQL, Python imports, and FROM within an expression."""


class ModelNode(TypedDict):
    """Members of a node that this adapter uses, as dbt passes nodes to macros (`model`, `graph`).

    `config` is the configuration as the user wrote it, with any keys.
    """

    name: str
    unique_id: str
    description: str
    columns: Mapping[str, Mapping[str, Any]]
    database: str | None
    schema: str
    alias: str
    language: str
    config: Mapping[str, Any]
    original_file_path: str
    raw_code: str


def manifest_of(resolver: MacroResolverProtocol | None) -> Manifest | None:
    """Return dbt's manifest; None if dbt has loaded only macros, or nothing."""
    return cast("Manifest", resolver) if hasattr(resolver, "nodes") else None


class Selection:
    """The nodes that this invocation selected.

    dbt-core keeps them in a module variable that outlives an invocation. Each selection rebinds the
    variable, so its value when this object is created belongs to an earlier invocation.
    """

    def __init__(self, retried: Iterable[str] | None = None) -> None:
        """`retried` are the nodes of `dbt retry`, which does not bind the variable."""
        self._earlier = selected_resources.SELECTED_RESOURCES
        self._retried = None if retried is None else list(retried)

    def ids(self) -> list[str] | None:
        """Return the unique ids of the selected nodes; None before the command has selected."""
        selected = selected_resources.SELECTED_RESOURCES
        return self._retried if selected is self._earlier else list(selected)

    def sources(self, manifest: Manifest | None) -> list[SourceDefinition]:
        """Return the sources of the selected nodes, also those read through transparent nodes."""
        selected = self.ids()
        if selected is None or manifest is None:
            return []
        return find_sources(manifest, selected)


def find_sources(manifest: Manifest, unique_ids: Iterable[str]) -> list[SourceDefinition]:
    """Return the sources among `unique_ids`, and the sources that the nodes among them read.

    A node reads what it depends on, and what its transparent parents read (`with_transparent`).
    """
    found: dict[str, SourceDefinition] = {}
    for unique_id in with_transparent(manifest, unique_ids):
        for each in (unique_id, *_parents(manifest, unique_id)):
            if each in manifest.sources:
                found[each] = manifest.sources[each]
    return list(found.values())


def find_acid_parents(manifest: Manifest, unique_ids: Iterable[str]) -> dict[str, set[TableName]]:
    """Return the nodes whose targets are Hive ACID tables, among the parents of some nodes.

    With `--defer`, dbt may read the target of another environment.
    """
    found: dict[str, set[TableName]] = {}
    for unique_id in with_transparent(manifest, unique_ids):
        for parent in _parents(manifest, unique_id):
            node = manifest.nodes.get(parent)
            if node is not None and is_acid_target(node):
                deferred = getattr(node, "defer_relation", None)
                found[parent] = {
                    TableName(it.schema, it.alias) for it in (node, deferred) if it is not None
                }
    return found


def find_acid_readers(
    manifest: Manifest,
    selected: Iterable[str],
    transactional: Callable[[set[TableName]], Collection[TableName]],
) -> frozenset[str]:
    """Return the unique ids of the nodes among `selected` that may read an ACID source.

    A node may read an ACID source if it depends on one in the manifest, or on a node whose target
    is an ACID table. The dependencies of its hooks are included, because dbt renders hooks with the
    node. A node counts also if its SQL or one of its hooks names a relation by its database
    (`names_a_database`), which the manifest does not contain. A node's transparent parents
    (`with_transparent`) are part of it.

    Reads that only a running node knows, such as of a source within `{% if execute %}`, are not
    found. After the end of the snapshot such a read is an error that says how to declare it.

    Args:
        manifest: dbt's manifest.
        selected: the unique ids of the selected nodes.
        transactional: returns the ACID tables among some tables.
    """
    selected = frozenset(selected)
    names = {
        source.unique_id: {TableName(source.schema, source.identifier)}
        for source in find_sources(manifest, selected)
    } | find_acid_parents(manifest, selected)
    acid = set(transactional(set().union(*names.values())))
    nodes = with_transparent(manifest, selected)
    readers = {
        unique_id
        for unique_id in nodes
        if any(acid & names.get(e, set()) for e in (unique_id, *_parents(manifest, unique_id)))
        or any(map(names_a_database, _texts(_node(manifest, unique_id))))
    }
    return selected & _with_children(manifest, readers, nodes)


def with_transparent(manifest: Manifest, unique_ids: Iterable[str]) -> list[str]:
    """Return some nodes and their transparent parents, direct and indirect.

    A parent is transparent if it stores no rows: a query of it runs its SQL, as with ephemeral
    models, views and functions. It need not be selected.
    """
    found = dict.fromkeys(unique_ids)
    pending = list(found)
    while pending:
        for parent in _parents(manifest, pending.pop()):
            if parent not in found and is_transparent(manifest, parent):
                found[parent] = None
                pending.append(parent)
    return list(found)


def is_transparent(manifest: Manifest, unique_id: str) -> bool:
    """Return whether a query of a node runs its SQL; False for a source, which is not a node."""
    node = _node(manifest, unique_id)
    config = getattr(node, "config", None)
    return node is not None and getattr(config, "materialized", None) not in STORES_ROWS


def names_a_database(text: str) -> bool:
    """Return whether SQL reads a relation that it names by its database, as in `from shop.orders`.

    The name may be of any table or view. Only Spark knows, when the statement runs.
    """
    return bool(_DOTTED_NAME.search(_NO_READ.sub(" ", text)))


def _with_children(manifest: Manifest, readers: Iterable[str], nodes: Iterable[str]) -> set[str]:
    """Return `readers`, and the nodes among `nodes` that read them through transparent nodes."""
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


def _parents(manifest: Manifest, unique_id: str) -> Iterable[str]:
    depends_on = getattr(_node(manifest, unique_id), "depends_on", None)
    return getattr(depends_on, "nodes", ())


def _node(manifest: Manifest, unique_id: str) -> ManifestNode | FunctionNode | None:
    # dbt has functions since 1.11.
    return manifest.nodes.get(unique_id) or getattr(manifest, "functions", {}).get(unique_id)


def _texts(node: ManifestNode | FunctionNode | None) -> Iterator[str]:
    if node is None:
        return
    yield node.raw_code or ""
    for hooks in ("pre_hook", "post_hook"):  # Data tests have none.
        for hook in getattr(node.config, hooks, ()):
            yield hook.sql
