"""Early release of a run's snapshot, after the last node that may read an ACID source.

A shared lock makes Hive's DROP TABLE, DROP PARTITION and INSERT OVERWRITE wait, so the run holds it
no longer than necessary. A run has only one snapshot: a read after its end is an error.
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
"""Maximum number of nodes that a warning names."""


class EarlyRelease:
    """Policy of the early release: decides whether the snapshot may end. Thread-safe.

    A node that has read a source keeps the snapshot until the node has ended, whether or not it was
    among the expected readers. A read outside of any node, such as in a hook of the run, does not
    keep the snapshot.

    `ended_after` is the node after which the snapshot was released; None before.
    """

    def __init__(
        self, needing: Callable[[], frozenset[str] | None], *, until_run_end: bool
    ) -> None:
        """Create the policy.

        Args:
            needing: returns the nodes that may read an ACID source; None if they are not known.
                Called before the first read.
            until_run_end: whether the snapshot stays until the end of the run.
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
        """Count the start of a node, or of a further batch of it."""
        with self._lock:
            self._running[node] += 1

    def node_finished(self, node: str) -> bool:
        """Count the end of a node, or of a batch of it; return whether the whole node has ended.

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
        """Decide whether an open snapshot may end after `node`. Returns True only once."""
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
        """Return the nodes for which the snapshot is held; none if they are not known."""
        with self._lock:
            if self._needing is None:
                return frozenset()
            return (self._needing - self._ended) | self._readers

    def reset(self) -> None:
        """Reset for another command: no node has run, and nothing was released."""
        with self._lock:
            self._asked, self._needing, self.ended_after = False, None, None
            self._running.clear()
            self._ended.clear()
            self._readers.clear()

    def _look_ahead(self) -> None:
        with self._lock:
            if self._asked or self._until_run_end:
                return
        # May call the metastore: not while holding the lock, which dbt's events wait for.
        needing = self._ask()
        with self._lock:
            self._asked, self._needing = True, needing


def explain_release(what: str, transaction_id: int | None, ended_after: str | None) -> str:
    """Return the error message for a reader on this thread after the end of the snapshot.

    Args:
        what: the tables to read.
        transaction_id: the transaction that held the snapshot.
        ended_after: the node after which it was released; None if it has ended with the run.
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
    """Timer that warns once that the locks of a snapshot have been held for a long time."""

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
        """Start the timer, unless it is running."""
        with self._lock:
            if self._timer is not None or not self._after:
                return
            self._timer = threading.Timer(self._after, self._warn)
            self._timer.daemon = True
            self._timer.start()

    def stop(self) -> None:
        """Stop the timer without a warning."""
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
