"""What a user may get wrong, and the exact text that says so."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hmsclient.genthrift.hive_metastore import ttypes
from pyspark.sql import SparkSession

from hiveacid.metastore import thrift
from integration.support.dbt_project import HAS_FUNCTIONS, DbtProject, node_results
from integration.support.hive import HiveClient, HiveServer
from tests.unit.metastore.thrift_server import ThriftServer


@pytest.fixture
def project(dbt_project: DbtProject, hive_client: HiveClient, database: str) -> DbtProject:
    """A project on one ACID source."""
    hive_client.execute(
        f"CREATE TABLE {database}.orders (id int) STORED AS ORC "
        "TBLPROPERTIES ('transactional'='true')"
    )
    hive_client.execute(f"INSERT INTO {database}.orders VALUES (1)")
    dbt_project.sources("orders")
    return dbt_project


def errors(project: DbtProject, *arguments: str) -> dict[str, str]:
    """The message of each node that failed, without dbt's heading and its last line."""
    result = project.invoke(*arguments)
    assert not result.success
    messages = {}
    for node in node_results(result):
        if str(node.status) == "error":
            _, *lines = node.message.splitlines()
            kept = (line.strip() for line in lines if "compiled code at" not in line)
            messages[node.node.name] = " ".join(kept)
    return messages


@pytest.mark.skipif(not HAS_FUNCTIONS, reason="this dbt-core makes no functions")
def test_a_function_over_an_acid_source(project: DbtProject, database: str) -> None:
    project.write(
        "functions/orders_after.sql", "select count(*) from {{ source('shop', 'orders') }}"
    )
    project.write(
        "functions/schema.yml",
        "functions: [{name: orders_after, arguments: [{name: first, data_type: int}], "
        "returns: {data_type: bigint}}]",
    )
    assert errors(project, "build") == {
        "orders_after": (
            "[HIVEACID_FUNCTION_OVER_TRANSACTIONAL_TABLE] "
            f"Function orders_after would be a permanent function over the ACID table {database}"
            ".orders, read directly or through ephemeral models. A permanent function cannot hold "
            "a run's snapshot. Read the source in the models that call the function."
        )
    }


def test_nodes_with_the_names_of_acid_tables(
    project: DbtProject, database: str, hive_client: HiveClient
) -> None:
    names = ("added", "again", "deltas", "history", "in_python", "seeded", "shown")
    for name in names:
        hive_client.execute(f"CREATE TABLE {name} LIKE orders")
    hive_client.execute("INSERT INTO added SELECT * FROM orders")
    before = hive_client.query("SELECT * FROM added")
    # A node that begins to build runs its SQL, which fails.
    fails = "select assert_true(false, 'it was built') as id"
    forms = {
        "again": "materialized='table'",
        "shown": "materialized='view'",
        "added": "materialized='incremental'",
        "deltas": "materialized='incremental', file_format='delta', unique_key='id', "
        "incremental_strategy='merge'",
    }
    project.models(**{name: f"{{{{ config({form}) }}}} {fails}" for name, form in forms.items()})
    project.write(
        "models/in_python.py", f'def model(dbt, session):\n    return session.sql("{fails}")'
    )
    project.write("seeds/seeded.csv", "id\n1")
    project.write(
        "snapshots/history.sql",
        "{% snapshot history %}{{ config(unique_key='id', strategy='check', check_cols='all') }} "
        f"{fails}{{% endsnapshot %}}",
    )
    for flags in ([], ["--full-refresh"]):
        messages = errors(project, "build", *flags)
        assert {name: text[: text.index(" Spark")] for name, text in messages.items()} == {
            name: "[HIVEACID_DROPS_TRANSACTIONAL_TABLE] "
            f"{database}.{name} is a transactional Hive table."
            for name in names
        }
    assert hive_client.query("SELECT * FROM added") == before


def test_a_missing_table(project: DbtProject, hive: HiveServer, database: str) -> None:
    project.sources("orders", "no_such")
    project.models(missing="select * from {{ source('shop', 'no_such') }}")
    (message,) = errors(project, "run").values()
    assert message.startswith(
        f"[HIVEACID_SOURCE_NOT_IN_SPARK] {database}.no_such is a source. The metastore "
        f"{hive.metastore_uri} does not have it either. Check the source's schema and "
        "name; it may just have been dropped. "
        f"[TABLE_OR_VIEW_NOT_FOUND] The table or view `{database}`.`no_such` cannot be found."
    )
    # The statement is shown, and Java's stack kept for the debug log.
    assert " While running: /* " in message
    assert message.endswith(f"select * from {database}.no_such")
    stack = "at org.apache.spark.sql.catalyst"
    log = (project.path / "logs" / "dbt.log").read_text(encoding="utf-8")
    assert stack in log and stack not in message


