"""Tables that `hiveacid.transaction` writes, as Hive shows them in three ways.

Also after writes and compactions of Hive on top."""

from __future__ import annotations

import datetime as dt
import shutil
import threading
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import hiveacid
from hiveacid.metastore.models import TableName
from hiveacid.metastore.writing_client import WritingClient
from integration.support.differential import Differential
from integration.support.hive import HiveClient, HiveServer
from integration.support.library_examples import run_here
from integration.support.shop import ACID, INSERT_ONLY, WAYS, Shop
from integration.support.tables import REPEATS

HIDDEN = ACID.replace("TBLPROPERTIES", "LOCATION '{}' TBLPROPERTIES")


def test_appends_and_overwrites_are_rows_of_hive(
    shop: Shop, differential: Differential, hive_client: HiveClient
) -> None:
    hive_client.execute(f"CREATE TABLE t (id INT, v INT) {ACID}")
    hive_client.execute("INSERT INTO t VALUES (1, 1), (2, 1)")
    with shop.transaction() as transaction:
        transaction.append(shop.name("t"), shop.rows((3, 2)))
        transaction.append(shop.name("t"), shop.rows((4, 2)).select("v", F.col("id").alias("ID")))
        assert shop.shown("t") == [(1, 1), (2, 1)]
    assert shop.shown("t") == [(1, 1), (2, 1), (3, 2), (4, 2)]
    differential.check(shop.name("t"))
    hive_client.execute("DELETE FROM t WHERE id = 3")
    hive_client.execute("UPDATE t SET v = 9 WHERE id = 4")
    with shop.transaction("t") as transaction:
        rows = transaction.table(shop.name("t")).withColumn("v", F.col("v") + 10)
        transaction.overwrite(shop.name("t"), rows)
    expected = [(1, 11), (2, 11), (4, 19)]
    assert shop.shown("t") == expected
    for kind in ("minor", "major"):
        hive_client.execute("INSERT INTO t VALUES (5, 5)")
        expected.append((5, 5))
        hive_client.compact("t", kind, cleaned=True)
        assert shop.shown("t") == expected
        differential.check(shop.name("t"))


def test_deletes_and_merges_hit_rows_of_every_kind(
    shop: Shop, differential: Differential, hive_client: HiveClient
) -> None:
    """Rows of Hive's inserts and updates, of raw files in several buckets, of earlier merges."""
    hive_client.execute(f"CREATE TABLE t (id INT, v INT) PARTITIONED BY (day STRING) {ACID}")
    schema = "id int, v int, day string"
    days = F.when(F.col("id") % 2 == 0, "a b/c").otherwise(F.lit("x=%e"))
    raw = shop.spark.range(0, 300, 1, 3).select(
        F.col("id").cast("int"), F.lit(0).alias("v"), days.alias("day")
    )
    with shop.transaction() as transaction:
        transaction.append(shop.name("t"), raw)
    hive_client.execute("INSERT INTO t VALUES (1000, 0, 'x=%e'), (1001, 0, 'new')")
    hive_client.execute("UPDATE t SET v = 1 WHERE id % 10 = 0")
    state = {row[0]: (row[1], row[2]) for row in shop.shown("t")}
    assert len(state) == 302

    with shop.transaction() as transaction:
        transaction.delete(shop.name("t"), "id % 7 = 0")
    state = {key: value for key, value in state.items() if key % 7}
    assert {row[0]: (row[1], row[2]) for row in shop.shown("t")} == state

    for step in (2, 3):
        source = [(i, step, "new") for i in range(0, 320, 5)] + [(1001, step, "a b/c")]
        with shop.transaction() as transaction:
            transaction.merge(shop.name("t"), shop.rows(*source, schema=schema), "id")
        state |= {row[0]: (row[1], row[2]) for row in source}
        assert {row[0]: (row[1], row[2]) for row in shop.shown("t")} == state
        differential.check(shop.name("t"))

    with shop.transaction() as transaction:
        transaction.merge(
            shop.name("t"),
            shop.rows((5, 0, ""), (9999, 0, ""), schema=schema),
            ["id"],
            when_matched="delete",
            when_not_matched=None,
        )
    del state[5]
    hive_client.execute("DELETE FROM t WHERE id = 10")
    del state[10]
    hive_client.execute("UPDATE t SET v = 50 WHERE id = 15")
    state[15] = (50, "new")
    for day in ("a b/c", "x=%e", "new"):
        hive_client.compact("t", "minor", f"day='{day}'", cleaned=True)
    assert {row[0]: (row[1], row[2]) for row in shop.shown("t")} == state
    for day in ("a b/c", "x=%e", "new"):
        hive_client.compact("t", "major", f"day='{day}'", cleaned=True)
    assert {row[0]: (row[1], row[2]) for row in shop.shown("t")} == state
    differential.check(shop.name("t"))


