"""Transactional tables of a statement are found, and are not changed by Spark, by whatever way."""

import threading

import pytest

from dbt.adapters.hiveacid.spark.guard import is_plain_table
from dbt.adapters.hiveacid.spark.session import SessionHandle
from hiveacid.errors import AcidTargetError, RawAcidReferenceError
from hiveacid.metastore.models import HiveSql, TableName
from hiveacid.sql import names
from hiveacid.sql.catalog import table_metadata
from hiveacid.sql.reads import tables_of
from hiveacid.sql.refusals import refuse_acid_in_schema
from hiveacid.sql.relations import find_acid, guarded_view
from hiveacid.sql.statement import parse
from integration.support.ungated import ungated


@pytest.fixture(scope="module")
def session(spark):
    session = SessionHandle(spark, {}).session
    with ungated(session):
        for sql in (
            "create database guard",
            "create table guard.plain (i int) using parquet",
            "create table guard.acid (i int) clustered by (i) into 2 buckets stored as orc "
            "tblproperties ('transactional' = 'true')",
            "use guard",
            "create view guard.over_acid as select i from acid",
            "create view guard.over_plain as select * from guard.plain",
            "create view guard.over_view as with x as (select 1 as i) "
            "select p.i from guard.over_plain p where p.i in (select i from over_acid)",
            "use default",
            "create view guard.over_hidden as select * from identifier('guard.' || 'acid')",
            "create temporary view acid as select 1 as i",
        ):
            session.sql(sql)
    yield session
    session.sql("drop database guard cascade")


class Known:
    """Tables that another metastore than Spark's has."""

    def __init__(self, *names):
        self.names = {TableName(*name) for name in names}

    def has(self, name, *, in_spark):
        return name in self.names

    def is_declared(self, name):
        return name in self.names

    def hive_view(self, name, *, in_spark):
        return None

    def hive_sql(self):
        return HiveSql("4.0.1", nulls_last=True)


def found(session, sql, known=None):
    """The transactional tables that a statement reads, each with the views on the way to it."""
    reads = find_acid(session, parse(session, sql), known or Known())
    return [(str(read.table), read.path) for read in tables_of(reads)]


ACID = ("guard.acid", ())


@pytest.mark.parametrize(
    "sql",
    [
        "select * from guard.acid",
        "select * from Guard.ACID",
        "select * from spark_catalog.guard.acid",
        "select * from guard.plain where i in (select i from guard.acid)",
        "create table t using parquet as with x as (select * from guard.acid) select * from x",
        "create view v as select * from guard.acid",
        "create temporary view v as select * from guard.acid",
        "insert into guard.plain select * from guard.acid",
        "merge into guard.plain p using guard.acid a on p.i = a.i when matched then delete",
        "explain select * from guard.acid",
        "select * from guard.acid version as of 3",
    ],
)
def test_a_transactional_table_is_found(session, sql):
    assert found(session, sql) == [ACID]


@pytest.mark.parametrize(
    "view, path",
    [
        ("over_acid", ("guard.over_acid",)),
        ("over_view", ("guard.over_view", "guard.over_acid")),
    ],
)
def test_views_are_followed(session, view, path):
    assert found(session, f"select count(*) from guard.{view}") == [("guard.acid", path)]


def test_a_table_of_another_metastore_is_found_if_spark_has_none(session):
    known = Known(("guard", "elsewhere"), ("guard", "plain"))
    assert found(session, "select * from guard.elsewhere", known) == [("guard.elsewhere", ())]
    assert found(session, "select * from guard.over_plain") == []
    with pytest.raises(RawAcidReferenceError, match="guard.plain is a transactional table in the"):
        found(session, "select * from guard.plain", known)


def test_an_unqualified_name_is_looked_up_in_the_current_database(session):
    session.sql("use guard")
    try:
        assert found(session, "select * from plain") == []
        assert found(session, "select * from over_acid") == [("guard.acid", ("guard.over_acid",))]
    finally:
        session.sql("use default")


@pytest.mark.parametrize(
    "sql",
    [
        "select * from guard.plain",
        "select * from guard.over_plain",
        "select * from acid",  # the temporary view
        "with acid as (select 1) select * from acid",
        "select * from guard.missing",
        "select * from nowhere.missing",
        "select * from parquet.`/some/where`",
        "describe extended guard.acid",
        "show tblproperties guard.acid",
        "drop table if exists guard.missing",
        "truncate table guard.plain",
        "drop view if exists guard.over_acid",
    ],
)
def test_what_is_no_transactional_table_is_left_to_spark(session, sql):
    assert found(session, sql) == []


@pytest.mark.parametrize(
    "sql",
    [
        "truncate table guard.acid",
        "load data inpath '/x' into table Guard.acid",
        "drop table if exists spark_catalog.guard.acid",
        "alter table guard.acid rename to guard.other",
        "insert into guard.acid values (1)",
        "insert overwrite table guard.acid select * from guard.plain",
        "explain insert into guard.acid values (1)",
        "delete from guard.acid where i = 1",
        "update guard.acid set i = 1",
        "merge into guard.acid a using guard.plain p on p.i = a.i when matched then delete",
    ],
)
def test_rows_and_files_of_a_transactional_table_are_hives(session, sql):
    with pytest.raises(AcidTargetError, match="guard.acid is .* Run it in Hive"):
        found(session, sql)


