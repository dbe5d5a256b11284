"""The self-check: it passes on what Hive writes, and names what Hive would not have written."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyorc
import pytest

from hiveacid.acid.layout import BucketProperty
from hiveacid.errors import UnreadableTableError
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from hiveacid.reader.verify import verify
from hiveacid.reader.verify_result import Verification
from integration.support.dbt_project import DbtProject
from integration.support.differential import Differential
from integration.support.hive import HiveClient, HiveServer, HiveSqlError

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"

OF_IDS = (
    "struct<operation:int,originalTransaction:bigint,bucket:int,rowId:bigint,"
    "currentTransaction:bigint,row:struct<id:int>>"
)


def checked(differential: Differential, table: str) -> Verification:
    """The verification of a table, in a snapshot of its own."""
    with differential.pinned_frame(table) as (plan, _):
        return verify(differential.spark, plan.pinned, differential.footers)


def counts(verification: Verification) -> tuple[int, int, int, int]:
    """Rows in the files, rows that are deleted, rows shown, and delete events."""
    events = verification.events
    return verification.rows, events.hits, verification.shown, events.total


def location(hive: HiveServer, table: str) -> Path:
    """A table's directory."""
    with MetastoreClient(hive.metastore_uri, timeout=30) as client:
        uri = client.get_table(TableName(*table.split("."))).storage.location
    return Path(uri.removeprefix("file:"))


