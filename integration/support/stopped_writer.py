"""A process that writes tables by `hiveacid.transaction`, each stopped at a step of its own.

The tables have the columns `id int, v int, k int`, and the rows `OLD`.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import hiveacid
from integration.support.stops import Stop, StoppedProcess, plant

Row = tuple[int, int, int]
OLD: list[Row] = [(1, 1, 1), (2, 1, 1), (3, 1, 2), (4, 1, 2)]
SCHEMA = "id int, v int, k int"


@dataclass(frozen=True)
class Kind:
    """A kind of write, and the rows of the table after it."""

    write: Callable[[hiveacid.Transaction, str, Callable[..., Any]], None]
    new: list[Row]
    is_partitioned: bool = True


KINDS = {
    "append": Kind(
        lambda transaction, name, rows: transaction.append(name, rows((5, 2, 1), (6, 2, 3))),
        [*OLD, (5, 2, 1), (6, 2, 3)],
    ),
    "overwrite": Kind(
        lambda transaction, name, rows: transaction.overwrite(name, rows((5, 2, 1))),
        [(5, 2, 1)],
        is_partitioned=False,
    ),
    "overwrite of all partitions": Kind(
        lambda transaction, name, rows: transaction.overwrite(name, rows((5, 2, 1), (6, 2, 3))),
        [(5, 2, 1), (6, 2, 3)],
    ),
    "overwrite of some partitions": Kind(
        lambda transaction, name, rows: transaction.overwrite(
            name, rows((5, 2, 1), (6, 2, 3)), partitions="dynamic"
        ),
        [(3, 1, 2), (4, 1, 2), (5, 2, 1), (6, 2, 3)],
    ),
    "delete": Kind(
        lambda transaction, name, rows: transaction.delete(name, "id IN (1, 3)"),
        [(2, 1, 1), (4, 1, 2)],
    ),
    "merge": Kind(
        lambda transaction, name, rows: transaction.merge(name, rows((1, 2, 1), (5, 2, 3)), "id"),
        [(1, 2, 1), (2, 1, 1), (3, 1, 2), (4, 1, 2), (5, 2, 3)],
    ),
}
"""Kinds of writes by their names."""

_PUBLICATION = "hiveacid.writer.publication"
_MOVE = f"{_PUBLICATION}:_Attempt.move"
STEPS = {
    "rows being staged": Stop("hiveacid.writer.stage:_renamed"),
    "rows staged": Stop("hiveacid.transactions:publish"),
    "transactions opened": Stop(f"{_PUBLICATION}:recover"),
    "write ids allocated": Stop(f"{_PUBLICATION}:acquire_to_write"),
    "locked": Stop(f"{_PUBLICATION}:recover", nth=2),
    "partitions and statistics altered": Stop(f"{_PUBLICATION}:_move"),
    "record being written": Stop("hiveacid.writer.files:Files.rename", like="publication.json"),
    "record written": Stop(_MOVE),
    "one directory moved": Stop(_MOVE, nth=2),
    "all directories moved": Stop(f"{_PUBLICATION}:_commit"),
    "committed": Stop("hiveacid.writer.writes:Writes.discard"),
}
"""Steps of a write between open and commit, in their order."""

SETTINGS = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.extraJavaOptions": "-Duser.timezone=UTC -XX:TieredStopAtLevel=1",
}


@dataclass(frozen=True)
class CrashPoint:
    """A table of its own, and the step at which the process that writes it is killed."""

    kind: str
    step: str

    @property
    def table(self) -> str:
        """Name of the table."""
        return "_".join([*self.kind.split(), "at", *self.step.split()])

    @property
    def shown(self) -> list[Row]:
        """The rows that everybody must see after the crash."""
        return KINDS[self.kind].new if self.step == "committed" else OLD

    @property
    def leaves_base(self) -> bool:
        """Whether a base of an aborted transaction is left.

        Hive 4.0.1 may take it for a valid one while a later write id is open, until the next write
        has removed it (docs/decisions/writing.md).
        """
        is_moved = self.step in ("one directory moved", "all directories moved")
        return is_moved and self.kind.startswith("overwrite")


def crash_points(kind: str) -> list[CrashPoint]:
    """Return each step of a kind of write."""
    return [
        CrashPoint(kind, step)
        for step in STEPS
        # Nothing but one directory; rows to delete are staged under the write id.
        if (kind, step)
        not in (("overwrite", "one directory moved"), ("delete", "rows being staged"))
    ]


class StoppedWriter(StoppedProcess):
    """The process, as a context manager that leaves no process behind."""

    def __init__(
        self, points: Sequence[CrashPoint], metastore_uri: str, database: str, work: Path
    ) -> None:
        """`work` is an empty directory."""
        plan = {
            "metastore": metastore_uri,
            "database": database,
            "work": str(work),
            "kinds": {point.table: point.kind for point in points},
            "stops": {point.table: asdict(STEPS[point.step]) for point in points},
        }
        (work / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
        log = work / "output.log"
        paths = [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
        with log.open("ab") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(work / "plan.json")],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                text=True,
                cwd=work,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            )
        super().__init__(process, [point.table for point in points], work, log)


def document(outcomes: Mapping[CrashPoint, str], today: dt.date, seconds: float) -> str:
    """Return the section of docs/crash-points.md on writes."""
    wrong = {point: text for point, text in outcomes.items() if text != "right"}
    steps: dict[str, list[str]] = {}
    for point in outcomes:
        steps.setdefault(point.kind, []).append(point.step)
    kinds: dict[tuple[str, ...], list[str]] = {}
    for kind, own in steps.items():
        kinds.setdefault(tuple(own), []).append(kind)
    lines = [
        "A process writes one table for each step below by `hiveacid.transaction`, and is killed "
        "(`kill -9`) when all tables have come to their steps. Hive, in three ways to read, and "
        "our reader must show the old rows, or after the commit the new ones: right after the "
        "kill, when the metastore has aborted the transactions, and while a later write id is "
        "open. The exception are overwrites of which a base was moved: while a later write id is "
        "open, [Hive may show the base](decisions/writing.md#what-a-failed-overwrite-leaves-is-"
        "removed-before-the-abort), and only our reader is compared. The next write must remove "
        "every stage and every directory of an aborted transaction. `make long` does this for all "
        "steps and writes this section; `make test` does it for some of them.",
        "",
        f"{today.isoformat()}, {seconds / 60:.0f} minutes: {len(outcomes)} steps, "
        f"{len(outcomes) - len(wrong)} right.",
        "",
        "| what was written | killed at |",
        "|---|---|",
        *(f"| {', '.join(names)} | {', '.join(own)} |" for own, names in kinds.items()),
    ]
    lines += [f"\nWrong: {point.table}: {text}" for point, text in wrong.items()]
    return "\n".join(lines) + "\n"


def _current() -> str:
    return threading.current_thread().name


def _run(plan: Mapping[str, Any]) -> None:
    stops = {table: Stop(**stop) for table, stop in plan["stops"].items()}
    plant(stops, Path(plan["work"]), _current)
    spark = SparkSession.builder.config(map={**SETTINGS}).getOrCreate()

    def rows(*rows: Row) -> Any:
        return spark.createDataFrame(list(rows), SCHEMA)

    def write(table: str) -> None:
        with hiveacid.transaction(spark, plan["metastore"]) as transaction:
            KINDS[plan["kinds"][table]].write(transaction, f"{plan['database']}.{table}", rows)

    threads = [threading.Thread(target=write, args=[it], name=it) for it in stops]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    _run(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
