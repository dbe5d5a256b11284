import pytest

from hiveacid.errors import UnreadableTableError
from hiveacid.metastore.models import (
    Column,
    HiveSql,
    HiveView,
    StorageDescriptor,
    Table,
    TableName,
)
from hiveacid.sql import hive_functions, hive_views
from hiveacid.sql.hive_functions import ARGUMENTS, DIFFERENT, EQUAL, REWRITTEN, UNORDERED
from hiveacid.sql.hive_views import refuse_of_trino, tables_in, translate
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


@pytest.mark.parametrize("name", sorted(DIFFERENT))
def test_a_function_that_differs_is_refused_with_the_reason(name):
    part, reason = problem(f"SELECT {name}(a) AS x FROM d.t")
    assert name in part.lower()
    assert reason == f"it {DIFFERENT[name]}"


def test_a_function_is_on_one_list():
    lists = [EQUAL, frozenset(REWRITTEN), frozenset(DIFFERENT), UNORDERED]
    assert sum(map(len, lists)) == len(frozenset().union(*lists))
    assert ARGUMENTS.keys() == EQUAL | REWRITTEN.keys() | UNORDERED


def test_each_number_of_arguments_was_tried(monkeypatch):
    """integration/test_hive_views.py has Hive evaluate these expressions and views."""
    lists = groups_of("hive_expressions.sql").values()
    texts = [f"SELECT {', '.join(it.statement for it in cases)} FROM d.t" for cases in lists]
    views = [view.statement for view in cases_of("views_of_sites.sql")]
    tried = {name: set() for name in ARGUMENTS}

    def recorded(name, arguments):
        tried[name].add(len(arguments))
        return hive_functions.translated(name, arguments)

    monkeypatch.setattr(hive_views, "translated", recorded)
    for text in (*texts, *views):
        assert problem(text) is None
    for name, numbers in ARGUMENTS.items():
        *_, last = wanted = [int(number.rstrip("+")) for number in numbers.split()]
        assert tried[name] >= set(wanted), name
        assert not numbers.endswith("+") or max(tried[name]) > last, name