def test_what_hive_writes_passes(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    hive_client.script(
        f"""
        CREATE TABLE {database}.plain (id int, name string) {ACID};
        INSERT INTO {database}.plain VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd');
        UPDATE {database}.plain SET name = 'x' WHERE id < 3;
        DELETE FROM {database}.plain WHERE id IN (1, 4);
        CREATE TABLE {database}.parted (id int) PARTITIONED BY (p int) {ACID};
        INSERT INTO {database}.parted VALUES (1, 1), (2, 1), (3, 2), (4, 2), (5, 3);
        DELETE FROM {database}.parted WHERE id IN (2, 3);
        CREATE TABLE {database}.old (id int) STORED AS ORC
          TBLPROPERTIES ('transactional'='false');
        INSERT INTO {database}.old VALUES (1), (2), (3);
        INSERT INTO {database}.old VALUES (4), (5), (6);
        ALTER TABLE {database}.old SET TBLPROPERTIES
          ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
        DELETE FROM {database}.old WHERE id IN (2, 5);
        CREATE TABLE {database}.appended (id int) STORED AS PARQUET TBLPROPERTIES
          ('transactional'='true', 'transactional_properties'='insert_only');
        INSERT INTO {database}.appended VALUES (1), (2);
        """
    )
    for table, expected in {
        "plain": (6, 4, 2, 4),
        "parted": (5, 2, 3, 2),
        "old": (6, 2, 4, 2),
        "appended": (2, 0, 2, 0),
    }.items():
        verification = checked(differential, f"{database}.{table}")
        assert verification.problems == (), table
        assert counts(verification) == expected, table


def test_delete_events_after_compactions(
    differential: Differential,
    hive: HiveServer,
    hive_client: HiveClient,
    database: str,
    tmp_path: Path,
) -> None:
    table = f"{database}.compacted"
    hive_client.execute(f"CREATE TABLE {table} (id int, name string) {ACID}")
    hive_client.execute(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')")
    hive_client.execute(f"UPDATE {table} SET name = 'x' WHERE id < 3")
    hive_client.compact(table, "minor")
    minor = checked(differential, table)
    assert (minor.problems, counts(minor)) == ((), (6, 2, 4, 2))
    hive_client.execute(f"DELETE FROM {table} WHERE id = 1")
    root = location(hive, table)
    before = root / "delete_delta_0000003_0000003_0000" / "bucket_00000_0"
    shutil.copy(before, tmp_path)
    hive_client.compact(table, "major")
    hive_client.execute(f"DELETE FROM {table} WHERE id = 2")
    major = checked(differential, table)
    assert (major.problems, counts(major)) == ((), (3, 1, 2, 1))
    assert major.events.explained == {}
    report = "\n".join(major.lines())
    assert f"{table} in transaction {major.plan.pinned.transaction_id}: write ids up to 4" in report
    assert "rows: 3 in the files, 0 of write ids not to be seen, 1 deleted, 2 shown" in report
    assert report.endswith("every check passed")

    # Delete events of one directory, of which the base has seen some.
    after = root / "delete_delta_0000004_0000004_0000" / "bucket_00000_0"
    (root / "delete_delta_0000003_0000004").mkdir()
    shutil.copy(after, root / "delete_delta_0000003_0000004" / "bucket_00000")
    shutil.copy(tmp_path / before.name, root / "delete_delta_0000003_0000004" / "bucket_00001")
    wide = checked(differential, table)
    # The copy has another number than its events' bucket, so Hive would not apply them.
    (number,) = wide.problems
    assert "bucket_00001 has delete events of bucket 0 to 0: Hive applies delete events" in number
    assert counts(wide) == (3, 1, 2, 2)
    assert wide.events.explained == {"the base up to write id 3 was made without the row": 1}
    assert "  without a row: 1: the base up to write id 3 was made" in "\n".join(wide.lines())


def test_what_hive_has_not_written_is_named(
    dbt_project: DbtProject,
    differential: Differential,
    hive: HiveServer,
    hive_client: HiveClient,
    database: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for table in ("twice", "lost"):
        hive_client.script(
            f"""
            CREATE TABLE {database}.{table} (id int) {ACID};
            INSERT INTO {database}.{table} VALUES (1), (2), (3);
            INSERT INTO {database}.{table} VALUES (4);
            DELETE FROM {database}.{table} WHERE id = 2;
            """
        )
    arguments = ("run-operation", "hiveacid_verify", "--args")
    dbt_project.succeed(*arguments, f"{{table: {database}.twice}}")
    printed = capsys.readouterr().out
    assert "rows: 4 in the files, 0 of write ids not to be seen, 1 deleted, 3 shown" in printed
    assert "every check passed" in printed

    first = location(hive, f"{database}.twice") / "delta_0000001_0000001_0000"
    shutil.copy(first / "bucket_00000_0", first / "bucket_00000_1")
    failed = dbt_project.invoke(*arguments, f"{{table: {database}.twice}}")
    assert not failed.success
    printed = capsys.readouterr().out
    assert "PROBLEM: 3 row ids belong to more than one row: (1, 536870912, " in printed
    assert f"{database}.twice did not pass its verification: 3 row ids belong to more" in printed

    lost = location(hive, f"{database}.lost") / "delta_0000001_0000001_0000"
    lost.rename(lost.with_name("_moved"))
    (problem,) = checked(differential, f"{database}.lost").problems
    assert problem == (
        "1 delete events of write id 3 name rows that are not there, such as (1, 536870912, 1)"
    )

    wrong = dbt_project.invoke(*arguments, "{table: orders}")
    assert not wrong.success
    assert "hiveacid_verify takes the table as database.table, not 'orders'" in str(
        capsys.readouterr().out
    )


def test_files_that_hive_reads_in_another_way_are_named(
    differential: Differential, hive: HiveServer, hive_client: HiveClient, database: str
) -> None:
    """Files of other writers: Hive's rows are not ours, or Hive has no single answer."""
    of_bucket_0 = BucketProperty(0, 0).encode()
    first, second = "delta_0000001_0000001_0000", "delete_delta_0000002_0000002_0000"

    def rows(write_id: int, *ids: int) -> list[tuple[Any, ...]]:
        return [(0, write_id, of_bucket_0, i - 1, write_id, (i,)) for i in ids]

    def events(*ids: int) -> list[tuple[Any, ...]]:
        return [(2, 1, of_bucket_0, i - 1, 2, None) for i in ids]

    tables: dict[str, dict[str, list[tuple[Any, ...]]]] = {
        "rows": {f"{first}/bucket_00007": rows(1, 1, 2)},
        "number": {f"{first}/bucket_00007": rows(1, 1, 2), f"{second}/bucket_00000": events(1)},
        "events": {f"{first}/bucket_00000": rows(1, 1, 2), f"{second}/bucket_00000": events(2, 1)},
        "order": {f"{first}/bucket_00000": rows(1, 2, 1)},
        "twice": {
            f"{first}/bucket_00000": rows(1, 1, 2),
            f"{second}/bucket_00000": events(1),
            "delete_delta_0000002_0000002_0001/bucket_00000": events(1),
        },
        "attempts": {
            f"{first}/bucket_00000": rows(1, 1, 2),
            f"{second}/bucket_00000_0": events(1),
            f"{second}/bucket_00000_1": events(1),
        },
        "reversed": {
            f"{first}/bucket_00000": rows(1, 1),
            "delta_0000003_0000002/bucket_00000": rows(2, 1),
        },
        "overlap": {
            "delta_0000001_0000002/bucket_00000": rows(1, 1),
            "delta_0000002_0000003/bucket_00000": rows(2, 1),
        },
    }
    told = {
        "rows": "bucket_00007 has rows of bucket 0 to 0: Hive applies delete events only to files",
        "events": "bucket_00000 has 1 delete events out of order: Hive finds only some of them",
        "order": "bucket_00000 has 1 rows out of order: Hive contradicts itself",
        "twice": "1 rows are deleted more than once by one write id, such as (1, 536870912, 0)",
        "attempts": f"{second} has two files of bucket 0, as of two attempts of one task",
        "overlap": "delta_0000001_0000002 and delta_0000002_0000003 overlap",
    }
    refused = {
        "number": "bucket_00007 may have rows that .*/bucket_00000 deletes",
        "reversed": "delta_0000003_0000002 cannot be read: its write ids are reversed",
    }
    hives = {"number": [1, 2], "events": [1, 2], "reversed": [1, 1]}
    hive_fails = {"twice": "Two readers for", "attempts": "Duplicate key 0"}
    for name, files in tables.items():
        table = f"{database}.odd_{name}"
        hive_client.execute(f"CREATE TABLE {table} (id int) {ACID}")
        for _ in range(3):
            hive_client.execute(f"INSERT INTO {table} VALUES (0)")
        root = location(hive, table)
        for directory in root.iterdir():
            shutil.rmtree(directory)
        for relative, written in files.items():
            (root / relative).parent.mkdir(exist_ok=True)
            (root / relative).with_name("_orc_acid_version").write_text("2")
            with (root / relative).open("wb") as file, pyorc.Writer(file, OF_IDS) as writer:
                for row in written:
                    writer.write(row)
        if name in hive_fails:
            with pytest.raises(HiveSqlError, match=hive_fails[name]):
                hive_client.query(f"SELECT id FROM {table}")
        elif name in hives:
            shown = sorted(id_ for (id_,) in hive_client.query(f"SELECT id FROM {table}"))
            assert shown == hives[name]
        if name in refused:
            with pytest.raises(UnreadableTableError, match=refused[name]):
                differential.read(table)
            continue
        problems = checked(differential, table).problems
        assert any(told[name] in problem for problem in problems), (name, problems)

    # What Hive writes then is read.
    table = f"{database}.odd_number"
    hive_client.compact(table, "major")
    assert len(differential.check(table, where="id > 1").rows) == 2
