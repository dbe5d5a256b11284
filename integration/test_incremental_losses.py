"""Each kind of lost history, and each value of `on_history_loss`, in dbt runs of one project."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from dbt_common.events.base_types import EventMsg

from integration.support.dbt_project import node_results
from integration.support.differential import canonical
from integration.support.hive import HiveClient, HiveServer
from integration.support.incremental import Incremental
from integration.support.tables import FULL_ACID, INSERT_ONLY

COLUMNS = "(id int, amount decimal(10,2), status string)"
PARTED = f"{COLUMNS} PARTITIONED BY (p string)"
ORC = f"STORED AS ORC TBLPROPERTIES ({FULL_ACID})"
LOG = f"STORED AS PARQUET TBLPROPERTIES ({INSERT_ONLY})"

MODEL = """{{{{ config(materialized='incremental', incremental_strategy='acid_changes',
    on_history_loss='{on_loss}', {config}) }}}}
select id, amount * 2 as twice, status{ids}
from {{{{ acid_changes(source('shop', '{table}')) }}}} where status <> 'hidden'"""

CONFIGS = {
    "full_refresh": ("unique_key='id'", ""),
    "error": ("unique_key='id'", ""),
    "reconcile": ("file_format='orc'", ", _row_id"),
}
"""By value of `on_history_loss`, what else a model says, and its column of row ids."""

Step = str | Callable[["TableInHive"], object]


@dataclass(frozen=True)
class TableInHive:
    """Where a table is: its name with the database, and its directory."""

    hive: HiveClient
    table: str
    directory: Path

    def do(self, steps: tuple[Step, ...]) -> None:
        """Run statements, `{t}` being the table, and functions."""
        for step in steps:
            if callable(step):
                step(self)
            else:
                self.hive.execute(step.format(t=self.table))


@dataclass(frozen=True)
class Loss:
    """A table, what is done to it once targets have its rows, and what is said of that.

    `named` are parts of what names the losses. `by_row_ids` says that row ids can make up for them.
    `after` are changes without a loss, which come last.
    """

    make: tuple[Step, ...]
    change: tuple[Step, ...]
    named: tuple[str, ...]
    after: tuple[Step, ...]
    by_row_ids: bool = False
    full_acid: bool = True


def rows(*partitions: str) -> str:
    """VALUES with two rows that are shown and one that is not, for each partition."""
    ids = range(1, 3 * len(partitions), 3)
    return ", ".join(
        f"({i}, 10, 'new', '{p}'), ({i + 1}, 20, 'new', '{p}'), ({i + 2}, 30, 'hidden', '{p}')"
        for i, p in zip(ids, partitions, strict=True)
    )


def compact(kind: str, partition: str | None = None) -> Step:
    clause = partition and f"p='{partition}'"
    return lambda place: place.hive.compact(place.table, kind, clause)


def move(place: TableInHive) -> None:
    """The files of partition a lie elsewhere from now on."""
    elsewhere = place.directory.with_name(f"{place.directory.name}_elsewhere")
    shutil.move(place.directory / "p=a", elsewhere)
    place.hive.execute(
        f"ALTER TABLE {place.table} PARTITION (p='a') SET LOCATION 'file:{elsewhere}'"
    )


PARTS = ("compacted", "overwritten", "truncated", "dropped", "anew", "日", "same")
LOGS = ("minor", "major", "overwritten", "dropped")
OVERWRITE = (
    "INSERT OVERWRITE TABLE {t} PARTITION (p='overwritten') "
    "SELECT id, amount + 1, status FROM {t} WHERE p = 'overwritten'"
)

CASES = {
    "parts": Loss(
        (
            f"CREATE TABLE {{t}} {PARTED} {ORC}",
            f"INSERT INTO {{t}} VALUES {rows(*PARTS)}",
            "INSERT INTO {t} VALUES (30, 1, 'new', '日'), (31, 1, 'new', 'anew')",
        ),
        (
            # In a partition that goes on, and in two whose delete events will be gone.
            "DELETE FROM {t} WHERE id IN (1, 16, 19)",
            "ALTER TABLE {t} DROP PARTITION (p='dropped'), PARTITION (p='anew')",
            "INSERT INTO {t} VALUES (40, 4, 'new', 'compacted'), (41, 4, 'new', 'anew'), "
            "(42, 4, 'new', '日'), (43, 4, 'new', 'same'), (44, 4, 'hidden', 'anew')",
            OVERWRITE,
            "TRUNCATE TABLE {t} PARTITION (p='truncated')",
            compact("major", "compacted"),
            compact("minor", "日"),
        ),
        (
            "partition p=compacted: the compaction that made base_0000005_v",
            " includes write ids 3-5, which had not been read",
            "partition p=overwritten: write id 6 replaced all rows (overwrite or truncate): "
            "base_0000006",
            "partition p=truncated: write id 7 replaced all rows (overwrite or truncate): "
            "base_0000007",
            "partition p=dropped: it was dropped; it was at file:",
            "/parts/p=dropped",
            "partition p=anew: it was dropped and created again (createTime ",
            "partition p=日: the compaction that made delta_0000001_0000005_v",
            " left it empty",
            "(new write ids: 3-7)",
        ),
        (
            "ALTER TABLE {t} ADD PARTITION (p='added') PARTITION (p='empty')",
            "INSERT INTO {t} VALUES (50, 5, 'new', 'added'), (51, 5, 'new', 'truncated')",
            "UPDATE {t} SET amount = amount + 1 WHERE id < 41",
        ),
        by_row_ids=True,
    ),
    "originals": Loss(
        (
            f"CREATE TABLE {{t}} {COLUMNS} STORED AS ORC TBLPROPERTIES ('transactional'='false')",
            "INSERT INTO {t} VALUES (1, 10, 'new'), (2, 20, 'new'), (3, 30, 'hidden')",
            f"ALTER TABLE {{t}} SET TBLPROPERTIES ({FULL_ACID})",
        ),
        (
            "DELETE FROM {t} WHERE id = 1",
            # More rows than row numbers, or a REBALANCE compaction could have made the base.
            "INSERT INTO {t} VALUES (5, 50, 'new'), (6, 60, 'hidden')",
            compact("major"),
        ),
        # Hive gives the original files of a converted table ten million write ids.
        ("the compaction that made base_10000002_v", "includes write ids 10000001-10000002"),
        ("UPDATE {t} SET amount = amount + 1",),
        by_row_ids=True,
    ),
    "places": Loss(
        (f"CREATE TABLE {{t}} {PARTED} {ORC}", f"INSERT INTO {{t}} VALUES {rows('a', 'b', 'c')}"),
        (
            move,
            "ALTER TABLE {t} PARTITION (p='c') RENAME TO PARTITION (p='d')",
            "ALTER TABLE {t} PARTITION (p='b') RENAME TO PARTITION (p='c')",
            "DELETE FROM {t} WHERE id IN (1, 4)",
        ),
        (
            "partition p=a: it was moved from file:",
            "/places/p=a to file:",
            "/places_elsewhere;",
            "partition p=c: its files in delta_0000001_0000001_0000 are not the files that were",
            "partition p=b: it was dropped; it was at file:",
        ),
        ("UPDATE {t} SET amount = amount + 1",),
    ),
    # With as many writes as the other one; RENAME takes a write id, too.
    "another": Loss(
        tuple(
            statement
            for table, status in (("{t}", "new"), ("{t}_other", "other"))
            for statement in (
                f"CREATE TABLE {table} {COLUMNS} {ORC}",
                f"INSERT INTO {table} VALUES (1, 10, '{status}'), (2, 20, 'hidden')",
            )
        ),
        ("ALTER TABLE {t} RENAME TO {t}_before", "ALTER TABLE {t}_other RENAME TO {t}"),
        ("it is another table of the same name (id ", "(new write ids: 1-2)"),
        ("UPDATE {t} SET amount = amount + 1",),
    ),
    "logs": Loss(
        (
            f"CREATE TABLE {{t}} {PARTED} {LOG}",
            f"INSERT INTO {{t}} VALUES {rows(*LOGS)}",
            "INSERT INTO {t} VALUES (30, 1, 'new', 'minor'), (31, 1, 'new', 'major')",
        ),
        (
            "ALTER TABLE {t} DROP PARTITION (p='dropped')",
            "INSERT INTO {t} VALUES (40, 4, 'new', 'minor'), (41, 4, 'new', 'major')",
            OVERWRITE,
            compact("minor", "minor"),
            compact("major", "major"),
        ),
        (
            "partition p=minor: delta_0000001_0000005_v",
            "mixes rows that were read before with rows of write ids 3-5",
            "partition p=major: the compaction that made base_0000005_v",
            "had not been read: its files do not show which rows belong to them",
            "partition p=overwritten: write id 5 replaced all rows (overwrite or truncate): "
            "base_0000005",
            "partition p=dropped: it was dropped; it was at file:",
        ),
        ("INSERT INTO {t} VALUES (50, 5, 'new', 'minor'), (51, 5, 'new', 'added')",),
        full_acid=False,
    ),
}


class Losses:
    """All cases, with a model over each for each value of `on_history_loss`."""

    def __init__(self, incremental: Incremental, hive: HiveServer) -> None:
        self.dbt = incremental
        self.places = {
            name: TableInHive(
                incremental.hive,
                f"{incremental.database}.{name}",
                hive.warehouse / f"{incremental.database}.db" / name,
            )
            for name in CASES
        }
        self.said: list[tuple[str, str]] = []

    def make(self) -> None:
        """The tables and the models."""
        for name, case in CASES.items():
            self.places[name].do(case.make)
        self.dbt.project.sources(*CASES)
        models = {
            f"{name}_{on_loss}": MODEL.format(table=name, on_loss=on_loss, config=config, ids=ids)
            for name in CASES
            for on_loss, (config, ids) in CONFIGS.items()
        }
        self.dbt.project.models(**models)

    def run(self, *arguments: str) -> dict[str, tuple[str, str]]:
        """Run dbt; the status and the message of each model."""
        self.said = []

        def note(event: EventMsg) -> None:
            self.said.append((event.info.level, event.info.msg))  # type: ignore[attr-defined]

        result = self.dbt.project.invoke("run", *arguments, on_event=note)
        return {n.node.name: (str(n.status), str(n.message)) for n in node_results(result)}

    def log_of(self, model: str) -> list[tuple[str, str]]:
        """What the log says of how a model's history was lost: levels and texts."""
        ways = (f"Model {model} is rebuilt", f"Model {model} is compared with")
        return [(level, text) for level, text in self.said if any(way in text for way in ways)]

    def assert_like_hive(self, name: str, on_loss: str) -> None:
        """A target has what Hive answers to its model's query, with Hive's row ids."""
        model, table = f"{name}_{on_loss}", self.places[name].table
        ids = on_loss == "reconcile" and CASES[name].full_acid
        hives = ", ROW__ID.writeid, ROW__ID.bucketid, ROW__ID.rowid" if ids else ""
        ours = ", _row_id.write_id, _row_id.bucket, _row_id.row" if ids else ""
        query = f"SELECT id, amount * 2, status{hives} FROM {table} WHERE status <> 'hidden'"
        expected = canonical(self.dbt.hive.query(query))
        assert self.dbt.rows(model, f"id, twice, status{ours}") == expected, model

    def assert_said(self, name: str, on_loss: str) -> None:
        """The log names what was lost, and what was done."""
        case, model, table = CASES[name], f"{name}_{on_loss}", self.places[name].table
        ((level, text),) = self.log_of(model)
        if on_loss == "reconcile" and case.by_row_ids:
            assert level == "info", text
            assert f"is compared with {table} by row ids: " in text
        else:
            assert level == "warn", text
            assert f"is rebuilt from the whole of {table}: " in text
        assert all(part in text for part in case.named), text


