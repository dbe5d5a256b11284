"""Compare the changes between two snapshots of a table with what Hive shows in both."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, Row

from hiveacid.changes.losses import Extent
from hiveacid.changes.plan import CHANGE_TYPE, ROW_ID, ChangePlan, plan_before_images, plan_changes
from hiveacid.changes.rows import (
    deleted_row_ids,
    deleted_rows,
    inserted_rows,
    reconcile_deletes,
    reconcile_inserts,
)
from hiveacid.changes.state import SourceState
from integration.support.differential import Differential, canonical
from integration.support.hive import HiveClient

_ROW_ID_TYPE = "struct<write_id: bigint, bucket: int, row: bigint, partition: string>"

#: A row as `canonical` writes it.
Shown = tuple[str, ...]


@dataclass(frozen=True)
class Seen:
    """A snapshot as a target keeps it.

    `shown` are the rows; `by_id` the same by row id, empty for an insert-only table.
    """

    state: SourceState
    shown: list[Shown]
    by_id: dict[Row, Shown]


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
        assert canonical(map(_values, rows)) == self.shown(table)
        assert {row[CHANGE_TYPE] for row in rows} <= {"insert"}
        by_id = {row[ROW_ID]: _text(row) for row in rows if pinned.table.is_full_acid}
        assert len(by_id) in (0, len(rows)), "row ids repeat"
        state = SourceState.from_json(json.loads(json.dumps(plan.state.to_json())))
        return Seen(state, canonical(map(_values, rows)), by_id)

    def check(self, table: str, seen: Seen, lost: Sequence[str] = ()) -> ChangePlan:
        """Assert that the rows of `seen`, less the deleted, and the inserted are those of now.

        Where the history of locations is lost, a text of each loss must be in `lost`, in order;
        their rows are then reconciled by row id, if they can be.
        """
        with self._differential.pinned(table) as pinned:
            plan = plan_changes(self._spark, pinned, seen.state, self._differential.footers)
            losses = [str(loss) for loss in plan.losses]
            assert len(losses) == len(lost), losses
            assert all(text in loss for text, loss in zip(lost, losses, strict=True)), losses
            if any(loss.extent is Extent.TABLE for loss in plan.losses):
                return plan
            inserted, deleted = self._collect(plan)
            if any(loss.reconcilable for loss in plan.losses):
                target = self._target(seen)
                inserted += reconcile_inserts(self._spark, plan, target).collect()
                missing = reconcile_deletes(self._spark, plan, target).collect()
                gone = [row[ROW_ID] for row in (*deleted, *missing)]
            else:
                gone = [row[ROW_ID] for row in deleted]
        if pinned.table.is_full_acid:
            rows = list(_applied(seen.by_id, gone, inserted).values())
        else:
            assert not gone
            rows = [*seen.shown, *map(_text, inserted)]
        assert sorted(rows) == self.shown(table)
        return plan

    def check_batches(self, table: str, seen: Seen, max_write_ids: int) -> list[ChangePlan]:
        """Assert the same of changes that come in batches, and return the plan of each."""
        plans: list[ChangePlan] = []
        by_id, state = seen.by_id, seen.state
        with self._differential.pinned(table) as pinned:
            while not plans or plans[-1].remaining:
                plan = plan_changes(
                    self._spark,
                    pinned,
                    state,
                    self._differential.footers,
                    max_write_ids=max_write_ids,
                )
                assert not plan.losses
                inserted, deleted = self._collect(plan)
                by_id = _applied(by_id, [row[ROW_ID] for row in deleted], inserted)
                state = plan.state
                plans.append(plan)
        assert sorted(by_id.values()) == self.shown(table)
        return plans

    def shown(self, table: str) -> list[Shown]:
        """The rows that Hive shows now."""
        return canonical(self._differential.shown(table))

    def check_row_ids(self, table: str, seen: Seen) -> None:
        """Assert that the row ids are Hive's own."""
        shown = self._differential.client.query(f"SELECT ROW__ID FROM {table}")
        hives = [json.loads(row_id) for (row_id,) in shown]
        assert sorted((r["writeid"], r["bucketid"], r["rowid"]) for r in hives) == sorted(
            tuple(row_id)[:3] for row_id in seen.by_id
        )

    def _collect(self, plan: ChangePlan) -> tuple[list[Row], list[Row]]:
        """The inserted and the deleted rows."""
        deleted_then = deleted_rows(self._spark, plan, plan_before_images(self._spark, plan))
        both = inserted_rows(self._spark, plan).union(deleted_then).collect()
        inserted = [row for row in both if row[CHANGE_TYPE] == "insert"]
        deleted = [row for row in both if row[CHANGE_TYPE] == "delete"]
        assert len(inserted) + len(deleted) == len(both)
        if plan.deletes:
            ids = deleted_row_ids(self._spark, plan).collect()
            assert sorted(map(tuple, ids)) == sorted(tuple(row[-3:]) for row in deleted)
        if not plan.losses:
            new = {row["_write_id"] for row in (*inserted, *deleted)}
            assert all(write_id in plan.new_write_ids for write_id in new)
        return inserted, deleted

    def _target(self, seen: Seen) -> DataFrame:
        ids = [(tuple(row_id),) for row_id in seen.by_id]
        return self._spark.createDataFrame(ids, f"{ROW_ID} {_ROW_ID_TYPE}")


