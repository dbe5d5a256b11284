"""The corpus of SQL: statements of Spark's grammar with ACID names wherever a relation can stand.

The statements are in `integration/data/corpus`, with these placeholders:

    {tables}        the database of the tables, in `{TABLES}` in upper case
    {targets}       a database of plain tables, which the statements may add to
    {views}         the database of the stored views and functions
    {name}          a name that the case has for itself
    {directory}     a directory, as a URI; `{local_directory}` is its path
    {warehouse}     the directory of all databases, as a URI
    {path:orders}   the location of a table, as a URI; `{local:orders}` is its path
    {tab} {return}  a tab, and a carriage return

They run over ACID tables with a history that Spark's own readers get wrong, and over plain copies
of their rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, MapType, StructType

from hiveacid.spark_versions import ALL_TESTS, version_of
from integration.support.hive import HiveClient, HiveServer
from integration.support.sql_files import fill, groups_of
from integration.support.tables import FULL_ACID, INSERT_ONLY
from integration.support.ungated import ungated

#: Whether this line of Spark has the grammar that the corpus is written in. What another one cannot
#: parse, or stores no function for, is not stored and not asked.
IS_NEWEST_GRAMMAR = version_of(pyspark.__version__).tests == ALL_TESTS

_STORED = re.compile(r"create (?:view|function) (\{views\}\.\w+)")

_ROW = (
    "SELECT {0}, {1}, cast({2} AS decimal(9,2)), '{3}', array('a', '{3}'), "
    "named_struct('city', 'c{0}', 'zip', '0{1}'), map('a', {0}, 'b', {1}), "
    "cast('2026-01-0{1} 23:30:00' AS timestamp), cast('2026-02-0{1}' AS date)"
)
_LINES = (
    "(1, 1, 5, '2026-01-01'), (1, 2, 6, '2026-01-01'), (8, 1, 0, '2026-01-01'), "
    "(2, 1, 7, '2026-01-02'), (2, 2, 100, '2026-01-02'), (4, 1, 2, '2026-01-03')"
)


def _rows(*rows: tuple[int, int, float, str]) -> str:
    return " UNION ALL ".join(_ROW.format(*row) for row in rows)


#: Tables and their columns, in the words of CREATE TABLE.
TABLES = {
    "orders": "(id int, customer_id int, amount decimal(9,2), status string, tags array<string>, "
    "address struct<city:string,zip:string>, extra map<string,int>, at timestamp, due date)",
    "customers": "(id int, name string, country string)",
    "lines": "(order_id int, line int, quantity int) PARTITIONED BY (day string)",
    "`odd name`": "(id int, label string)",
    "`select`": "(id int, name string)",
    "grown": "(id int, name string)",
}
_STORAGES = {"customers": f"PARQUET TBLPROPERTIES ({INSERT_ONLY})"}
_FULL_ACID = f"ORC TBLPROPERTIES ({FULL_ACID})"

#: What makes the rows. Each statement takes Hive a second or two.
_HISTORY = (
    "INSERT INTO {tables}.orders "
    + _rows(
        (1, 1, 10.5, "new"),
        (2, 2, 20, "new"),
        (3, 1, 7, "lost"),
        (4, 3, 3, "lost"),
        (5, 2, 99, "void"),
        (6, 9, 5.25, "new"),
    ),
    "UPDATE {tables}.orders SET status = 'sent', amount = amount + 1 WHERE id IN (1, 4)",
    "compact {tables}.orders",
    "DELETE FROM {tables}.orders WHERE id IN (3, 5)",
    "INSERT INTO {tables}.customers VALUES (1, 'old', 'xx'), (7, 'gone', 'xx')",
    "INSERT OVERWRITE TABLE {tables}.customers VALUES (1, 'Ada', 'de'), (2, 'Bob', 'fr'), "
    "(3, NULL, 'de'), (4, 'Eve', NULL)",
    f"INSERT INTO {{tables}}.lines PARTITION (day) VALUES {_LINES}",
    "DELETE FROM {tables}.lines WHERE order_id = 8 OR quantity = 100",
    "INSERT INTO {tables}.`odd name` VALUES (1, 'one'), (2, 'two')",
    "INSERT INTO {tables}.`select` VALUES (1, 'Ada'), (2, 'Zoe')",
    "INSERT INTO {tables}.grown VALUES (1, 'one'), (2, 'two'), (3, 'three')",
)

#: What happens to a table after views over it have been stored.
_GROW = "ALTER TABLE {tables}.grown ADD COLUMNS (note string)"

#: What statements may read, and add to, next to the tables.
_PLAIN_TABLES = (
    "create table {tables}.plain (id int, name string) using parquet",
    "create table {targets}.names (id int, name string) using parquet",
    "insert into {targets}.names values (1, 'first'), (2, 'second')",
    "create table {targets}.`select` (id int, name string) using parquet",
    "insert into {targets}.`select` values (1, 'other')",
    "create table {targets}.by_day (id int, day string) using parquet partitioned by (day)",
    "create table {targets}.loaded (id int, name string) stored as parquet",
    "create view {targets}.plain_view as select id from {targets}.names",
)


@dataclass(frozen=True)
class Side:
    """Three databases: of the tables, of plain tables to write to, of stored views."""

    tables: str
    directory: Path
    warehouse: Path
    is_acid: bool

    @property
    def targets(self) -> str:
        """The database of plain tables."""
        return f"{self.tables}_t"

    @property
    def views(self) -> str:
        """The database of stored views and functions."""
        return f"{self.tables}_v"

    @property
    def databases(self) -> tuple[str, str, str]:
        """All of them."""
        return self.tables, self.targets, self.views

    def placeholders(self) -> dict[str, str]:
        """Return what stands for the placeholders of the corpus."""
        values = {
            "tables": self.tables,
            "TABLES": self.tables.upper(),
            "targets": self.targets,
            "views": self.views,
            "directory": f"file://{self.directory}",
            "local_directory": str(self.directory),
            "warehouse": f"file://{self.warehouse}",
            "database": f"{self.warehouse}/{self.tables}.db",
            "tab": "\t",
            "return": "\r",
        }
        for table in TABLES:
            name = table.strip("`")
            values[f"local:{name}"] = f"{self.warehouse}/{self.tables}.db/{name}"
            values[f"path:{name}"] = f"file://{values[f'local:{name}']}"
        return values

    def fill(self, text: str) -> str:
        """Return a text with the placeholders replaced."""
        return fill(text, self.placeholders())


@dataclass(frozen=True)
class Sides:
    """The ACID tables, and what the same statements read as plain tables."""

    acid: Side
    copy: Side
    lacking: frozenset[str] = frozenset()
    """Views and functions of `stored.sql` that this line of Spark could not store."""

    def neutral(self, text: str) -> str:
        """Return a text of either side as if it were the ACID one's."""
        return text.replace(self.copy.tables, self.acid.tables)


