"""Fixtures of the tests against real Hive: one server for all of them, a fresh database a test."""

from __future__ import annotations

import uuid
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from pyspark.sql import SparkSession
from xdist.scheduler import LoadFileScheduling

from integration.support.dbt_project import (
    LASTING_MEMORY,
    DbtProject,
    lasting_jvm,
    spark_settings,
)
from integration.support.differential import CONTRADICTIONS, Differential
from integration.support.histories.history import IN_TEST
from integration.support.histories.hives import histories_hive
from integration.support.histories.operations import QUERY_COMPACTION
from integration.support.histories.report import SUMMARY
from integration.support.hive import HiveClient, HiveServer, HiveSettings
from integration.support.hive.jars import say
from integration.support.hive.server import running_or_own
from integration.support.incremental import Incremental
from integration.support.local_files import without_chmod
from integration.support.metastore import assert_nothing_held
from integration.support.shop import Shop
from integration.support.spark_packages import (
    avro_jars,
    delta_settings,
    iceberg_jars,
    iceberg_settings,
)
from integration.support.tables import make_small_tables
from integration.support.targets import Tables

#: The files that take longest, in this order. They start first: otherwise one worker of
#: pytest-xdist would come to them last and work on alone.
LONGEST = (
    "test_kinds_of_tables.py",
    "test_newest_dbt.py",
    "test_random_histories.py",
    "test_incremental_histories.py",
    "test_quickstart.py",
    "test_sql_corpus.py",
    "test_incremental_crashes.py",
    "test_write_crashes.py",
    "test_incremental_concurrency.py",
    "test_dbt_transaction_loss.py",
    "test_changes.py",
    "test_same_project.py",
    "test_views.py",
    "test_run_snapshot.py",
    "test_dbt_nodes.py",
    "test_incremental.py",
    "test_library.py",
    "test_hive_views.py",
    "test_incremental_dbt.py",
    "test_files_without_version.py",
    "test_incremental_merge.py",
    "test_delete_forms.py",
    "test_incremental_cost.py",
    "test_verify.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the longest files start first."""
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else 99)


class ByFileOrPackage(LoadFileScheduling):
    """`--dist loadfile`, but one worker runs all files of a package with fixtures of its own.

    Several workers would each start the Hive of `secured`.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = PurePosixPath(super()._split_scope(nodeid))
        return str(file if file.parent.name == "integration" else file.parent)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFileOrPackage | None:
    """Replace the scheduler of `--dist loadfile`."""
    return ByFileOrPackage(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the end of Hive's log with every failure of a test that uses it."""
    report = yield
    used = getattr(item, "funcargs", {})
    server = used.get("hive_in_test", used.get("hive"))
    if report.failed and isinstance(server, HiveServer):
        report.sections.append((f"End of {server.log}", server.log_tail()))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what random histories did; a worker of pytest-xdist cannot print."""
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for name, text in getattr(report, "user_properties", ()):
                if name == SUMMARY:
                    terminalreporter.section(SUMMARY)
                    terminalreporter.write_line(str(text))


@pytest.fixture(scope="session")
def hive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveServer]:
    """The Hive that the tests share: it notices lost transactions and cleans up within seconds.

    A test that needs other settings starts a HiveServer of its own, in about five seconds.
    """
    settings = HiveSettings(txn_timeout=60, reaper_interval=4)
    # pytest keeps the directories of its last runs, so the log is there after a failure.
    with running_or_own(settings, tmp_path_factory.mktemp("hive")) as server:
        yield server


@pytest.fixture(scope="module")
def hive_in_test(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveServer]:
    """A Hive for random histories, which aborts transactions on request
    (`hive.test.rollbacktxn`).

    It ends with them: a Hive that idles takes 2 % of a core, and hundreds of megabytes.
    HISTORIES_HIVE chooses its version.
    """
    settings = replace(IN_TEST, query_compaction=QUERY_COMPACTION)
    work = tmp_path_factory.mktemp("hive_in_test")
    with HiveServer(settings, work=work, version=histories_hive()) as server:
        yield server


@pytest.fixture(scope="session")
def hive_session(hive: HiveServer) -> Iterator[HiveClient]:
    """One session on HiveServer2 for all tests: a new one takes half a second."""
    with HiveClient(hive.hs2_port, log=hive.log) as client:
        yield client


@pytest.fixture
def database(hive_session: HiveClient) -> Iterator[str]:
    """The name of an empty database.

    It stays with its tables as long as the Hive: dropping all of them takes 7 % of Hive's time.
    """
    name = f"test_{uuid.uuid4().hex[:12]}"
    hive_session.execute(f"CREATE DATABASE {name}")
    yield name
    hive_session.execute("USE default")


@pytest.fixture
def other_schema(database: str) -> str:
    """The name of a second database, for a second target of a profile."""
    return f"{database}_ci"


@pytest.fixture
def tables(spark: SparkSession, database: str) -> Tables:
    """The targets of the test."""
    return Tables(spark, database)


@pytest.fixture
def hive_client(hive_session: HiveClient, database: str) -> HiveClient:
    """A session whose current database is `database`."""
    hive_session.execute(f"USE {database}")
    return hive_session


@pytest.fixture(scope="session")
def small_tables(hive: HiveServer, hive_session: HiveClient) -> str:
    """The database that holds the tables of `small_tables.sql`, for tests that only read."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    hive_session.execute(f"CREATE DATABASE {name}")
    make_small_tables(hive, hive_session, name)
    return name


@pytest.fixture(scope="session")
def spark(hive: HiveServer) -> Iterator[SparkSession]:
    """The Spark that the tests share, dbt's commands in this process included.

    It has the module for Avro, and a catalog that is Hive's metastore; Delta and Iceberg where the
    line of Spark has them (`hiveacid/spark_versions.py`).
    """
    settings = {**spark_settings(hive, lasting_jvm()), **without_chmod(), **delta_settings(say)}
    settings["spark.driver.memory"] = LASTING_MEMORY
    settings |= iceberg_settings(hive.work / "lake")
    jars = [settings.get("spark.jars"), *map(str, [*avro_jars(say), *iceberg_jars(say)])]
    settings["spark.jars"] = ",".join(filter(None, jars))
    session = SparkSession.builder.config(map={**settings}).enableHiveSupport().getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def differential(
    hive: HiveServer, hive_session: HiveClient, spark: SparkSession
) -> Iterator[Differential]:
    """Compares our reads with Hive's answers."""
    differential = Differential(hive, hive_session, spark)
    yield differential
    assert len(differential.contradictions) <= CONTRADICTIONS, differential.contradictions


@pytest.fixture
def dbt_project(tmp_path: Path, hive: HiveServer, database: str, spark: SparkSession) -> DbtProject:
    """An empty dbt project on the test's database; its commands run on the shared Spark."""
    return DbtProject(tmp_path / "project", hive, database)


@pytest.fixture
def shop(
    hive: HiveServer, hive_client: HiveClient, spark: SparkSession, database: str
) -> Iterator[Shop]:
    """The tables of a test. No lock and no stage is left."""
    yield Shop(hive, hive_client, spark, database)
    assert_nothing_held(hive_client, database)
    stages = list(Path(hive.warehouse).glob(f"{database}.db/**/.hiveacid_stage_*"))
    assert not stages


@pytest.fixture
def incremental(
    dbt_project: DbtProject, hive_client: HiveClient, spark: SparkSession, database: str
) -> Iterator[Incremental]:
    """Incremental models in the test's project. No lock is left."""
    yield Incremental(dbt_project, hive_client, spark, database)
    assert_nothing_held(hive_client, database)
