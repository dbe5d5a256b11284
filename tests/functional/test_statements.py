"""Spark's own parser tells which relations a statement names."""

import pytest

from hiveacid.sql.statement import Relation, TableFunction, parse

A, B, C = ("db", "a"), ("b",), ("c",)

READS = {
    "select * from db.a join b": {A, B},
    "select * from `db`.`a`": {A},
    "select * from `od``d`.`a.b`": {("od`d", "a.b")},
    "with x as (select * from db.a), y as (select * from x) select * from y": {A},
    "with b as (select * from b) select * from b": {B},
    "with a as (select 1) select * from db.a": {A},
    "select (select max(v) from b) from db.a where i in (select i from c)": {A, B, C},
    "select * from db.a where exists (select 1 from b where i not in (select i from c))": {A, B, C},
    "select * from db.a, lateral (select * from b where b.i = a.i)": {A, B},
    "select * from db.a lateral view explode(v) t as e": {A},
    "select * from db.a tablesample (10 percent)": {A},
    "select * from db.a union all select * from b except select * from c": {A, B, C},
    "table db.a": {A},
    "create table t using parquet as with x as (select * from db.a) select * from x": {A},
    "create or replace table t using delta as select * from db.a": {A},
    "create view v as select * from db.a": {A},
    "create or replace temporary view v as select * from db.a": {A},
    "insert into db.a select * from b": {B},
    "insert overwrite table db.a partition (p) select * from b": {B},
    "with x as (select * from b) insert into db.a select * from x": {B},
    "from b insert into db.a select * insert into c select *": {B},
    "merge into db.a using (select * from b) s on a.i = s.i when matched then delete": {B},
    "delete from db.a where i in (select i from b)": {B},
    "update db.a set v = (select max(v) from b)": {B},
    "cache table t as select * from db.a": {A},
    "describe select * from db.a": {A},
    "explain select * from db.a": {A},
    "select * from db.a version as of 3": {A},
    "select * from values (1) t": set(),
    "select * from range(3)": set(),
    "set spark.sql.shuffle.partitions = 1": set(),
}

SCRIPT = "A script (BEGIN … END)"

MENTIONS_ONLY = [
    "describe extended db.a",
    "alter table db.a add columns (x int)",
    "truncate table db.a",
    "refresh table db.a",
    "analyze table db.a compute statistics",
    "show tblproperties db.a",
]

NEITHER = [
    "create table db.a (i int) using parquet",
    "show tables in db",
    "create schema if not exists db",
    "not sql at all",
]


@pytest.mark.parametrize("sql", READS)
def test_what_a_statement_reads(spark, sql):
    assert parse(spark, sql).reads == READS[sql]


@pytest.mark.parametrize(
    "sql, targets",
    [
        ("insert into db.a select * from b", {A}),
        ("with x as (select * from b) insert into db.a select * from x", {A}),
        ("from b insert into db.a select * insert into c select *", {A, C}),
        ("merge into db.a using b on a.i = b.i when matched then delete", {A}),
        ("delete from db.a where i in (select i from b)", {A}),
        ("update db.a set v = (select max(v) from b)", {A}),
        ("explain insert into db.a select * from b", {A}),
        ("select * from db.a", set()),
    ],
)
def test_what_a_statement_changes(spark, sql, targets):
    assert parse(spark, sql).targets == targets


def test_clauses_of_a_relation(spark):
    (plain,) = parse(spark, "select * from db.a").relations
    assert plain == Relation(A)
    (of_version,) = parse(spark, "select * from db.a version as of 3").relations
    assert of_version == Relation(A, version="3")
    (of_time,) = parse(spark, "select * from db.a timestamp as of '2026-01-31'").relations
    assert of_time == Relation(A, timestamp="'2026-01-31'")
    (with_options,) = parse(spark, "select * from db.a with (Read = 'x', n = 3)").relations
    assert with_options == Relation(A, {"read": "x", "n": "3"})


