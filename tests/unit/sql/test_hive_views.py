import logging
import sys
from contextlib import nullcontext

import pytest

from hiveacid.errors import InvalidSettingError, UnreadableTableError
from hiveacid.metastore.models import (
    Column,
    HiveSql,
    HiveView,
    StorageDescriptor,
    Table,
    TableName,
)
from hiveacid.sql import hive_views
from hiveacid.sql.hive_views import functions, opened, tables_in
from hiveacid.sql.hive_views import translate as translations
from hiveacid.sql.hive_views.functions import TABLE, function_of
from hiveacid.sql.hive_views.refusals import fail_for_value, refuse_of_trino, warn_of_release
from hiveacid.sql.hive_views.translate import translate
from hiveacid.sql.known_tables import KnownTables
from hiveacid.sql.statement import Statement
from integration.support.sql_files import cases_of, groups_of

NAME = TableName("shop", "v")
HIVE_4 = HiveSql("4.0.1", nulls_last=True)
HIVE_3 = HiveSql("3.0", nulls_last=False)
"""What a metastore of Hive 3.1.3 says."""


def view(text):
    return HiveView(NAME, text, ())


def translated(text, hive=HIVE_4):
    found = translate(view(text), hive)
    found.check()
    return found.sql


def problem(text):
    return translate(view(text), HIVE_4).problem


@pytest.mark.parametrize(
    ("hive", "spark"),
    [
        ("SELECT a FROM d.t", "SELECT a FROM d.t"),
        # Columns without a name have Hive's, which views over views name.
        ("SELECT a, a + 1, s.x FROM d.t", "SELECT a, a + 1 AS `_c1`, s.x FROM d.t"),
        (
            "SELECT 1.50 AS x, 2.0 AS y, .5 AS z, 7. AS w, 2L AS v",
            "SELECT 1.5 AS x, 2BD AS y, 0.5 AS z, 7BD AS w, 2L AS v",
        ),
        # A whole number has the digits of a literal, whatever its type.
        (
            "SELECT 3S AS a, -(3) AS b, cast(-3 AS int) AS c, -cast((3) AS tinyint) AS d, "
            "cast(128 AS tinyint) AS e, cast('3' AS int) AS f FROM d.t ORDER BY cast(1 AS int)",
            "SELECT 3S AS a, -3 AS b, -3 AS c, -CAST((3) AS TINYINT) AS d, "
            "CAST(128 AS TINYINT) AS e, CAST('3' AS INT) AS f "
            "FROM d.t ORDER BY CAST(1 AS INT) NULLS LAST",
        ),
        (
            "SELECT 'it''s' AS x, 'a' 'b' AS y",
            "SELECT CONCAT('it', 's') AS x, CONCAT('a', 'b') AS y",
        ),
        (r"SELECT '\d\\d\'\101' AS x", r"SELECT 'd\\d\'A' AS x"),
        (
            "SELECT cast(a AS varchar(3)) AS x, cast(a AS char(2)) AS y FROM d.t",
            "SELECT SUBSTRING(CAST(a AS STRING), 1, 3) AS x, "
            "RTRIM(SUBSTRING(CAST(a AS STRING), 1, 2)) AS y FROM d.t",
        ),
        # One cast would be equal to the one that Spark makes of a bigint next to a decimal.
        (
            "SELECT cast(a AS decimal(20)) AS x, cast(a AS decimal(20,0)) AS y FROM d.t",
            "SELECT CAST(CAST(a AS DECIMAL(20)) AS DECIMAL(20)) AS x, "
            "CAST(CAST(a AS DECIMAL(20, 0)) AS DECIMAL(20, 0)) AS y FROM d.t",
        ),
        (
            "SELECT greatest(a, b) AS x FROM d.t",
            "SELECT IF(a IS NULL OR b IS NULL, NULL, GREATEST(a, b)) AS x FROM d.t",
        ),
        (
            "SELECT /*+ MAPJOIN(t) */ count(DISTINCT a, b) AS x FROM d.t",
            "SELECT COUNT(DISTINCT a, b) AS x FROM d.t",
        ),
        (
            "SELECT a FROM d.t LATERAL VIEW OUTER explode(b) x AS k",
            "SELECT a FROM d.t LATERAL VIEW OUTER EXPLODE(b) x AS k",
        ),
        # An order of NULL among the rows of one worker, which no rows of the view show.
        (
            "SELECT a FROM d.t DISTRIBUTE BY a SORT BY b",
            "SELECT a FROM d.t DISTRIBUTE BY a SORT BY b NULLS LAST",
        ),
        ("SELECT a FROM d.t CLUSTER BY a", "SELECT a FROM d.t CLUSTER BY a"),
        (
            "SELECT sort_array(collect_set(a)) AS x, array_contains(b, 1) AS y FROM d.t GROUP BY b",
            "SELECT SORT_ARRAY(COLLECT_SET(a)) AS x, COALESCE(ARRAY_CONTAINS(b, 1), FALSE) AS y "
            "FROM d.t GROUP BY b",
        ),
    ],
)
def test_hives_sql_as_sparks(hive, spark):
    assert translated(hive) == spark


