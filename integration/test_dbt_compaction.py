"""Hive compacts and cleans up while a run holds its snapshot: the run's rows stay as they were."""

from __future__ import annotations

import os
import time
from pathlib import Path

from hiveacid.metastore.models import TableName
from integration.support.dbt_project import DbtProject, node_results
from integration.support.emptied import Emptied
from integration.support.hive import HiveClient, HiveServer
from integration.support.incremental import Incremental
from integration.test_dbt_run import make_shop, once_finished, rows

#: What is compacted: a table with the partition, if it has some.
COMPACTED = {"orders": "day='a'", "customers": None, "events": None}


def data_files(hive: HiveServer, database: str, table: str) -> set[Path]:
    """The files of rows below a table's directory; the cleaner may be at work there."""
    root = hive.warehouse / f"{database}.db" / table
    return {
        Path(directory, name).relative_to(root)
        for directory, _, names in os.walk(root)
        for name in names
        if not name.startswith(("_", "."))
    }


def test_a_run_keeps_the_files_of_its_snapshot(
    dbt_project: DbtProject, hive: HiveServer, hive_client: HiveClient, database: str
) -> None:
    make_shop(hive_client, database)
    # Something to compact everywhere, deletes included.
    hive_client.script(
        """
        UPDATE orders SET amount = 11 WHERE id = 1;
        DELETE FROM customers WHERE id = 2;
        INSERT INTO events VALUES (3, 'visit');
        """
    )
    before = {source: rows(hive_client, source) for source in COMPACTED}
    files = {source: data_files(hive, database, source) for source in COMPACTED}
    files["orders"] = {path for path in files["orders"] if path.parts[0] == "day=a"}
    dbt_project.sources(*COMPACTED)
    late = "-- depends_on: {{ ref('early') }}\nselect * from {{ source('shop', '%s') }}"
    dbt_project.models(
        # Its files are chosen before the compaction, those of the others after it.
        early="select * from {{ source('shop', 'orders') }}",
        **{f"late_{source}": late % source for source in COMPACTED},
    )
    during: dict[str, set[Path]] = {}

    def compact_and_change() -> None:
        for source, partition in COMPACTED.items():
            hive_client.compact(source, "major", partition)
        time.sleep(3)  # several rounds of the cleaner
        during.update({s: data_files(hive, database, s) for s in COMPACTED})
        states = {row["tabname"]: row["state"] for row in hive_client.show_compactions()}
        assert {states[source] for source in COMPACTED} == {"ready for cleaning"}
        # After a compaction a reader of the new state finds other rows in the new directories.
        hive_client.execute("DELETE FROM orders WHERE id > 0")
        hive_client.execute("DELETE FROM customers WHERE id > 0")
        hive_client.execute("TRUNCATE TABLE events")

    dbt_project.succeed("run", on_event=once_finished("early", compact_and_change))
    assert rows(hive_client, "early") == before["orders"]
    for source in COMPACTED:
        assert during[source] > files[source], "the compaction added its own, and none was removed"
        assert rows(hive_client, f"late_{source}") == before[source]
        assert rows(hive_client, source) == []

    deadline = time.monotonic() + 20
    while any(files[source] & data_files(hive, database, source) for source in COMPACTED):
        assert time.monotonic() < deadline, "the cleaner waits for the run only"
        time.sleep(0.2)


def test_rows_that_a_compaction_loses(
    incremental: Incremental,
    hive: HiveServer,
    hive_client: HiveClient,
    database: str,
    tmp_path: Path,
) -> None:
    """Hive 4.0.1 compacts an insert-only table to nothing (docs/hive-quirks.md)."""
    project = incremental.project
    project.sources("events")
    source = "{{ source('shop', 'events') }}"
    project.models(
        news="{{ config(materialized='incremental', incremental_strategy='acid_changes') }}\n"
        "select id, _change_type from {{ acid_changes(source('shop', 'events')) }}"
    )
    events = TableName(database, "events")
    with Emptied.make(hive, hive_client, events, tmp_path / "scratch") as table:
        incremental.run()
        assert incremental.warnings == []
        emptied = table.compact().name
        hive_client.execute("INSERT INTO events VALUES (4)")
        # What the model reads is new; what is going to be lost, it has read.
        assert incremental.run()["news"] == "OK, 1 insert, 0 deletes"
        (warning,) = incremental.warnings
        assert f"Hive is going to lose rows of {database}.events" in warning
        assert f"/{emptied} without any file" in warning

        project.models(
            early=f"select count(*) as n from {source}",
            late=f"-- depends_on: {{{{ ref('early') }}}}\nselect id from {source}",
        )
        table.commit(cleaner_waits=True)
        cleaned: list[bool] = []

        def let_it_clean() -> None:
            table.let_cleaner_go()
            cleaned.append(table.is_cleaned())

        select = ("--select", "early", "late")
        failed = project.invoke("run", *select, on_event=once_finished("early", let_it_clean))
        assert cleaned == [True]
        messages = {result.node.name: str(result.message) for result in node_results(failed)}
        assert "OK" in messages["early"]
        assert f"A compaction of {database}.events has left a directory" in messages["late"]
        incremental.run("--select", "news")
        assert any(f"{emptied} left it empty" in warning for warning in incremental.warnings)
        assert sorted(row[0] for row in incremental.rows("news", "id")) == ["3", "4"]
        assert [row[0] for row in rows(hive_client, "events")] == [3, 4], "Hive has them still"
