"""However a run ends, its transaction and its Spark jobs end with it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName, TransactionState
from integration.support.dbt_project import SLOW, DbtProject
from integration.support.hive import HiveClient, HiveServer
from integration.support.metastore import hold_exclusive, locks_of_dbt, open_transactions
from integration.support.tables import REPEATS

START_SECONDS = 120
"""A dbt process with a Spark of its own takes 15 seconds to its first model on an idle machine."""

SLOW_MODEL = (
    f"select o.id, {SLOW} as s from {{{{ source('shop', 'orders') }}}} o cross join range(3000)"
)

OF_JAVA = re.compile(
    r"^WARNING: |log4j|Setting (default|Spark) log level"
    r"|^[\d/]+ [\d:]+ (INFO|WARN|ERROR) |^\s+at .*\.scala:",
    re.MULTILINE,
)
"""A line that Spark's Java prints, or a part of its stacks."""


@pytest.fixture
def slow_project(
    tmp_path: Path, hive: HiveServer, hive_client: HiveClient, database: str
) -> DbtProject:
    """A project whose model would read its ACID source for ten minutes."""
    hive_client.execute(
        f"CREATE TABLE {database}.orders (id int) STORED AS ORC "
        "TBLPROPERTIES ('transactional'='true')"
    )
    hive_client.execute(f"INSERT INTO {database}.orders VALUES (1), (2)")
    # What Spark's Java has to say must not be among what dbt says.
    project = DbtProject(tmp_path / "project", hive, database, spark={"spark.log.level": "WARN"})
    project.sources("orders")
    project.models(slow=SLOW_MODEL)
    return project


@pytest.fixture
def start() -> Iterator[Callable[[DbtProject], subprocess.Popen[str]]]:
    """Starts `dbt run` in a process of its own, and kills what is left of it after the test."""
    started: list[subprocess.Popen[str]] = []

    def start_run(project: DbtProject) -> subprocess.Popen[str]:
        started.append(project.start("run"))
        return started[-1]

    yield start_run
    for process in started:
        children = _children(process)
        process.kill()
        for child in children:
            _kill(child)
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=REPEATS)])
def test_a_signal_ends_transaction_and_jobs_within_five_seconds(
    slow_project: DbtProject,
    start: Callable[[DbtProject], subprocess.Popen[str]],
    hive: HiveServer,
    hive_client: HiveClient,
    database: str,
    number: signal.Signals,
) -> None:
    process = start(slow_project)
    _wait(lambda: _is_reading(hive, hive_client, database), START_SECONDS, process)
    java = _children(process)
    assert java, "Spark's Java process"
    assert process.poll() is None, "it would read for ten minutes"
    (lock,) = locks_of_dbt(hive_client, database)
    process.send_signal(number)
    _wait(lambda: not locks_of_dbt(hive_client, database), 5, None)
    _wait(lambda: not open_transactions(hive_client), 5, None)
    output, _ = process.communicate(timeout=30)
    assert process.returncode != 0, output
    assert "Cancelling: dbt ends once Spark has stopped what it is running" in output
    # Java ends with the process that started it, and no job outlives it.
    assert psutil.wait_procs(java, timeout=10)[1] == []
    assert hive_client.query(f"SHOW TABLES IN {database}") == [("orders",)], "no stage is left"

    report = slow_project.artifact("hiveacid_snapshot.json")
    table = f"{database}.orders"
    (file,) = (Path(hive.warehouse) / f"{database}.db" / "orders").rglob("bucket_*")
    read = {"files": 1, "bytes": file.stat().st_size, "partitions": 0, "delete_events": 0}
    ((write_id,),) = hive_client.query(f"SELECT max(row__id.writeid) FROM {table}")
    assert f", invocation {report['metadata']['invocation_id']}, " in lock["agent_info"]
    transaction = report["transaction"]
    assert str(transaction["id"]) == lock["transaction_id"] and not transaction["is_open"]
    assert transaction["held_seconds"] > 0
    (source,) = report["sources"]
    assert source["table"] == table and source["high_watermark"] == write_id
    assert source["held_seconds"] == transaction["held_seconds"]
    assert {key: source[key] for key in read} == read
    reads = [{"table": table, **read}]
    assert report["nodes"] == [{"unique_id": "model.test.slow", "reads": reads}]

    log = (slow_project.path / "logs" / "spark.log").read_text(encoding="utf-8")
    assert OF_JAVA.search(log), "it is said there"
    assert not OF_JAVA.search(output), output


def test_ctrl_c_while_a_lock_is_waited_for_ends_the_run_at_once(
    tmp_path: Path,
    start: Callable[[DbtProject], subprocess.Popen[str]],
    hive: HiveServer,
    hive_client: HiveClient,
    database: str,
) -> None:
    hive_client.execute(
        f"CREATE TABLE {database}.orders (id int) STORED AS ORC "
        "TBLPROPERTIES ('transactional'='true')"
    )
    project = DbtProject(tmp_path / "project", hive, database, profile={"lock_timeout": 120})
    project.sources("orders")
    project.models(**{f"m{n}": "select * from {{ source('shop', 'orders') }}" for n in range(3)})
    process = start(project)
    with MetastoreClient(hive.metastore_uri) as metastore:
        holder = hold_exclusive(metastore, TableName(database, "orders"))

        def is_waiting() -> bool:
            metastore.heartbeat(holder)
            return bool(locks_of_dbt(hive_client, database))

        _wait(is_waiting, START_SECONDS, process)
        assert {lock["lock_state"] for lock in locks_of_dbt(hive_client, database)} == {"WAITING"}
        process.send_signal(signal.SIGINT)
        _wait(lambda: not is_waiting(), 10, None)
        output, _ = process.communicate(timeout=30)
        assert metastore.heartbeat(holder) is TransactionState.OPEN, "nobody has let dbt go on"
        metastore.abort_txn(holder)
    assert process.returncode != 0, output
    assert "Cancelling: dbt ends once Spark has stopped what it is running" in output


@pytest.mark.long("waits for the metastore's timeout")
def test_after_kill_9_the_metastore_ends_the_transaction(
    slow_project: DbtProject,
    start: Callable[[DbtProject], subprocess.Popen[str]],
    hive: HiveServer,
    hive_client: HiveClient,
    database: str,
) -> None:
    process = start(slow_project)
    _wait(lambda: _is_reading(hive, hive_client, database), START_SECONDS, process)
    os.kill(process.pid, signal.SIGKILL)
    assert locks_of_dbt(hive_client, database), "nobody could end it in an orderly way"
    limit = hive.settings.txn_timeout + 2 * hive.settings.reaper_interval
    _wait(lambda: not locks_of_dbt(hive_client, database), limit + 2, None)
    _wait(lambda: not open_transactions(hive_client), 2, None)


def _is_reading(hive: HiveServer, client: HiveClient, database: str) -> bool:
    """Whether the slow model's Spark job runs: what it writes into the stage is there."""
    files = (Path(hive.warehouse) / f"{database}.db").glob("slow__dbt_stage_*/_temporary")
    return bool(locks_of_dbt(client, database)) and any(files)


def _wait(
    condition: Callable[[], bool], seconds: float, process: subprocess.Popen[str] | None
) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if process is not None and process.poll() is not None:
            pytest.fail(f"dbt ended with {process.returncode}: {process.communicate()[0]}")
        assert time.monotonic() < deadline, f"not within {seconds} seconds"
        time.sleep(0.2)


def _children(process: subprocess.Popen[str]) -> list[psutil.Process]:
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _kill(process: psutil.Process) -> None:
    try:
        process.kill()
    except psutil.NoSuchProcess:
        pass
