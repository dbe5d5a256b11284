"""Starts and ends of nodes, from dbt's own events.

dbt asks an adapter nothing for a node that it skips. Events tell of each node, whatever its end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dbt_common.events.event_manager_client import get_event_manager


class NodeEvents:
    """Listener that tells of the nodes that start and end, on their threads."""

    def __init__(
        self,
        started: Callable[[str], None],
        finished: Callable[[str, Mapping[str, Any]], None],
    ) -> None:
        """Tell `started` and `finished`, which must not raise: dbt would blame the node.

        Args:
            started: called with the unique id of a node.
            finished: called with the unique id, and the adapter's response (empty without one).
        """
        self._started, self._finished = started, finished

    def install(self) -> None:
        """Start to listen. dbt forgets all listeners when its next command begins."""
        get_event_manager().add_callback(self._on_event)

    def remove(self) -> None:
        """Stop listening."""
        callbacks = get_event_manager().callbacks
        if self._on_event in callbacks:
            callbacks.remove(self._on_event)

    def _on_event(self, event: Any) -> None:
        name = event.info.name
        if name not in ("NodeStart", "NodeFinished") or not event.data.node_info.unique_id:
            return
        if name == "NodeStart":
            self._started(event.data.node_info.unique_id)
        else:
            # A protobuf `Struct`, whose numbers are floats.
            response = dict(event.data.run_result.adapter_response.items())
            self._finished(event.data.node_info.unique_id, response)
