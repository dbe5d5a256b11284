"""The gate: no plan that uses a transactional table raw gets past Spark's analysis."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from hiveacid.errors import RawAcidReferenceError
from hiveacid.sql import gate
from hiveacid.sql.gate import gate_open, install_gate, raw_tables_refused
from integration.support.ungated import ungated

FULL = "clustered by (id) into 2 buckets stored as orc tblproperties ('transactional'='true')"
TABLES = {
    "acid": FULL,
    "parts": f"partitioned by (day string) {FULL}",
    "plain": "stored as parquet",
    "days": "partitioned by (day string) stored as parquet",
}

VIEWS = (
    "create view gated.stored as select id from gated.acid",
    "create temporary view temporary as select id from gated.acid",
    "create global temporary view shared as select id from gated.acid",
    "create temporary view nested as select 1 as id where exists (select 1 from temporary)",
)
FUNCTIONS = (
    "create function gated.largest() returns int return (select max(id) from gated.acid)",
    "create function gated.ids() returns table (id int) return select id from gated.acid",
    "create function gated.more(x int default 1) returns int return gated.largest() + x",
    "create function gated.harmless(x int) returns int return x + 1",
    "create temporary function passing() returns int return (select max(id) from gated.acid)",
)
RAW = r"\[HIVEACID_RAW_TABLE\] Spark would use .* The table: spark_catalog.gated.\w*{}$"


@pytest.fixture(scope="module")
def before(spark):
    """A session in which Spark alone has made tables, and views and functions over them."""
    session = spark.newSession()
    install_gate(session)
    with ungated(session):
        session.sql("create database gated")
        for name, clauses in TABLES.items():
            session.sql(f"create table gated.{name} (id int) {clauses}")
        session.sql("insert into gated.plain values (1)")
        for sql in (*VIEWS, *(FUNCTIONS if spark.version >= "4" else ())):
            session.sql(sql)
        raw = session.table("gated.acid")
        raw.createOrReplaceTempView("of_frame")
        nested = session.table("gated.plain").filter("id not in (select id from gated.acid)")
        nested.createOrReplaceTempView("of_subquery")
        # Spark alone refuses nothing, and shows no row.
        assert session.sql("select * from gated.acid").collect() == []
    yield session, raw, nested
    session.sql("drop view global_temp.shared")
    session.sql("drop database gated cascade")


@pytest.fixture(scope="module")
def session(before):
    return before[0]


@pytest.fixture(params=["a table", "a subquery"])
def raw_frame(request, before):
    """A DataFrame that Spark has analysed without the gate, with the table itself or below it."""
    return before[1] if request.param == "a table" else before[2]


@pytest.fixture(params=["same session", "new session"])
def either(request, session):
    return session if request.param == "same session" else session.newSession()


READS = (
    "select * from gated.acid",
    "select * from gated.parts where day = 'a'",
    "select * from gated.acid limit 0",
    "select * from gated.stored",
    "select * from global_temp.shared",
    "table gated.acid",
    "from gated.acid select id",
    "select (select max(id) from gated.acid)",
    "select 1 where exists (select 1 from gated.acid)",
    "select * from gated.plain where id in (select id from gated.acid)",
    "select * from gated.plain order by (select max(id) from gated.acid)",
    "select * from gated.plain lateral view explode(array((select 1 from gated.acid))) e as x",
    "with x as (select * from gated.acid) select * from x",
    "with x as (select * from gated.acid) select 1",
    "insert into gated.plain select id from gated.acid",
    "from gated.acid insert into gated.plain select 1 insert into gated.plain select id",
    "describe query select * from gated.acid",
    "create table gated.made as select * from gated.acid",
    "cache table gated.acid",
    "cache table cached as select * from gated.acid",
    "create temporary view made as select id from gated.acid",
    "create view gated.made as select id from gated.acid",
    "analyze table gated.acid compute statistics for all columns",
    "select * from identifier('gated.' || 'acid')",
)
WRITES = (
    "insert into gated.acid select 5",
    "insert overwrite gated.acid select 5",
    "insert into gated.parts partition (day = 'a') select 5",
    "insert into gated.parts select 5, 'a'",
    "insert into identifier('gated.acid') select 5",
)
COMMANDS = (
    "truncate table gated.acid",
    "truncate table gated.parts partition (day = 'a')",
    "load data local inpath '{file}' into table gated.acid",
    "alter table gated.parts add partition (day = 'a')",
    "alter table gated.parts drop partition (day = 'a')",
    "alter table gated.parts partition (day = 'a') rename to partition (day = 'b')",
    "alter table gated.parts recover partitions",
    "alter table gated.acid set location '/nowhere'",
    "msck repair table gated.parts",
)


@pytest.mark.parametrize("sql", [*READS, *WRITES])
def test_statements(either, sql):
    with pytest.raises(PySparkException, match=RAW.format("")):
        either.sql(sql).collect()


@pytest.mark.parametrize("sql", COMMANDS)
def test_commands_that_change_files_are_refused_before_they_do(session, sql, tmp_path):
    directory = session.sql("describe formatted gated.acid").filter("col_name = 'Location'")
    written = Path(directory.first().data_type.removeprefix("file:")) / "base_1" / "bucket_00000"
    written.parent.mkdir(exist_ok=True)
    written.write_text("as Hive wrote it")
    (tmp_path / "file").write_text("")
    with pytest.raises(PySparkException, match=RAW.format("")):
        session.sql(sql.format(file=tmp_path / "file"))
    assert written.exists() and not (written.parents[1] / "file").exists()
    assert session.sql("show partitions gated.parts").collect() == []


def test_commands_that_change_files_of_plain_tables_pass(either):
    for sql in (
        "alter table gated.days add partition (day = 'a')",
        "alter table gated.days partition (day = 'a') rename to partition (day = 'b')",
        "truncate table gated.days partition (day = 'b')",
        "alter table gated.days drop partition (day = 'b')",
        "msck repair table gated.days",
    ):
        either.sql(sql)


MANY = ", ".join(map(str, range(1, 13)))


@pytest.mark.parametrize(
    "sql",
    [
        "select gated.largest()",
        "select * from ids()",
        "select gated.more()",
        f"select struct({MANY}, gated.largest())",
        "select passing()",
        "create function gated.made() returns int return (select max(id) from gated.acid)",
        "execute immediate 'select * from gated.acid'",
        "from gated.acid |> select id",
        "declare variable seen int default (select max(id) from gated.acid)",
    ],
)
def test_statements_of_spark_4(session, sql):
    if session.version < "4":
        pytest.skip("Spark 3 has neither SQL functions, EXECUTE IMMEDIATE nor variables")
    session.sql("use gated")
    try:
        with pytest.raises(PySparkException, match=RAW.format("acid")):
            session.sql(sql).collect()
    finally:
        session.sql("use default")


@pytest.mark.parametrize("view", ["temporary", "nested", "of_frame", "of_subquery"])
def test_temporary_views_that_were_made_before(session, view):
    with pytest.raises(PySparkException, match=RAW.format("acid")):
        session.table(view).collect()


@pytest.mark.parametrize(
    "use",
    [
        lambda frame: frame.filter("id in (select id from gated.acid)"),
        lambda frame: frame.selectExpr("(select max(id) from gated.acid)"),
        lambda frame: frame.select(F.expr("(select max(id) from gated.acid)")),
        lambda frame: frame.sparkSession.read.table("gated.acid"),
        lambda frame: frame.sparkSession.readStream.table("gated.acid"),
        lambda frame: frame.sparkSession.catalog.cacheTable("gated.acid"),
        lambda frame: frame.write.insertInto("gated.acid"),
        lambda frame: frame.write.mode("overwrite").insertInto("gated.acid"),
        lambda frame: frame.write.mode("overwrite").saveAsTable("gated.acid"),
    ],
)
def test_methods_of_dataframes(session, use):
    with pytest.raises(PySparkException, match=RAW.format("acid")):
        use(session.table("gated.plain"))
    assert session.catalog.tableExists("gated.acid")


def test_a_dataframe_that_was_made_before(session, raw_frame):
    for use in (
        lambda: raw_frame.filter("id > 1"),
        lambda: session.table("gated.plain").union(raw_frame),
        lambda: session.sql("select * from {frame}", frame=raw_frame),
        lambda: raw_frame.write.saveAsTable("gated.made"),
    ):
        with pytest.raises(PySparkException, match=RAW.format("acid")):
            use()


@pytest.mark.parametrize(
    "sql",
    [
        "select * from gated.plain",
        "insert into gated.plain select 1",
        "describe extended gated.acid",
        "show create table gated.parts as serde",
        "show partitions gated.parts",
        "show columns in gated.acid",
        "create table if not exists gated.alike like gated.acid using parquet",
        "select identifier('id') from gated.plain",
    ],
)
def test_what_passes(either, sql):
    either.sql(sql).collect()


def test_a_function_over_plain_tables_passes(session):
    if session.version < "4":
        pytest.skip("Spark 3 has no SQL functions")
    assert session.sql("select gated.harmless(1) as n").first().n == 2


def test_it_is_installed_once(session):
    rules = session._jsparkSession.sessionState().analyzer().extendedCheckRules()
    for of in (session, session.newSession()):
        install_gate(of)
        assert of._jsparkSession.sessionState().analyzer().extendedCheckRules().size() == (
            rules.size()
        )


def test_it_opens_for_one_thread_and_closes_after_an_error(session):
    def is_refused(sql):
        with pytest.raises(PySparkException, match=RAW.format("acid")):
            session.sql(sql)
        return True

    with pytest.raises(ValueError, match="stop"), gate_open(session):
        session.sql("refresh table gated.acid")
        with ThreadPoolExecutor(1) as other:
            assert other.submit(is_refused, "select * from gated.acid").result()
        raise ValueError("stop")
    assert is_refused("select * from gated.acid")


def test_it_does_not_open_for_threads_that_are_not_pinned(session, monkeypatch):
    monkeypatch.setattr(gate, "ClientServer", type("OfPinnedThreads", (), {}))
    with gate_open(session), pytest.raises(PySparkException, match=RAW.format("acid")):
        session.sql("refresh table gated.acid")


def test_an_error_of_another_kind_stays(session):
    """Java's own errors of the same class may have no text."""
    nothing = session.sparkContext._jvm.java.util.Collections.emptyList()
    with pytest.raises(PySparkException) as error, raw_tables_refused():
        nothing.add("x")
    assert not isinstance(error.value, RawAcidReferenceError)


def test_its_error_is_one_of_the_library(session):
    message = "^.HIVEACID_RAW_TABLE. Spark would use .* The table: spark_catalog.gated.acid$"
    with pytest.raises(RawAcidReferenceError, match=message), raw_tables_refused():
        session.sql("select * from gated.acid")
    with pytest.raises(PySparkException), raw_tables_refused():
        session.sql("select * from gated.nothing")


@pytest.mark.parametrize(
    "sql",
    [
        "select * from gated.acid",
        "select * from gated.stored",
        "select * from gated.plain where id in (select id from gated.acid)",
        "insert into gated.plain select id from gated.acid",
    ],
)
def test_a_missing_gate_is_noticed(session, sql):
    """Spark alone shows no row, and writes none. So these tests fail without the gate."""
    with ungated(session):
        assert session.sql(sql).collect() == []
        with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
            test_statements(session, sql)
