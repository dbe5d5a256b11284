"""What hides a read of an ACID table, on tables that Hive has written: refused, or right."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

import hiveacid
from hiveacid import Snapshot
from hiveacid.errors import AcidTargetError, RawAcidReferenceError, UnreadableTableError
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from hiveacid.reader import deletes
from integration.support.dbt_project import DbtProject, node_results
from integration.support.differential import canonical
from integration.support.hive import HiveClient, HiveServer
from integration.support.ungated import ungated

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"

FUNCTIONS = """
CREATE FUNCTION {database}.highest() RETURNS int RETURN (SELECT max(id) FROM {database}.orders);
CREATE FUNCTION {database}.above(x int) RETURNS boolean RETURN x > {database}.highest();
CREATE FUNCTION {database}.of_day(d string) RETURNS TABLE (id int)
  RETURN SELECT id FROM {database}.orders WHERE day = d;
CREATE FUNCTION {database}.five() RETURNS int RETURN (SELECT max(id) FROM {database}.orders);
CREATE FUNCTION default.five() RETURNS int RETURN 5;
CREATE VIEW {database}.same AS SELECT id FROM {database}.orders;
CREATE FUNCTION {database}.same() RETURNS int RETURN (SELECT max(id) FROM {database}.same);
CREATE VIEW {database}.by_function AS SELECT {database}.highest() AS m;
CREATE VIEW {database}.by_table_function AS SELECT * FROM of_day('a');
CREATE VIEW {database}.harmless AS SELECT default.five() AS n
"""
MANY = ", ".join(map(str, range(1, 13)))


@pytest.fixture
def orders(hive_client: HiveClient, database: str) -> str:
    """A partitioned table with an update and a delete."""
    hive_client.script(
        f"""
        CREATE TABLE {database}.orders (id int, amount int COMMENT 'in cents')
          PARTITIONED BY (day string) {ACID};
        INSERT INTO {database}.orders VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b');
        UPDATE {database}.orders SET amount = 11 WHERE id = 1;
        DELETE FROM {database}.orders WHERE id = 3
        """
    )
    return f"{database}.orders"


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    return spark.newSession()


@pytest.fixture
def snapshot(hive: HiveServer, session: SparkSession, orders: str) -> Iterator[Snapshot]:
    with hiveacid.snapshot(session, hive.metastore_uri, [orders]) as taken:
        yield taken


def location(hive: HiveServer, orders: str) -> str:
    with MetastoreClient(hive.metastore_uri, timeout=30) as client:
        return client.get_table(TableName.parse(orders)).storage.location


def test_functions_over_an_acid_table_are_refused(
    dbt_project: DbtProject,
    session: SparkSession,
    snapshot: Snapshot,
    orders: str,
    database: str,
) -> None:
    session.sql(f"use {database}")
    with ungated(session):
        for sql in FUNCTIONS.format(database=database).split(";"):
            session.sql(sql)
    # An earlier check read the calls out of a plan's text, which these settings cut.
    session.conf.set("spark.sql.maxPlanStringLength", "200")
    session.conf.set("spark.sql.debug.maxToStringFields", "2")
    try:
        for sql in (
            "select * from by_function",
            "select * from by_table_function",
            "select same()",
            f"select struct({MANY}, highest())",
            f"select {database}.highest()",
            f"select * from values (1) t(x) where {database}.above(x)",
            "select * from of_day('a')",
            f"select {database}.above(id) from {orders}",
        ):
            with pytest.raises(RawAcidReferenceError, match=f"HIVEACID_RAW_TABLE.*{orders}$"):
                snapshot.sql(sql)
        dbt_project.models(by_function=f"select * from {database}.by_function")
        (node,) = node_results(dbt_project.invoke("run"))
        assert "[HIVEACID_RAW_TABLE]" in node.message
        assert snapshot.sql("select n from harmless").first() == (5,)
    finally:
        session.sql("use default")
        session.sql("drop function default.five")
        for name in ("above", "five", "highest", "of_day", "same"):
            session.sql(f"drop function {database}.{name}")


def test_texts_that_only_look_as_if_they_hid_a_table(
    session: SparkSession, snapshot: Snapshot, orders: str
) -> None:
    assert sorted(snapshot.sql(f"select identifier('id') from {orders}").collect()) == [(1,), (2,)]
    with pytest.raises(PySparkException, match="HIVEACID_RAW_TABLE"):
        snapshot.table(orders).filter(f"id in (select id from {orders})")


def test_paths_into_an_acid_table_are_refused(
    hive: HiveServer, session: SparkSession, snapshot: Snapshot, orders: str, database: str
) -> None:
    root = location(hive, orders)
    for path in (
        root,
        f"{root}/day=a",
        f"{root}/day=*",
        f"{root}/day=a/delta_0000001_0000001_0000",
    ):
        for sql in (
            "select * from orc.`{path}`",
            "select * from binaryFile.`{path}`",
            "create table {database}.t using orc location '{path}'",
            "create temporary view t using orc options (path '{path}')",
            "insert overwrite directory '{path}' using orc select 1 as id",
            "create database {database}_more location '{path}'",
        ):
            with pytest.raises(
                RawAcidReferenceError,
                match=f"where a transactional Hive table has its rows .{root}",
            ):
                snapshot.sql(sql.format(path=path, database=database))


def test_what_spark_may_do_with_an_acid_table(
    session: SparkSession, snapshot: Snapshot, hive_client: HiveClient, orders: str, database: str
) -> None:
    expected = sorted(hive_client.query(f"SELECT id, amount, day FROM {orders}"))

    def rows(sql: str) -> list[tuple[object, ...]]:
        return sorted(tuple(row) for row in snapshot.sql(sql).collect())

    # What is cached are the rows of the snapshot.
    snapshot.sql(f"cache table {orders}")
    assert rows(f"select * from {orders}") == expected
    snapshot.sql(f"uncache table {orders}")
    snapshot.sql(f"refresh table {orders}")
    assert rows(f"show partitions {orders}") == [("day=a",), ("day=b",)]
    snapshot.sql(f"create table {database}.alike like {orders} using parquet")
    assert rows(f"select * from {database}.alike") == []
    assert rows(f"select * from {orders}") == expected
    for command in ("", " for all columns"):
        with pytest.raises(AcidTargetError, match="Run it in Hive"):
            snapshot.sql(f"analyze table {orders} compute statistics{command}")
    properties = {row[0]: row[1] for row in session.sql(f"show tblproperties {orders}").collect()}
    assert not [key for key in properties if key.startswith("spark.sql.statistics")]


def test_files_of_rows_are_those_of_hive(
    hive: HiveServer,
    snapshot: Snapshot,
    hive_client: HiveClient,
    orders: str,
    session: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = hive_client.query(f"SELECT id, INPUT__FILE__NAME FROM {orders}")
    rows = snapshot.sql(f"select id, input_file_name() from {orders}").collect()
    shown = [(id, name.replace("file:///", "file:/")) for id, name in rows]
    assert canonical(shown) == canonical(expected)
    # Deletes that are too many for bitmaps are a second source of files: an error, no wrong name.
    monkeypatch.setattr(deletes, "_MAX_BLOCKS", 0)
    with (
        hiveacid.snapshot(session, hive.metastore_uri, [orders]) as joining,
        pytest.raises(AnalysisException, match="MULTI_SOURCES_UNSUPPORTED_FOR_EXPRESSION"),
    ):
        joining.sql(f"select id, input_file_name() from {orders}").collect()


def test_the_metadata_column_of_spark_is_refused_by_name(
    dbt_project: DbtProject, snapshot: Snapshot, orders: str, database: str
) -> None:
    for sql in (
        f"select id, _metadata.file_name from {orders}",
        f"select o._metadata from {orders} o where o.id > 1",
        f"select 1 where exists (select _METADATA.file_path from {orders})",
        f"create view {database}.files as select _metadata.file_size as size from {orders}",
        f"create table {database}.files using parquet as select _metadata as m from {orders}",
    ):
        with pytest.raises(UnreadableTableError) as error:
            snapshot.sql(sql)
        assert error.value.code == "HIVEACID_METADATA_COLUMN"
        assert re.search(rf"reads \S*_metadata.*{orders}", error.value.message, re.I), sql
    with pytest.raises(AnalysisException, match="UNRESOLVED_COLUMN.*metadata"):
        snapshot.sql(f"select metadata from {orders}")
    dbt_project.models(files=f"select _metadata.file_name as f from {orders}")
    (node,) = node_results(dbt_project.invoke("run"))
    assert "[HIVEACID_METADATA_COLUMN] The statement reads _metadata.file_name" in node.message


IN_SQL = """
def model(dbt, session):
    seen = session.sql("select count(*) as n from {orders}").first().n
    assert session.sql("select * from {{o}} where id > 1", o=session.table("{orders}")).count() == 1
    assert spark.read.table("{orders}").where("day = 'b'").count() == 0
    assert spark.read.option("partitions", '{{"day": ["b"]}}').table("{orders}").count() == 0
    session.sql("create temporary view mine as select id from {orders}")
    assert session.table("mine").count() == seen
    new = session.createDataFrame([(5, 5, "a")], "id int, amount int, day string")
    for use in (
        lambda: session.readStream.table("{orders}"),
        lambda: new.write.insertInto("{orders}"),
        lambda: new.write.mode("overwrite").insertInto("{orders}"),
        lambda: new.write.mode("overwrite").saveAsTable("{orders}"),
    ):
        try:
            use()
        except Exception as error:
            assert "HIVEACID_RAW_TABLE" in str(error), error
        else:
            raise AssertionError("Spark alone has used the table")
    assert session.createDataFrame([(1,)], "id int").sparkSession.table("{orders}").count() == seen
    more = session.sql("select id from {orders} where id > :id", args={{"id": 1}})
    again = session.sql("select id from {{o}} where id > ?", [1], o=session.table("{orders}"))
    assert more.count() == again.count() == 1
    return session.sql("select id, amount, day from {orders}")
