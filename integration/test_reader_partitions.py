"""Partitions: their values, their places, their row ids."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyorc
import pytest

from hiveacid.errors import UnreadableTableError
from hiveacid.reader.columns import NULL_PARTITION
from integration.support.differential import Differential, canonical, collected
from integration.support.hive import HiveClient, HiveServer
from integration.support.tables import FULL_ACID, INSERT_ONLY, REPEATS, storage


def test_odd_partition_values_dropped_and_truncated_partitions(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    table = f"{database}.odd"
    hive_client.execute(
        f"CREATE TABLE {table} (id int) PARTITIONED BY (q string, n int) STORED AS ORC "
        "TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"
    )
    hive_client.execute(
        f"INSERT INTO {table} VALUES (1, 'a b/c=d,{{e}}%', 1), (2, 'ü', 2), (3, NULL, 3), "
        "(4, '[x]*?', 4), (5, \"it's\", 5), (6, 'plain', NULL), (7, 'a:b', 7)"
    )
    differential.check(table, where="q = 'ü'")
    hive_client.execute(f"DELETE FROM {table} WHERE id IN (1, 4)")
    differential.check(table, where="n > 3")
    hive_client.execute(f"ALTER TABLE {table} DROP PARTITION (q='ü', n=2)")
    differential.check(table)
    hive_client.execute(f"TRUNCATE TABLE {table} PARTITION (q='a:b', n=7)")
    assert len(differential.check(table).rows) == 3


def test_partitions_of_null_with_a_name_of_their_own(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    """Hive makes NULL of a name that is no number and no time, whatever the setting is later."""
    table, name = f"{database}.nulls", "hive.exec.default.partition.name"
    types = ("tinyint", "int", "bigint", "float", "double", "decimal(10,2)", "date", "timestamp")
    keys = ", ".join(f"k{i} {type_}" for i, type_ in enumerate(types))
    hive_client.execute(
        f"CREATE TABLE {table} (id int) PARTITIONED BY ({keys}) STORED AS ORC "
        f"TBLPROPERTIES ({FULL_ACID})"
    )
    nulls = ", ".join(f"cast(NULL AS {type_})" for type_ in types)
    for id_, own in ((1, "__NADA__"), (2, NULL_PARTITION)):
        hive_client.execute(f"SET {name}={own}")
        hive_client.execute(f"INSERT INTO {table} SELECT {id_}, {nulls}")
    partitions = [text for (text,) in hive_client.query(f"SHOW PARTITIONS {table}")]
    assert sum("k1=__NADA__" in text for text in partitions) == 1
    differential.check(table, where="id = 1")
    # A filter on the key itself has another answer in Hive, from type to type.
    shown = canonical(row for row in hive_client.query(f"SELECT * FROM {table}") if row[2] is None)
    with differential.pinned_frame(table) as (_, frame):
        assert canonical(collected(frame.where("k1 IS NULL"))) == shown
    hive_client.execute(f"DELETE FROM {table} WHERE id = 1")
    differential.check(table)


#: Types of partition columns, two values of each, and a filter that finds the second one.
PARTITION_COLUMNS = {
    "tinyint": ("1", "-128", "= -128"),
    "smallint": ("7", "-32768", "< 7"),
    "int": ("2147483647", "-3", "= -3"),
    "bigint": ("99999999999", "-1", "= -1"),
    "float": ("1.5", "-0.25", "= -0.25"),
    "double": ("0.5", "-1e10", "< -1e9"),
    "decimal(10,2)": ("1.50", "-2.5", "= -2.5"),
    "boolean": ("true", "false", "= false"),
    "date": ("'2026-01-01'", "'1999-12-31'", "= date '1999-12-31'"),
    "timestamp": ("'2026-01-01 10:00:00'", "'2026-01-01 00:00:00.5'", "< '2026-01-01 10:00:00'"),
    "char(5)": ("'abcde'", "'cd'", "= 'cd'"),
    "varchar(5)": ("'xyz'", "'d '", "= 'd '"),
    "string": ("'x y'", "'é'", "= 'é'"),
}


@pytest.mark.parametrize(
    ("format", "properties"),
    [storage("full acid"), storage("parquet", REPEATS), storage("text", REPEATS)],
)
def test_partition_columns_of_every_type(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    format: str,
    properties: str,
) -> None:
    table = f"{database}.typed"
    keys = ", ".join(f"k{i} {type_}" for i, type_ in enumerate(PARTITION_COLUMNS))
    hive_client.execute(
        f"CREATE TABLE {table} (id int) PARTITIONED BY ({keys}) STORED AS {format} "
        f"TBLPROPERTIES ({properties})"
    )
    one, two = (", ".join(values[n] for values in PARTITION_COLUMNS.values()) for n in (0, 1))
    null = ", ".join("NULL" for _ in PARTITION_COLUMNS)
    hive_client.execute(
        f"INSERT INTO {table} VALUES (1, {one}), (2, {two}), (3, {null}), (4, {two}), (5, {one})"
    )
    names = {type_: f"k{i}" for i, type_ in enumerate(PARTITION_COLUMNS)}
    # HiveServer2 pads a char when it prints it, and has a float as a double.
    notations = {"char(5)": "concat({}, '|')", "float": "cast({} AS double)"}
    # Where we show NULL (docs/decisions.md, "NULL partitions are NULL").
    cut = NULL_PARTITION[:5]
    odd_nulls = {"boolean": True, "char(5)": cut, "varchar(5)": cut, "string": NULL_PARTITION}
    shown = ["id"]
    for type_, name in names.items():
        notation = notations.get(type_, "{}").format(name)
        shown.append(f"CASE WHEN id <> 3 THEN {notation} END" if type_ in odd_nulls else notation)
    differential.check_columns(table, shown)
    odd = ", ".join(names[type_] for type_ in odd_nulls)
    hives = hive_client.query(f"SELECT {odd} FROM {table} WHERE id = 3")
    assert hives == [tuple(odd_nulls.values())]
    if properties == FULL_ACID:
        hive_client.execute(f"DELETE FROM {table} WHERE id IN (1, 4)")
        differential.check_columns(table, shown)
    with differential.pinned_frame(table) as (_, frame):
        (ours,) = frame.where("id = 3").collect()
        assert {*ours[1:]} == {None}
        assert [(frame.count(),)] == hive_client.query(f"SELECT count(*) FROM {table}")
        for type_, (*_, test) in PARTITION_COLUMNS.items():
            where = f"{names[type_]} {test}"
            found = collected(frame.where(where).select("id"))
            assert 0 < len(found) < frame.count()
            ids = hive_client.query(f"SELECT id FROM {table} WHERE {where}")
            assert canonical(found) == canonical(ids), type_


def test_partitions_of_their_own_place_and_of_an_older_schema(
    differential: Differential, hive_client: HiveClient, database: str, tmp_path: Path
) -> None:
    table = f"{database}.elsewhere"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, v string) PARTITIONED BY (p int) STORED AS ORC "
        f"TBLPROPERTIES ({FULL_ACID})"
    )
    hive_client.execute(f"INSERT INTO {table} VALUES (1, 'a', 1), (2, 'b', 1)")
    hive_client.execute(f"ALTER TABLE {table} ADD PARTITION (p=3) LOCATION 'file:{tmp_path}/p3'")
    hive_client.execute(f"INSERT INTO {table} VALUES (3, 'c', 3), (4, 'd', 3)")
    hive_client.execute(f"DELETE FROM {table} WHERE id = 3")
    assert len(differential.check(table, where="p = 3").rows) == 3
    # The partitions keep the columns that they were made with.
    hive_client.execute(f"ALTER TABLE {table} ADD COLUMNS (extra bigint)")
    differential.check(table, where="extra IS NULL")
    values = "(5, 'e', 50, 1), (6, 'f', 60, 3), (7, 'g', 70, 4)"
    hive_client.execute(f"INSERT INTO {table} VALUES {values}")
    differential.check(table, where="extra > 50")
    hive_client.execute(f"DELETE FROM {table} WHERE id IN (2, 6)")
    hive_client.execute(f"UPDATE {table} SET extra = -id WHERE id IN (1, 4, 5)")
    differential.check(table, where="extra < 0")
    hive_client.compact(table, "major", partition="p='1'")
    differential.check(table)


def test_deletes_across_partitions_of_several_types(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    """Row ids repeat in each of these partitions."""
    table = f"{database}.typed"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, v string) PARTITIONED BY (a string, b int, c date, "
        f"d decimal(8,2)) STORED AS ORC TBLPROPERTIES ({FULL_ACID})"
    )
    values = ", ".join(
        f"({i}, 'v{i}', {a}, {b}, {c}, {d})"
        for i, (a, b, c, d) in enumerate(
            [
                ("'a b/c=d,{e}%'", "1", "'2026-01-01'", "1.50"),
                ("'ü 日本'", "-2", "'0001-01-01'", "-0.25"),
                ("NULL", "NULL", "NULL", "NULL"),
                ("'it''s'".replace("''", "\\'"), "2147483647", "'9999-12-31'", "999999.99"),
                ("'ü 日本'", "-2", "NULL", "-0.25"),
            ]
            * 3
        )
    )
    hive_client.execute(f"INSERT INTO {table} VALUES {values}")
    differential.check(table, where="d = -0.25")
    for step in (
        f"DELETE FROM {table} WHERE id % 4 = 1",
        f"UPDATE {table} SET v = concat(v, '!') WHERE id > 7",
        f"DELETE FROM {table} WHERE c = date '9999-12-31' OR a IS NULL",
    ):
        hive_client.execute(step)
        differential.check(table, where="b = -2 AND id > 4")


@pytest.mark.parametrize(
    ("format", "properties"),
    [storage("full acid"), storage("parquet", REPEATS), storage("text", REPEATS)],
)
def test_decimal_partitions_through_their_life(
    hive: HiveServer,
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    tmp_path: Path,
    format: str,
    properties: str,
) -> None:
    table = f"{database}.decimals"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, v string) PARTITIONED BY (d decimal(6,2)) "
        f"STORED AS {format} TBLPROPERTIES ({properties})"
    )
    hive_client.execute(
        f"INSERT INTO {table} VALUES (1, 'a', 1.50), (2, 'b', -0.25), (3, 'c', NULL), (4, 'd', 100)"
    )
    hive_client.execute(f"ALTER TABLE {table} ADD PARTITION (d=7.5) LOCATION 'file:{tmp_path}/7'")
    for step in (
        f"INSERT INTO {table} VALUES (5, 'e', 1.5), (6, 'f', 100.00), (7, 'g', 7.50)",
        f"INSERT OVERWRITE TABLE {table} PARTITION (d='-0.25') SELECT 8, 'h'",
        f"INSERT OVERWRITE TABLE {table} PARTITION (d) SELECT id + 10, v, d FROM {table} "
        "WHERE d = 100",
    ):
        hive_client.execute(step)
        differential.check(table, where="d = 1.5 OR d > 7")
    hive_client.compact(table, "minor", partition="d='1.5'")
    hive_client.compact(table, "major", partition="d='100'")
    differential.check(table, where="d >= 7.5")
    hive_client.execute(f"TRUNCATE TABLE {table} PARTITION (d=7.5)")
    hive_client.execute(f"ALTER TABLE {table} DROP PARTITION (d=1.5)")
    assert len(differential.check(table, where="d IS NULL").rows) == 4


def test_a_partition_column_that_the_files_have_too(
    differential: Differential, hive_client: HiveClient, database: str, tmp_path: Path
) -> None:
    """Hive goes by the place of a column, and the partition's value is that of its directory."""
    table = f"{database}.twice"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, v string) PARTITIONED BY (p int) STORED AS ORC "
        f"TBLPROPERTIES ({FULL_ACID})"
    )
    path = tmp_path / "000000_0"
    with path.open("wb") as file, pyorc.Writer(file, "struct<p:int,v:string>") as writer:
        for i in range(6):
            writer.write((i, f"loaded {i}"))
    hive_client.execute(f"LOAD DATA LOCAL INPATH 'file:{path}' INTO TABLE {table} PARTITION (p=3)")
    hive_client.execute(f"INSERT INTO {table} VALUES (5, 'five', 5)")
    differential.check(table, where="p = 5")
    hive_client.execute(f"DELETE FROM {table} WHERE id = 3")
    differential.check(table, where="p = 3 AND id > 1")
    hive_client.compact(table, "major", partition="p='3'")
    assert len(differential.check(table, where="p = 3 AND id = 5").rows) == 6


