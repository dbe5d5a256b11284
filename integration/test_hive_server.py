"""The Hive that the other tests stand on does what they take for granted."""

from __future__ import annotations

import itertools
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from integration.support.hive import (
    HiveClient,
    HiveServer,
    HiveSettings,
    HiveSqlError,
    HiveStartError,
)
from integration.support.metastore import eventually

ORDERS = """
    CREATE TABLE orders (id INT, state STRING) STORED AS ORC
        TBLPROPERTIES ('transactional'='true');
    INSERT INTO orders VALUES (1, 'new'), (2, 'new'), (3, 'new');
"""


def directories(hive: HiveServer, database: str, table: str) -> set[str]:
    """Names of the directories in a table's location, as on disk."""
    location = hive.warehouse / f"{database}.db" / table
    return {path.name for path in location.iterdir() if path.is_dir()}


def test_insert_update_delete(hive: HiveServer, hive_client: HiveClient, database: str) -> None:
    hive_client.script(ORDERS)
    hive_client.execute("UPDATE orders SET state = 'paid' WHERE id = 2")
    hive_client.execute("DELETE FROM orders WHERE id = 3")
    assert hive_client.query("SELECT * FROM orders ORDER BY id") == [(1, "new"), (2, "paid")]
    assert directories(hive, database, "orders") == {
        "delta_0000001_0000001_0000",
        "delete_delta_0000002_0000002_0000",
        "delta_0000002_0000002_0001",
        "delete_delta_0000003_0000003_0000",
    }


def test_compaction_and_cleaner(hive: HiveServer, hive_client: HiveClient, database: str) -> None:
    hive_client.script(ORDERS)
    hive_client.execute("DELETE FROM orders WHERE id = 1")
    hive_client.compact("orders", "major", cleaned=True)
    (base,) = directories(hive, database, "orders")
    assert base.startswith("base_0000002_v")
    assert hive_client.query("SELECT id FROM orders ORDER BY id") == [(2,), (3,)]


def test_compaction_of_a_partition(hive_client: HiveClient, database: str) -> None:
    hive_client.script("""
        CREATE TABLE visits (id INT) PARTITIONED BY (day STRING) STORED AS ORC
            TBLPROPERTIES ('transactional'='true');
        INSERT INTO visits VALUES (1, '2024-01-01'), (2, '2024-01-02');
        INSERT INTO visits VALUES (3, '2024-01-01');
    """)
    hive_client.compact(f"{database}.visits", "minor", "day='2024-01-01'")
    done = hive_client.show_compactions(database)
    assert [(row["tabname"], row["partname"], row["type"]) for row in done] == [
        ("visits", "day=2024-01-01", "MINOR")
    ]


def test_compactions_with_a_text_of_several_lines(hive_client: HiveClient, database: str) -> None:
    """As that of a cleaner that met a deadlock; here a pool's, which nobody works for."""
    hive_client.script(ORDERS)
    hive_client.execute("DELETE FROM orders WHERE id = 1")
    hive_client.execute(r"ALTER TABLE orders COMPACT 'minor' POOL 'a\npool'")
    # Of all databases: a line that is no row has none.
    (row,) = (row for row in hive_client.show_compactions() if row["dbname"] == database)
    assert (row["tabname"], row["state"], row["poolname"]) == ("orders", "initiated", "a")


def test_refused_compaction_is_an_error(hive_client: HiveClient) -> None:
    hive_client.script(ORDERS)
    with pytest.raises(HiveSqlError, match="refused: None of the compaction thresholds met"):
        hive_client.compact("orders", "major")


def test_failing_statement_names_itself(hive_client: HiveClient) -> None:
    with pytest.raises(HiveSqlError, match="(?s)nowhere.*Statement: SELECT 1 FROM nowhere"):
        hive_client.query("SELECT 1 FROM nowhere")


def test_show_locks_during_a_write(
    hive: HiveServer, hive_client: HiveClient, database: str
) -> None:
    """A lock is seen while another client's statement holds it, and gone afterwards."""
    hive_client.script(ORDERS)

    def update() -> None:
        with HiveClient(hive.hs2_port, database) as other:
            other.execute("UPDATE orders SET state = 'paid' WHERE id = 1")

    def locks() -> set[tuple[str, str]]:
        rows = hive_client.show_locks()
        return {(row["table"], row["lock_type"]) for row in rows if row["database"] == database}

    seen = set()
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(update)
        while not writing.done():
            seen |= locks()
        writing.result()
    assert ("orders", "EXCL_WRITE") in seen
    assert eventually(lambda: not locks())