def test_a_call_reads_a_table_with_options(spark):
    """As `with (…)` does, which Spark 3 does not have."""
    sql = "select a.i from ACID_TABLE('db.`a`', READ => 'x', n => 3) join acid_table('b') using (i)"
    statement = parse(spark, sql)
    assert statement.relations == (Relation(A, {"read": "x", "n": "3"}), Relation(B))
    assert statement.functions == () and statement.is_rewritten
    assert not parse(spark, "select * from db.a").is_rewritten
    assert parse(spark, "explain select * from acid_table('db.a')").reads == {A}


@pytest.mark.parametrize("call", ["acid_table()", "acid_table(1 + 1)", "acid_table('b', 'x')"])
def test_a_call_that_names_no_table_is_left_to_spark(spark, call):
    (function,) = parse(spark, f"select * from {call}").functions
    assert function.name == "acid_table"


def test_table_functions(spark):
    (function,) = parse(spark, "select * from Acid_Changes('db.a', 'm', null, 1 + 2) c").functions
    assert function == TableFunction("acid_changes", ("db.a", "m", None, None))


@pytest.mark.parametrize("sql", MENTIONS_ONLY)
def test_what_a_statement_only_mentions(spark, sql):
    statement = parse(spark, sql)
    assert (statement.reads, statement.mentions) == (frozenset(), {A})


@pytest.mark.parametrize(
    "sql",
    [
        "truncate table db.a",
        "truncate table db.a partition (p = 1)",
        "load data inpath '/x' into table db.a",
        "drop table if exists db.a",
        "alter table db.a rename to db.b",
        "alter table db.a set location '/x'",
        "alter table db.a add partition (p = 1)",
        "alter table db.a drop if exists partition (p = 1)",
        "alter table db.a partition (p = 1) rename to partition (p = 2)",
        "alter table db.a recover partitions",
        "msck repair table db.a sync partitions",
        "alter table db.a set tblproperties ('transactional' = 'false')",
        "alter table db.a add columns (x int)",
        "analyze table db.a compute statistics",
        "comment on table db.a is 'x'",
        "create or replace table db.a using parquet as select 1 as x",
    ],
)
def test_what_changes_a_table_otherwise_than_its_rows(spark, sql):
    assert parse(spark, sql).changes == {A}


@pytest.mark.parametrize(
    "sql", ["describe db.a", "show partitions db.a", "insert into db.a values (1)"]
)
def test_what_changes_no_table_or_rows_only(spark, sql):
    assert parse(spark, sql).changes == frozenset()


@pytest.mark.parametrize("sql", NEITHER)
def test_what_names_nothing_that_is_there(spark, sql):
    statement = parse(spark, sql)
    assert statement.names == frozenset() and statement.opaque is None


@pytest.mark.parametrize(
    "sql, how",
    [
        ("select * from identifier('db' || '.a')", None),
        ("insert into b select * from identifier('db' || '.a')", None),
        ("drop table identifier('db' || '.a')", "IDENTIFIER(…)"),
        ("create table b as select * from identifier('db' || '.a')", None),
        ("create temporary view b as select * from identifier('db' || '.a')", None),
        ("create view b as select * from identifier('db' || '.a')", "IDENTIFIER(…)"),
        ("create table identifier('db' || '.b') as select 1 as i", "IDENTIFIER(…)"),
        ("execute immediate 'select * from db.a'", "EXECUTE IMMEDIATE"),
        ("begin select * from b; end", SCRIPT),
        ("begin if (select count(*) from db.a) > 0 then select 1; end if; end", SCRIPT),
        ("begin with x as (select * from db.a) select * from x; end", SCRIPT),
    ],
)
def test_names_that_only_the_run_can_tell(spark, sql, how):
    assert parse(spark, sql).opaque == how


def test_views_are_told_apart(spark):
    assert parse(spark, "create view v as select 1").is_permanent_view
    assert parse(spark, "create or replace view db.v as select 1").is_permanent_view
    temporary = parse(spark, "create or replace temporary view V as select 1")
    assert not temporary.is_permanent_view
    assert temporary.temporary_view == "v"
    cached = parse(spark, "cache table V as select * from b")
    assert cached.temporary_view == "v" and cached.reads == {B}
    assert parse(spark, "cache table v").temporary_view is None


def test_a_comment_or_a_string_is_no_name(spark):
    sql = "/* from db.a */ select 'from db.a' -- from db.a\nfrom b"
    assert parse(spark, sql).reads == {B}