def test_the_name_of_a_database_is_not_that_of_a_catalog():
    text = "WITH c AS (SELECT a FROM lake.t) SELECT c.a FROM c JOIN d.t ON c.a = t.a"
    found = translate(view(text), HIVE_4, lambda name: name in ("lake", "c"))
    assert found.sql == (
        "WITH c AS (SELECT a FROM spark_catalog.lake.t) SELECT c.a FROM c JOIN d.t ON c.a = t.a"
    )


def test_the_order_of_nulls_is_written_out():
    text = "SELECT rank() OVER (ORDER BY a) AS r, rank() OVER (ORDER BY b DESC) AS s FROM d.t"
    hive_4 = (
        "SELECT RANK() OVER (ORDER BY a NULLS LAST) AS r, RANK() OVER (ORDER BY b DESC NULLS FIRST)"
    )
    assert translated(text).startswith(hive_4)
    # As Spark sorts.
    chosen = HiveSql("4.0.1", nulls_last=False)
    assert translated(text, chosen) == text.replace("rank", "RANK")
    explicit = "SELECT rank() OVER (ORDER BY a NULLS FIRST) AS r FROM d.t"
    assert "NULLS LAST" not in translated(explicit)


@pytest.mark.parametrize("name", sorted(it.name for it in TABLE if it.refused))
def test_a_function_that_differs_is_refused_with_the_reason(name):
    part, reason = problem(f"SELECT {name}(a) AS x FROM d.t")
    assert name in part.lower()
    assert reason == f"it {function_of(name).refused}"


def test_a_function_is_in_the_table_once():
    names = [it.name for it in TABLE]
    assert len(names) == len(set(names))


def test_a_function_is_either_tried_or_refused():
    for function in TABLE:
        facts = (function.rewrite, function.by_types, function.hive_3, function.dates)
        assert bool(function.arities) != bool(function.refused), function.name
        assert function.arities or not any(facts), function.name


def test_each_number_of_arguments_was_tried(monkeypatch):
    """integration/test_hive_views.py has Hive evaluate these expressions and views."""
    lists = groups_of("hive_expressions.sql").values()
    texts = [f"SELECT {', '.join(it.statement for it in cases)} FROM d.t" for cases in lists]
    views = [view.statement for view in cases_of("views_of_sites.sql")]
    tried = {it.name: set() for it in TABLE}

    def recorded(function, of, **options):
        tried[function.name].add(len(of.arguments))
        return functions.translated(function, of, **options)

    monkeypatch.setattr(translations, "translated", recorded)
    for text in (*texts, *views):
        assert problem(text) is None
    for function in (it for it in TABLE if it.arities):
        name, numbers = function.name, function.arities
        *_, last = wanted = [int(number.rstrip("+")) for number in numbers.split()]
        assert tried[name] >= set(wanted), name
        assert not numbers.endswith("+") or max(tried[name]) > last, name