class Story:
    """What happens to one table, with the snapshots that targets took on the way.

    After each step the changes since all of them are checked. One whose history was lost is no
    longer followed.
    """

    def __init__(self, changes: Changes, client: HiveClient, table: str) -> None:
        self._changes = changes
        self._client = client
        self._table = table
        self._seen: dict[str, Seen] = {}

    def remember(self, name: str) -> Seen:
        """Take a snapshot."""
        self._seen[name] = self._changes.take(self._table)
        return self._seen[name]

    def then(
        self,
        step: str | Callable[[], Any],
        lost: Mapping[str, Sequence[str]] | None = None,
    ) -> dict[str, ChangePlan]:
        """Run a statement, `{t}` being the table, or a function; the plans of the changes.

        `lost` has the texts of the losses by the name of the snapshot.
        """
        if callable(step):
            step()
        else:
            self._client.execute(step.format(t=self._table))
        lost = lost or {}
        plans = {
            name: self._changes.check(self._table, seen, lost.get(name, ()))
            for name, seen in self._seen.items()
        }
        self._seen = {
            name: seen
            for name, seen in self._seen.items()
            if all(loss.extent is Extent.ROW_IDS for loss in plans[name].losses)
        }
        return plans

    def compact(self, kind: str, partition: str | None = None) -> Callable[[], None]:
        """A step: compact the table or a partition."""
        return lambda: self._client.compact(self._table, kind, partition)


def directories(plan: ChangePlan) -> list[str]:
    """The directories that the inserted rows and the deleted row ids are read from."""
    files = [
        *(data.file for data in (*plan.added.data, *plan.grown.data)),
        *(delete.file for delete in (*plan.grown.deletes, *plan.deletes)),
    ]
    root = plan.pinned.table.storage.location
    return sorted({f.path.removeprefix(root).lstrip("/").rpartition("/")[0] for f in files})


def _values(row: Row) -> tuple[Any, ...]:
    return tuple(row)[:-3]


def _text(row: Row) -> Shown:
    (text,) = canonical([_values(row)])
    return text


def _applied(
    by_id: Mapping[Row, Shown], deleted: Sequence[Row], inserted: Sequence[Row]
) -> dict[Row, Shown]:
    """The rows of a target once changes have been applied; each must fit."""
    left = dict(by_id)
    for row_id in deleted:
        assert left.pop(row_id, None) is not None, f"{row_id} is deleted, and was not there"
    added = {row[ROW_ID]: _text(row) for row in inserted}
    assert len(added) == len(inserted) and left.keys().isdisjoint(added)
    assert Counter(deleted).total() == len(set(deleted))
    return left | added
