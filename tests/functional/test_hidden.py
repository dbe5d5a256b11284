"""What hides that a transactional table is read: functions, paths, procedures, statistics."""

import pytest

from dbt.adapters.hiveacid.spark.session import SessionHandle
from hiveacid.errors import AcidTargetError, InvalidSettingError, RawAcidReferenceError
from hiveacid.sql.functions import bodies_of, calls_of
from hiveacid.sql.relations import find_acid
from hiveacid.sql.statement import parse


@pytest.fixture(scope="module")
def session(spark, tmp_path_factory):
    session = SessionHandle(spark, {}).session
    for sql in (
        "create database hidden",
        "use hidden",
        "create table plain (i int) using parquet",
        "create table acid (i int) clustered by (i) into 2 buckets stored as orc "
        "tblproperties ('transactional' = 'true')",
        "create view over_acid as select i from acid",
        "create function of_acid() returns int return (select max(i) from acid)",
        "create function of_view() returns int return (select max(i) from over_acid)",
        "create function of_function(x int) returns int return x + of_acid()",
        "create function rows_of_acid(x int) returns table (i int) "
        "return select i from acid where i > x",
        "create function of_plain() returns int return (select max(i) from plain)",
        "create view calls as select of_acid() as i",
        "use default",
    ):
        session.sql(sql)
    yield session
    session.sql("drop database hidden cascade")


@pytest.fixture(scope="module")
def acid(tmp_path_factory):
    """The directory of a partitioned transactional table, next to that of a plain one."""
    warehouse = tmp_path_factory.mktemp("warehouse")
    for name in ("orders/day=a/delta_0000001_0000001_0000", "orders/day=b/base_0000002_v0000012"):
        (warehouse / name).mkdir(parents=True)
        (warehouse / name / "bucket_00000").touch()
    (warehouse / "flat/delete_delta_0000002_0000002_0000").mkdir(parents=True)
    (warehouse / "flat/000000_0").touch()
    for name in ("plain/day=a", "base_2024", "plain/day=b"):
        (warehouse / name).mkdir(parents=True)
        (warehouse / name / "part-00000.orc").touch()
    return warehouse


class Known:
    """Another metastore, which has no tables."""

    def has(self, name, *, in_spark):
        return False


def look(session, sql):
    return find_acid(session, parse(session, sql), Known())


@pytest.mark.parametrize(
    "sql",
    [
        "select hidden.of_acid()",
        "select `hidden` . `of_acid` /* a comment */ ()",
        "select Spark_Catalog.Hidden.OF_ACID()",
        "select i from hidden.plain where i > (select hidden.of_acid())",
        "select i from hidden.plain group by i having max(i) > hidden.of_acid()",
        "with x as (select hidden.of_acid() as i) select * from x",
        "select identifier('hidden.of_acid')()",
        "select hidden.of_view()",
        "select hidden.of_function(1)",
        "select * from hidden.calls",
        "explain select hidden.of_acid()",
        "describe select hidden.of_acid()",
        "create table hidden.t using parquet as select hidden.of_acid() as i",
        "create view hidden.v as select hidden.of_acid() as i",
        "create temporary view v as select hidden.of_acid() as i",
        "cache table v as select hidden.of_acid() as i",
        "insert into hidden.plain values (hidden.of_acid())",
        "merge into hidden.plain p using (select 1 as i) s on p.i = s.i "
        "when matched then update set i = hidden.of_acid()",
        "delete from hidden.plain where i = hidden.of_acid()",
        "update hidden.plain set i = hidden.of_acid()",
        "set var x = hidden.of_acid()",
    ],
)
def test_a_function_over_a_transactional_table_is_refused(session, sql):
    with pytest.raises(
        RawAcidReferenceError,
        match=r"^The function hidden\.(of_acid|of_view) .*reads the transactional "
        r"table hidden\.acid\. Spark puts the function's body in by itself",
    ):
        look(session, sql)


def test_the_view_on_the_way_to_a_function_is_named(session):
    with pytest.raises(RawAcidReferenceError, match=r"\(through the view hidden.calls\) reads"):
        look(session, "select * from hidden.calls")


# The names of table functions have one part in Spark's grammar.
@pytest.mark.parametrize(
    "sql",
    [
        "select max(1), of_acid()",
        "select * from rows_of_acid(1)",
        "select * from plain, lateral rows_of_acid(plain.i)",
    ],
)
def test_a_one_part_name_is_looked_up_in_the_current_database(session, sql):
    assert look(session, sql) == ()
    session.sql("use hidden")
    try:
        with pytest.raises(
            RawAcidReferenceError, match=r"The function hidden\.(of|rows_of)_acid reads"
        ):
            look(session, sql)
    finally:
        session.sql("use default")


@pytest.mark.parametrize(
    "sql",
    [
        "create function hidden.f() returns int return (select max(i) from hidden.acid)",
        "create temporary function f() returns int return (select max(i) from hidden.acid)",
        "create function hidden.f() returns table (i int) return select i from hidden.acid",
    ],
)
def test_a_function_over_a_transactional_table_is_not_made(session, sql):
    with pytest.raises(RawAcidReferenceError, match=r"f reads the transactional table hidden"):
        look(session, sql)


