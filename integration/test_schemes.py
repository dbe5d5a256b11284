"""Tables whose files lie on another file system than the local one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dbt.adapters.hiveacid.metastore import MetastoreClient, TableName
from integration.dbt_project import DbtProject
from integration.differential import Differential
from integration.hive import HiveClient, HiveServer
from integration.hive.hdfs import HdfsServer
from integration.test_dbt_run import rows


@pytest.fixture(scope="module")
def hdfs() -> Iterator[HdfsServer]:
    """An HDFS beside the shared Hive."""
    with HdfsServer() as server:
        yield server


def test_tables_on_hdfs(
    hdfs: HdfsServer,
    hive: HiveServer,
    hive_client: HiveClient,
    differential: Differential,
    dbt_project: DbtProject,
    database: str,
) -> None:
    hive_client.script(
        f"""
        CREATE TABLE orders (id int, amount int) PARTITIONED BY (`the day` string)
          STORED AS ORC LOCATION '{hdfs.uri}/warehouse/{database}/orders'
          TBLPROPERTIES ('transactional'='true');
        INSERT INTO orders VALUES (1, 10, 'may 1'), (2, 20, 'may 1'), (3, 30, 'a/b%'), (4, 40, 'ü');
        UPDATE orders SET amount = 11 WHERE id = 1;
        DELETE FROM orders WHERE id = 3;
        CREATE TABLE events (id int) STORED AS PARQUET
          LOCATION '{hdfs.uri}/warehouse/{database}/events'
          TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only');
        INSERT INTO events VALUES (1), (2);
        """
    )
    name = TableName(database, "orders")
    with MetastoreClient(hive.metastore_uri) as metastore:
        table = metastore.get_table(name)
        partitions = {p.storage.location for p in metastore.get_partitions(name)}
    root = f"{hdfs.uri}/warehouse/{database}/orders"
    assert table.storage.location == root
    assert f"{root}/the day=may 1" in partitions

    differential.check(str(name), where="`the day` = 'may 1'")
    differential.check(f"{database}.events")
    # The cleaner must be done with this file system before it goes.
    hive_client.compact("orders", "major", "`the day`='may 1'", cleaned=True)
    compacted = differential.check(str(name))
    assert any(directory.startswith("the day=may 1/base_") for directory in compacted.directories)

    dbt_project.sources("orders", "events")
    dbt_project.models(
        joined="select o.id, amount, `the day` as day from {{ source('shop', 'orders') }} o"
        " join {{ source('shop', 'events') }} e on o.id = e.id"
    )
    dbt_project.succeed("run")
    assert rows(hive_client, "joined") == [(1, 11, "may 1"), (2, 20, "may 1")]