@pytest.mark.parametrize(
    ("text", "part", "reason"),
    [
        (
            "SELECT no_such(a) AS x FROM d.t",
            "NO_SUCH(a)",
            "was not compared between Hive and Spark",
        ),
        ("SELECT own.f(a) AS x FROM d.t", "F(a)", "a user-defined function"),
        ("SELECT current_date AS x FROM d.t", "CURRENT_DATE", "it depends on the moment"),
        ("SELECT a FROM d.t LIMIT 3", "SELECT a FROM d.t LIMIT 3", "arbitrary rows"),
        ("SELECT a FROM d.t WHERE b = 'x '", "b = 'x '", "ignores blanks"),
        ("SELECT a FROM d.t WHERE b IN ('x', 'y ')", "b IN ('x', 'y ')", "ignores blanks"),
        ("SELECT a FROM d.t WHERE (b) = ('x ')", "(b) = ('x ')", "ignores blanks"),
        ("SELECT a FROM d.t WHERE b <=> 'x '", "b IS NOT DISTINCT FROM 'x '", "ignores blanks"),
        ("SELECT a FROM d.t WHERE (b, c) IN (('x ', 1))", "(b, c) IN", "ignores blanks"),
        ("SELECT a FROM d.t WHERE b BETWEEN 'x' AND 'y '", "b BETWEEN", "ignores blanks"),
        ("SELECT a FROM d.t WHERE b IS DISTINCT FROM 'x '", "b IS DISTINCT", "ignores blanks"),
        ("SELECT CASE a WHEN 'x ' THEN 1 END AS x FROM d.t", "CASE a WHEN", "ignores blanks"),
        ("SELECT a FROM d.t WHERE b = cast('x ' AS string)", "b = CAST('x '", "ignores blanks"),
        ("SELECT pmod(a, b) AS x FROM d.t", "PMOD(a, b)", "a literal from 1 to 1000000000"),
        (
            "SELECT pmod(a, -3) AS x FROM d.t",
            "PMOD(a, -3)",
            "Hive shows other results for a negative one",
        ),
        ("SELECT upper(DISTINCT a) AS x FROM d.t", "UPPER(DISTINCT a)", "with DISTINCT"),
        ("SELECT nullif(a, 'x ') AS x FROM d.t", "NULLIF(a, 'x ')", "ignores blanks"),
        ("SELECT concat(a) AS x FROM d.t", "CONCAT(a)", "with 2 arguments or more, not with 1"),
        ("SELECT round(a, 1, 2) AS x FROM d.t", "ROUND(a, 1, 2)", "with 1 or 2 arguments, not"),
        ("SELECT count(*) AS x FROM d.t GROUP BY 1", "SELECT COUNT(*)", "position.alias"),
        ("SELECT a FROM d.t WHERE b RLIKE c", "b RLIKE c", "must be a literal"),
        ("SELECT substr(a, b) AS x FROM d.t", "SUBSTR(a, b)", "must be a literal"),
        ("SELECT trim(a, 'x') AS x FROM d.t", "TRIM(a, 'x')", "with 1 argument, not with 2"),
        (
            "SELECT instr(a, 'x', 3) AS x FROM d.t",
            "INSTR(a, 'x', 3)",
            "with 2 arguments, not with 3",
        ),
        ("SELECT a ^ 2 * 3 AS x FROM d.t", "a ^ 2 * 3", "write parentheses"),
        ("SELECT a = b IS NULL AS x FROM d.t", "(a = b) IS NULL", "write parentheses"),
        ("SELECT lag(a) OVER () AS x FROM d.t", "LAG(a) OVER ()", "window's rows is arbitrary"),
        ("SELECT split(a, 'x*') AS x FROM d.t", "SPLIT(a, 'x*')", "match an empty text"),
        (
            "SELECT regexp_extract(a, '(x)|y', 1) AS z FROM d.t",
            "REGEXP_EXTRACT",
            "not take part in a",
        ),
        ("SELECT date_format(a, 'u') AS x FROM d.t", "DATE_FORMAT", "its pattern has u"),
        ("SELECT trunc(a, 'HH') AS x FROM d.t", "TRUNC(a, 'HH')", "its unit must be one of"),
        ("SELECT collect_list(a) AS x FROM d.t", "COLLECT_LIST(a)", "the order in its result"),
        ("SELECT sort_array(a) AS x FROM d.t", "SORT_ARRAY(a)", "sorts the array in place"),
        ("SELECT cast(a AS array<int>) AS x FROM d.t", "CAST(a AS ARRAY<INT>)", "not compared"),
        ("SELECT extract(second FROM a) AS x FROM d.t", "EXTRACT(SECOND FROM a)", "one of DAY,"),
        ("SELECT INPUT__FILE__NAME AS x FROM d.t", "INPUT__FILE__NAME", "virtual columns"),
        ("SELECT a FROM d.t TABLESAMPLE(BUCKET 1 OUT OF 2) s", "TABLESAMPLE", "not compared"),
        ("SELECT TRANSFORM(a) USING 'cat' AS (b) FROM d.t", "TRANSFORM", "not compared"),
        (
            "SELECT a FROM d.t INTERSECT SELECT a FROM d.u UNION SELECT a FROM d.w",
            "SELECT",
            "precedence",
        ),
        ("SELECT FROM WHERE", "The text", "sqlglot cannot parse it"),
    ],
)
def test_what_differs_is_refused_with_the_part_and_the_reason(text, part, reason):
    found = translate(view(text), HIVE_4)
    assert found.problem is not None
    assert part in found.problem[0]
    assert reason in found.problem[1]
    with pytest.raises(UnreadableTableError) as error:
        found.check()
    message = str(error.value)
    assert message.startswith(
        "[HIVEACID_HIVE_VIEW_NOT_EXACT] shop.v is a Hive view that cannot be read exactly. "
    )
    assert message.endswith(f"Its text in Hive: {text}")


