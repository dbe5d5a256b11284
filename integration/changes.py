"""Compare the changes between two snapshots of a table with what Hive shows in both."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from dbt.adapters.hiveacid.incremental.changes import (
    deleted_row_ids,
    deleted_rows,
    inserted_rows,
    reconcile_deletes,
    reconcile_inserts,
)
from dbt.adapters.hiveacid.incremental.comparison import Extent
from dbt.adapters.hiveacid.incremental.plan import CHANGE_TYPE, ROW_ID, ChangePlan, plan_changes
from dbt.adapters.hiveacid.incremental.state import SourceState
from integration.differential import Differential, canonical

ROW_ID_TYPE = "struct<write_id: bigint, bucket: int, row: bigint, partition: string>"


@dataclass(frozen=True)
class Seen:
    """A snapshot as a target keeps it: the state, and the rows with their row ids.

    `shown` are the rows that Hive showed then.
    """

    state: SourceState
    shown: list[tuple[str, ...]]
    row_ids: list[tuple[Any, ...]]


class Changes:
    """Takes snapshots of tables and checks the changes between them."""

    def __init__(self, differential: Differential) -> None:
        self._differential = differential
        self._spark = differential.spark

    def take(self, table: str) -> Seen:
        """The snapshot of now, whose rows must be those that Hive shows."""
        with self._differential.pinned(table) as pinned:
            plan = plan_changes(self._spark, pinned, None, self._differential.footers)
            rows = inserted_rows(self._spark, plan).collect()
        shown = self._shown(table)
        assert {row[CHANGE_TYPE] for row in rows} <= {"insert"}
        assert canonical(row[:-3] for row in rows) == shown
        row_ids = [row[ROW_ID] for row in rows]
        if pinned.table.is_full_acid:
            assert len(set(row_ids)) == len(rows)
        state = SourceState.from_json(json.loads(json.dumps(plan.state.to_json())))
        return Seen(state, shown, row_ids)

    def check(
        self,
        table: str,
        seen: Seen,
        lost: Sequence[str] = (),
        max_write_ids: int | None = None,
        now: list[tuple[str, ...]] | None = None,
    ) -> ChangePlan:
        """Assert that the snapshot `seen`, less deleted, plus inserted rows is that of now.

        Where the history of some locations is `lost`, whose texts must occur in the plan's losses
        one by one, their rows are reconciled by row id, if they can be.
        """
        footers = self._differential.footers
        with self._differential.pinned(table) as pinned:
            plan = plan_changes(
                self._spark, pinned, seen.state, footers, max_write_ids=max_write_ids
            )
            losses = [str(loss) for loss in plan.losses]
            assert len(losses) == len(lost), losses
            assert all(text in loss for text, loss in zip(lost, losses, strict=True)), losses
            if any(loss.extent is Extent.TABLE for loss in plan.losses):
                return plan
            inserted = inserted_rows(self._spark, plan).collect()
            deleted = deleted_rows(self._spark, plan).collect()
            ids = deleted_row_ids(self._spark, plan).collect()
            target = self._target(seen)
            if lost:
                inserted += reconcile_inserts(self._spark, plan, target).collect()
                gone = reconcile_deletes(self._spark, plan, target).collect()
            else:
                gone = []
        assert sorted(map(tuple, ids)) == sorted(tuple(row[-3:]) for row in deleted)
        if pinned.table.is_full_acid:
            left = Counter(seen.row_ids)
            left.subtract(row[ROW_ID] for row in deleted)
            left.subtract(row[0] for row in gone)
            left.update(row[ROW_ID] for row in inserted)
            assert all(count in (0, 1) for count in left.values()), left
        if max_write_ids is None and not gone:
            rows = Counter(seen.shown)
            rows.subtract(canonical(row[:-3] for row in deleted))
            rows.update(canonical(row[:-3] for row in inserted))
            assert sorted(rows.elements()) == (now or self._shown(table))
        return plan

    def _target(self, seen: Seen) -> DataFrame:
        ids = [(tuple(row_id),) for row_id in seen.row_ids if row_id is not None]
        return self._spark.createDataFrame(ids, f"{ROW_ID} {ROW_ID_TYPE}")

    def _shown(self, table: str) -> list[tuple[str, ...]]:
        return canonical(self._differential.client.query(f"SELECT * FROM {table}"))