@pytest.mark.long("starts a Hive of its own")
def test_tables_are_translated_on_request(tmp_path: Path) -> None:
    """As in production: what is not transactional becomes an external table."""
    sql = "CREATE TABLE plain (id INT) STORED AS ORC"
    settings = HiveSettings(translate_tables=True)
    with HiveServer(settings, work=tmp_path) as server, HiveClient(server.hs2_port) as client:
        client.execute(sql)
        described = client.query("DESCRIBE FORMATTED plain")
    kinds = [row[1].strip() for row in described if row[0].startswith("Table Type")]
    assert kinds == ["EXTERNAL_TABLE"]


@pytest.mark.long("starts a Hive of its own")
def test_server_dies_with_its_starter(tmp_path: Path) -> None:
    """Even kill -9 of the starting process leaves no Java process behind."""
    program = (
        "import sys, time; from pathlib import Path\n"
        "from integration.support.hive import HiveServer\n"
        "server = HiveServer(work=Path(sys.argv[1])); server.start()\n"
        "print(server.pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
    ) as starter:
        assert starter.stdout is not None
        java = int(starter.stdout.readline())
        assert is_running(java)
        starter.send_signal(signal.SIGKILL)
    assert eventually(lambda: not is_running(java))


@pytest.mark.long("starts a Hive of its own on another file system")
def test_a_partition_that_changes_under_a_query_is_not_taken_for_empty(tmp_path: Path) -> None:
    """On Hadoop's own file system: on the tests' the statement fails before, and is asked again."""
    settings = HiveSettings(extra={"fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem"})
    with (
        HiveServer(settings, work=tmp_path) as hive,
        HiveClient(hive.hs2_port, log=hive.log) as client,
    ):
        client.script("""
            CREATE TABLE orders (id INT) PARTITIONED BY (year INT) STORED AS ORC
                TBLPROPERTIES ('transactional'='true');
            INSERT INTO orders VALUES (1, 2025), (2, 2026), (3, 2026);
        """)
        with deltas_that_come_and_go(hive.warehouse / "orders" / "year=2026"):
            for _ in until_the_log_says(hive.log, "year=2026 is empty"):
                assert sorted(client.query("SELECT * FROM orders")) == [
                    (1, 2025),
                    (2, 2026),
                    (3, 2026),
                ]


def test_a_query_that_fails_since_a_table_changes_under_it_is_asked_again(
    hive: HiveServer, hive_client: HiveClient, database: str
) -> None:
    hive_client.script("""
        CREATE TABLE orders (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='false');
        INSERT INTO orders VALUES (1), (2);
        ALTER TABLE orders SET TBLPROPERTIES ('transactional'='true');
    """)
    table = hive.warehouse / f"{database}.db" / "orders"
    with deltas_that_come_and_go(table):
        for _ in until_the_log_says(hive.log, rf"{table}/delta_\S+ does not exist"):
            assert sorted(hive_client.query("SELECT * FROM orders")) == [(1,), (2,)]
            assert hive_client.query("SELECT count(*) FROM orders") == [(2,)]


@contextmanager
def deltas_that_come_and_go(directory: Path) -> Iterator[None]:
    """As Hive's writers and its cleaner make and remove them, but without pause."""
    over = threading.Event()

    def come_and_go(first: int) -> None:
        for write_id in itertools.cycle(range(first, first + 100)):
            if over.is_set():
                return
            delta = directory / f"delta_{write_id:07}_{write_id:07}_0000"
            delta.mkdir()
            (delta / "bucket_00000").touch()
            shutil.rmtree(delta)

    with ThreadPoolExecutor() as threads:
        # Above the write ids of the originals and of the statements, so that no query reads them.
        writers = [threads.submit(come_and_go, 20_000_000 + 100 * n) for n in range(3)]
        try:
            yield
        finally:
            over.set()
        for writer in writers:
            writer.result()


def until_the_log_says(log: Path, pattern: str, times: int = 3) -> Iterator[None]:
    """Go on until what the loop is to provoke has happened. Fails after a minute."""
    deadline = time.monotonic() + 60
    while len(re.findall(pattern, log.read_text(errors="replace"))) < times:
        assert time.monotonic() < deadline, f"Hive no longer says {pattern!r}"
        yield


def test_start_failure_shows_the_log(tmp_path: Path) -> None:
    settings = HiveSettings(extra={"javax.jdo.option.ConnectionURL": "jdbc:no-such-database:"})
    with pytest.raises(
        HiveStartError, match="(?s)metastore failed.*end of its log.*No suitable driver"
    ):
        HiveServer(settings, work=tmp_path).start()


def is_running(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False