@pytest.mark.parametrize(
    ("text", "part", "reason"),
    [
        ("SELECT no_such(a) AS x FROM d.t", "NO_SUCH(a)", "tried in Hive next to Spark"),
        ("SELECT own.f(a) AS x FROM d.t", "F(a)", "a function of the users' own"),
        ("SELECT current_date AS x FROM d.t", "CURRENT_DATE", "it depends on the moment"),
        ("SELECT a FROM d.t LIMIT 3", "SELECT a FROM d.t LIMIT 3", "rows by chance"),
        ("SELECT a FROM d.t WHERE b = 'x '", "b = 'x '", "passes over blanks"),
        ("SELECT a FROM d.t WHERE b IN ('x', 'y ')", "b IN ('x', 'y ')", "passes over blanks"),
        ("SELECT a FROM d.t WHERE (b) = ('x ')", "(b) = ('x ')", "passes over blanks"),
        ("SELECT a FROM d.t WHERE b <=> 'x '", "b IS NOT DISTINCT FROM 'x '", "passes over blanks"),
        ("SELECT a FROM d.t WHERE (b, c) IN (('x ', 1))", "(b, c) IN", "passes over blanks"),
        ("SELECT a FROM d.t WHERE b BETWEEN 'x' AND 'y '", "b BETWEEN", "passes over blanks"),
        ("SELECT a FROM d.t WHERE b IS DISTINCT FROM 'x '", "b IS DISTINCT", "passes over blanks"),
        ("SELECT CASE a WHEN 'x ' THEN 1 END AS x FROM d.t", "CASE a WHEN", "passes over blanks"),
        ("SELECT a FROM d.t WHERE b = cast('x ' AS string)", "b = CAST('x '", "passes over blanks"),
        ("SELECT pmod(a, b) AS x FROM d.t", "PMOD(a, b)", "by a number from 1 to 1000000000"),
        ("SELECT pmod(a, -3) AS x FROM d.t", "PMOD(a, -3)", "Hive adds a negative one"),
        ("SELECT upper(DISTINCT a) AS x FROM d.t", "UPPER(DISTINCT a)", "with DISTINCT"),
        ("SELECT nullif(a, 'x ') AS x FROM d.t", "NULLIF(a, 'x ')", "passes over blanks"),
        ("SELECT concat(a) AS x FROM d.t", "CONCAT(a)", "with 2 arguments or more, not with 1"),
        ("SELECT round(a, 1, 2) AS x FROM d.t", "ROUND(a, 1, 2)", "with 1 or 2 arguments, not"),
        ("SELECT count(*) AS x FROM d.t GROUP BY 1", "SELECT COUNT(*)", "position.alias"),
        ("SELECT a FROM d.t WHERE b RLIKE c", "b RLIKE c", "must be written out"),
        ("SELECT substr(a, b) AS x FROM d.t", "SUBSTR(a, b)", "must be a number"),
        ("SELECT trim(a, 'x') AS x FROM d.t", "TRIM(a, 'x')", "tried with 1 argument, not with 2"),
        (
            "SELECT instr(a, 'x', 3) AS x FROM d.t",
            "INSTR(a, 'x', 3)",
            "tried with 2 arguments, not with 3",
        ),
        ("SELECT a ^ 2 * 3 AS x FROM d.t", "a ^ 2 * 3", "write parentheses"),
        ("SELECT a = b IS NULL AS x FROM d.t", "(a = b) IS NULL", "write parentheses"),
        ("SELECT lag(a) OVER () AS x FROM d.t", "LAG(a) OVER ()", "window's rows is chance"),
        ("SELECT split(a, 'x*') AS x FROM d.t", "SPLIT(a, 'x*')", "match an empty text"),
        ("SELECT regexp_extract(a, '(x)|y', 1) AS z FROM d.t", "REGEXP_EXTRACT", "no part in a"),
        ("SELECT date_format(a, 'u') AS x FROM d.t", "DATE_FORMAT", "its pattern has u"),
        ("SELECT trunc(a, 'HH') AS x FROM d.t", "TRUNC(a, 'HH')", "its unit must be one of"),
        ("SELECT collect_list(a) AS x FROM d.t", "COLLECT_LIST(a)", "the order in its result"),
        ("SELECT sort_array(a) AS x FROM d.t", "SORT_ARRAY(a)", "sorts the array where it is"),
        ("SELECT cast(a AS array<int>) AS x FROM d.t", "CAST(a AS ARRAY<INT>)", "not tried"),
        ("SELECT extract(second FROM a) AS x FROM d.t", "EXTRACT(SECOND FROM a)", "one of DAY,"),
        ("SELECT INPUT__FILE__NAME AS x FROM d.t", "INPUT__FILE__NAME", "virtual columns"),
        ("SELECT a FROM d.t TABLESAMPLE(BUCKET 1 OUT OF 2) s", "TABLESAMPLE", "not tried"),
        ("SELECT TRANSFORM(a) USING 'cat' AS (b) FROM d.t", "TRANSFORM", "not tried"),
        (
            "SELECT a FROM d.t INTERSECT SELECT a FROM d.u UNION SELECT a FROM d.w",
            "SELECT",
            "binds",
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
    assert message.startswith("shop.v is a view of Hive's that cannot be read exactly. ")
    assert message.endswith(f"Its text in Hive: {text}")


@pytest.mark.parametrize("version", ["4.1.0", "4.2.0", "3.1.3000.7.1.9.0", "2.3.9", ""])
def test_a_hive_that_was_not_tried_is_refused(version):
    found = translate(view("SELECT a FROM d.t"), HiveSql(version, nulls_last=True))
    with pytest.raises(UnreadableTableError, match=f"the metastore is that of Hive {version}, wh"):
        found.check()
    # Whether it reads an ACID table is found out all the same.
    assert found.sql == "SELECT a FROM d.t"


def test_hive_3():
    assert translated("SELECT a FROM d.t ORDER BY a LIMIT 1", HIVE_3).endswith("ORDER BY a LIMIT 1")
    guarded = translated("SELECT year(a) AS x, extract(day FROM a) AS y FROM d.t", HIVE_3)
    assert guarded.count("< CAST('1582-10-15' AS DATE), RAISE_ERROR('A view of Hive\\'s comp") == 2
    assert translated("SELECT datediff('2024-01-01', '2023-01-01') AS x", HIVE_3).count("IF(") == 0
    assert "RAISE_ERROR" not in translated("SELECT year(a) AS x FROM d.t")
    found = translate(view("SELECT cume_dist() OVER (ORDER BY a) AS x FROM d.t"), HIVE_3)
    assert found.problem == ("CUME_DIST()", "it is a whole number in Hive 3")


@pytest.mark.parametrize("kind", ["View", "View: e30=", "Materialized View: e30="])
def test_a_view_of_trinos_is_refused_as_one(kind):
    with pytest.raises(
        UnreadableTableError, match="shop.v is a view that Trino or Presto has made"
    ):
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