"""


def test_sql_in_a_python_model_reads_the_snapshot(
    dbt_project: DbtProject, hive_client: HiveClient, orders: str, session: SparkSession
) -> None:
    expected = sorted(hive_client.query(f"SELECT id, amount, day FROM {orders}"))
    dbt_project.write("models/in_sql.py", IN_SQL.format(orders=orders))
    (node,) = node_results(dbt_project.succeed("run", "--select", "in_sql"))
    written = session.table(f"{dbt_project.database}.in_sql").collect()
    assert sorted(map(tuple, written)) == expected
    assert node.adapter_response["snapshot"] == {orders: 3}


def test_a_query_of_freshness_reads_the_partitions_of_its_source(
    dbt_project: DbtProject, hive_client: HiveClient, database: str
) -> None:
    hive_client.script(
        f"""
        CREATE TABLE {database}.visits (at timestamp) PARTITIONED BY (day string) {ACID};
        INSERT INTO {database}.visits VALUES ('2024-01-01 10:00:00', 'a'),
          ('2024-01-02 10:00:00', 'b')
        """
    )
    tables = [
        {
            "name": "visits",
            "loaded_at_query": "select max(v.at) from {{ this }} v",
            "config": {
                "freshness": {"warn_after": {"count": 1, "period": "day"}},
                "hiveacid": {"partitions": {"day": "a"}},
            },
        }
    ]
    dbt_project.sources(tables=tables)
    (result,) = node_results(dbt_project.invoke("source", "freshness"))
    assert result.max_loaded_at.strftime("%Y-%m-%d %H:%M:%S") == "2024-01-01 10:00:00"