@pytest.mark.parametrize(
    "kind",
    [
        ACID,
        pytest.param(INSERT_ONLY.format("ORC"), marks=REPEATS),
        INSERT_ONLY.format("PARQUET"),
    ],
)
def test_partitions_are_overwritten_all_or_dynamically(
    shop: Shop, differential: Differential, hive_client: HiveClient, kind: str
) -> None:
    hive_client.execute(f"CREATE TABLE t (id INT) PARTITIONED BY (day DATE, k INT) {kind}")
    hive_client.execute("INSERT INTO t VALUES (1, '2026-01-01', 1), (2, '2026-01-02', 1)")
    schema = "id int, day date, k int"
    new, null = (3, dt.date(2026, 1, 2), 1), (4, None, None)
    with shop.transaction() as transaction:
        rows = shop.rows(new, null, schema=schema)
        transaction.overwrite(shop.name("t"), rows, partitions="dynamic")
    assert [row[0] for row in shop.shown("t", "id")] == [1, 3, 4]
    differential.check(shop.name("t"))
    hive_client.execute("INSERT INTO t VALUES (5, '2026-01-02', 1)")
    with shop.transaction() as transaction:
        transaction.overwrite(shop.name("t"), shop.rows((6, dt.date(2026, 1, 3), 2), schema=schema))
    # The client takes what a fetch finds empty for an error of Hive.
    ways = WAYS[:2]
    assert shop.shown("t", "id", ways) == [(6,)]
    hive_client.execute("INSERT INTO t VALUES (7, '2026-01-01', 1)")
    assert shop.shown("t", "id", ways) == [(6,), (7,)]
    differential.check(shop.name("t"))
    with shop.transaction() as transaction:
        transaction.overwrite(shop.name("t"), shop.rows(schema=schema))
    assert shop.shown("t", "count(*)") == [(0,)]


def test_several_tables_become_visible_together(shop: Shop, hive_client: HiveClient) -> None:
    """A reader that joins two tables sees both overwrites, or none, while they are published."""
    for table in ("a", "b"):
        hive_client.execute(f"CREATE TABLE {table} (id INT, v INT) {ACID}")
        hive_client.execute(f"INSERT INTO {table} VALUES (1, 0)")
    seen, stop = [], threading.Event()

    def look() -> None:
        with HiveClient(shop.hive.hs2_port, shop.database) as client:
            client.execute("SET hive.fetch.task.conversion=none")
            while not stop.is_set():
                seen.append(client.query("SELECT a.v, b.v FROM a JOIN b ON a.id = b.id"))

    reader = threading.Thread(target=look)
    reader.start()
    try:
        for version in range(1, 6):
            with shop.transaction("a") as transaction:
                transaction.overwrite(shop.name("a"), shop.rows((1, version)))
                transaction.overwrite(shop.name("b"), shop.rows((1, version)))
    finally:
        stop.set()
        reader.join()
    assert seen
    assert all(len(rows) == 1 and rows[0][0] == rows[0][1] for rows in seen), seen
    assert shop.shown("b") == [(1, 5)]