@pytest.mark.parametrize(
    ("version", "hive_views"),
    [
        ("4.1.0", "refuse"),
        ("4.2.0", "refuse"),
        ("3.1.3000.7.1.9.0", "refuse"),
        ("2.3.9", None),
        ("2.3.9", "refuse"),
        ("5.0.0", None),
        ("", None),
    ],
)
def test_a_hive_that_was_not_tried_is_refused(version, hive_views):
    hive = HiveSql(version, True, hive_views)
    found = translate(view("SELECT a FROM d.t"), hive)
    with pytest.raises(UnreadableTableError, match=f"the metastore is that of Hive {version}, wh"):
        found.check()
    # Whether it reads an ACID table is found out all the same.
    assert found.sql == "SELECT a FROM d.t"
    assert not hive.is_guessed


@pytest.mark.parametrize(
    ("version", "hive_views", "release", "is_guessed"),
    [
        ("4.0.1", None, "4.0", False),
        ("4.0.1", "refuse", "4.0", False),
        ("4.0.1", "3.1", "3.1", False),
        ("3.0", None, "3.1", False),
        ("3.1.3", "refuse", "3.1", False),
        ("4.1.0", None, "4.0", True),
        ("4.2.0", None, "4.0", True),
        ("4.1.0", "3.1", "3.1", False),
        ("3.1.3000.7.1.9.0-387", None, "3.1", True),
        ("3.1.3000.7.1.9.0-387", "4.0", "4.0", False),
        ("2.3.9", "3.1", "3.1", False),
        ("", "4.0", "4.0", False),
    ],
)
def test_views_are_read_as_the_nearest_release_or_the_chosen_one(
    version, hive_views, release, is_guessed
):
    hive = HiveSql(version, True, hive_views)
    assert (hive.release, hive.is_guessed) == (release, is_guessed)
    assert hive.is_hive_3 == (release == "3.1")
    found = translate(view("SELECT cume_dist() OVER (ORDER BY a) AS x FROM d.t"), hive)
    assert (found.problem is None) == (release == "4.0")