@contextmanager
def make_sides(
    hive: HiveServer, client: HiveClient, spark: SparkSession, name: str, directory: Path
) -> Iterator[Sides]:
    """Make both sides in databases of this name; drop them in the end.

    The copies have the rows that Hive shows.
    """
    acid = Side(f"{name}_acid", directory / "acid", hive.warehouse, is_acid=True)
    copy = Side(f"{name}_copy", directory / "copy", hive.warehouse, is_acid=False)
    try:
        for side in (acid, copy):
            side.directory.mkdir()
            for database in side.databases:
                client.execute(f"CREATE DATABASE {database}")
        for table, columns in TABLES.items():
            storage = _STORAGES.get(table, _FULL_ACID)
            client.execute(f"CREATE TABLE {acid.tables}.{table} {columns} STORED AS {storage}")
            client.execute(f"CREATE TABLE {copy.tables}.{table} {columns} STORED AS PARQUET")
        for statement in _HISTORY:
            _run(client, acid.fill(statement))
        for table in TABLES:
            _copy(client, spark, f"{acid.tables}.{table}", f"{copy.tables}.{table}")
        lacking: set[str] = set()
        for side in (acid, copy):
            for text in _PLAIN_TABLES:
                spark.sql(side.fill(text))
            # Plain Spark stores views and functions over ACID tables, as before the library came.
            with ungated(spark.newSession()) as plain:
                lacking |= _store(side, client, plain)
            client.execute(side.fill(_GROW))
        yield Sides(acid, copy, frozenset(lacking))
    finally:
        client.execute("USE default")
        for database in (*acid.databases, *copy.databases):
            client.execute(f"DROP DATABASE IF EXISTS {database} CASCADE")


def _copy(client: HiveClient, spark: SparkSession, acid: str, copy: str) -> None:
    """Insert the rows that Hive shows of a table into another table of the same columns."""
    shown = client.query(f"SELECT * FROM {acid}")
    fields = spark.table(copy).schema.fields
    texts = [tuple(map(_text, row)) for row in shown]
    frame = spark.createDataFrame(texts, ", ".join(f"`{field.name}` string" for field in fields))
    columns = [
        # Hive writes arrays, structs and maps as JSON.
        f"from_json(`{field.name}`, '{field.dataType.simpleString()}')"
        if isinstance(field.dataType, ArrayType | StructType | MapType)
        else f"cast(`{field.name}` as {field.dataType.simpleString()})"
        for field in fields
    ]
    frame.selectExpr(*columns).coalesce(1).write.insertInto(copy)


def _text(value: Any) -> str | None:
    if value is None:
        return None
    return value.decode() if isinstance(value, bytes) else str(value)


def _run(client: HiveClient, statement: str) -> None:
    verb, _, table = statement.partition(" ")
    if verb == "compact":
        client.compact(table, "minor")
    else:
        client.execute(statement)


def _store(side: Side, client: HiveClient, session: SparkSession) -> set[str]:
    """Store views and functions; return those that this line of Spark cannot store."""
    lacking: set[str] = set()
    session.sql(f"use {side.tables}")
    stored = groups_of("corpus/stored.sql")
    for case in stored["by Spark"]:
        settings = dict(pair.split("=") for pair in case.notes.get("settings", "").split())
        before = {key: str(session.conf.get(key)) for key in settings}
        _set(session, settings)
        try:
            session.sql(side.fill(case.statement))
        except (ParseException, AnalysisException):
            if IS_NEWEST_GRAMMAR:
                raise
            lacking.add(_STORED.findall(case.statement)[0])
        _set(session, before)
    for case in stored["by Hive"]:
        client.execute(side.fill(case.statement))
    return lacking


def _set(session: SparkSession, settings: Mapping[str, str]) -> None:
    for key, value in settings.items():
        session.conf.set(key, value)