def test_nothing_is_left_of_a_transaction_that_fails(
    shop: Shop, hive_client: HiveClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    hive_client.execute(f"CREATE TABLE t (id INT, v INT) {ACID}")
    hive_client.execute("INSERT INTO t VALUES (1, 1)")
    with pytest.raises(ZeroDivisionError), shop.transaction() as transaction:
        transaction.overwrite(shop.name("t"), shop.rows((2, 2)))
        raise ZeroDivisionError
    monkeypatch.setattr(WritingClient, "invalidate_statistics", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError), shop.transaction() as transaction:
        transaction.overwrite(shop.name("t"), shop.rows((2, 2)))
    assert shop.shown("t") == [(1, 1)]
    hive_client.execute("INSERT INTO t VALUES (3, 3)")
    assert shop.shown("t") == [(1, 1), (3, 3)]


def test_the_second_of_two_updates_loses(shop: Shop, hive_client: HiveClient) -> None:
    hive_client.execute(f"CREATE TABLE t (id INT, v INT) {ACID}")
    hive_client.execute("INSERT INTO t VALUES (1, 1), (2, 1)")
    with pytest.raises(hiveacid.WriteAbortedError, match="HIVEACID_WRITE_CONFLICT"):
        with shop.transaction() as transaction:
            transaction.merge(shop.name("t"), shop.rows((1, 5)), "id")
            hive_client.execute("UPDATE t SET v = 2 WHERE id = 1")
    assert shop.shown("t") == [(1, 2), (2, 1)]


def test_rows_that_come_during_the_wait_for_the_lock_stay_below_an_overwrite(
    shop: Shop, hive_client: HiveClient
) -> None:
    """Hive's INSERT gets a higher write id than ours, and commits before our lock is granted."""
    hive_client.execute(f"CREATE TABLE t (id INT, v INT) {ACID}")
    hive_client.execute("INSERT INTO t VALUES (1, 1)")
    name = TableName.parse(shop.name("t"))
    ids: list[int] = []
    lock = WritingClient.lock_to_write

    def late(self: WritingClient, txn_id: int, *arguments: Any) -> Any:
        if not ids:
            with WritingClient(shop.hive.metastore_uri) as other:
                txn = other.open_txn("test", "test", "test", read_only=False)
                ids.append(other.allocate_table_write_ids(txn, name))
                other.abort_txn(txn)
            hive_client.execute("INSERT INTO t VALUES (2, 2)")
        return lock(self, txn_id, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WritingClient, "lock_to_write", late)
        with shop.transaction() as transaction:
            transaction.overwrite(shop.name("t"), shop.rows((3, 3)))
    assert shop.shown("t") == [(3, 3)]


class Meanwhile:
    """Runs something once, when a transaction has staged and before it asks for its locks."""

    def __init__(self, what: Callable[[], None]) -> None:
        self._what: Callable[[], None] | None = what
        self._lock = WritingClient.lock_to_write

    def __enter__(self) -> None:
        self._patch = pytest.MonkeyPatch()
        self._patch.setattr(WritingClient, "lock_to_write", self._run)

    def __exit__(self, *_: object) -> None:
        self._patch.undo()

    @property
    def _run(self) -> Callable[..., Any]:
        def run(client: WritingClient, *arguments: Any) -> Any:
            what, self._what = self._what, None
            if what is not None:
                what()
            return self._lock(client, *arguments)

        return run


def test_ddl_between_the_rows_and_the_lock(
    shop: Shop, differential: Differential, hive_client: HiveClient
) -> None:
    table = f"(id INT, v INT) PARTITIONED BY (k INT) {ACID}"
    hive_client.execute(f"CREATE TABLE t {table}")
    hive_client.execute("INSERT INTO t VALUES (1, 1, 1), (2, 2, 2)")
    schema = "id int, v int, k int"

    def run(*statements: str) -> Callable[[], None]:
        def run_them() -> None:
            for statement in statements:
                hive_client.execute(statement)

        return run_them

    with Meanwhile(run("ALTER TABLE t DROP PARTITION (k = 2)")):
        with shop.transaction() as transaction:
            transaction.append(shop.name("t"), shop.rows((3, 3, 2), schema=schema))
    assert shop.shown("t") == [(1, 1, 1), (3, 3, 2)]
    with Meanwhile(run("INSERT INTO t VALUES (4, 4, 4)")):
        with shop.transaction() as transaction:
            transaction.overwrite(shop.name("t"), shop.rows((5, 5, 1), schema=schema))
    assert shop.shown("t", "id", WAYS[:2]) == [(5,)]
    again = ("DROP TABLE t", f"CREATE TABLE t {table}", "INSERT INTO t VALUES (5, 0, 1)")
    for ddl in (again, ("ALTER TABLE t CHANGE v w INT",), ("DROP TABLE t",)):
        with pytest.raises(hiveacid.WriteAbortedError, match="HIVEACID_WRITE_CONFLICT"):
            with Meanwhile(run(*ddl)), shop.transaction() as transaction:
                transaction.delete(shop.name("t"), "id = 5")
        if ddl is not again:
            continue
        assert shop.shown("t") == [(5, 0, 1)]


def test_an_overwrite_lets_an_insert_with_a_lower_write_id_go_first(
    shop: Shop, hive_client: HiveClient
) -> None:
    """As one that waits behind the overwrite's lock: it has its write id already."""
    hive_client.execute(f"CREATE TABLE t (id INT, v INT) {ACID}")
    name, held = TableName.parse(shop.name("t")), []
    other = WritingClient(shop.hive.metastore_uri)

    def begin() -> None:
        held.append(other.open_txn("test", "test", "test", read_only=False))
        other.allocate_table_write_ids(held[0], name)

    try:
        begin()
        ender = threading.Timer(4, lambda: other.abort_txn(held[0]))
        ender.start()
        with shop.transaction() as transaction:
            transaction.overwrite(shop.name("t"), shop.rows((3, 3)))
        assert not ender.is_alive(), "it did not wait"
        with pytest.raises(hiveacid.LockTimeoutError, match="lower write ids"):
            held.clear()
            begin()
            with shop.transaction(lock_timeout=1) as transaction:
                transaction.overwrite(shop.name("t"), shop.rows((4, 4)))
        other.abort_txn(held[0])
    finally:
        other.close()
    assert shop.shown("t") == [(3, 3)]


def test_two_merges_do_not_add_a_key_twice(shop: Shop, hive_client: HiveClient) -> None:
    hive_client.execute(f"CREATE TABLE t (id INT, v INT) {ACID}")
    with pytest.raises(hiveacid.WriteAbortedError, match="HIVEACID_WRITE_CONFLICT"):
        with shop.transaction("t") as transaction:
            transaction.merge(shop.name("t"), shop.rows((5, 1)), "ID")
            with shop.transaction("t") as other:
                other.merge(shop.name("t"), shop.rows((5, 2)), "id")
    assert shop.shown("t") == [(5, 2)]


def test_an_update_that_was_compacted_away_is_a_conflict(
    shop: Shop, hive_client: HiveClient
) -> None:
    hive_client.execute(f"CREATE TABLE t (id INT, v INT) {ACID}")
    hive_client.execute("INSERT INTO t VALUES (1, 1), (2, 1)")

    with pytest.raises(hiveacid.WriteAbortedError, match="HIVEACID_WRITE_CONFLICT"):
        with shop.transaction() as transaction:
            transaction.delete(shop.name("t"), "id = 1")
            transaction.end()
            hive_client.execute("UPDATE t SET v = 9 WHERE id = 1")
            hive_client.compact("t", "major")
            # Hive's cleaner waits for the end of the block.
            for path in (shop.hive.warehouse / f"{shop.database}.db" / "t").glob("*delta_*"):
                shutil.rmtree(path)
    assert shop.shown("t") == [(1, 9), (2, 1)]


def test_a_half_is_not_published(shop: Shop, hive_client: HiveClient) -> None:
    """Of a write that failed, and whose error the program has caught."""
    hive_client.execute(f"CREATE TABLE t (id INT, v INT) {ACID}")
    hive_client.execute("INSERT INTO t VALUES (1, 1)")
    failing = shop.rows((1, 2)).withColumn("v", F.expr("cast(raise_error('no') as int)"))
    for write in (
        lambda it: it.overwrite(shop.name("t"), failing),
        lambda it: it.merge(shop.name("t"), failing, "id"),
    ):
        with pytest.raises(hiveacid.UnwritableTableError, match="HIVEACID_WRITE_INCOMPLETE"):
            with shop.transaction() as transaction:
                with pytest.raises(PySparkException):
                    write(transaction)
    with shop.transaction() as transaction:
        transaction.append(shop.name("t"), shop.rows((2, 2)))
    with pytest.raises(hiveacid.SnapshotEndedError):
        transaction.append(shop.name("t"), shop.rows((3, 3)))
    assert shop.shown("t") == [(1, 1), (2, 2)]


def test_a_commit_that_the_metastore_refuses_or_does_not_answer(
    shop: Shop, hive_client: HiveClient
) -> None:
    hive_client.execute(f"CREATE TABLE t (id INT, v INT) {ACID}")
    hive_client.execute("INSERT INTO t VALUES (1, 1)")
    commit = WritingClient.commit_txn
    answers: list[hiveacid.MetastoreError] = []

    def refuse(client: WritingClient, txn_id: int) -> None:
        if not answers:
            answers.append(hiveacid.MetastoreError("out of order"))
            raise answers[0]
        commit(client, txn_id)

    def lose_the_answer(client: WritingClient, txn_id: int) -> None:
        commit(client, txn_id)
        if len(answers) < 2:
            answers.append(hiveacid.MetastoreUnavailableError("cut"))
            raise answers[1]

    def write(transaction: hiveacid.Transaction) -> None:
        transaction.append(shop.name("t"), shop.rows((2, 2)))

    with pytest.MonkeyPatch.context() as patch:
        with pytest.raises(hiveacid.WriteAbortedError, match="HIVEACID_WRITE_ABORTED"):
            with shop.transaction() as transaction:
                write(transaction)
                transaction.end()
                patch.setattr(WritingClient, "commit_txn", refuse)
        assert shop.shown("t") == [(1, 1)]
        patch.undo()
        with shop.transaction() as transaction:
            write(transaction)
            transaction.end()
            patch.setattr(WritingClient, "commit_txn", lose_the_answer)
    assert shop.shown("t") == [(1, 1), (2, 2)]


def test_hive_counts_what_was_written(shop: Shop, hive_client: HiveClient) -> None:
    """Hive takes counts from statistics that are marked accurate."""
    hive_client.execute("SET hive.stats.autogather=true")
    hive_client.execute("SET hive.compute.query.using.stats=true")
    try:
        hive_client.execute(f"CREATE TABLE t (id INT, v INT) {ACID}")
        hive_client.execute("INSERT INTO t VALUES (1, 1)")
        hive_client.execute(f"CREATE TABLE p (id INT) PARTITIONED BY (k INT) {ACID}")
        hive_client.execute("INSERT INTO p VALUES (1, 1)")
        assert hive_client.query("SELECT count(*) FROM t") == [(1,)]
        with shop.transaction() as transaction:
            transaction.append(shop.name("t"), shop.rows((2, 2)))
            transaction.append(shop.name("p"), shop.rows((2, 1), schema="id int, k int"))
        assert hive_client.query("SELECT count(*) FROM t") == [(2,)]
        assert hive_client.query("SELECT count(*) FROM p") == [(2,)]
        assert hive_client.query("SELECT count(*) FROM p WHERE k = 1") == [(2,)]
    finally:
        hive_client.execute("SET hive.stats.autogather=false")
        hive_client.execute("SET hive.compute.query.using.stats=false")


def test_the_example_writes_two_tables(
    hive: HiveServer, hive_client: HiveClient, spark: SparkSession
) -> None:
    hive_client.execute("CREATE DATABASE IF NOT EXISTS shop")
    hive_client.execute("CREATE DATABASE IF NOT EXISTS marts")
    hive_client.execute(f"CREATE TABLE shop.orders (country STRING, amount DOUBLE) {ACID}")
    hive_client.execute("INSERT INTO shop.orders VALUES ('uk', 1), ('uk', 2), ('us', 5)")
    hive_client.execute(f"CREATE TABLE marts.daily (country STRING, amount DOUBLE) {ACID}")
    hive_client.execute(f"CREATE TABLE marts.log (at TIMESTAMP) {ACID}")
    try:
        run_here("write_marts", hive)
        found = hive_client.query("SELECT country, amount FROM marts.daily")
        assert sorted(found) == [("uk", 3.0), ("us", 5.0)]
        assert hive_client.query("SELECT count(*) FROM marts.log") == [(1,)]
    finally:
        hive_client.execute("DROP DATABASE shop CASCADE")
        hive_client.execute("DROP DATABASE marts CASCADE")


def _refused(call: Callable[[hiveacid.Transaction], None], shop: Shop, code: str) -> None:
    with pytest.raises(hiveacid.HiveAcidError, match=code), shop.transaction() as transaction:
        call(transaction)


def test_refusals_leave_nothing(shop: Shop, hive_client: HiveClient) -> None:
    hive_client.execute(f"CREATE TABLE t (id INT, v INT) {ACID}")
    hive_client.execute("INSERT INTO t VALUES (1, 1)")
    old = ACID.replace("(", "('bucketing_version'='1', ")
    hive_client.execute(
        f"CREATE TABLE bucketed (id INT, v INT) CLUSTERED BY (id) INTO 2 BUCKETS {old}"
    )
    hive_client.execute(f"CREATE TABLE decimals (id INT) PARTITIONED BY (v DECIMAL(9,3)) {ACID}")
    hive_client.execute(f"CREATE TABLE io (id INT, v INT) {INSERT_ONLY.format('ORC')}")
    place = f"file:{shop.hive.warehouse}/_hidden_{shop.database}"
    hive_client.execute(f"CREATE TABLE below (id INT, v INT) {HIDDEN.format(place)}")
    t, one = shop.name("t"), shop.rows((1, 2))
    doubled = one.union(one)
    unfit = shop.rows((1, Decimal(1)), schema="id int, v decimal(10,0)")
    for call, code in (
        (lambda it: it.append(shop.name("bucketed"), one), "WRITE_NOT_SUPPORTED"),
        (lambda it: it.append(shop.name("decimals"), one), "WRITE_NOT_SUPPORTED"),
        (lambda it: it.append(shop.name("below"), one), "WRITE_NOT_SUPPORTED"),
        (lambda it: it.delete(shop.name("io"), "id = 1"), "WRITE_NOT_SUPPORTED"),
        (lambda it: it.append(shop.name("none"), one), "TABLE_NOT_FOUND"),
        (lambda it: it.append(t, one.select("id")), "WRITE_COLUMNS_DIFFER"),
        (lambda it: it.append(t, unfit), "WRITE_TYPE_DIFFERS"),
        (lambda it: it.merge(t, doubled, "id"), "MERGE_NOT_UNIQUE"),
        (lambda it: it.merge(t, one, "nothing"), "INVALID_ARGUMENT"),
        (lambda it: it.overwrite(t, one, partitions="dynamic"), "INVALID_ARGUMENT"),
        (lambda it: (it.append(t, one), it.delete(t, "id = 1")), "WRITTEN_TWICE"),
    ):
        _refused(call, shop, code)  # type: ignore[arg-type]
    assert shop.shown("t") == [(1, 1)]
