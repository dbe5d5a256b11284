"""The library on a real Hive, from plain PySpark: the examples, and the door's promises."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import os
import pickle
import re
import runpy
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyspark
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import hiveacid
from hiveacid.spark_versions import version_of
from integration.support.dbt_process import WITHOUT_DBT
from integration.support.dbt_project import SLOW, small_jvm
from integration.support.differential import Differential, canonical
from integration.support.hive import HiveClient, HiveServer
from integration.support.library_examples import EXAMPLES, run_here
from integration.support.metastore import assert_nothing_held

TO_REPLACE = "thrift://metastore.example.org:9083"
"""The metastore of the examples that readers paste."""
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"


class PlainSpark:
    """Processes with PySpark and the library, and without dbt."""

    def __init__(self, hive: HiveServer, directory: Path) -> None:
        self.hive = hive
        self.directory = directory
        settings = {
            "spark.master": "local[2]",
            "spark.ui.enabled": "false",
            "spark.log.level": "ERROR",
            "spark.sql.shuffle.partitions": "2",
            "spark.driver.extraJavaOptions": f"-Duser.timezone=UTC {small_jvm()}",
        }
        named = shlex.join(f"--conf={name}={value}" for name, value in settings.items())
        # Not in a file: its directory would stand on the class path before Spark's jars.
        self._submit = f"{named} pyspark-shell"

    def run(self, example: str, *arguments: object) -> str:
        """Run an example to its end; return what it prints."""
        path = EXAMPLES / f"{example}.py"
        program = (
            f"{WITHOUT_DBT}\nimport runpy\n"
            f"sys.argv = {[str(path), self.hive.metastore_uri, *map(str, arguments)]!r}\n"
            f"runpy.run_path({str(path)!r}, run_name='__main__')"
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=self.directory,
            env={
                **os.environ,
                "PYTHONPATH": str(EXAMPLES.parents[1]),
                "PYSPARK_SUBMIT_ARGS": self._submit,
            },
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def plain_spark(hive: HiveServer, tmp_path: Path) -> PlainSpark:
    return PlainSpark(hive, tmp_path)


@pytest.fixture
def shop(hive_session: HiveClient) -> Iterator[HiveClient]:
    """A database `shop`, which the examples read."""
    hive_session.script(
        f"""
        CREATE DATABASE shop;
        CREATE TABLE shop.customers (customer_id int, country string) {ACID};
        INSERT INTO shop.customers VALUES (1, 'de'), (2, 'fr');
        CREATE TABLE shop.orders (id int, customer_id int, amount decimal(9,2))
          PARTITIONED BY (day string) {ACID};
        INSERT INTO shop.orders PARTITION (day) VALUES
          (1, 1, 10.5, '2026-01-30'), (2, 2, 20, '2026-01-31'), (3, 1, 7, '2026-02-01');
        UPDATE shop.orders SET amount = 12 WHERE id = 1;
        INSERT INTO shop.orders PARTITION (day) VALUES (4, 2, 1, '2026-01-31');
        DELETE FROM shop.orders WHERE id = 4
        """
    )
    yield hive_session
    hive_session.execute("DROP DATABASE shop CASCADE")


@pytest.mark.parametrize("example", ["show_orders", "in_a_notebook"])
def test_an_example_to_paste(
    shop: HiveClient, hive: HiveServer, spark: SparkSession, tmp_path: Path, example: str
) -> None:
    text = (EXAMPLES / f"{example}.py").read_text(encoding="utf-8")
    assert TO_REPLACE in text
    pasted = tmp_path / "pasted.py"
    pasted.write_text(text.replace(TO_REPLACE, hive.metastore_uri), encoding="utf-8")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(pasted))
    assert sorted(re.findall(r"2026-\d\d-\d\d", printed.getvalue())) == [
        "2026-01-30",
        "2026-01-31",
        "2026-02-01",
    ]
    assert shop.show_locks() == []


def test_a_report_of_one_moment(
    shop: HiveClient, plain_spark: PlainSpark, spark: SparkSession, tmp_path: Path
) -> None:
    printed = plain_spark.run("orders_by_country", tmp_path / "report")
    assert printed.startswith("One snapshot of shop.customers, shop.orders: transaction ")
    expected = shop.query(
        """
        SELECT country, sum(amount) FROM shop.orders o JOIN shop.customers c
          ON o.customer_id = c.customer_id
        WHERE day IN ('2026-01-30', '2026-01-31') GROUP BY country
        """
    )
    rows = spark.read.parquet(f"file://{tmp_path}/report").collect()
    assert canonical(rows) == canonical(expected)
    assert shop.show_locks() == []


def test_changes_are_followed_by_a_stored_state(
    shop: HiveClient, hive: HiveServer, spark: SparkSession, tmp_path: Path
) -> None:
    def follow() -> tuple[str, list[tuple[str, ...]]]:
        printed = run_here("follow_orders", hive, tmp_path / "changes", tmp_path / "state")
        changes = spark.read.parquet(f"file://{tmp_path}/changes")
        rows = changes.selectExpr("_change_type", "id", "amount", "day")
        return printed, canonical(rows.collect())

    _, first = follow()
    inserted = "SELECT 'insert', id, amount, day FROM shop.orders"
    assert first == canonical(shop.query(inserted))
    shop.script(
        """
        UPDATE shop.orders SET amount = 21 WHERE id = 2;
        DELETE FROM shop.orders WHERE id = 3;
        INSERT INTO shop.orders PARTITION (day) VALUES (5, 1, 5, '2026-02-01')
        """
    )
    printed, second = follow()
    assert printed == ""
    assert second == [
        ("delete", "2", "20", "2026-01-31"),
        ("delete", "3", "7", "2026-02-01"),
        ("insert", "2", "21", "2026-01-31"),
        ("insert", "5", "5", "2026-02-01"),
    ]
    assert follow() == ("", [])
    shop.execute("ALTER TABLE shop.orders DROP PARTITION (day='2026-01-30')")
    printed, all_again = follow()
    assert printed.startswith("Everything is read again: partition day=2026-01-30: it was dropped")
    assert all_again == canonical(shop.query(inserted))


def test_earlier_instants(shop: HiveClient, plain_spark: PlainSpark) -> None:
    printed = plain_spark.run("orders_as_of", 1)
    assert printed.splitlines() == [
        "as of write id 1 [1, 2, 3]",
        "shop.orders as of timestamp '2999-01-31 12:00:00' is at write id 4, according to the "
        "clock, since the time is not in the past.",
        "as of a time [1, 2, 3]",
        "shop.orders, read optimized, is behind by 4 write ids of 4: 1-4.",
        "compacted []",
        "2 delete 1 True",
        "2 insert 1 True",
    ]


def test_a_table_is_checked(shop: HiveClient, hive: HiveServer, spark: SparkSession) -> None:
    printed = run_here("check_orders", hive)
    assert "rows: 5 in the files" in printed and "every check passed" in printed


def test_a_session_of_ansi_casts_reads_hives_values(
    hive: HiveServer,
    hive_client: HiveClient,
    differential: Differential,
    spark: SparkSession,
    database: str,
) -> None:
    """As in Spark 4 by default, where a cast without a result is an error, and NULL in Hive."""
    hive_client.script(
        """
        CREATE TABLE readings (id int, large int, exact decimal(38,18)) STORED AS PARQUET
          TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only');
        INSERT INTO readings VALUES (1, 12, 0), (2, 1000000, 1.5);
        ALTER TABLE readings CHANGE COLUMN large large decimal(5,2);
        ALTER TABLE readings CHANGE COLUMN exact exact string
        """
    )
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", "true")
    with hiveacid.snapshot(session, hive.metastore_uri, [f"{database}.readings"]) as snapshot:
        rows = canonical(snapshot.table(f"{database}.readings").collect())
        inserts = snapshot.changes(f"{database}.readings").rows
        changed = inserts.select("id", "large", "exact").collect()
    assert rows == canonical(changed) == canonical(differential.shown(f"{database}.readings"))
    assert session.conf.get("spark.sql.ansi.enabled") == "true"


def test_statements_with_parameters(
    hive: HiveServer, hive_client: HiveClient, spark: SparkSession, database: str
) -> None:
    """In a session with the parsers of Delta and Iceberg, too."""
    hive_client.script(
        f"""
        CREATE TABLE orders (id int, day date, amount decimal(9,2), status string) {ACID};
        INSERT INTO orders VALUES (1, '2026-03-01', 1.5, "it's"), (2, '2026-03-02', 20, null),
          (3, '1500-03-01', 12.34, 'x'), (4, '2026-03-02', 20, 'gone');
        DELETE FROM orders WHERE id = 4
        """
    )
    cases: list[tuple[str, Any, str]] = [
        ("day >= :day", {"day": dt.date(2026, 3, 1)}, "day >= date '2026-03-01'"),
        ("amount = :exact", {"exact": Decimal("12.340")}, "amount = 12.340"),
        ("status = ? and id = ?", ["it's", 1], 'status = "it\'s" AND id = 1'),
        ("array_contains(:ids, id)", {"ids": [1, 3]}, "id IN (1, 3)"),
        ("status <=> :nothing", {"nothing": None}, "status IS NULL"),
        ("id in (select max(id) from orders where id < :n)", {"n": 4}, "id = 3"),
    ]
    session = spark.newSession()
    session.sql(f"use {database}")
    with hiveacid.snapshot(session, hive.metastore_uri, [f"{database}.orders"]) as snapshot:
        for ours, args, hives in cases:
            query = "SELECT id, day, amount, status FROM orders WHERE "
            shown = snapshot.sql(f"with o as (select * from orders) {query}{ours}", args)
            assert canonical(shown.collect()) == canonical(hive_client.query(query + hives)), ours
        snapshot.sql("create table few using parquet as select id from orders limit :n", {"n": 2})
        assert session.table("few").count() == 2
        changes = f"select count(*) from table_changes('{database}.orders', :since)"
        assert snapshot.sql(changes, {"since": 1}).first() == (1,)
        if version_of(pyspark.__version__).binds_in_text:
            before = "select count(*) from orders version as of :id"
            assert snapshot.sql(before, {"id": 1}).first() == (4,)
        with pytest.raises(PySparkException, match="UNBOUND_SQL_PARAMETER"):
            snapshot.sql("select :a from orders", {"b": 1})
        with pytest.raises(hiveacid.RawAcidReferenceError, match="RAW_TABLE.*orders"):
            snapshot.sql("select * from identifier(concat(:a, 'ers'))", {"a": "ord"})
        assert hive_client.query("SELECT count(*) FROM orders") == [(3,)]


@pytest.fixture
def numbers(hive_client: HiveClient, database: str) -> Iterator[str]:
    """A table with the rows 1 and 2. Nothing is left locked."""
    hive_client.script(
        f"""
        CREATE TABLE numbers (id int) {ACID};
        INSERT INTO numbers VALUES (1), (2), (3);
        DELETE FROM numbers WHERE id = 3
        """
    )
    yield f"{database}.numbers"
    assert_nothing_held(hive_client, database)
    assert [lock for lock in hive_client.show_locks() if lock["database"] == database] == []


def ids(frame: DataFrame) -> list[int]:
    return sorted(row.id for row in frame.collect())


def test_a_name_is_written_as_in_sql(hive: HiveServer, spark: SparkSession, numbers: str) -> None:
    database, _, table = numbers.partition(".")
    names = [numbers, numbers.upper(), f"`{database}`.`{table}`", f"{database}.`Numbers`"]
    with hiveacid.snapshot(spark, hive.metastore_uri, [*names, *names]) as snapshot:
        report = snapshot.report()
        assert report is not None and len(report.write_ids) == 1
        for name in names:
            assert ids(snapshot.table(name)) == [1, 2]
            assert ids(snapshot.sql(f"select * from {name}")) == [1, 2]
    for name in ("numbers", f"spark_catalog.{numbers}", f"`{numbers}`", "a.", ".b", ""):
        with pytest.raises(hiveacid.InvalidSettingError, match="is not the name of a table"):
            hiveacid.snapshot(spark, hive.metastore_uri, [name])


def test_snapshots_next_to_and_inside_of_each_other(
    hive: HiveServer, hive_client: HiveClient, spark: SparkSession, numbers: str
) -> None:
    """Each shows its own moment, whatever a thread has cached or named in the session."""
    uri = hive.metastore_uri
    with hiveacid.snapshot(spark, uri, [numbers]) as outer:
        frame = outer.table(numbers).cache()
        frame.createOrReplaceTempView("numbers_then")
        assert frame.count() == 2
        hive_client.execute(f"INSERT INTO {numbers} VALUES (4)")
        hive_client.execute(f"DELETE FROM {numbers} WHERE id = 1")
        with hiveacid.snapshot(spark, uri, [numbers]) as inner:
            assert ids(inner.table(numbers)) == [2, 4]
            together = f"select n.id from {numbers} n join numbers_then using (id)"
            assert ids(inner.sql(together)) == [2]
            with ThreadPoolExecutor(4) as pool:
                found = pool.map(lambda it: ids(it.table(numbers)), [outer, inner] * 4)
                assert list(found) == [[1, 2], [2, 4]] * 4
        assert ids(outer.table(numbers)) == [1, 2]
    frame.unpersist()
    with pytest.raises(hiveacid.SnapshotEndedError), outer:
        pass


def test_a_block_that_is_left_in_the_middle(
    hive: HiveServer, hive_client: HiveClient, spark: SparkSession, numbers: str
) -> None:
    """By Ctrl-C while Spark works, or as a generator that nobody reads to its end."""
    slow = F.expr(SLOW)

    def wait() -> None:
        with hiveacid.snapshot(spark, hive.metastore_uri, [numbers]) as snapshot:
            rows = snapshot.table(numbers).crossJoin(spark.range(20))
            threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
            rows.select(slow).collect()

    def read() -> Generator[Row, None, None]:
        with hiveacid.snapshot(spark, hive.metastore_uri, [numbers]) as snapshot:
            yield from snapshot.table(numbers).toLocalIterator()

    # PySpark's own handler may meet the connection that waits for the rows.
    with pytest.raises((KeyboardInterrupt, Py4JError)):
        wait()
    assert hive_client.show_locks() == []
    rows = read()
    assert next(rows).id in (1, 2)
    assert hive_client.show_locks() != []
    rows.close()


def test_a_snapshot_stays_in_its_process(
    hive: HiveServer, spark: SparkSession, numbers: str
) -> None:
    with hiveacid.snapshot(spark, hive.metastore_uri, [numbers]) as snapshot:
        with pytest.raises(TypeError, match="A snapshot cannot be pickled"):
            pickle.dumps(snapshot)
        is_large = F.udf(lambda id: snapshot.report() is None, "boolean")
        with pytest.raises(pickle.PicklingError, match="A snapshot cannot be pickled"):
            snapshot.table(numbers).select(is_large("id")).collect()


def test_tables_and_changes_are_of_one_moment(
    hive: HiveServer, hive_client: HiveClient, spark: SparkSession, database: str
) -> None:
    hive_client.script(
        f"""
        CREATE TABLE a (id int) {ACID};
        CREATE TABLE b (id int) {ACID};
        INSERT INTO a VALUES (1);
        INSERT INTO b VALUES (1)
        """
    )
    with hiveacid.snapshot(spark, hive.metastore_uri, [f"{database}.a"]) as snapshot:
        state = snapshot.changes(f"{database}.a").state
        for name in ("a", "b"):
            hive_client.execute(f"INSERT INTO {name} VALUES (2)")
        for name in ("a", "b"):  # the second is locked only now
            frame = snapshot.table(f"{database}.{name}")
            assert [tuple(row) for row in frame.collect()] == [(1,)]
        assert snapshot.changes(f"{database}.a", since=state).is_empty
    with hiveacid.snapshot(spark, hive.metastore_uri, [f"{database}.a"]) as snapshot:
        changes = snapshot.changes(f"{database}.a", since=state)
        assert [(row.id, row["_change_type"]) for row in changes.rows.collect()] == [(2, "insert")]
    with pytest.raises(hiveacid.SnapshotEndedError):
        snapshot.table(f"{database}.a")
