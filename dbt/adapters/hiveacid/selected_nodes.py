"""Nodes that a dbt command has selected, and the sources that they may read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from jinja2 import Environment, TemplateSyntaxError

from dbt import selected_resources
from hiveacid.metastore.models import TableName


class Selection:
    """The nodes that this invocation selected.

    dbt-core keeps them in a module variable that outlives an invocation. It is bound anew by each
    selection, so what is bound when this object is made belongs to an earlier invocation.
    """

    def __init__(self) -> None:
        self._earlier = selected_resources.SELECTED_RESOURCES

    def ids(self) -> list[str] | None:
        """The unique ids of the selected nodes; None for a command that has selected none yet."""
        selected = selected_resources.SELECTED_RESOURCES
        return None if selected is self._earlier else list(selected)

    def sources(self, manifest: Any) -> list[Any]:
        """The source definitions that the selected nodes read, directly or through ephemerals."""
        selected = self.ids()
        if selected is None or manifest is None:
            return []
        return sources_read(manifest, selected)


def sources_read(manifest: Any, unique_ids: Iterable[str]) -> list[Any]:
    """The source definitions among `unique_ids` and those that its nodes read.

    A selected node reads what it depends on; an ephemeral model is part of whoever reads it.
    """
    found = {source.unique_id: source for id_ in unique_ids for source in _reads(manifest, id_)}
    return list(found.values())


def ephemeral_parents(manifest: Any, unique_id: str) -> list[str]:
    """The ephemeral models whose SQL is part of a node's, by their unique ids."""
    found: list[str] = []
    pending = [unique_id]
    while pending:
        for parent in _parents(manifest, pending.pop()):
            if parent not in (unique_id, *found) and _is_ephemeral(manifest, parent):
                found.append(parent)
                pending.append(parent)
    return found


def _reads(manifest: Any, unique_id: str) -> Iterator[Any]:
    sources = getattr(manifest, "sources", {})
    if unique_id in sources:
        yield sources[unique_id]
        return
    for node in (unique_id, *ephemeral_parents(manifest, unique_id)):
        for parent in _parents(manifest, node):
            if parent in sources:
                yield sources[parent]


def _parents(manifest: Any, unique_id: str) -> Iterable[str]:
    node = getattr(manifest, "nodes", {}).get(unique_id)
    depends_on = getattr(node, "depends_on", None)
    return getattr(depends_on, "nodes", ())


def _is_ephemeral(manifest: Any, unique_id: str) -> bool:
    node = getattr(manifest, "nodes", {}).get(unique_id)
    return bool(getattr(node, "is_ephemeral_model", False))


INTERNAL = ("dbt", "dbt_spark", "dbt_hiveacid")
"""The packages whose macros read no source but those that a node hands to them."""

_JINJA = Environment()
_SPEAKS_OF_SOURCES = frozenset({"source", "builtins", "context", "render"})
"""What Jinja can reach a source by: its function, dbt's own, the function's name as a text, a text
that is Jinja itself."""


def needing(
    manifest: Any,
    selected: Iterable[str],
    transactional: Callable[[set[TableName]], Collection[TableName]],
) -> frozenset[str]:
    """The nodes among `selected`, by their unique ids, that may read an ACID source.

    Args:
        transactional: those of some tables that are ACID tables.
    """
    uncertain = _Uncertain(manifest)
    found = set()
    for unique_id in selected:
        sources = sources_read(manifest, [unique_id])
        tables = {TableName(source.schema, source.identifier) for source in sources}
        if transactional(tables) or uncertain(unique_id):
            found.add(unique_id)
    return frozenset(found)


class _Uncertain:
    """Whether a node may read sources that dbt does not know of."""

    def __init__(self, manifest: Any) -> None:
        self._manifest = manifest
        macros = list(getattr(manifest, "macros", {}).values())
        ours = [macro for macro in macros if macro.package_name not in INTERNAL]
        internal = {_bare(macro.name) for macro in macros if macro.package_name in INTERNAL}
        self._macros = _speaking(ours)
        # Called by dbt or by the adapter, whatever the node says.
        self._everywhere = any(
            name in internal or name.startswith("materialization_") or name == "source"
            for name in self._macros
        )

    def __call__(self, unique_id: str) -> bool:
        if self._everywhere:
            return True
        ids = [unique_id, *ephemeral_parents(self._manifest, unique_id)]
        nodes = getattr(self._manifest, "nodes", {})
        return any(self._is_uncertain(nodes[id_]) for id_ in ids if id_ in nodes)

    def _is_uncertain(self, node: Any) -> bool:
        # No seed can name a source, not even in a hook; dbt raises when it is asked for them.
        is_seed = getattr(node, "resource_type", "") == "seed"
        known = () if is_seed else {tuple(source) for source in getattr(node, "sources", ())}
        words = {word for text in _texts(node) for word in _words(text, known)}
        return bool(words & _SPEAKS_OF_SOURCES or words & self._macros)


def _texts(node: Any) -> Iterator[str]:
    yield str(getattr(node, "raw_code", "") or "")
    config = getattr(node, "config", None)
    for hooks in ("pre_hook", "post_hook"):
        for hook in getattr(config, hooks, None) or ():
            yield str(getattr(hook, "sql", ""))


def _speaking(macros: Iterable[Any]) -> frozenset[str]:
    """The names of the macros that speak of sources, or name one that does."""
    words: dict[str, set[str]] = {}
    for macro in macros:  # packages may have macros of the same name
        words.setdefault(macro.name, set()).update(_words(macro.macro_sql, ()))
    speaking: set[str] = set()
    while True:
        new = {
            name
            for name, found in words.items()
            if name not in speaking and (found & _SPEAKS_OF_SOURCES or found & speaking)
        }
        if not new:
            return frozenset(speaking)
        # `default__x` is what a call of `x` may mean.
        speaking |= new | {_bare(name) for name in new}


def _bare(name: str) -> str:
    return name.rpartition("__")[2] if "__" in name.strip("_") else name


def _words(text: str, known: Collection[tuple[str, ...]]) -> Iterator[str]:
    """The names in the Jinja of a text, but for `source('a', 'b')` with a source that is known."""
    try:
        lexed = list(_JINJA.lex(text))
    except TemplateSyntaxError:
        yield "render"  # dbt says what is wrong with it. Until then it may be anything.
        return
    tokens = [(kind, value) for _, kind, value in lexed if kind not in ("whitespace", "data")]
    for i, (kind, value) in enumerate(tokens):
        if kind != "name":
            continue
        if value != "source" or _literal_call(tokens[i + 1 : i + 6]) not in known:
            yield value


def _literal_call(tokens: list[tuple[str, str]]) -> tuple[str, str] | None:
    """The two names of `('a', 'b')`; None for anything else."""
    kinds = [kind if kind == "string" else value for kind, value in tokens]
    if kinds != ["(", "string", ",", "string", ")"]:
        return None
    return tokens[1][1][1:-1], tokens[3][1][1:-1]
