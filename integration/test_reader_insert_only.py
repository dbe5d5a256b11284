"""Insert-only tables, step by step: our rows are Hive's own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from integration.support.differential import Differential
from integration.support.hive import HiveClient, HiveServer, HiveSqlError
from integration.support.tables import INSERT_ONLY, REPEATS

FORMATS = {
    "orc": "STORED AS ORC",
    "parquet": "STORED AS PARQUET",
    "text": "ROW FORMAT DELIMITED FIELDS TERMINATED BY '|' ESCAPED BY '\\\\' STORED AS TEXTFILE",
    "default text": "STORED AS TEXTFILE",
    "avro": "STORED AS AVRO",
    "json": "STORED AS JSONFILE",
}
PARTITIONED = "PARTITIONED BY (p string)"
BUCKETED = "CLUSTERED BY (id) INTO 2 BUCKETS"
LAYOUTS = {"plain": "", "partitioned": PARTITIONED, "bucketed": BUCKETED}
#: The others show the same, and take minutes.
SHORT = {("bucketed", "default text"), ("partitioned", "parquet")}

_COLUMNS = "id, what, amount, at"
_TYPES = "id int, what string, amount decimal(10,2), at timestamp"


@pytest.mark.parametrize(
    ("format", "layout"),
    [
        *(
            pytest.param(
                FORMATS[format],
                layout,
                id=f"{name}-{format}",
                marks=[] if (name, format) in SHORT else [REPEATS],
            )
            for name, layout in LAYOUTS.items()
            for format in FORMATS
        ),
    ],
)
def test_insert_only(
    differential: Differential,
    hive_client: HiveClient,
    hive: HiveServer,
    database: str,
    tmp_path: Path,
    format: str,
    layout: str,
) -> None:
    table = f"{database}.events"
    partitioned = layout == PARTITIONED
    types = _TYPES + ("" if partitioned else ", p string")
    hive_client.execute(
        f"CREATE TABLE {table} ({types}) {layout} {format} TBLPROPERTIES ({INSERT_ONLY})"
    )
    differential.check(table)
    for step in (
        f"INSERT INTO {table} VALUES (1, 'a|b', 1.5, '2026-01-01 10:00:00.5', 'x y'), "
        "(2, NULL, 2, NULL, 'ü'), (3, '', NULL, '2026-06-01 00:00:00', NULL)",
        f"INSERT INTO {table} SELECT id + 10, what, amount, at, p FROM {table}",
        f"INSERT INTO {table} SELECT id + 20, what, amount, at, p FROM {table} WHERE id = 1"
        f" UNION ALL SELECT id + 30, what, amount, at, p FROM {table} WHERE id = 2",
    ):
        hive_client.execute(step)
        differential.check(table, where="p = 'ü'")
    spec = "PARTITION (p='x y')" if partitioned else ""
    place = Path(hive.warehouse) / f"{database}.db" / "events" / ("p=x y" if partitioned else "")
    written = shutil.copy(next(place.glob("delta_*/0*_0")), tmp_path / "written")
    row = "50, 'ß', 0.5, '2026-03-29 02:30:00'" + ("" if partitioned else ", 'x y'")
    insert = f"INSERT INTO {table} {spec} VALUES ({row})"
    load = f"LOAD DATA LOCAL INPATH '{written}' INTO TABLE {table} {spec}"
    if layout == BUCKETED:
        load = insert  # Hive loads no file there
    for kind, writes in (("minor", [load]), ("major", [insert, load]), ("minor", [])):
        hive_client.compact(table, kind, partition="p='x y'" if partitioned else None)
        differential.check(table, where="id > 10", hive_counts=kind == "major")
        for write in writes:
            hive_client.execute(write)
            differential.check(table, where="p = 'x y'")
    selected = f"SELECT {_COLUMNS}{'' if partitioned else ', p'} FROM {table}"
    for where in ("p = 'x y' AND id < 13", "id < 0"):
        hive_client.execute(f"INSERT OVERWRITE TABLE {table} {spec} {selected} WHERE {where}")
        differential.check(table, where="id > 1")
    if partitioned:
        hive_client.execute(f"ALTER TABLE {table} DROP PARTITION (p='ü')")
        differential.check(table, where="id > 10")
    hive_client.execute(f"TRUNCATE TABLE {table}")
    assert differential.check(table).rows == []


@pytest.mark.parametrize("format", ["AVRO", pytest.param("JSONFILE", marks=REPEATS)])
def test_compacted_avro_and_json(
    differential: Differential, hive_client: HiveClient, database: str, format: str
) -> None:
    table = f"{database}.compacted"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, a varchar(8), d decimal(5,2), at timestamp) "
        f"PARTITIONED BY (p int) STORED AS {format} TBLPROPERTIES ({INSERT_ONLY})"
    )
    for i in (1, 2):
        values = ", ".join(
            f"({i}, 'ü{i}', {i}.5, '2026-01-0{i} 00:00:00.5', {p}), ({-i}, NULL, NULL, NULL, {p})"
            for p in (1, 2)
        )
        hive_client.execute(f"INSERT INTO {table} VALUES {values}")
    hive_client.compact(table, "minor", partition="p='1'")
    hive_client.compact(table, "major", partition="p='2'")
    # Spark passes over Avro files without an extension then; Hive's have none.
    passes_over = "avro.mapred.ignore.inputs.without.extension"
    differential.spark.conf.set(passes_over, "true")
    try:
        read = differential.check(table, "d > 2")
    finally:
        differential.spark.conf.unset(passes_over)
    kinds = ["_".join(d.split("_")[:3]) for d in read.directories]
    assert kinds == ["p=1/delta_0000001_0000002", "p=2/base_0000002_v" + kinds[1][-7:]]
    if format == "JSONFILE":
        with pytest.raises(HiveSqlError, match="types incompatible with the existing columns"):
            hive_client.execute(f"ALTER TABLE {table} ADD COLUMNS (x int)")


@pytest.mark.parametrize(
    "format",
    [
        "PARQUET",
        pytest.param("TEXTFILE", marks=REPEATS),
        pytest.param("ORC", marks=REPEATS),
        pytest.param("AVRO", marks=REPEATS),
    ],
)
def test_partitions_keep_their_columns(
    differential: Differential, hive_client: HiveClient, database: str, format: str
) -> None:
    """Without CASCADE: what ORC and Avro files say of themselves is shown, others' is not."""
    table = f"{database}.kept"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, a varchar(8)) PARTITIONED BY (p int) STORED AS {format} "
        f"TBLPROPERTIES ({INSERT_ONLY})"
    )
    hive_client.execute(f"INSERT INTO {table} VALUES (1, 'abcdefgh', 1), (2, 'b', 2)")
    hive_client.execute(f"ALTER TABLE {table} ADD COLUMNS (x int)")
    hive_client.execute(f"INSERT INTO {table} VALUES (3, 'c', 7, 1), (4, 'd', 8, 3)")
    # Hive's own filter on x loses the row of id 3 in Parquet, and its reader fails on CASCADE.
    differential.check(table, where=None if format == "PARQUET" else "x IS NULL")
    if format == "PARQUET":
        # Hive looks for the table's names: the values of older rows are not found.
        hive_client.execute(f"ALTER TABLE {table} CHANGE COLUMN a renamed varchar(8)")
        hive_client.execute(f"ALTER TABLE {table} PARTITION (p=3) CHANGE COLUMN a other varchar(2)")
        hive_client.execute(f"INSERT INTO {table} VALUES (5, 'efgh', 9, 1), (6, 'efgh', 9, 3)")
        differential.check(table)
        return
    hive_client.execute(f"ALTER TABLE {table} ADD COLUMNS (y string) CASCADE")
    hive_client.execute(f"ALTER TABLE {table} CHANGE COLUMN id id bigint")
    hive_client.execute(f"ALTER TABLE {table} CHANGE COLUMN a a varchar(3)")
    hive_client.execute(f"INSERT INTO {table} VALUES (7000000000, 'defgh', 9, 'y', 1)")
    differential.check(table, where="a LIKE '%c%'")