@pytest.mark.long("three minutes: every loss with every way of a model")
def test_each_loss_and_what_is_done(incremental: Incremental, hive: HiveServer) -> None:
    losses = Losses(incremental, hive)
    losses.make()
    incremental.run()
    before = {name: incremental.rows(f"{name}_error", "*") for name in CASES}
    for name, case in CASES.items():
        losses.places[name].do(case.change)

    results = losses.run()
    for name, case in CASES.items():
        for on_loss in ("full_refresh", "reconcile"):
            assert results[f"{name}_{on_loss}"][0] == "success", results[f"{name}_{on_loss}"]
            losses.assert_like_hive(name, on_loss)
            losses.assert_said(name, on_loss)
        status, message = results[f"{name}_error"]
        assert status == "error"
        table = losses.places[name].table
        assert f"cannot be updated from the changes of {table}: " in message
        assert all(part in message for part in case.named), message
        assert "Run it with --full-refresh, or set `on_history_loss`" in message
        assert incremental.rows(f"{name}_error", "*") == before[name]

    # What the message says to do helps, and the others go on from the state they have now.
    for place, case in ((losses.places[name], case) for name, case in CASES.items()):
        place.do(case.after)
    by_hand = [f"{name}_error" for name in CASES]
    losses.run("--full-refresh", "--select", *by_hand)
    incremental.run("--exclude", *by_hand)
    assert incremental.warnings == []
    for name in CASES:
        for on_loss in CONFIGS:
            losses.assert_like_hive(name, on_loss)
