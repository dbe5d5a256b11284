"""dbt's own adapter tests on a Spark in this process: its own Derby catalog, Delta and Iceberg, no
Hive.

The metastore of the profile is one that knows no tables, so that every source is Spark's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes

from dbt.adapters.hiveacid.credentials import HiveAcidCredentials
from dbt.adapters.hiveacid.spark.driver import root_session
from hiveacid.metastore import thrift
from integration.support.dbt_project import LASTING_MEMORY, SMALL, lasting_jvm
from integration.support.hive.jars import say
from integration.support.local_files import without_chmod
from integration.support.spark_packages import delta_settings, iceberg_jars, iceberg_settings
from tests.unit.metastore.thrift_server import ThriftServer

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def empty_metastore() -> Iterator[ThriftServer]:
    server = ThriftServer(
        {
            "get_table_objects_by_name_req": lambda request: thrift.GetTablesResult(tables=[]),
            "get_open_txns": lambda: thrift.GetOpenTxnsResponse(
                txn_high_water_mark=1, open_txns=[], abortedBits=b""
            ),
            "get_valid_write_ids": lambda request: thrift.GetValidWriteIdsResponse(
                tblValidWriteIds=[]
            ),
            "show_locks": lambda request: ttypes.ShowLocksResponse(locks=[]),
            "get_config_value": lambda key, default: default,
            "getVersion": lambda: "4.0.1",
        }
    )
    yield server
    server.close()


@pytest.fixture(scope="session")
def spark_parameters(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | int | bool]:
    home: Path = tmp_path_factory.mktemp("spark")
    return {
        "spark.master": "local[2]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": LASTING_MEMORY,
        # As for the Derby of a Hive (`integration/support/hive/server.py`).
        "spark.driver.extraJavaOptions": (
            f"{lasting_jvm()} -Dderby.system.durability=test "
            "-Dderby.language.statementCacheSize=1000"
        ),
        "spark.ui.enabled": False,
        **without_chmod(),
        **SMALL,
        "spark.sql.warehouse.dir": f"{home}/warehouse",
        "spark.hadoop.javax.jdo.option.ConnectionURL": (
            f"jdbc:derby:;databaseName={home}/catalog;create=true"
        ),
        **_lakes(home / "lake"),
    }


def _lakes(directory: Path) -> dict[str, str]:
    """Delta and Iceberg, each where the line of Spark has it (`hiveacid/spark_versions.py`)."""
    settings = {**delta_settings(say), **iceberg_settings(directory)}
    jars = [*filter(None, [settings.get("spark.jars")]), *map(str, iceberg_jars(say))]
    return {**settings, "spark.jars": ",".join(jars)} if jars else settings


@pytest.fixture(scope="session")
def spark(spark_parameters: dict[str, str | int | bool], empty_metastore: ThriftServer) -> Any:
    """The Spark of this process, as the adapter starts it."""
    credentials = HiveAcidCredentials(
        schema="default",
        metastore_uri=empty_metastore.uri,
        server_side_parameters=dict(spark_parameters),
    )
    parameters = credentials.server_side_parameters
    return root_session(
        parameters, credentials.metastore_uri, warehouse=lambda: "unused", log_directory=None
    )


@pytest.fixture(scope="class")
def dbt_profile_target(
    empty_metastore: ThriftServer, spark_parameters: dict[str, str | int | bool]
) -> dict[str, object]:
    return {
        "type": "hiveacid",
        "threads": 2,
        "metastore_uri": empty_metastore.uri,
        "server_side_parameters": spark_parameters,
    }


# Warnings about dbt's own code: class-scoped fixtures that are instance methods, and thread pools
# that a run leaves open when it ends with an error.
DBTS_OWN = (
    "ignore::pytest.PytestRemovedIn10Warning",
    "ignore:unclosed running multiprocessing pool:ResourceWarning",
)


# They have the classes that take longest, and start first: otherwise a worker of pytest-xdist would
# come to one of these last and work on alone.
LONGEST = ("test_state_stores.py", "test_materializations.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the longest files start first; ignore dbt's own warnings."""
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else 99)
    for item in items:
        if HERE in item.path.parents:
            for warning in DBTS_OWN:
                item.add_marker(pytest.mark.filterwarnings(warning))