def test_a_table_dropped_between_compiling_and_running(
    project: DbtProject, hive_client: HiveClient, database: str
) -> None:
    project.models(
        first="{{ config(pre_hook='select 1') }} select * from {{ source('shop', 'orders') }}"
    )
    # `select 1` reads no source, so it runs before the table is pinned.
    dropped: list[str] = []

    def drop(event: object) -> None:
        if not dropped and "select 1" in str(event):
            dropped.append("orders")
            hive_client.execute(f"DROP TABLE {database}.orders")

    result = project.invoke("run", on_event=drop)
    assert not result.success
    (node,) = node_results(result)
    assert f"{database}.orders is a source. The metastore" in node.message
    assert (
        "does not have it either. Check the source's schema and name; it may just" in node.message
    )


@pytest.fixture
def closed_port() -> int:
    """A port of this machine on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def test_a_wrong_metastore_address(
    tmp_path: Path, hive: HiveServer, database: str, spark: SparkSession, closed_port: int
) -> None:
    uri = f"thrift://127.0.0.1:{closed_port}"
    project = DbtProject(tmp_path / "p", hive, database, profile={"metastore_uri": uri})
    project.sources("orders")
    project.models(first="select * from {{ source('shop', 'orders') }}")
    assert errors(project, "run") == {
        "first": "[HIVEACID_METASTORE_UNAVAILABLE] Could not connect to the Hive metastore. "
        f"Tried: {uri}: Connection refused Check metastore_uri, and that the metastore is running."
    }


def test_the_second_address_serves_when_the_first_does_not(
    tmp_path: Path,
    hive: HiveServer,
    hive_client: HiveClient,
    database: str,
    spark: SparkSession,
    closed_port: int,
) -> None:
    uris = f"thrift://127.0.0.1:{closed_port},{hive.metastore_uri}"
    project = DbtProject(tmp_path / "p", hive, database, profile={"metastore_uri": uris})
    hive_client.execute(
        f"CREATE TABLE {database}.orders (id int) STORED AS ORC "
        "TBLPROPERTIES ('transactional'='true')"
    )
    project.sources("orders")
    project.models(first="select * from {{ source('shop', 'orders') }}")
    project.succeed("run")


@pytest.fixture
def hive_2(database: str) -> Iterator[ThriftServer]:
    """A metastore as Hive 2 has it: it knows the table, but no call that knows write ids."""
    table = thrift.Table(
        tableName="orders",
        dbName=database,
        parameters={"transactional": "true"},
        tableType="MANAGED_TABLE",
        sd=ttypes.StorageDescriptor(cols=[], location="file:/nowhere"),
        partitionKeys=[],
    )
    server = ThriftServer(
        {
            "get_table_objects_by_name_req": lambda _: thrift.GetTablesResult(tables=[table]),
            "getVersion": lambda: "2.3.9",
            "get_config_value": lambda _, default: default,
            "open_txns": lambda _: ttypes.OpenTxnsResponse(txn_ids=[7]),
            "lock": lambda _: ttypes.LockResponse(lockid=1, state=ttypes.LockState.ACQUIRED),
            "abort_txn": lambda _: None,
            # Hive 2 sends a set where later versions send a list.
            "get_open_txns": lambda: thrift.GetOpenTxnsResponse(
                txn_high_water_mark=20, open_txns=None
            ),
        }
    )
    yield server
    server.close()


def test_a_metastore_without_write_ids(
    tmp_path: Path, hive: HiveServer, database: str, spark: SparkSession, hive_2: ThriftServer
) -> None:
    project = DbtProject(tmp_path / "p", hive, database, profile={"metastore_uri": hive_2.uri})
    project.sources("orders")
    project.models(first="select * from {{ source('shop', 'orders') }}")
    assert errors(project, "run") == {
        "first": "[HIVEACID_METASTORE_BEFORE_HIVE_3] The metastore lists open transactions in "
        "the form of Hive 2: it is older than Hive 3 and has no write ids, so no snapshot can be "
        "taken. Upgrade the metastore, or read the tables through Hive."
    }


def test_unknown_keys_of_the_profile_and_of_a_source(
    tmp_path: Path, hive: HiveServer, database: str
) -> None:
    project = DbtProject(
        tmp_path / "p", hive, database, profile={"host": "x", "lock_timeout": "soon"}
    )
    project.models(first="select 1 as x")
    result = project.invoke("run")
    assert not result.success
    text = str(result.exception)
    assert "`host` is not a key of this adapter" in text
    assert "`lock_timeout` must be a number of seconds, 0 or more, not 'soon'" in text
    assert "Allowed keys: type, threads, schema, metastore_uri" in text
