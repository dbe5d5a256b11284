"""Calls to the JVM before a statement runs: not one for each expression, query or union."""

import pytest

from dbt.adapters.hiveacid.spark.session import SessionHandle
from hiveacid.jvm.plans import plan_of
from hiveacid.sql.relations import find_acid, find_changes, tables_of
from hiveacid.sql.statement import parse
from hiveacid.sql.swap import swap
from tests.functional.jvm_calls import count

CASTS = ", ".join(f"cast(id + {i} as string) as c{i}" for i in range(1500))
CASES = ", ".join(f"case when id > {i} then upper(name) else 'x' end as c{i}" for i in range(800))
NUMBERS = ", ".join(map(str, range(5000)))
QUERIES = " and ".join(
    f"id in (select id from shop.t{i % 3} where id > {i} and length(name) < 9)" for i in range(100)
)
STEPS = ", ".join(
    f"c{i} as (select id, name from {f'c{i - 1}' if i else 'shop.t0'})" for i in range(60)
)

STATEMENTS = {
    "casts": f"select {CASTS} from shop.t0",
    "cases": f"select {CASES} from shop.t0",
    "a long list": f"select id from shop.t0 where id in ({NUMBERS})",
    "200 unions": " union all ".join(
        f"select id, trim(name), {i} from shop.t0" for i in range(200)
    ),
    "1,200 unions": " union all ".join(["select id from shop.t0"] * 1200),
    "100 queries": f"select id from shop.t0 where {QUERIES}",
    "60 steps": f"with {STEPS} select * from c59",
}


class Known:
    """A metastore of the ACID tables `shop.t0`, `shop.t1` and so on, which Spark does not have."""

    def has(self, name, *, in_spark):
        return not in_spark and name.database == "shop"


@pytest.fixture(scope="module")
def session(spark):
    return SessionHandle(spark, {}).session


def prepare(session, sql):
    """Prepare a statement as `snapshot.sql` does; return the tables that it reads."""
    statement = parse(session, sql)
    reads = find_acid(session, statement, Known())
    find_changes(session, statement, Known())
    rows = plan_of(session.createDataFrame([], "id int, name string"))
    swap(session, statement, reads, lambda read: rows)
    return {str(read.table) for read in tables_of(reads)}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_long_statement_takes_few_calls(session, statement):
    sql = STATEMENTS[statement]
    tables = 3 if statement == "100 queries" else 1
    assert prepare(session, sql) == {f"shop.t{i}" for i in range(tables)}
    # Three calls for each query of the statement, to find its relations.
    most = 250 + {"100 queries": 300, "60 steps": 200}.get(statement, 0)
    assert count(lambda: prepare(session, sql)) < most


def test_many_tables_are_looked_up_together(session):
    names = [f"shop.t{i}" for i in range(50)]
    sql = " union all ".join(f"select id from {name}" for name in names)
    assert prepare(session, sql) == set(names)
    assert count(lambda: prepare(session, sql)) < 40 * len(names)