def test_partitions_repeat_row_ids(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    """A dynamic-partition insert numbers the rows of each partition from 0 again."""
    table = f"{database}.repeated"
    hive_client.execute(
        f"CREATE TABLE {table} (id int) PARTITIONED BY (p int) STORED AS ORC "
        "TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"
    )
    values = ", ".join(f"({i}, {i % 4})" for i in range(40))
    hive_client.execute(f"INSERT INTO {table} VALUES {values}")
    # Other row ids in each partition: one partition's delete events fit the other's rows, too.
    hive_client.execute(f"DELETE FROM {table} WHERE p = 1 AND id < 20")
    hive_client.execute(f"DELETE FROM {table} WHERE p = 2 AND id >= 20")
    assert len(differential.check(table, where="p IN (1, 2)").rows) == 30


@pytest.mark.parametrize(
    "format",
    ["TEXTFILE", pytest.param("ORC", marks=REPEATS), pytest.param("PARQUET", marks=REPEATS)],
)
def test_dynamic_writes_to_a_partition_with_its_own_location(
    hive: HiveServer,
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    tmp_path: Path,
    format: str,
) -> None:
    """Hive writes base_3/base_3/000000_0 into the partition of an insert-only table, and reads it.

    A random history found it (seed 4079653012).
    """
    table = f"{database}.moved_{format.lower()}"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, name string) PARTITIONED BY (p string) STORED AS {format} "
        f"TBLPROPERTIES ({INSERT_ONLY})"
    )
    hive_client.execute(f"INSERT INTO {table} VALUES (1, 'a', 'x'), (2, 'b', 'z')")
    place = tmp_path / "elsewhere"
    shutil.move(Path(hive.warehouse) / f"{database}.db" / table.split(".")[1] / "p=z", place)
    hive_client.execute(f"ALTER TABLE {table} PARTITION (p='z') SET LOCATION 'file://{place}'")
    deepest = 0
    for statement in (
        "INSERT INTO {} VALUES (3, 'c', 'z'), (4, 'd', 'x')",
        "INSERT INTO {} SELECT 5, 'e', 'z' UNION ALL SELECT 6, 'f', 'z'",
        "INSERT INTO {} PARTITION (p='z') SELECT 7, 'g'",
        "INSERT OVERWRITE TABLE {} PARTITION (p) SELECT 8, 'h', 'z'",
        "INSERT INTO {} VALUES (9, 'i', 'z')",
    ):
        hive_client.execute(statement.format(table))
        differential.check(table, where="p = 'z' AND id > 5")
        deepest = max(deepest, sum(1 for _ in place.glob("*/*/*_0")))
    assert deepest >= 3, sorted(place.rglob("*"))
    for kind in ("minor", "major"):
        hive_client.compact(table, kind, partition="p='z'")
        differential.check(table, where="p = 'z' AND id > 5")
        hive_client.execute(f"INSERT INTO {table} VALUES (10, 'j', 'z'), (11, 'k', 'z')")
        differential.check(table, where="p = 'z' AND id > 5")