@pytest.mark.parametrize(
    "sql",
    [
        "select hidden.of_plain()",
        "select hidden.missing(1), nowhere.f(1), lower('x'), i from hidden.plain",
        "create function hidden.f() returns int return (select max(i) from hidden.plain)",
        "select identifier('i') from hidden.plain",
        "select * from range(3)",
        "analyze table hidden.plain compute statistics",
        "refresh table hidden.acid",
        "show partitions hidden.acid",
        "create table hidden.t like hidden.acid",
        "describe hidden.acid",
        "call lake.system.expire_snapshots('db.t')",
        "call lake.system.snapshot('hidden.plain', 'db.t')",
        "create table hidden.t shallow clone hidden.plain",
    ],
)
def test_other_statements_are_left_to_spark(session, sql):
    assert look(session, sql) == ()


def test_only_functions_that_are_not_built_in_are_looked_up(session, monkeypatch):
    asked = []
    monkeypatch.setattr("hiveacid.sql.functions._body", lambda *arguments: asked.append(arguments))
    statement = parse(session, "select upper(lower(i)), count(*), a.f(1), cast(i as int) from t")
    assert list(bodies_of(session, calls_of(session, statement), None)) == []
    assert [name for _, name, _ in asked] == ["a.f"]


def test_a_computed_name_of_a_function_is_refused(session):
    with pytest.raises(RawAcidReferenceError, match=r"^IDENTIFIER\(…\) hides which tables"):
        look(session, "select identifier('hidden.' || 'of_acid')()")


PATHS = [
    "orders",
    "orders/",
    "orders/day=a",
    "orders/day=*",
    "orders/day=new",
    "orders/day=a/delta_0000001_0000001_0000",
    "orders/day=a/delta_0000001_0000001_0000/bucket_00000",
    "order*",
    "flat",
    "flat/000000_0",
    "flat/new",
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "sql",
    [
        "select * from orc.`{}`",
        "with x as (select * from binaryFile.`{}`) select * from x",
        "create table t using orc location '{}'",
        "create table t using parquet options (Path '{}')",
        "create external table t (i int) stored as orc location '{}'",
        "create table t using parquet location '{}' as select 1 as i",
        "create temporary view v using orc options (path '{}')",
        "create table t like hidden.plain location '{}'",
        "alter table hidden.plain set location '{}'",
        "alter table hidden.plain partition (p = 1) set location '{}'",
        "alter table hidden.plain add partition (p = 1) location '{}'",
        "insert overwrite directory '{}' using parquet select 1 as i",
        "load data inpath '{}' into table hidden.plain",
        "convert to delta parquet.`{}`",
        "call lake.system.add_files(table => 'db.t', source_table => '`orc`.`{}`')",
    ],
)
def test_a_path_into_a_transactional_table_is_refused(session, acid, sql, path):
    with pytest.raises(RawAcidReferenceError, match="leads into .*, the directory of a trans"):
        look(session, sql.format(acid / path))


@pytest.mark.parametrize("path", ["plain", "plain/day=a", "base_2024", "new", "plain/*/*"])
@pytest.mark.parametrize(
    "sql",
    [
        "select * from orc.`{}`",
        "create table t using orc location '{}'",
        "insert overwrite directory '{}' using parquet select 1 as i",
    ],
)
def test_a_path_elsewhere_is_left_to_spark(session, acid, sql, path):
    assert look(session, sql.format(acid / path)) == ()


@pytest.mark.parametrize(
    "sql",
    [
        "call lake.system.snapshot('hidden.acid', 'db.t')",
        "call lake.system.snapshot(table => 'db.t', source_table => 'hidden.acid')",
        "call spark_catalog.system.migrate('hidden.acid')",
        "call lake.system.add_files(table => 'db.t', source_table => 'hidden.acid')",
        "create table hidden.t shallow clone hidden.acid",
        "convert to delta hidden.acid",
    ],
)
def test_files_of_a_transactional_table_are_not_taken_over(session, sql):
    with pytest.raises(RawAcidReferenceError, match="hidden.acid is .* take its files over"):
        look(session, sql)


@pytest.mark.parametrize(
    "sql",
    [
        "analyze table hidden.acid compute statistics",
        "analyze table hidden.acid compute statistics for all columns",
        "analyze tables in hidden compute statistics",
    ],
)
def test_statistics_of_a_transactional_table_are_hives(session, sql):
    with pytest.raises(AcidTargetError, match="hidden.acid is .* Run ANALYZE TABLE in Hive"):
        look(session, sql)


@pytest.mark.parametrize(
    "sql",
    [
        "with v as (select 1 as i) select * from v with (read = 'optimized')",
        "with v as (select 1), w as (select * from v with (partitions = '{}')) select * from w",
        "select * from own with (read = 'optimized')",
    ],
)
def test_options_that_spark_ignores_are_refused(session, sql):
    session.sql("create or replace temporary view own as select 1 as i")
    with pytest.raises(InvalidSettingError, match=r"^(v|own) is .*, so Spark ignores the option"):
        look(session, sql)


def test_options_of_others_are_left_alone(session):
    assert look(session, "with v as (select 1 as i) select * from v with (n = 1)") == ()
    assert look(session, "with w as (select 1) select * from hidden.plain with (read = 'x')") == ()


@pytest.mark.parametrize("clause", ["with (read = 'optimized')", "version as of 3"])
def test_a_view_has_no_options_and_no_versions(session, clause):
    with pytest.raises(InvalidSettingError, match="hidden.over_acid is a view over"):
        look(session, f"select * from hidden.over_acid {clause}")
