"""Tables whose files lie on another file system than the local one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hiveacid.errors import UnreadableTableError
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from integration.support.changes import Changes, Story
from integration.support.dbt_project import DbtProject
from integration.support.differential import Differential
from integration.support.hive import HiveClient, HiveServer
from integration.support.hive.hdfs import HdfsServer
from integration.support.hive.streaming import Batch
from integration.support.incremental import BY_KEY, BY_ROW_ID, ORDERS, Incremental
from integration.support.tables import FULL_ACID, INSERT_ONLY
from integration.test_dbt_run import rows


@pytest.fixture(scope="module")
def hdfs() -> Iterator[HdfsServer]:
    """An HDFS beside the shared Hive."""
    with HdfsServer() as server:
        yield server


@pytest.mark.long("starts an HDFS and a Hive on it")
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


@pytest.mark.long("starts an HDFS and a Hive on it")
def test_files_under_construction_on_hdfs(
    hdfs: HdfsServer,
    hive_client: HiveClient,
    differential: Differential,
    database: str,
    tmp_path: Path,
) -> None:
    """The name node does not know how long they are: each reader asks for itself."""
    table = f"{database}.streamed"
    root = f"/warehouse/{database}/streamed"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, v string) STORED AS ORC LOCATION '{hdfs.uri}{root}' "
        f"TBLPROPERTIES ({FULL_ACID})"
    )
    for _ in range(3):
        hive_client.execute(f"INSERT INTO {table} VALUES (0, 'x')")
    (tmp_path / "delta").mkdir()
    batch = Batch(tmp_path / "delta")
    length = batch.write(2)
    batch.flushed(0, length)
    delta = f"{root}/delta_0000001_0000003"
    streams = [
        hdfs.write_open(f"{delta}/bucket_00000", batch.file.read_bytes() + b"no footer yet"),
        hdfs.write_open(f"{delta}/bucket_00000_flush_length", batch.side_file.read_bytes()),
    ]
    assert len(differential.check(table, where="id > 11").rows) == 4
    story = Story(Changes(differential), hive_client, table)
    story.remember("under construction")
    story.then("DELETE FROM {t} WHERE id = 11")
    for stream in streams:
        stream.close()
    story.then(lambda: None)


@pytest.mark.long("starts an HDFS and a Hive on it")
def test_directories_as_hive_4_lists_them_on_hdfs(
    hdfs: HdfsServer, hive_client: HiveClient, differential: Differential, database: str
) -> None:
    """For full-ACID tables it lists directories there, for insert-only tables files."""
    for name, properties in (("full_acid", FULL_ACID), ("insert_only", INSERT_ONLY)):
        is_full_acid = name == "full_acid"
        table, root = f"{database}.{name}", f"/warehouse/{database}/{name}"
        hive_client.execute(
            f"CREATE TABLE {table} (id int) STORED AS ORC LOCATION '{hdfs.uri}{root}' "
            f"TBLPROPERTIES ({properties})"
        )
        for i in (1, 2):
            hive_client.execute(f"INSERT INTO {table} VALUES ({i})")
        hdfs.write_open(f"{root}/delta_0000001_0000002/_empty", b"").close()
        shown = differential.check(table).rows
        assert sorted(shown) == ([] if is_full_acid else [(1,), (2,)])

        below = f"{database}.below_{name}"
        hive_client.execute(
            f"CREATE TABLE {below} (id int) STORED AS ORC "
            f"LOCATION '{hdfs.uri}/warehouse/{database}/_priv/{name}' "
            f"TBLPROPERTIES ({properties})"
        )
        hive_client.execute(f"INSERT INTO {below} VALUES (1)")
        if is_full_acid:
            assert differential.check(below).rows == [(1,)]
        else:
            assert differential.shown(below) == []
            with pytest.raises(UnreadableTableError, match="the name _priv in the path"):
                differential.read(below)


@pytest.mark.long("starts an HDFS and a Hive on it")
def test_targets_on_hdfs(hdfs: HdfsServer, incremental: Incremental) -> None:
    hive, database = incremental.hive, incremental.database
    root = f"location_root='{hdfs.uri}/targets/{database}'"
    models = {
        "by_key": BY_KEY.replace("unique_key", f"{root}, unique_key"),
        "by_parts": BY_KEY.replace("unique_key", f"{root}, partition_by=['status'], unique_key"),
        "by_id": BY_ROW_ID.replace("file_format='delta'", f"file_format='orc', {root}"),
    }
    hive.script(ORDERS.format(clause=""))
    hive.execute("INSERT INTO orders VALUES (1, 10, 'new'), (2, 20, 'a b/c%'), (3, 30, 'new')")
    incremental.project.sources("orders")
    incremental.project.models(**models)

    def step(*statements: str) -> set[str]:
        for statement in statements:
            hive.execute(statement)
        messages = set(incremental.run().values())
        incremental.assert_like_hive(models)
        return messages

    step()
    step(
        "INSERT INTO orders VALUES (4, 40, 'new')",
        "UPDATE orders SET amount = 21 WHERE id = 2",
        "DELETE FROM orders WHERE id = 3",
    )
    step("INSERT INTO orders VALUES (5, 50, 'other')")
    assert step() == {"OK, no changes"}
    assert incremental.warnings == []
    locations = incremental.spark.newSession()
    for model in models:
        described = locations.sql(f"describe formatted {incremental.table(model)}").collect()
        place = next(row.data_type for row in described if row.col_name == "Location")
        assert place.startswith(f"{hdfs.uri}/targets/{database}/"), model