def test_a_release_that_was_not_tried_is_warned_of_once(caplog):
    warn_of_release.cache_clear()
    translation = translate(view("SELECT a FROM d.t"), HiveSql("4.1.0", True))
    found = opened.OpenedHiveView(translation, Statement(translation.sql), None)
    with caplog.at_level(logging.WARNING, "hiveacid"):
        found.check()
        found.check()
    # dbt's log may have it, too.
    (message,) = [it.getMessage() for it in caplog.records if it.name == "hiveacid"]
    assert message.startswith(
        "[HIVEACID_WARN_HIVE_RELEASE] "
        "Hive views are read as Hive 4.0 shows them, but the metastore is that of Hive 4.1.0,"
    )
    assert "`hive_views` to choose another release, or to refuse" in message
    caplog.clear()
    for hive in (HiveSql("4.1.0", True, "4.0"), HIVE_4, HIVE_3):
        translation = translate(view("SELECT a FROM d.t"), hive)
        opened.OpenedHiveView(translation, Statement(translation.sql), None).check()
    assert caplog.messages == []


def test_an_unknown_release_is_refused():
    with pytest.raises(
        InvalidSettingError, match=r"hive_views must be one of 4\.0, 3\.1, refuse, not '4\.1'"
    ):
        KnownTables(nullcontext, set, set, hive_views="4.1")


def test_hive_3():
    assert translated("SELECT a FROM d.t ORDER BY a LIMIT 1", HIVE_3).endswith("ORDER BY a LIMIT 1")
    guarded = translated("SELECT year(a) AS x, extract(day FROM a) AS y FROM d.t", HIVE_3)
    fails = "RAISE_ERROR(CONCAT('[HIVEACID_HIVE_VIEW_VALUE] shop.v, column "
    assert guarded.count(f"< CAST('1582-10-15' AS DATE), {fails}") == 2
    assert guarded.count("is a day before 1582-10-15, which Hive 3 counts in two calendars") == 2
    assert translated("SELECT datediff('2024-01-01', '2023-01-01') AS x", HIVE_3).count("IF(") == 0
    assert "RAISE_ERROR" not in translated("SELECT year(a) AS x FROM d.t")
    found = translate(view("SELECT cume_dist() OVER (ORDER BY a) AS x FROM d.t"), HIVE_3)
    assert found.problem == ("CUME_DIST()", "it is a whole number in Hive 3")


@pytest.mark.parametrize(
    ("text", "columns", "place"),
    [
        ("SELECT a, substr(o.b, 1, 2) AS x FROM d.o", (), "column x"),
        # The names that CREATE VIEW gives count.
        ("SELECT a, substr(o.b, 1, 2) AS x FROM d.o", ("k", "short"), "column short"),
        ("SELECT a, upper(substr(o.b, 1, 2)) FROM d.o", ("a", "_c1"), "column _c1"),
        ("SELECT a FROM d.o UNION ALL SELECT substr(o.b, 1, 2) FROM d.o", ("k",), "column k"),
        ("SELECT *, substr(o.b, 1, 2) AS x FROM d.o", ("k", "l", "m"), "column x"),
        ("SELECT a FROM d.o WHERE substr(o.b, 1, 2) = 'x'", ("a",), "SUBSTR(o.b, 1, 2)"),
        (
            "SELECT q.x FROM (SELECT substr(o.b, 1, 2) AS x FROM d.o) q",
            ("y",),
            "SUBSTR(o.b, 1, 2)",
        ),
    ],
)
def test_an_error_of_a_row_names_the_view_the_column_and_the_value(text, columns, place):
    declared = tuple(Column(name, "string") for name in columns)
    found = translate(HiveView(NAME, text, declared), HIVE_4)
    assert found.problem is None and found.sql is not None
    assert (
        f"RAISE_ERROR(CONCAT('[HIVEACID_HIVE_VIEW_VALUE] shop.v, {place}: \\'', "
        "SUBSTRING(CAST(o.b AS STRING), 1, 100), "
        "'\\' has characters outside the BMP, which Hive counts as two. Put "
    ) in found.sql


