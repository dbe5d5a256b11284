"""Spark's analysed plan shows which operators are not row-wise, and where they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from hiveacid.jvm.plans import plan_of, tree_of
from hiveacid.metastore.models import StorageDescriptor, Table, TableName
from hiveacid.sql.known_tables import KnownTables
from hiveacid.sql.parameters import parse_with
from hiveacid.sql.prepare import prepare
from hiveacid.sql.reads import AcidRead, ChangesRead
from hiveacid.sql.row_wise import CrossRowOperator
from hiveacid.sql.statement import TableFunction
from tests.functional.jvm_calls import count

PART = TableName("shop", "part")
COLUMNS = "id int, day string, v int, tags array<string>"


class Columns:
    """Columns of the transactional table `shop.part`, and of `acid_changes` of it."""

    def __init__(self) -> None:
        metadata = {
            PART: Table(
                PART, "MANAGED_TABLE", StorageDescriptor("/x", ()), (), {"transactional": "true"}, 0
            )
        }
        metastore = SimpleNamespace(
            get_tables=lambda names: {name: metadata[name] for name in names if name in metadata}
        )
        self.known = KnownTables(lambda: nullcontext(metastore), lambda: (), lambda: ())

    def pin(self, names: Iterable[TableName]) -> None:
        """Pin nothing."""

    def rows(self, session: SparkSession, read: AcidRead) -> DataFrame:
        return session.createDataFrame([], COLUMNS)

    columns = rows

    def feed(self, session: SparkSession, read: ChangesRead) -> DataFrame:
        raise AssertionError("no statement calls table_changes")

    def function(self, call: TableFunction) -> Callable[[SparkSession], DataFrame] | None:
        if call.name != "acid_changes":
            return None
        return lambda session: session.createDataFrame([], COLUMNS).alias("changes")


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    session = spark.newSession()
    session.sql("create temporary view dim as select 1 as id, 'one' as name")
    return session


def find(session: SparkSession, sql: str, *, is_keyed: bool = True) -> CrossRowOperator | None:
    prepared = prepare(session, parse_with(session, sql), Columns())
    return prepared.find_cross_row(session, "changes", PART, is_keyed=is_keyed)


ROW_WISE = [
    "select id, v * 2 as twice from acid_changes() where v > 1",
    "select c.id, upper(day) as day from acid_changes() c where not (v is null or id in (1, 2))",
    "select id, tag from acid_changes() lateral view explode(tags) t as tag",
    "select id, tag from acid_changes() c, lateral explode(c.tags) as t(tag)",
    "select id, explode_outer(tags) as tag from acid_changes()",
    "select c.id, (select max(x) from explode(c.tags) as t(x)) as last from acid_changes() c",
    "select c.id, name from acid_changes() c join dim on dim.id = c.id",
    "select c.id, name from dim join acid_changes() c using (id)",
    "select c.id, name from acid_changes() c left join dim on dim.id = c.id",
    "select c.id, name from dim right join acid_changes() c on dim.id = c.id",
    "select /*+ broadcast(dim) */ c.id, name from acid_changes() c, dim where dim.id = c.id",
    "select c.id from acid_changes() c left semi join dim on dim.id = c.id",
    "select c.id from acid_changes() c left anti join dim on dim.id = c.id",
    "select id from acid_changes() where id in (select id from dim group by id)",
    "select id from acid_changes() c where not exists (select 1 from dim where dim.id = c.id)",
    "select id, (select max(name) from dim where dim.id = c.id) as name from acid_changes() c",
    "select c.id, name from acid_changes() c join (select distinct id, name from dim) d using (id)",
    "select id from acid_changes() where v = 1 union all select v from acid_changes() where v = 2",
    "with c as (select id, v from acid_changes()) select * from c where v > (select 1)",
    "with c as (select * from acid_changes()) select id from c union all select v from c",
    "select id, value from acid_changes() unpivot (value for name in (v))",
    "select id from (select * from acid_changes() where false limit 0) _dbt_limit_subq",
    "select id from acid_changes() order by id",
    "select id from dim",
]
"""Statements that give the same rows from all changes at once and from parts of them."""


@pytest.mark.parametrize("sql", ROW_WISE)
def test_a_row_wise_statement_has_no_such_operator(session: SparkSession, sql: str) -> None:
    assert find(session, sql) is None


BY_DAY = "over (partition by day order by id desc)"

NOT_ROW_WISE = {
    f"select id from (select *, row_number() {BY_DAY} rn\nfrom acid_changes()) x where rn = 1": (
        "row_number() window (line 1, pos 26)"
    ),
    f"select id,\n  sum(v) {BY_DAY} as total from acid_changes()": "sum() window (line 2, pos 2)",
    "select count(*), max(id) from acid_changes()": "count() without GROUP BY (line 1, pos 7)",
    "select day, max(id)\nfrom acid_changes()\ngroup by day": "GROUP BY (line 3, pos 0)",
    "select day from acid_changes() group by day having count(*) > 1": "GROUP BY",
    "select day, v from acid_changes() group by rollup (day, v)": "GROUP BY",
    "select distinct day from acid_changes()": "DISTINCT",
    "select id from acid_changes() order by id\nlimit 3": "LIMIT",
    "select id from acid_changes() offset 3": "OFFSET",
    "select id from (select * from acid_changes()) tablesample (10 percent)": "TABLESAMPLE",
    "select id from acid_changes() except select id from dim": "EXCEPT",
    "select id from dim except select id from acid_changes()": "EXCEPT",
    "select id from acid_changes() minus all select id from dim": "EXCEPT",
    "select id from acid_changes() intersect select id from dim": "INTERSECT",
    "select id from acid_changes() union select v from acid_changes()": "UNION without ALL",
    "select id from acid_changes() union all select distinct v from acid_changes()": "DISTINCT",
    "select a.id from acid_changes() a join acid_changes() b on a.id = b.v": (
        "JOIN with itself (line 1, pos 34)"
    ),
    "with c as (select * from acid_changes()) select a.id from c a left join c b on a.v = b.id": (
        "JOIN with itself"
    ),
    "select a.id from acid_changes() a left join shop.part p on p.id = a.v": "JOIN with shop.part",
    "select id from acid_changes() union all select id from shop.part": "UNION ALL with shop.part",
    "select id from acid_changes() where v = (select max(v) from shop.part)": (
        "subquery of shop.part"
    ),
    "select dim.id, v from dim left join acid_changes() c on dim.id = c.id": (
        "LEFT OUTER JOIN on the right side"
    ),
    "select c.id from acid_changes() c right join dim on dim.id = c.id": "RIGHT OUTER JOIN",
    "select c.id from acid_changes() c full join dim on dim.id = c.id": "FULL OUTER JOIN",
    "select id from dim left anti join acid_changes() c using (id)": (
        "LEFT ANTI JOIN on the right side"
    ),
    "select id from dim where id in (select id from acid_changes())": "IN (…)",
    "select id from dim where not exists (select 1 from acid_changes() c where c.id = dim.id)": (
        "EXISTS (…)"
    ),
    "select id,\n  (select max(v) from acid_changes()) as top from dim": "subquery (line 2, pos 2)",
    "select id, n from dim, lateral (select v as n from acid_changes() c where c.id = dim.id)": (
        "LATERAL (…)"
    ),
}
"""Statements that are not row-wise, and the operator; the place where Spark has it exactly."""


@pytest.mark.parametrize("sql", NOT_ROW_WISE)
def test_an_operator_is_named_with_its_place(session: SparkSession, sql: str) -> None:
    found, expected = find(session, sql), NOT_ROW_WISE[sql]
    assert found is not None
    assert found.line >= 1
    assert expected in (found.name, str(found))


def test_the_first_operator_of_the_text_is_named(session: SparkSession) -> None:
    sql = "select distinct day from (\n  select day from acid_changes() limit 3)"
    assert str(find(session, sql)) == "DISTINCT (line 1, pos 0)"


def test_a_temporary_view_of_the_table_is_the_table(session: SparkSession) -> None:
    view = parse_with(session, "create temporary view behind as select * from shop.part")
    prepare(session, view, Columns()).run(session)
    found = find(session, "select c.id from acid_changes() c join behind b on b.id = c.v")
    assert found is not None and found.name == "JOIN with shop.part"


def test_rows_of_others_accumulate_without_a_key(session: SparkSession) -> None:
    sql = "select id, day from acid_changes() union all select -1, 'unknown'"
    assert find(session, sql) is None
    found = find(session, sql, is_keyed=False)
    assert found is not None and found.name == "UNION ALL with other rows and no unique_key"


def test_a_statement_that_spark_cannot_analyse_is_sparks_error(session: SparkSession) -> None:
    with pytest.raises(PySparkException, match="UNRESOLVED_COLUMN"):
        find(session, "select missing from acid_changes()")


def test_the_shape_of_a_plan(session: SparkSession) -> None:
    frame = session.sql(
        "select id from dim where id = (select max(id) from range(3) where id in (select 1))"
        " union all select 1"
    )
    tree = tree_of(session, plan_of(frame))
    assert tree.kinds[0] == "Union" and len(tree.inputs[0]) == 2
    (filtered, inner) = tree.of_kind("Filter")
    (root,) = tree.subqueries[filtered]
    assert tree.kinds[root] == "Aggregate"
    assert tree.inputs[root] == (inner,) and len(tree.subqueries[inner]) == 1
    children = [number for inputs in tree.inputs for number in inputs]
    roots = [number for queries in tree.subqueries for number in queries]
    assert sorted([0, *children, *roots]) == list(range(len(tree.kinds)))
    for number, kind in enumerate(tree.kinds):
        assert tree.node(number).getClass().getSimpleName() == kind


def test_a_large_plan_takes_as_many_calls_as_a_small_one(session: SparkSession) -> None:
    def calls(branches: int) -> int:
        sql = " union all ".join(["select id from acid_changes() where v > 1"] * branches)
        plan = prepare(session, parse_with(session, sql), Columns()).analyse(session)
        assert plan is not None
        return count(lambda: tree_of(session, plan))

    calls(1)
    assert calls(50) == calls(2)