def test_a_schema_with_a_transactional_table_is_not_dropped(session):
    with pytest.raises(AcidTargetError, match="guard.acid is a transactional Hive table. Spark "):
        refuse_acid_in_schema(session, "guard")
    for sql in ("drop schema guard cascade", "drop database if exists spark_catalog.Guard cascade"):
        with pytest.raises(AcidTargetError, match="guard.acid is a transactional Hive table. Sp"):
            found(session, sql)
    assert found(session, "drop schema if exists nowhere cascade") == []
    refuse_acid_in_schema(session, "default")
    refuse_acid_in_schema(session, "nowhere")


def test_sparks_own_tables_are_told_from_those_of_hive(session):
    names = ("plain", "over_plain", "acid", "missing")
    assert [is_plain_table(session, "guard", name) for name in names] == [True, True, False, False]
    assert not is_plain_table(session, "nowhere", "missing")


@pytest.mark.parametrize(
    "sql, hides",
    [
        ("drop table identifier('guard.' || 'plain')", r"IDENTIFIER\(…\)"),
        ("truncate table identifier('guard.' || 'acid')", r"IDENTIFIER\(…\)"),
        ("create view guard.v as select * from identifier('guard.' || 'acid')", r"IDENTIFIER\(…\)"),
        ("execute immediate 'drop table guard.acid'", "EXECUTE IMMEDIATE"),
    ],
)
def test_commands_that_hide_names_are_refused(session, sql, hides):
    if session.version < "4" and sql.startswith("execute"):
        pytest.skip("Spark 3 has no EXECUTE IMMEDIATE")
    with pytest.raises(RawAcidReferenceError, match=f"^.HIVEACID_TABLES_HIDDEN. {hides} hides wh"):
        found(session, sql)


@pytest.mark.parametrize("used_before", [False, True])
def test_a_name_in_a_variable_of_the_session_is_found_on_any_thread(spark, session, used_before):
    """What a thread has used before must not matter: PySpark leaves a session active there."""
    names = []

    def on_a_thread_of_its_own():
        if used_before:
            spark.newSession().createDataFrame([(1,)], "i int")
        names.extend(found(session, "select * from ${guard.src}"))

    session.conf.set("guard.src", "guard.acid")
    thread = threading.Thread(target=on_a_thread_of_its_own)
    thread.start()
    thread.join()
    assert names == [ACID]


@pytest.fixture
def lake(session):
    """Another catalog that has a table of the same name, as the current one."""
    catalog = "spark.sql.catalog.lake"
    session.conf.set(catalog, f"{JDBC}.v2.jdbc.JDBCTableCatalog")
    session.conf.set(f"{catalog}.url", "jdbc:derby:memory:lake;create=true")
    session.conf.set(f"{catalog}.driver", "org.apache.derby.jdbc.EmbeddedDriver")
    for sql in (
        "create database if not exists lake.guard",
        "create or replace table lake.guard.acid (i int)",
        "insert into lake.guard.acid values (7)",
        "use lake.guard",
        "create view spark_catalog.guard.over_lake as select i from guard.acid",
    ):
        session.sql(sql)
    yield session
    session.sql("use spark_catalog.default")
    session.sql("drop view guard.over_lake")


JDBC = "org.apache.spark.sql.execution.datasources"


def test_a_name_without_a_catalog_is_looked_up_in_the_current_one(lake):
    for name in ("guard.acid", "spark_catalog.guard.over_lake"):
        assert found(lake, f"select * from {name}") == []
        assert lake.sql(f"select * from {name}").first().i == 7
    assert found(lake, "insert into guard.acid values (8)") == []
    assert found(lake, "select * from spark_catalog.guard.acid") == [ACID]
    lake.sql("use spark_catalog.default")
    assert found(lake, "select * from guard.over_lake") == []
    assert found(lake, "select * from guard.acid") == [ACID]


def test_a_source_is_a_table_of_the_metastore_in_any_current_catalog(lake):
    source = Known(("guard", "acid"))
    assert found(lake, "select * from guard.acid", source) == [ACID]
    # In a view that Spark has made there, the name is the one of that catalog.
    assert found(lake, "select * from spark_catalog.guard.over_lake", source) == []


def test_schemas_are_those_of_the_current_catalog(lake):
    assert found(lake, "drop schema guard cascade") == []
    with pytest.raises(AcidTargetError, match="guard.acid is a transactional Hive table. Spark "):
        found(lake, "drop schema Spark_Catalog.guard cascade")


def test_the_table_of_a_rename_is_not_looked_up(session, monkeypatch):
    looked_up = []

    def look_up(session, schema, table):
        looked_up.append(f"{schema}.{table}")
        return table_metadata(session, schema, table)

    monkeypatch.setattr(names, "table_metadata", look_up)
    for kind in ("table", "view"):
        statement = parse(session, f"alter {kind} guard.over_plain rename to guard.other")
        assert guarded_view(session, statement, Known()) is None
    assert looked_up == ["guard.over_plain"], "only a view may have a guard"
