"""Files without ACID columns: those of converted tables, and those that LOAD DATA moved in."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pyorc
import pytest
from pyspark.sql import SparkSession

from hiveacid.acid.layout import BASE_OF_ORIGINALS
from hiveacid.reader import deletes, raw_files
from hiveacid.reader.read import plan_read, to_dataframe
from hiveacid.reader.verify import verify
from integration.support.changes import Changes, Story
from integration.support.differential import SPLITS, Differential, canonical, divided, scanned
from integration.support.hive import HiveClient, HiveServer, HiveSettings
from integration.support.tables import (
    FULL_ACID,
    INSERT_ONLY,
    REPEATS,
    compact_everywhere,
    convert_stripes,
    setting,
    write_stripes,
)

PARTITIONED = "PARTITIONED BY (p int)"
BUCKETED = "CLUSTERED BY (id) INTO 2 BUCKETS"


def make_originals(
    client: HiveClient, table: str, layout: str, format: str = "ORC", properties: str = ""
) -> None:
    """Write 18 rows and more by three inserts and a UNION ALL into a table without transactions."""
    columns = "id int, name string" + ("" if PARTITIONED in layout else ", p int")
    client.execute(
        f"CREATE TABLE {table} ({columns}) {layout} STORED AS {format} "
        f"TBLPROPERTIES ('transactional'='false'{properties})"
    )
    for first in (0, 100, 200):
        values = ", ".join(f"({first + i}, 'name {first + i}', {i % 2})" for i in range(6))
        client.execute(f"INSERT INTO {table} VALUES {values}")
    client.execute(
        f"INSERT INTO {table} SELECT id + 1000, name, p FROM {table} WHERE id < 3"
        f" UNION ALL SELECT id + 2000, name, p FROM {table} WHERE id > 202"
    )


def convert(client: HiveClient, table: str, properties: str = FULL_ACID) -> None:
    """Make it a transactional table. Its files stay as they are."""
    client.execute(f"ALTER TABLE {table} SET TBLPROPERTIES ({properties})")


@pytest.mark.parametrize(
    ("layout", "properties"),
    [
        # What these four show, the table that is both shows, too.
        pytest.param("", "", id="plain", marks=REPEATS),
        pytest.param(PARTITIONED, "", id="partitioned", marks=REPEATS),
        pytest.param(BUCKETED, "", id="bucketed", marks=REPEATS),
        pytest.param(
            f"{PARTITIONED} {BUCKETED}",
            ", 'bucketing_version'='1'",
            id="both, older buckets",
            marks=REPEATS,
        ),
        pytest.param(f"{PARTITIONED} {BUCKETED}", "", id="both"),
    ],
)
def test_original_files(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    layout: str,
    properties: str,
) -> None:
    table = f"{database}.customers"
    make_originals(hive_client, table, layout, properties=properties)
    convert(hive_client, table)
    converted = differential.check(table, where="p = 1")
    assert all(file.row_ids is None for file in converted.plan.data), "no delete, no row ids"
    for step in (
        f"DELETE FROM {table} WHERE id IN (1, 104, 203, 1002)",
        f"INSERT INTO {table} VALUES (500, 'new', 0), (501, 'new', 1)",
        f"UPDATE {table} SET name = 'changed' WHERE id IN (0, 105, 500)",
    ):
        hive_client.execute(step)
        differential.check(table, where="p = 0")
    # A minor compaction takes in the deltas only, a major one the original files, too.
    compact_everywhere(hive_client, table, "minor", PARTITIONED in layout)
    differential.check(table, where="id < 200")
    hive_client.execute(f"DELETE FROM {table} WHERE id IN (4, 2204, 2205)")
    differential.check(table)
    compact_everywhere(hive_client, table, "major", PARTITIONED in layout)
    compacted = differential.check(table)
    assert all(file.is_acid for file in compacted.plan.data)
    hive_client.execute(f"DELETE FROM {table} WHERE id = 2")
    differential.check(table)


@pytest.mark.parametrize(
    "layout",
    [
        pytest.param("", id="plain"),
        pytest.param(PARTITIONED, id="partitioned", marks=REPEATS),
    ],
)
def test_original_files_compacted_by_themselves(
    differential: Differential, hive_client: HiveClient, database: str, layout: str
) -> None:
    """The base has the lowest write id that there is, and each row keeps its row id."""
    table = f"{database}.alone"
    make_originals(hive_client, table, layout)
    convert(hive_client, table)
    compact_everywhere(hive_client, table, "major", bool(layout))
    compacted = differential.check(table, where="id > 200")
    places = ("p=0/", "p=1/") if layout else ("",)
    bases = [directory.rpartition("_v")[0] for directory in compacted.directories]
    assert bases == [f"{place}base_{BASE_OF_ORIGINALS}" for place in places]
    for step in (
        f"INSERT INTO {table} VALUES (500, 'new', 0), (501, 'new', 1)",
        f"DELETE FROM {table} WHERE id IN (1, 104, 500)",
    ):
        hive_client.execute(step)
        differential.check(table, where="id > 200")
    compact_everywhere(hive_client, table, "major", bool(layout))
    assert not differential.check(table, where="id < 200").plan.deletes


@pytest.mark.parametrize(
    ("format", "layout"),
    [
        # These two take the same way through the plan.
        pytest.param("ORC", f"{PARTITIONED} {BUCKETED}", id="orc, both", marks=REPEATS),
        pytest.param("TEXTFILE", BUCKETED, id="text, bucketed", marks=REPEATS),
        pytest.param("PARQUET", PARTITIONED, id="parquet, partitioned"),
    ],
)
def test_tables_converted_to_insert_only(
    differential: Differential,
    hive_client: HiveClient,
    hive: HiveServer,
    database: str,
    format: str,
    layout: str,
) -> None:
    """Hive moves the files, of whatever names, into a delta."""
    table = f"{database}.converted"
    make_originals(hive_client, table, layout, format)
    place = hive.warehouse / f"{database}.db" / "converted"
    place /= "p=0" if PARTITIONED in layout else ""
    shutil.copy(place / "000000_0", place / "part-00000")
    convert(hive_client, table, INSERT_ONLY)
    converted = differential.check(table, where="p = 1")
    assert len(converted.rows) > 24
    assert all("delta_" in directory for directory in converted.directories)
    for kind in ("minor", "major"):
        for first in (500, 600):
            values = f"({first}, '{kind}', 0), ({first + 1}, '{kind}', 1)"
            hive_client.execute(f"INSERT INTO {table} VALUES {values}")
        differential.check(table, where="id > 200")
        compact_everywhere(hive_client, table, kind, PARTITIONED in layout)
        differential.check(table, where="p = 0", hive_counts=kind == "major")
    into = f"{table} PARTITION (p)" if PARTITIONED in layout else table
    hive_client.execute(f"INSERT OVERWRITE TABLE {into} SELECT * FROM {table} WHERE id % 3 = 0")
    differential.check(table, where="p = 1")


@pytest.mark.parametrize("format", ["ORC", "TEXTFILE"])
def test_original_files_of_insert_only_tables(
    differential: Differential,
    hive_client: HiveClient,
    hive: HiveServer,
    database: str,
    format: str,
) -> None:
    """Hive shows them or not, as a setting of each of its sessions says: by default it does not."""
    table = f"{database}.stayed"
    hive_client.execute(
        f"CREATE TABLE {table} (id int) STORED AS {format} TBLPROPERTIES ('transactional'='false')"
    )
    hive_client.execute(f"INSERT INTO {table} VALUES (1), (2)")
    with setting(hive_client, "hive.mm.allow.originals", True, default=False):
        convert(hive_client, table, INSERT_ONLY)
        assert hive_client.query(f"SELECT * FROM {table}") == [(1,), (2,)]
    found = differential.check(table, where="id > 1")
    assert (found.rows, len(found.plan.ignored_files)) == ([], 1)
    story = Story(Changes(differential), hive_client, table)
    story.remember("nothing")
    story.then("INSERT INTO {t} VALUES (3)")
    assert differential.check(table, where="id > 1").rows == [(3,)]
    with differential.pinned(table) as pinned:
        assert not pinned.shows_originals
        found_by_check = verify(differential.spark, pinned, differential.footers)
        assert found_by_check.problems == ()
        (line,) = (line for line in found_by_check.lines() if "000000_0" in line)
        assert "Hive does not show files outside of bases and deltas" in line
        showing = replace(pinned, shows_originals=True)
        plan = plan_read(differential.spark, showing, differential.footers)
        ours = to_dataframe(differential.spark, plan).collect()
    with setting(hive_client, "hive.mm.allow.originals", True, default=False):
        assert canonical(ours) == canonical(hive_client.query(f"SELECT * FROM {table}"))

    place = hive.warehouse / f"{database}.db" / "stayed"
    story.then(f"LOAD DATA INPATH 'file:{place}/000000_0' INTO TABLE {table}")
    assert len(differential.check(table, where="id > 1").rows) == 3


@pytest.mark.long("starts a Hive of its own")
def test_a_hive_that_shows_original_files(tmp_path: Path, spark: SparkSession) -> None:
    """Its metastore has the setting, too."""
    settings = HiveSettings(extra={"hive.mm.allow.originals": "true"})
    with (
        HiveServer(settings, work=tmp_path) as server,
        HiveClient(server.hs2_port, log=server.log) as client,
    ):
        differential = Differential(server, client, spark)
        table = "default.shown"
        client.execute(
            f"CREATE TABLE {table} (id int) STORED AS ORC TBLPROPERTIES ('transactional'='false')"
        )
        client.execute(f"INSERT INTO {table} VALUES (1), (2)")
        convert(client, table, INSERT_ONLY)
        story = Story(Changes(differential), client, table)
        story.remember("converted")
        story.then("INSERT INTO {t} VALUES (3)")
        found = differential.check(table, where="id > 1", hive_counts=True)
        assert "" in found.directories and len(found.rows) == 3
        place = server.warehouse / "shown"
        story.then(
            lambda: shutil.copy(place / "000000_0", place / "000000_0_copy_1"),
            {"converted": ["its files outside of ACID directories are not the files"]},
        )
        story.remember("converted")
        story.then("INSERT INTO {t} VALUES (5)")
        assert len(differential.check(table, where="id > 1").rows) == 6
        story.remember("all")
        story.then(story.compact("major"), {"converted": ["includes write ids 3"]})
        assert len(differential.check(table, where="id > 1").rows) == 6
        story.then("INSERT OVERWRITE TABLE {t} SELECT 4", {"all": ["overw"]})
        assert differential.check(table, where="id > 1").rows == [(4,)]


def test_files_without_statistics(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    """A row index stride of 0 leaves them out: the row ids of deletes are in no footer."""
    table = f"{database}.unindexed"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, name string) STORED AS ORC "
        "TBLPROPERTIES ('transactional'='false', 'orc.row.index.stride'='0')"
    )
    hive_client.execute(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    convert(hive_client, table)
    hive_client.execute(f"INSERT INTO {table} VALUES (4, 'd'), (5, 'e')")
    hive_client.execute(f"DELETE FROM {table} WHERE id IN (2, 5)")
    deleted = differential.check(table, where="id > 1")
    (delete,) = deleted.plan.deletes
    assert delete.row_id_range is not None and not delete.row_id_range.is_known
    hive_client.execute(f"UPDATE {table} SET name = 'x' WHERE id IN (1, 4)")
    differential.check(table)
    hive_client.compact(table, "minor")
    differential.check(table)
    hive_client.execute(f"DELETE FROM {table} WHERE id = 3")
    differential.check(table)
    hive_client.compact(table, "major")
    differential.check(table)


def test_load_data_into_a_full_acid_table(
    differential: Differential, hive_client: HiveClient, database: str, tmp_path: Path
) -> None:
    table = f"{database}.loaded"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, name string) STORED AS ORC "
        "TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"
    )
    hive_client.execute(f"INSERT INTO {table} VALUES (1, 'inserted')")
    for number in range(2):
        path = tmp_path / f"00000{number}_0"
        with path.open("wb") as file, pyorc.Writer(file, "struct<id:int,name:string>") as writer:
            for i in range(10):
                writer.write((10 * (number + 1) + i, f"loaded {i}"))
        hive_client.execute(f"LOAD DATA LOCAL INPATH 'file:{path}' INTO TABLE {table}")
    differential.check(table)
    hive_client.execute(f"DELETE FROM {table} WHERE id IN (1, 13, 28)")
    deleted = differential.check(table, where="id > 20")
    assert len(deleted.rows) == 18
    hive_client.execute(f"UPDATE {table} SET name = 'x' WHERE id = 11")
    differential.check(table)
    for kind in ("minor", "major"):
        hive_client.compact(table, kind)
        differential.check(table, where="id > 20")
        hive_client.execute(
            f"DELETE FROM {table} WHERE id IN ({15 if kind == 'minor' else 16}, 27)"
        )
        differential.check(table)
    hive_client.execute(f"LOAD DATA LOCAL INPATH 'file:{path}' OVERWRITE INTO TABLE {table}")
    assert len(differential.check(table, where="id > 25").rows) == 10
    hive_client.execute(f"DELETE FROM {table} WHERE id IN (20, 29)")
    differential.check(table)


def test_rows_are_numbered_however_spark_divides_the_files(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = f"{database}.divided"
    write_stripes(tmp_path / "divided", files=3, rows=6000)
    convert_stripes(hive_client, table, tmp_path / "divided")
    hive_client.execute(f"DELETE FROM {table} WHERE id % 13 = 0 OR id BETWEEN 14000 AND 15000")
    spark = differential.spark
    for split in SPLITS:
        with divided(spark, split):
            read = differential.check(table, where="id % 10000 < 900")
        assert len(read.rows) == 15_692, split
        # The settings of the moment at which the rows are planned are those that count.
        with differential.pinned_frame(table) as (_, frame), divided(spark, split):
            assert frame.count() == 15_692, split
    # As for files of more buckets than each row of an ACID file could be compared with.
    monkeypatch.setattr(deletes, "_MAX_WRITES", 1)
    with divided(spark, "a stripe a split"):
        assert len(differential.check(table, where="id % 10000 < 900").rows) == 15_692
        with differential.pinned_frame(table) as (_, frame):
            assert "Join" not in frame._jdf.queryExecution().optimizedPlan().toString()
    # As for deleted rows of more writes than there can be bitmaps for.
    monkeypatch.setattr(deletes, "_MAX_WRITES", 0)
    with divided(spark, "a stripe a split"):
        assert len(differential.check(table, where="id % 10000 < 900").rows) == 15_692


def test_files_and_stripes_without_deleted_rows_are_read_with_filters(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = f"{database}.untouched"
    write_stripes(tmp_path / "untouched", files=2, rows=9000)
    convert_stripes(hive_client, table, tmp_path / "untouched")
    # A split of a stripe, however small it is.
    monkeypatch.setattr(raw_files, "_LEAST_STRIPE", 1)
    monkeypatch.setattr(raw_files, "_FEW_ROWS", 4)

    def read_rows(condition: str) -> int:
        """Return how many rows a filter lets ORC hand over, after a comparison with Hive."""
        differential.check(table, where=condition)
        with differential.pinned_frame(table) as (_, frame):
            filtered = frame.where(condition)
            filtered.collect()
            return scanned(filtered, "numOutputRows")

    assert 0 < read_rows("id = 8000") < 2000, "no delete event"
    hive_client.execute(f"DELETE FROM {table} WHERE id IN (10, 20, 30)")
    assert 0 < read_rows("id = 8000") < 2000, "another stripe"
    assert 0 < read_rows("id = 15000") < 2000, "another file"
    assert 0 < read_rows("id BETWEEN 5 AND 25") < 2000, "its stripe, which the filter drops"
    hive_client.execute(f"UPDATE {table} SET name = 'new' WHERE id = 16000")
    differential.check(table, where="id >= 16000")
    hive_client.execute(f"DELETE FROM {table} WHERE id % 100 = 7")
    assert read_rows("id = 8000") >= 18_000, "all stripes have deleted rows"
