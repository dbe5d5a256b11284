"""When nodes start and end, from dbt's own events.

dbt asks an adapter nothing for a node that it skips. Its events tell of each node, however it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dbt_common.events.event_manager_client import get_event_manager


class NodeEvents:
    """Tells of nodes that start and end, on their threads, while it is installed."""

    def __init__(
        self,
        started: Callable[[str], None],
        finished: Callable[[str, Mapping[str, Any]], None],
    ) -> None:
        """Both take a node's unique id, `finished` also the adapter's response (empty without one).

        They must not raise: dbt would blame the node.
        """
        self._started, self._finished = started, finished

    def install(self) -> None:
        """Listen from now on. dbt forgets all listeners when its next command begins."""
        get_event_manager().add_callback(self._on_event)

    def remove(self) -> None:
        """Listen no longer."""
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
