"""What is not as Hive 3 or later writes it is refused by name, whatever Hive itself makes of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyorc
import pytest
from dbt_common.events.base_types import EventMsg
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from hiveacid.changes.plan import plan_changes
from hiveacid.errors import UnreadableTableError
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from hiveacid.reader.last_write import find_last_write
from hiveacid.reader.read import plan_read
from integration.support.dbt_project import DbtProject, finished, node_results
from integration.support.differential import Differential
from integration.support.hive import HiveClient, HiveServer, HiveSqlError
from integration.support.tables import INSERT_ONLY

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"
ACID_FILE = (
    "struct<operation:int,originalTransaction:bigint,bucket:int,rowId:bigint,"
    "currentTransaction:bigint,row:struct<id:int>>"
)

MakeTable = Callable[[str], Path]


@pytest.fixture
def make_table(hive: HiveServer, hive_client: HiveClient, database: str) -> MakeTable:
    """Makes a table with one row, and gives the directory of its only delta."""

    def make(name: str) -> Path:
        hive_client.execute(f"CREATE TABLE {name} (id int) {ACID}")
        hive_client.execute(f"INSERT INTO {name} VALUES (1)")
        with MetastoreClient(hive.metastore_uri, timeout=30) as client:
            uri = client.get_table(TableName(database, name)).storage.location
        return Path(uri.removeprefix("file:")) / "delta_0000001_0000001_0000"

    return make


def refusal(differential: Differential, table: str) -> str:
    """The message with which the reader refuses a table."""
    with pytest.raises(UnreadableTableError) as refused:
        differential.read(table)
    return refused.value.message


def test_files_and_directories_that_hive_3_does_not_write(
    differential: Differential, make_table: MakeTable, database: str
) -> None:
    delta = make_table("hive_2")
    table = f"{database}.hive_2"
    # Hive's own file says its version itself.
    (delta / "_orc_acid_version").unlink()
    assert len(differential.check(table).rows) == 1
    (delta / ".bucket_00000_0.crc").unlink()
    with (
        (delta / "bucket_00000_0").open("wb") as file,
        pyorc.Writer(file, ACID_FILE) as writer,
    ):
        writer.write((1, 1, 536870912, 0, 1, (1,)))
    why = (
        f"{table} cannot be read: file:{delta}/bucket_00000_0 has updates or deletes in the format"
    )
    assert why in refusal(differential, table)
    (delta / "_orc_acid_version").write_text("1")
    assert f"file:{delta}/_orc_acid_version cannot be read: " in refusal(differential, table)
    (delta / "._orc_acid_version.crc").unlink()
    assert why in refusal(differential, table)
    (delta / "_orc_acid_version").write_text("2")
    assert len(differential.check(table).rows) == 1

    delta = make_table("copied")
    shutil.copytree(delta, delta.with_name(f"{delta.name}_copy"))
    with pytest.raises(HiveSqlError, match='NumberFormatException: For input string: "0000_copy"'):
        differential.client.query(f"SELECT * FROM {database}.copied")
    assert (
        "cannot be read: it has a directory that Hive did not create: "
        f"'{delta.name}_copy' looks like the name of an ACID directory, but is not one. Move the "
        "directory"
    ) in refusal(differential, f"{database}.copied")

    delta = make_table("renamed")
    (delta / "bucket_00000_0").rename(delta / "part-00000.orc")
    assert f"file:{delta}/part-00000.orc is not named as an ACID file" in refusal(
        differential, f"{database}.renamed"
    )

    delta = make_table("beside")
    odd = delta.with_name("part-00000.orc")
    with odd.open("wb") as file, pyorc.Writer(file, "struct<id:int>") as writer:
        writer.write((2,))
    with pytest.raises(HiveSqlError, match="Bucket ID out of range: -1"):
        differential.client.query(f"SELECT * FROM {database}.beside")
    assert f"the name of file:{odd} has no bucket number" in refusal(
        differential, f"{database}.beside"
    )

    delta = make_table("streamed")
    table = f"{database}.streamed"
    side_file = delta / "bucket_00000_0_flush_length"
    side_file.write_bytes(bytes(8))
    assert len(differential.check(table).rows) == 1
    batch = delta.rename(delta.with_name("delta_0000001_0000003"))
    (batch / side_file.name).unlink()
    (batch / "sub").mkdir()
    shutil.copy(batch / "bucket_00000_0", batch / "sub" / "bucket_00000_0")
    assert f"{batch}/sub/bucket_00000_0 is in a directory inside {batch.name}" in refusal(
        differential, table
    )


def test_files_that_are_damaged(
    differential: Differential, make_table: MakeTable, database: str
) -> None:
    delta = make_table("truncated")
    file = delta / "bucket_00000_0"
    content = file.read_bytes()
    (delta / ".bucket_00000_0.crc").unlink()
    file.write_bytes(content[: len(content) // 2])
    with pytest.raises(HiveSqlError, match="ORC split generation failed"):
        differential.client.query(f"SELECT * FROM {database}.truncated")
    message = refusal(differential, f"{database}.truncated")
    assert message.startswith(f"file:{file} ({len(content) // 2} bytes) cannot be read as ORC: ")
    # The footer is whole, the stripe is not.
    file.write_bytes(content)
    with file.open("rb") as opened:
        stripe = pyorc.Reader(opened).read_stripe(0)
        start, end = stripe.bytes_offset, stripe.bytes_offset + stripe.bytes_length
    file.write_bytes(content[:start] + bytes(end - start) + content[end:])
    with pytest.raises(Py4JJavaError) as failed:
        differential.read(f"{database}.truncated")
    assert f"Encountered error while reading file file://{file}." in str(failed.value)


@pytest.mark.parametrize("format", ["PARQUET", "AVRO"])
def test_damaged_files_of_insert_only_tables(
    differential: Differential,
    hive: HiveServer,
    hive_client: HiveClient,
    database: str,
    format: str,
) -> None:
    table = f"{database}.damaged"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, at timestamp) STORED AS {format} "
        f"TBLPROPERTIES ({INSERT_ONLY})"
    )
    hive_client.execute(f"INSERT INTO {table} VALUES (1, '2026-01-01 00:00:00')")
    delta = hive.warehouse / f"{database}.db" / "damaged" / "delta_0000001_0000001_0000"
    file = delta / "000000_0"
    content = file.read_bytes()
    (delta / ".000000_0.crc").unlink()
    file.write_bytes(content[: len(content) // 2])
    with pytest.raises(HiveSqlError):
        hive_client.query(f"SELECT * FROM {table}")
    assert refusal(differential, table).startswith(
        f"file:{file} ({len(content) // 2} bytes) cannot be read as {format.lower()}: "
    )


def test_a_file_that_is_none_of_the_tables(
    differential: Differential, make_table: MakeTable, database: str
) -> None:
    delta = make_table("noted")
    note = delta.with_name("notes.txt")
    note.write_text("Do not touch.")
    assert f"file:{note} (13 bytes) cannot be read as ORC: " in refusal(
        differential, f"{database}.noted"
    )
    # What is hidden from Hive means nothing.
    note.rename(note.with_name("_notes.txt"))
    assert len(differential.check(f"{database}.noted").rows) == 1


def test_a_file_that_vanishes(
    dbt_project: DbtProject, make_table: MakeTable, database: str
) -> None:
    moved = {name: make_table(name) / "bucket_00000_0" for name in ("planned", "running")}
    dbt_project.sources(*moved)
    dbt_project.models(
        early="select * from {{ source('shop', 'planned') }}",
        late="-- depends_on: {{ ref('early') }}\nselect * from {{ source('shop', 'planned') }}",
        during='{{ config(pre_hook="create temporary view seen as select * from '
        "{{ source('shop', 'running') }}\") }} select * from seen",
    )

    def remove(event: EventMsg) -> None:
        if finished(event, "early"):
            moved["planned"].unlink()
        if event.info.name == "SQLQuery" and "select * from seen" in event.data.sql:
            moved["running"].unlink(missing_ok=True)

    result = dbt_project.invoke("run", on_event=remove)
    messages = {node.node.name: str(node.message) for node in node_results(result)}
    transaction = next(
        node.adapter_response["transaction_id"]
        for node in node_results(result)
        if node.node.name == "early"
    )
    cleaner = (
        f"The transaction {transaction}, which holds this run's snapshot, is still open, and "
        "Hive's cleaner keeps what it may read, but not the files of earlier instants"
    )
    assert f"file:{moved['planned']} was in the plan of the read, and is gone." in messages["late"]
    assert f"{moved['running']}" in messages["during"]
    assert cleaner in messages["late"] and cleaner in messages["during"]


def test_a_table_of_a_storage_handler(
    dbt_project: DbtProject, hive_client: HiveClient, database: str
) -> None:
    """One that is transactional: others are left to Spark, as any table is."""
    handler = "org.apache.hadoop.hive.ql.metadata.DefaultStorageHandler"
    hive_client.script(
        f"""
        CREATE TABLE handled (id int) {ACID};
        ALTER TABLE handled SET TBLPROPERTIES ('storage_handler'='{handler}');
        """
    )
    dbt_project.sources("handled")
    dbt_project.models(copied="select * from {{ source('shop', 'handled') }}")
    (node,) = node_results(dbt_project.invoke("run"))
    assert f"{database}.handled is kept by the storage handler {handler}, whose rows are" in str(
        node.message
    )


def test_a_partition_of_a_full_acid_table_that_is_not_orc(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    hive_client.script(
        """
        CREATE TABLE mixed (id int) PARTITIONED BY (p int) STORED AS PARQUET
          TBLPROPERTIES ('transactional'='false');
        INSERT INTO mixed PARTITION (p=2) VALUES (2);
        ALTER TABLE mixed SET FILEFORMAT ORC;
        ALTER TABLE mixed SET TBLPROPERTIES ('transactional'='true', 'EXTERNAL'='FALSE');
        INSERT INTO mixed PARTITION (p=1) VALUES (1);
        """
    )
    table = f"{database}.mixed"
    assert sorted(hive_client.query(f"SELECT * FROM {table}")) == [(1, 1), (2, 2)]
    with pytest.raises(HiveSqlError, match="IllegalStateException"):
        hive_client.query(f"SELECT count(*) FROM {table}")
    message = refusal(differential, table)
    assert message.startswith(f"{table} has a partition in file:")
    assert "/mixed/p=2 that is full ACID but not stored as ORC (org.apache.hadoop.hive" in message


def test_views_of_hive(
    tmp_path: Path,
    hive: HiveServer,
    spark: SparkSession,
    hive_client: HiveClient,
    make_table: MakeTable,
    database: str,
) -> None:
    make_table("orders")
    hive_client.script(
        f"""
        CREATE VIEW order_ids AS SELECT id FROM {database}.orders;
        CREATE MATERIALIZED VIEW stored_ids {ACID} AS SELECT id FROM {database}.orders;
        """
    )
    # Spark cannot list the tables of a database with a materialized view.
    project = DbtProject(tmp_path / "project", hive, database, schema="default")
    project.sources("order_ids", "stored_ids")
    project.models(
        of_view="select * from {{ source('shop', 'order_ids') }}",
        of_stored="select * from {{ source('shop', 'stored_ids') }}",
    )
    result = project.invoke("run")
    messages = {node.node.name: str(node.message) for node in node_results(result)}
    assert messages["of_view"] == "OK, 1 row"
    assert messages["of_stored"] == "OK, 1 row"


def test_directories_that_do_not_exist(
    differential: Differential,
    make_table: MakeTable,
    hive_client: HiveClient,
    database: str,
) -> None:
    table, spark, footers = f"{database}.nowhere", differential.spark, differential.footers
    location = make_table("nowhere").parent
    away = location.rename(location.with_name("away"))
    with differential.pinned(table) as pinned:
        valid_txns = pinned.valid_txns
        for ask in (
            lambda: plan_read(spark, pinned, footers),
            lambda: plan_changes(spark, pinned, None, footers),
            lambda: find_last_write(spark, lambda: pinned, lambda: valid_txns, footers),
        ):
            with pytest.raises(UnreadableTableError, match=f"file:{location} does not exist for S"):
                ask()
    away.rename(location)
    hive_client.execute(f"ALTER TABLE {table} RENAME TO {database}.renamed")
    assert differential.check(f"{database}.renamed").rows == [(1,)]

    hive_client.execute(f"CREATE TABLE unwritten (id int) {ACID}")
    (location.with_name("unwritten")).rmdir()
    assert differential.read(f"{database}.unwritten").rows == []

    hive_client.execute(f"CREATE TABLE parted (id int) PARTITIONED BY (p int) {ACID}")
    hive_client.execute("INSERT INTO parted VALUES (1, 1), (2, 2)")
    first = location.with_name("parted") / "p=1"
    shutil.rmtree(first)
    # Hive shows the same, with a warning in its log for which the tests' client refuses the answer.
    read = differential.read(f"{database}.parted")
    assert (read.rows, read.plan.missing) == ([(2, 2)], (f"file:{first}",))
    hive_client.execute("ALTER TABLE parted DROP PARTITION (p > 0)")
    assert differential.check(f"{database}.parted").rows == []


@pytest.mark.long("asks Hive alone, for the documents")
def test_what_hive_makes_of_what_is_refused(
    differential: Differential, hive: HiveServer, make_table: MakeTable, database: str
) -> None:
    """Hive's answers in docs/troubleshooting.md, where no other test has them."""
    client, warehouse = differential.client, hive.warehouse / f"{database}.db"

    def add_row(table: str) -> None:
        client.execute(f"INSERT INTO {table} VALUES (2)")

    def write(path: Path, *ids: int) -> None:
        path.parent.mkdir(exist_ok=True)
        with path.open("wb") as file, pyorc.Writer(file, "struct<id:int>") as writer:
            writer.writerows((i,) for i in ids)

    def shows(table: str) -> list[Any]:
        """The rows that Hive shows of a refused table, and how many it counts; or its errors."""
        refusal(differential, f"{database}.{table}")
        answers: list[Any] = []
        for what in ("*", "count(*)"):
            try:
                answers.append(sorted(client.query(f"SELECT {what} FROM {database}.{table}")))
            except HiveSqlError as error:
                answers.append(str(error))
        return answers

    delta = make_table("renamed")
    (delta / "bucket_00000_0").rename(delta / "part-00000.orc")
    assert shows("renamed") == [[], [(0,)]]

    delta = make_table("raw_deletes")
    add_row("raw_deletes")
    write(delta.with_name("delete_delta_0000002_0000002_0000") / "bucket_00000", 1)
    assert "ArrayIndexOutOfBoundsException" in str(shows("raw_deletes"))

    delta = make_table("wide")
    add_row("wide")
    write(delta.with_name("delta_0000001_0000002") / "000000_0", 5)
    assert shows("wide") == [[], [(0,)]]

    delta = make_table("outside")
    shutil.copy(delta / "bucket_00000_0", delta.with_name("000000_0"))
    assert shows("outside") == [[(0,), (1,)], [(2,)]]

    delta = make_table("inside")
    shutil.copytree(delta, delta.parent / "sub" / delta.name)
    assert shows("inside") == [[(1,), (1,)], [(2,)]]

    delta = make_table("metadata")
    base = shutil.copytree(delta, delta.with_name("base_0000001"))
    (base / "_metadata_acid").write_text("{")
    assert str(shows("metadata")).count("JsonEOFException") == 2

    client.execute(f"CREATE TABLE insert_only (id int) STORED AS ORC TBLPROPERTIES ({INSERT_ONLY})")
    client.execute("INSERT INTO insert_only VALUES (1)")
    delta = warehouse / "insert_only" / "delta_0000001_0000001_0000"
    shutil.copytree(delta, delta.with_name(f"delete_{delta.name}"))
    assert shows("insert_only") == [[(1,), (1,)], [(2,)]]

    client.execute(f"CREATE TABLE parts (id int) PARTITIONED BY (p int) {ACID}")
    client.execute("INSERT INTO parts VALUES (1, 1), (2, 2)")
    client.execute(f"ALTER TABLE parts PARTITION (p=2) SET LOCATION 'file:{warehouse}/parts/p=1'")
    assert shows("parts") == [[(1, 1), (1, 2)], [(1,)]]

    client.execute(
        f"CREATE TABLE pattern (id int) STORED AS SEQUENCEFILE LOCATION 'file:{warehouse}/{{a,b}}' "
        f"TBLPROPERTIES ({INSERT_ONLY})"
    )
    client.execute("INSERT INTO pattern VALUES (1)")
    rows, count = shows("pattern")
    # The tests' client refuses an answer without rows where it sees in Hive's log why it is none.
    assert rows == [] or "takes what it cannot list for empty" in rows
    assert "matches 0 files" in count

    client.execute(f"CREATE TABLE unnamed (`_col0` int, `_col1` int) {ACID}")
    client.execute("INSERT INTO unnamed VALUES (1, 2)")
    assert shows("unnamed") == [[(1, 2)], [(1,)]]

    for columns, error in {
        "i interval_day_time) STORED AS ORC": "cannot recognize input near 'interval_day_time'",
        "u uniontype<int,string>) STORED AS PARQUET": "Unknown field type",
        f"a {'array<' * 8}int{'>' * 8}) STORED AS TEXTFILE": "Number of levels of nesting",
    }.items():
        with pytest.raises(HiveSqlError, match=error):
            client.execute(f"CREATE TABLE refused ({columns} TBLPROPERTIES ({INSERT_ONLY})")