def test_an_error_of_a_row_is_sql_whatever_it_names():
    assert fail_for_value("is odd", "d.v, concat(a, 'b\\c')") == (
        r"raise_error(concat('[HIVEACID_HIVE_VIEW_VALUE] d.v, concat(a, \'b\\c\'): \'',"
        r" substring(cast(x as string), 1, 100),"
        r" '\' is odd. Put the view\'s query into a model or a statement, in Spark\'s SQL.'))"
    )


def test_sqlglot_is_asked_for_where_a_view_is_met(monkeypatch):
    for name in [it for it in sys.modules if it.startswith("sqlglot")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("translate", "functions", "rewrites"):
        monkeypatch.delitem(sys.modules, f"hiveacid.sql.hive_views.{name}", raising=False)
        monkeypatch.delattr(hive_views, name, raising=False)
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(
        UnreadableTableError,
        match=r"shop\.v is a Hive view, and sqlglot, .* pip install 'hiveacid\[views\]'",
    ):
        tables_in(view("SELECT a FROM d.t"))


@pytest.mark.parametrize("kind", ["View", "View: e30=", "Materialized View: e30="])
def test_a_view_of_trinos_is_refused_as_one(kind):
    with pytest.raises(UnreadableTableError, match="shop.v is a view of Trino or Presto"):
        refuse_of_trino(view(f"/* Presto {kind} */"))
    refuse_of_trino(view("/* Presto Viewer */ SELECT a FROM d.t"))


def test_the_tables_behind_a_view():
    text = (
        "WITH q AS (SELECT * FROM `D`.`t`) SELECT q.a FROM q JOIN `d`.`u` ON q.a IN "
        "(SELECT b FROM `e`.`w`)"
    )
    names = {TableName("d", "t"), TableName("d", "u"), TableName("e", "w")}
    assert tables_in(view(text)) == names
    assert tables_in(view("SELECT FROM WHERE")) == frozenset()


def table(text="SELECT 1", type_="VIRTUAL_VIEW", **parameters):
    storage = StorageDescriptor("", (Column("a", "int"),))
    keys = (Column("day", "string"),)
    return Table(NAME, type_, storage, keys, parameters, 0, view_text=text)


def test_a_view_of_hives():
    found = HiveView.of(table())
    assert found == HiveView(NAME, "SELECT 1", (Column("a", "int"), Column("day", "string")))
    assert HiveView.of(None) is None
    assert HiveView.of(table(text=None)) is None
    assert HiveView.of(table(type_="MATERIALIZED_VIEW")) is None
    assert HiveView.of(table(**{"spark.sql.create.version": "4.1.1"})) is None


def test_a_part_has_the_same_error_in_group_by_and_in_a_column():
    """Spark would find another expression in GROUP BY, and refuse the view."""
    sql = translated(
        "SELECT substr(b, 1, 7) AS month, count(*) AS n FROM d.t GROUP BY substr(b, 1, 7)"
    )
    fails = "RAISE_ERROR(CONCAT('[HIVEACID_HIVE_VIEW_VALUE] shop.v, SUBSTR(b, 1, 7): "
    assert sql.count(fails) == 2
