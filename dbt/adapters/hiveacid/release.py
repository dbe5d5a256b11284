"""Early release of a run's snapshot: with the last node that may read an ACID source.

A shared lock keeps Hive's DROP TABLE, DROP PARTITION and INSERT OVERWRITE waiting, so the run holds
it no longer than necessary. There is only one snapshot a run: what is read after its end is an
error.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.events.contextvars import get_node_info

from hiveacid.engine import SnapshotEngine
from hiveacid.errors import SnapshotEndedError
from hiveacid.formatting import first_few

logger = AdapterLogger("HiveAcid")
_SHOWN = 5
"""Nodes that a warning names."""


class EarlyRelease:
    """Policy of the early release: it says whether the snapshot may end. Thread-safe.

    Whatever was foreseen, a node that has read a source keeps the snapshot until the node has
    ended. What reads outside of any node, such as a hook of the run, keeps nothing.

    `ended_after` is the node with which the snapshot was released; None before.
    """

    def __init__(
        self, needing: Callable[[], frozenset[str] | None], *, until_run_end: bool
    ) -> None:
        """`needing` returns the nodes that may read an ACID source, None if they are not known.

        It is asked before the first read.
        """
        self._ask = needing
        self._until_run_end = until_run_end
        self._lock = threading.Lock()
        self._asked = False
        self._needing: frozenset[str] | None = None
        self._running: Counter[str] = Counter()
        self._ended: set[str] = set()
        self._readers: set[str] = set()
        self.ended_after: str | None = None

    @property
    def has_run_nodes(self) -> bool:
        """Whether the command has started any node."""
        with self._lock:
            return bool(self._running)

    def register_reader(self, explain_end: Callable[[], str]) -> None:
        """Register a read of the node that runs on this thread, before it reads.

        Raises:
            SnapshotEndedError: the snapshot was released; `explain_end` makes the message.
        """
        self._look_ahead()
        node = get_node_info().get("unique_id", "")
        with self._lock:
            if self.ended_after is None:
                if self._running[node] > 0:
                    self._readers.add(node)
                return
        raise SnapshotEndedError(explain_end())

    def node_started(self, node: str) -> None:
        """Count the start of a node, or of a batch of a node that has started."""
        with self._lock:
            self._running[node] += 1

    def node_finished(self, node: str) -> bool:
        """Count the end of a node, or of a batch of it; return whether all of the node has ended.

        Never raises.
        """
        with self._lock:
            self._running[node] -= 1
            if self._running[node] > 0:
                return False
            self._ended.add(node)
            self._readers.discard(node)
            return True

    def may_release(self, node: str) -> bool:
        """Decide whether an open snapshot may end after `node`. It may only once."""
        with self._lock:
            if (
                self._until_run_end
                or self.ended_after is not None
                or self._needing is None
                or self._readers
                or not self._needing <= self._ended
            ):
                return False
            self.ended_after = node
            return True

    def nodes_to_come(self) -> frozenset[str]:
        """Return the nodes for which the snapshot is held; none if that is not known."""
        with self._lock:
            if self._needing is None:
                return frozenset()
            return (self._needing - self._ended) | self._readers

    def reset(self) -> None:
        """Begin with another command: nothing has run, and nothing was released."""
        with self._lock:
            self._asked, self._needing, self.ended_after = False, None, None
            self._running.clear()
            self._ended.clear()
            self._readers.clear()

    def _look_ahead(self) -> None:
        with self._lock:
            if self._asked or self._until_run_end:
                return
        # May ask the metastore: not under the lock, for which dbt's events wait.
        needing = self._ask()
        with self._lock:
            self._asked, self._needing = True, needing


def explain_release(what: str, transaction_id: int | None, ended_after: str | None) -> str:
    """Explain to a reader on this thread that the snapshot has ended.

    `ended_after` is the node with which it was released; None if the run itself has ended it.
    """
    info = get_node_info()
    reader = f"{info.get('resource_type', '')} {info.get('node_name', '')}".strip()
    told = (
        f"{(reader or 'A statement').capitalize()} reads {what}, but the run has ended "
        f"transaction {transaction_id}, which held its snapshot"
    )
    if ended_after is None:
        return f"{told}: the run was cancelled or is over."
    return (
        f"{told}, with the last node that was known to read an ACID source, {ended_after}. A run "
        "has one snapshot. If a node reads the source within `{% if execute %}`, or in a macro "
        "that dbt calls by itself, dbt does not find it when it parses: name it in the node's "
        "SQL, too: `-- depends_on: {{ source('shop', 'orders') }}`. If a hook of the run reads it, "
        "read the source in a model instead. Set `hold_until: run_end` in the profile to hold the "
        "locks on the sources until the run ends."
    )


class HoldWarning:
    """Warning, once, that the locks of a snapshot have been held for a long time."""

    def __init__(
        self, snapshot: SnapshotEngine, nodes_to_come: Callable[[], frozenset[str]], after: float
    ) -> None:
        """`after` is in seconds; 0 never warns."""
        self._snapshot = snapshot
        self._nodes_to_come = nodes_to_come
        self._after = after
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def start(self) -> None:
        """Start to wait, if no wait is under way."""
        with self._lock:
            if self._timer is not None or not self._after:
                return
            self._timer = threading.Timer(self._after, self._warn)
            self._timer.daemon = True
            self._timer.start()

    def stop(self) -> None:
        """Do not warn any more."""
        with self._lock:
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def _warn(self) -> None:
        report = self._snapshot.report()
        if report is None or self._snapshot.transaction_id != report.transaction_id:
            return
        logger.warning(
            "[HIVEACID_WARN_LOCKS_HELD] "
            f"Transaction {report.transaction_id} has held shared locks on {report.tables} for "
            f"more than {self._after:g} s (hold_warning). Hive's DROP TABLE, DROP PARTITION and "
            f"INSERT OVERWRITE on them wait {self._until_when()}."
        )

    def _until_when(self) -> str:
        nodes = self._nodes_to_come()
        if not nodes:
            return "until the run ends"
        return f"until these have ended: {first_few(sorted(nodes), _SHOWN)}"
