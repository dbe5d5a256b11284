"""How long a run holds its snapshot: until the last node that may read an ACID source has ended.

A shared lock keeps Hive's DROP TABLE, DROP PARTITION and INSERT OVERWRITE waiting, so it is held no
longer than it is needed. There is only one snapshot a run: what is read after its end is an error.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.events.contextvars import get_node_info

from dbt.adapters.hiveacid.errors import SnapshotEndedError
from hiveacid.formatting import first_few
from hiveacid.metastore.models import TableName
from hiveacid.snapshots.run_snapshot import RunSnapshot
from hiveacid.snapshots.tables import PinnedTable

logger = AdapterLogger("HiveAcid")
_SHOWN = 5
"""So many nodes a warning names."""


class EarlyRelease:
    """Ends a run's transaction early. All methods are thread-safe.

    Whatever was foreseen, a node that has read a source keeps the transaction until it has ended.
    What reads outside any node, as hooks of the run do, keeps nothing.
    """

    def __init__(
        self,
        snapshot: RunSnapshot,
        needing: Callable[[], frozenset[str] | None],
        release: Callable[[], None],
        *,
        until_run_end: bool,
        warn_after: float,
    ) -> None:
        """`needing` tells the nodes that may read an ACID source, None if that is not known.

        It is asked at the first read. `release` ends the transaction and never raises.
        `warn_after` is in seconds; 0 warns never.
        """
        self._snapshot = snapshot
        self._ask = needing
        self._release = release
        self._until_run_end = until_run_end
        self._warn_after = warn_after
        self._lock = threading.Lock()
        self._asked = False
        self._needing: frozenset[str] | None = None
        self._running: Counter[str] = Counter()
        self._ended: set[str] = set()
        self._readers: set[str] = set()
        self._timer: threading.Timer | None = None
        self.ended_after: str | None = None

    @property
    def has_run_nodes(self) -> bool:
        """Whether the command has started any node."""
        with self._lock:
            return bool(self._running)

    def pin(self, tables: Iterable[TableName]) -> Mapping[TableName, PinnedTable]:
        """As `RunSnapshot.pin`, for the node that runs on this thread.

        Raises:
            SnapshotEndedError: the run's transaction has ended after its last reader.
        """
        names = set(tables)
        self._look_ahead()
        node = get_node_info().get("unique_id", "")
        with self._lock:
            self._raise_if_ended(", ".join(map(str, sorted(names))))
            if self._running[node] > 0:
                self._readers.add(node)
        pinned = self._snapshot.pin(names)
        self._watch()
        return pinned

    def check_alive(self) -> None:
        """As `RunSnapshot.check_alive`, for a node that has read a source.

        Raises:
            SnapshotEndedError: the run has ended its transaction all the same.
        """
        with self._lock:
            self._raise_if_ended("its sources")
        self._snapshot.check_alive()

    def started(self, node: str) -> None:
        """A node starts, or a batch of one that has started."""
        with self._lock:
            self._running[node] += 1

    def finished(self, node: str) -> bool:
        """A node, or a batch of it, has ended, in whatever way. Never raises.

        Returns:
            Whether all of the node has ended.
        """
        with self._lock:
            self._running[node] -= 1
            if self._running[node] > 0:
                return False
            self._ended.add(node)
            self._readers.discard(node)
            if not self._is_over():
                return True
            self.ended_after = node
        self._stop_watch()
        self._release()
        return True

    def close(self) -> None:
        """The run is over, and so is its transaction: another run may begin."""
        self._stop_watch()
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

    def _is_over(self) -> bool:
        return (
            not self._until_run_end
            and self.ended_after is None
            and self._snapshot.transaction_id is not None
            and self._needing is not None
            and not self._readers
            and self._needing <= self._ended
        )

    def _raise_if_ended(self, what: str) -> None:
        if self.ended_after is None:
            return
        report = self._snapshot.report()
        assert report is not None
        info = get_node_info()
        reader = f"{info.get('resource_type', '')} {info.get('node_name', '')}".strip()
        raise SnapshotEndedError(
            f"{(reader or 'A statement').capitalize()} reads {what}, but the run has ended "
            f"transaction {report.transaction_id}, which held its snapshot, with the last node "
            f"that was known to read an ACID source, {self.ended_after}: there is one snapshot a "
            "run. If a node reads the source within `{% if execute %}`, where dbt does not find it "
            "when it parses, name it in the node's SQL, too: `-- depends_on: {{ source('shop', "
            "'orders') }}`. If a hook of the run reads it, read the source in a model instead. Set "
            "`hold_until: run_end` in the profile to hold the locks on the sources until the run "
            "ends."
        )

    def _watch(self) -> None:
        with self._lock:
            if self._timer is not None or not self._warn_after:
                return
            self._timer = threading.Timer(self._warn_after, self._warn)
            self._timer.daemon = True
            self._timer.start()

    def _stop_watch(self) -> None:
        with self._lock:
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def _warn(self) -> None:
        report = self._snapshot.report()
        if report is None or self._snapshot.transaction_id != report.transaction_id:
            return
        logger.warning(
            f"Transaction {report.transaction_id} has held shared locks on {report.tables} for "
            f"more than {self._warn_after:g} s (hold_warning). Hive's DROP TABLE, DROP PARTITION "
            f"and INSERT OVERWRITE on them wait {self._for_what()}."
        )

    def _for_what(self) -> str:
        with self._lock:
            nodes = self._needing
            if nodes is not None:
                nodes = (nodes - self._ended) | self._readers
        if not nodes:
            return "until the run ends"
        return f"until these have ended: {first_few(sorted(nodes), _SHOWN)}"