@pytest.mark.parametrize(
    "format",
    [
        "ORC",
        pytest.param("TEXTFILE", marks=REPEATS),
        pytest.param("PARQUET", marks=REPEATS),
        pytest.param("AVRO", marks=REPEATS),
    ],
)
def test_made_from_a_query_and_renamed(
    differential: Differential, hive_client: HiveClient, database: str, format: str
) -> None:
    made, moved = f"{database}.made", f"{database}.moved"
    hive_client.execute(
        f"CREATE TABLE {made} STORED AS {format} TBLPROPERTIES ({INSERT_ONLY}) AS "
        "SELECT 1 AS id, 'a' AS v UNION ALL SELECT 2, NULL"
    )
    differential.check(made, where="v = 'a'")
    hive_client.execute(f"INSERT INTO {made} VALUES (3, 'c')")
    hive_client.execute(f"ALTER TABLE {made} RENAME TO {moved}")
    hive_client.execute(f"INSERT INTO {moved} VALUES (4, 'd')")
    assert len(differential.check(moved, where="id > 1").rows) == 4


def test_text_with_a_null_marker_of_its_own(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    """As Hive writes it, in partitions, and as it compacts it."""
    table = f"{database}.marked"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, a string, b int) PARTITIONED BY (p string) ROW FORMAT "
        "DELIMITED FIELDS TERMINATED BY '|' ESCAPED BY '\\\\' NULL DEFINED AS 'nil' "
        f"STORED AS TEXTFILE TBLPROPERTIES ({INSERT_ONLY})"
    )
    for i in (0, 10):
        hive_client.execute(
            f"INSERT INTO {table} VALUES ({i}, NULL, 1, 'x'), ({i + 1}, 'nil', NULL, 'x'), "
            f"({i + 2}, 'a|b\\\\c', 2, 'nil'), ({i + 3}, '', 3, NULL), ({i + 4}, '\\\\N', 4, 'x')"
        )
        differential.check(table, where="a IS NULL")
    hive_client.compact(table, "minor", partition="p='x'")
    differential.check(table, where="b IS NULL")
    hive_client.compact(table, "major", partition="p='nil'")
    differential.check(table, where="p = 'nil'")
