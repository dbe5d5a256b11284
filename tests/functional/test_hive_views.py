"""Views of Hive's on a local Spark: casts and types, and a view that Spark's catalog lacks."""

import datetime as dt
from decimal import Decimal

import pytest
from pyspark.errors import PySparkException

from hiveacid.errors import UnreadableTableError
from hiveacid.jvm.plans import plan_of
from hiveacid.metastore.models import Column, HiveView, TableName
from hiveacid.sql.relations import find_acid, tables_of
from hiveacid.sql.statement import parse
from hiveacid.sql.swap import swap

ORDERS = TableName("shop", "orders")
ROWS = (
    "select * from values (1, '2024-01-05abc', '10:00:00', cast(1.5 as float), 2.5D, 1.25, true), "
    "(2, 'x', '2024', cast(null as float), null, null, null) t(id, s, odd, f, d, n, b)"
)


class Known:
    """A metastore with a table and some views, of which Spark's catalog knows nothing."""

    def __init__(self, **views):
        self.views = views

    def has(self, name, *, in_spark):
        return name == ORDERS

    def hive_view(self, name):
        if name.database != "shop" or name.table not in self.views:
            return None
        text, *columns = self.views[name.table]
        return HiveView(name, text, tuple(Column(*it.split(" ", 1)) for it in columns))

    def nulls_last(self):
        return True


@pytest.fixture(scope="module")
def session(spark):
    session = spark.newSession()
    # The session's own settings do not count.
    session.conf.set("spark.sql.ansi.enabled", "true")
    return session


def shown(session, sql, **views):
    """The rows of a statement, and the tables that it reads, with the views on the way."""
    statement = parse(session, sql)
    reads = find_acid(session, statement, Known(**views))
    frame = swap(session, statement, reads, lambda read: plan_of(session.sql(ROWS))).run(session)
    return frame, [(str(it.table), it.path) for it in tables_of(reads)]


def rows(session, expression, type_):
    """The values of an expression in a view, by `id`."""
    view = (f"SELECT o.id, {expression} AS x FROM shop.orders o", "id int", f"x {type_}")
    frame, _ = shown(session, "select x from shop.v order by id", v=view)
    return [row.x for row in frame.collect()]


def test_a_view_over_a_view_that_sparks_catalog_lacks(session):
    below = ("SELECT o.id, o.id + 1 FROM shop.orders o", "id int", "_c1 int")
    above = ("SELECT v.`_c1` AS `n` FROM shop.below v", "N int")
    frame, tables = shown(session, "select * from shop.above", below=below, above=above)
    assert tables == [("shop.orders", ("shop.above", "shop.below"))]
    assert [tuple(row) for row in frame.collect()] == [(2,), (3,)]
    frame, _ = shown(
        session, "select v.n from shop.above v where v.n > 2", below=below, above=above
    )
    assert frame.collect() == [(3,)]


@pytest.mark.parametrize(
    ("expression", "type_", "values"),
    [
        # Spark alone makes NULL of the first text, and ANSI an error.
        ("cast(o.s AS date)", "date", [dt.date(2024, 1, 5), None]),
        ("year(o.s)", "int", [2024, None]),
        ("cast(o.s AS int)", "int", [None, None]),
        ("o.id / 0", "double", [None, None]),
        ("o.d + 1", "double", [3.5, None]),
        ("cast(o.n AS decimal(4,1))", "decimal(4,1)", [Decimal("1.3"), None]),
        ("o.n * 2", "decimal(12,2)", [Decimal("2.50"), None]),
        ("cast(o.id AS varchar(1))", "varchar(1)", ["1", "2"]),
        ("greatest(o.id, o.d)", "double", [2.5, None]),
    ],
)
def test_values_are_hives(session, expression, type_, values):
    assert rows(session, expression, type_) == values


@pytest.mark.parametrize(
    ("expression", "type_", "reason"),
    [
        ("o.s = o.id", "boolean", "Hive compares or converts a string with int in another way"),
        ("cast(o.b AS string)", "string", "the cast from boolean to string differs"),
        ("o.f + o.d", "double", "from float to double differs"),
        ("o.f > 0.1", "boolean", "from float to double differs"),
        ("pmod(o.d, 2)", "double", "of fractions Hive and Spark make different digits"),
        ("concat_ws(',', split(o.s, '-'))", "string", "Hive writes a NULL in an array as text"),
        ("o.n * cast(1 AS decimal(38,0))", "decimal(38,2)", "may have more than 38 digits"),
        ("o.id", "string", "The column x: it is string in Hive, and int in Spark"),
        ("o.n", "decimal(10,3)", "it is decimal(10,3) in Hive, and decimal(3,2) in Spark"),
        ("o.id", "uniontype<int,string>", "Spark has no type for uniontype<int,string>"),
        ("o.nowhere", "int", "Spark cannot run it ([UNRESOLVED_COLUMN"),
        (
            "(SELECT max(cast(p.b AS string)) FROM shop.orders p)",
            "string",
            "from boolean to string",
        ),
    ],
)
def test_what_differs_by_its_types_is_refused(session, expression, type_, reason):
    with pytest.raises(UnreadableTableError) as error:
        rows(session, expression, type_)
    assert str(error.value).startswith("shop.v is a view of Hive's that cannot be read exactly. ")
    assert reason in str(error.value)


def test_a_text_that_hive_reads_as_something_else_fails(session):
    with pytest.raises(PySparkException, match="reads the text '10:00:00' as a date, which Hive"):
        rows(session, "cast(o.odd AS date)", "date")
    # Hive makes NULL of it, and Spark the first of January.
    assert rows(session, "cast(if(o.id = 2, o.odd, NULL) AS date)", "date") == [None, None]


def test_a_view_of_hives_over_no_acid_table_is_sparks_matter(session):
    view = ("SELECT hash(1) AS h", "h int")
    statement = parse(session, "select * from shop.v")
    assert find_acid(session, statement, Known(v=view)) == ()
