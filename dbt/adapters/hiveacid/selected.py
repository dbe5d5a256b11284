"""Which sources this dbt invocation will read, as far as dbt knows beforehand.

The manifest and the selection are internals of dbt-core: everything here answers "none" where they
are not as expected, and the sources are then met one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dbt import selected_resources


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
