"""Random histories with other writers than Hive's statements.

They are streaming ingest, compactions that put files together or run on Tez, and loads of files
that pyorc and pyarrow wrote.
"""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace

from integration.support.histories import loads, streams
from integration.support.histories.actions import (
    Compact,
    NoDirectory,
    NotNow,
    Sql,
    Step,
    World,
)
from integration.support.histories.history import COLUMNS, IN_TEST, Ground, Histories
from integration.support.histories.operations import (
    OPERATIONS,
    compact_minor,
    compact_rebalance,
)
from integration.support.histories.shape import Shape
from integration.support.histories.streams import SharedClient, StreamedTable, StreamedWorld
from integration.support.histories.table_state import Actions, Operation, TableState

HIVE = replace(
    IN_TEST,
    query_compaction=True,
    # A history waits for the transactions of each client that it has killed.
    txn_timeout=40,
    extra={**IN_TEST.extra, "hive.compaction.merge.enabled": "true"},
)
"""A Hive that puts files together where it can, and compacts on Tez where not."""

_ON_TEZ = b"compaction via query"
"""What the log says of a compaction that runs as a query."""

_REFUSED = b"Query based Minor compaction is not possible"
"""What the log says of the only compaction in a step that Hive refuses."""

COMPACTIONS = (
    *(f"{kind}, full ACID, on Tez" for kind in ("minor", "major", "rebalance")),
    *(
        f"{kind}, {table}, files put together"
        for kind in ("minor", "major")
        for table in ("full ACID", "insert-only")
    ),
    *(f"{kind}, insert-only, on Tez" for kind in ("minor", "major")),
)
"""The ways of compaction that a long run must have met."""

_RARELY = {"kill streaming client": 4}
"""Operations that take long: each counts as done this many times."""


@dataclass(frozen=True)
class CompactIfPossible(Compact):
    """A compaction that may be refused: what the step did before it remains."""

    def run(self, world: World) -> None:
        with suppress(NotNow):
            super().run(world)


def compact_by_merge(table: TableState) -> Actions | None:
    """Two inserts, and a compaction that Hive does without reading a row."""
    if table.shape.file_format != "ORC":
        return None
    values: tuple[str, ...] | None = None
    into, partition = "{table}", None
    if table.shape.partition:
        if not table.known:
            return None
        values = table.rng.choice(table.known)
        partition = table.specification(values)
        into += f" PARTITION ({partition})"
    inserts = [
        Sql(
            f"INSERT INTO {into} SELECT {table.select(values)} "
            f"FROM {table.source(table.rng.randint(1, 6))}"
        )
        for _ in range(2)
    ]
    kind = "major" if _would_reverse(table) else table.rng.choice(("minor", "major"))
    # Else Hive reads them (`MergeCompactor.hasDeleteOrAbortedDirectories`).
    asked = NoDirectory("delete_delta_*", values)
    return (asked, *inserts, CompactIfPossible(kind, partition))


def _would_reverse(table: TableState) -> bool:
    """Whether a minor compaction that puts files together has a name such as `delta_4_3`.

    Hive 4.0.1 takes the lowest open write id for the lowest one of the directory, if write ids
    below it are aborted (`MergeCompactor.getOutputDirPath`; docs/hive-quirks.md).
    """
    return table.shape.file_format == "ORC" and table.is_written and table.aborted


def compact_minor_in_order(table: TableState) -> Actions | None:
    """A minor compaction, unless Hive may name what it puts together in reverse.

    Deletes above the open write do not keep Hive from it: the compaction does not see them.
    """
    return None if _would_reverse(table) else compact_minor(table)


class OtherWriters(Histories):
    """Histories with all writers, in a Hive that is `HIVE`.

    `compactions` counts how Hive did the compactions: by putting files together, or on Tez.
    """

    operations: dict[str, Operation] = {
        **OPERATIONS,
        **streams.OPERATIONS,
        **loads.OPERATIONS,
        "rebalance compaction": compact_rebalance,
        "merge compaction": compact_by_merge,
        "minor compaction": compact_minor_in_order,
    }
    opened_by = {**Histories.opened_by, **streams.OPENS}
    endings = (*Histories.endings, *streams.ENDINGS)

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.tally.wanted = tuple(self.operations)
        self.compactions: Counter[str] = Counter()
        self._log = ground.differential.hive.log
        self._shared = SharedClient(ground.differential.hive, ground.scratch)

    def assert_all_ways_met(self) -> None:
        """Assert that Hive compacted in each way."""
        assert all(self.compactions[way] for way in COMPACTIONS), self.compactions

    def close(self) -> None:
        """End the streaming client."""
        self._shared.kill()

    def _shape(self, rng: random.Random) -> Shape:
        """As usual, or one that takes loads of files and is insert-only."""
        if rng.random() < 0.75:
            return super()._shape(rng)
        file_format = rng.choice(("ORC", "PARQUET"))
        shape = self._choose_shape(rng)
        return replace(shape, full_acid=False, file_format=file_format, buckets=0)

    def _world(self, name: str) -> World:
        like = super()._world(name)
        of_it = (like.client, like.metastore, like.connect, like.table, like.scratch)
        return StreamedWorld(*of_it, shared=self._shared)

    def _state(self, shape: Shape, rng: random.Random) -> TableState:
        return StreamedTable(shape, rng, list(COLUMNS), transactional=not shape.converted)

    def _times(self, name: str) -> int:
        return super()._times(name) * _RARELY.get(name, 1)

    def _do(self, world: World, step: Step, steps: list[Step]) -> None:
        logged = self._log.stat().st_size
        super()._do(world, step, steps)
        for action in step.actions:
            if isinstance(action, Compact):
                with self._log.open("rb") as log:
                    log.seek(logged)
                    told = log.read()
                begun = f"Starting {action.kind.upper()} compaction for".encode()
                if begun not in told or _REFUSED in told:
                    continue
                way = "on Tez" if _ON_TEZ in told else "files put together"
                kind = "full ACID" if self._is_full_acid(world) else "insert-only"
                self.compactions[f"{action.kind}, {kind}, {way}"] += 1

    @staticmethod
    def _is_full_acid(world: World) -> bool:
        return world.metastore.get_table(world.table).is_full_acid