@pytest.mark.parametrize("new", ["varchar(3)", "char(3)"])
@pytest.mark.parametrize(("format", "properties"), [storage("full acid"), storage("text")])
def test_a_partition_column_that_became_shorter(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    format: str,
    properties: str,
    new: str,
) -> None:
    """The metastore keeps the longer values, of which Hive shows the beginning."""
    table = f"{database}.shorter"
    hive_client.execute(
        f"CREATE TABLE {table} (id int) PARTITIONED BY (p varchar(8)) STORED AS {format} "
        f"TBLPROPERTIES ({properties})"
    )
    hive_client.execute(
        f"INSERT INTO {table} VALUES (1, 'abcdef'), (2, 'ab'), (3, 'äöüß'), (4, 'ab c')"
    )
    hive_client.execute(f"ALTER TABLE {table} PARTITION COLUMN (p {new})")
    differential.check_columns(table, ["id", "concat(p, '|')"])


def test_a_partition_value_that_the_columns_new_type_has_not(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    """Hive itself looks at the values for their form only, and shows 44."""
    table = f"{database}.renumbered"
    hive_client.execute(
        f"CREATE TABLE {table} (id int) PARTITIONED BY (p string) STORED AS ORC "
        f"TBLPROPERTIES ({FULL_ACID})"
    )
    hive_client.execute(f"INSERT INTO {table} VALUES (1, '7'), (2, '07'), (3, NULL)")
    hive_client.execute(f"ALTER TABLE {table} PARTITION COLUMN (p tinyint)")
    differential.check_columns(table, ["id", "p"])
    hive_client.execute(f"ALTER TABLE {table} PARTITION COLUMN (p string)")
    hive_client.execute(f"INSERT INTO {table} VALUES (4, '300')")
    hive_client.execute(f"ALTER TABLE {table} PARTITION COLUMN (p tinyint)")
    assert hive_client.query(f"SELECT p FROM {table} WHERE id = 4") == [(44,)]
    with pytest.raises(
        UnreadableTableError,
        match="partition p=300 cannot be read: its value is not a valid tinyint",
    ):
        differential.read(table)
    hive_client.execute(f"ALTER TABLE {table} PARTITION COLUMN (p string)")
    differential.check(table)
