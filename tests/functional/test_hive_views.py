"""Hive views on a local Spark: casts and types, and a view that Spark's catalog lacks."""

import datetime as dt
from decimal import Decimal

import pytest
from pyspark.errors import PySparkException

from hiveacid.errors import InvalidSettingError, RawAcidReferenceError, UnreadableTableError
from hiveacid.jvm.py4j import active
from hiveacid.metastore.models import Column, HiveSql, HiveView, TableName
from hiveacid.sql.hive_views.session import SETTINGS
from hiveacid.sql.reads import tables_of
from hiveacid.sql.relations import find_acid
from hiveacid.sql.statement import parse
from hiveacid.sql.swap import swap

ORDERS = TableName("shop", "orders")
ROWS = (
    "select * from values (1, '2024-01-05abc', '10:00:00', cast(1.5 as float), 2.5D, 1.25, true), "
    "(2, 'x', '2024', cast(null as float), null, null, null) t(id, s, odd, f, d, n, b)"
)


class Known:
    """A metastore with a table and some views, of which Spark's catalog knows nothing."""

    def __init__(self, hive, **views):
        self.hive = hive
        self.views = views

    def has(self, name, *, in_spark):
        return name == ORDERS

    def hive_view(self, name, *, in_spark):
        if name.database != "shop" or name.table not in self.views:
            return None
        text, *columns = self.views[name.table]
        return HiveView(name, text, tuple(Column(*it.split(" ", 1)) for it in columns))

    def hive_sql(self):
        return self.hive


@pytest.fixture(scope="module")
def session(spark):
    session = spark.newSession()
    # The session's own settings do not count.
    session.conf.set("spark.sql.ansi.enabled", "true")
    return session


HIVE_4 = HiveSql("4.0.1", nulls_last=True)
HIVE_3 = HiveSql("3.0", nulls_last=False)


def shown(session, sql, hive=HIVE_4, orders=ROWS, **views):
    """The rows of a statement, and the tables that it reads, with the views on the way."""
    statement = parse(session, sql)
    reads = find_acid(session, statement, Known(hive, **views))
    frame = swap(session, statement, reads, lambda read: session.sql(orders)).run(session)
    return frame, [(str(it.table), it.path) for it in tables_of(reads)]


def rows(session, expression, type_, hive=HIVE_4):
    """The values of an expression in a view, by `id`."""
    view = (f"SELECT o.id, {expression} AS x FROM shop.orders o", "id int", f"x {type_}")
    frame, _ = shown(session, "select x from shop.v order by id", hive, v=view)
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
        ("abs(cast(-o.id * 128 AS tinyint))", "int", [128, 0]),
        # A decimal(19,0) of the bigint; Spark's own has 20 digits.
        ("o.n / cast(o.id * 3 AS bigint)", "decimal(23,22)", [Decimal(f"0.41{'6' * 19}7"), None]),
        # The cast that is written has 20 digits all the same.
        (
            "cast(o.id AS bigint) + o.n > 0 AND cast(cast(o.id AS bigint) AS decimal(20,0))"
            " / cast(3 AS decimal(20,10)) = 0.33333333",
            "boolean",
            [True, False],
        ),
        ("o.n / 2L", "decimal(8,6)", [Decimal("0.625"), None]),
        ("o.n / 2.0", "decimal(8,6)", [Decimal("0.625"), None]),
        *(
            (f"o.n / {three}", "decimal(7,6)", [Decimal("0.416667"), None])
            for three in (
                "3S",
                "cast(3 AS int)",
                "cast((3) AS smallint)",
                "cast(3 AS bigint)",
            )
        ),
        *(
            (f"o.n / {three}", "decimal(7,6)", [Decimal("-0.416667"), None])
            for three in ("-(3)", "-cast(3 AS int)", "cast(-(3) AS bigint)")
        ),
        # As a position of ORDER BY a number would have another meaning.
        ("rank() OVER (ORDER BY cast(2 AS int))", "int", [1, 1]),
        ("1.0 / 3", "decimal(7,6)", [Decimal("0.333333")] * 2),
        # Of a calculated whole number Hive 4 takes the digits that its type may have.
        ("o.n / (1 + 2)", "decimal(14,13)", [Decimal("0.4166666666667"), None]),
        # The type of a column that became wider after the view was made.
        ("cast(o.id AS bigint) * 3000000000", "int", [3000000000, 6000000000]),
    ],
)
def test_values_are_hives(session, expression, type_, values):
    assert rows(session, expression, type_) == values


@pytest.fixture
def with_catalog(spark):
    """A session with a catalog that has the name of the database."""
    session = spark.newSession()
    settings = {
        "": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
        ".url": "jdbc:derby:memory:shop;create=true",
        ".driver": "org.apache.derby.jdbc.EmbeddedDriver",
    }
    for key, value in settings.items():
        session.conf.set(f"spark.sql.catalog.shop{key}", value)
    with active(session):  # Spark looks for catalogs in the settings of the thread's session.
        yield session


def test_a_database_with_the_name_of_a_catalog(with_catalog):
    """In Hive a name in two parts is that of a database, and Spark looks among its catalogs."""
    view = ("SELECT o.id FROM shop.orders o", "id int")
    frame, tables = shown(with_catalog, "select * from spark_catalog.shop.v", v=view)
    assert tables == [("shop.orders", ("shop.v",))]
    assert sorted(row.id for row in frame.collect()) == [1, 2]
    frame, _ = shown(with_catalog, "select id from spark_catalog.shop.orders")
    assert sorted(row.id for row in frame.collect()) == [1, 2]
    with pytest.raises(RawAcidReferenceError, match="Spark has a catalog `shop`"):
        shown(with_catalog, "select id from shop.orders")
    with pytest.raises(RawAcidReferenceError, match="shop.v is a Hive .* has a catalog `shop`"):
        shown(with_catalog, "select id from shop.v", v=view)
    # Without transactional tables behind it, the name may be that of the catalog's own table.
    with pytest.raises(PySparkException, match="TABLE_OR_VIEW_NOT_FOUND"):
        shown(with_catalog, "select id from shop.v", v=("SELECT 1 AS id", "id int"))


@pytest.mark.parametrize(
    "plugin",
    [
        "no.such.Catalog",
        "java.lang.String",
        # It needs a URL. Spark's error names neither the catalog nor the setting.
        "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
    ],
)
def test_a_catalog_that_spark_cannot_load(spark, plugin):
    session = spark.newSession()
    session.conf.set("spark.sql.catalog.shop", plugin)
    view = ("SELECT o.id FROM shop.orders o", "id int")
    with active(session):
        for name in ("spark_catalog.shop.v", "spark_catalog.shop.orders"):
            frame, tables = shown(session, f"select id from {name}", v=view)
            assert [table for table, _ in tables] == ["shop.orders"]
            assert sorted(row.id for row in frame.collect()) == [1, 2]
        assert shown(session, "select 1 as x")[0].collect() == [(1,)]
        with pytest.raises(InvalidSettingError, match="cannot load the catalog shop, in ") as error:
            shown(session, "select id from shop.orders")
        assert "`spark.sql.catalog.shop`" in error.value.message
        assert "\tat " not in error.value.message
        session.conf.set("spark.sql.defaultCatalog", "shop")
        with pytest.raises(InvalidSettingError, match="the setting `spark.sql.defaultCatalog`"):
            shown(session, "select id from orders")


@pytest.mark.parametrize(
    ("expression", "type_", "reason"),
    [
        ("o.s = o.id", "boolean", "Hive compares or converts a string with int differently"),
        ("cast(o.b AS string)", "string", "the cast from boolean to string differs"),
        ("o.f + o.d", "double", "from float to double differs"),
        ("o.f > 0.1", "boolean", "from float to double differs"),
        ("pmod(o.d, 2)", "double", "Hive and Spark compute different digits for fractions"),
        ("concat_ws(',', split(o.s, '-'))", "string", "Hive writes a NULL in an array as text"),
        ("o.n * cast(1 AS decimal(38,0))", "decimal(38,2)", "may have more than 38 digits"),
        ("nvl(o.f, o.n)", "float", "Hive makes a float of a float and a decimal"),
        ("cast(o.id AS tinyint)", "int", "it is int in Hive, and tinyint in Spark"),
        ("(SELECT avg(cast(p.id AS bigint)) FROM shop.orders p)", "double", "Hive adds up as big"),
        (
            "(SELECT avg(cast(p.n AS decimal(25,2))) FROM shop.orders p)",
            "decimal(29,6)",
            "has fewer digits behind the point",
        ),
        ("o.id", "string", "The column x: it is string in Hive, and int in Spark"),
        ("o.n", "decimal(10,3)", "it is decimal(10,3) in Hive, and decimal(3,2) in Spark"),
        ("o.id", "uniontype<int,string>", "Spark has no type for uniontype<int,string>"),
        ("o.nowhere", "int", "Spark cannot run it ([UNRESOLVED_COLUMN"),
        *(
            (expression, "decimal(7,6)", "Hive treats it as a decimal of its own digits")
            for expression in (
                "o.n / cast('3' AS int)",
                "o.n / cast(3.7 AS int)",
                "o.n / - -3",
                "o.n / 3Y",
                "o.n / -3S",
                "o.n / -3L",
                "7 / (o.n + cast('3' AS int))",
                "(SELECT max(p.n / cast('3' AS int)) FROM shop.orders p)",
            )
        ),
        *(
            (expression, "decimal(7,6)", "more digits of a quotient of constants than its type")
            for expression in (
                "o.n * (1.0 / 3)",
                "o.n / (1.0 / 3)",
                "1.0 / 3 / 7",
                "1 / cast(7 AS decimal(20,10)) + 1",
                "cast(1.0 / 3 AS decimal(38,20))",
                "(SELECT max(1.0 / 3) FROM shop.orders p)",
                "(SELECT max(q.n / q.k) FROM (SELECT p.n, 1.0 / 3 AS k FROM shop.orders p) q)",
                "(SELECT max(q.k / 7) FROM (SELECT 1.5 AS k FROM shop.orders p) q)",
            )
        ),
        *(
            (expression, "decimal(7,6)", "Hive calculates with all digits of the constant")
            for expression in (
                "o.n * cast(1.25 AS decimal(10,1))",
                "coalesce(o.n, cast(1.25 AS decimal(10,1)))",
            )
        ),
        *(
            (
                expression,
                "decimal(7,6)",
                "Hive multiplies wrongly by a constant with zeros at its end",
            )
            for expression in (
                "o.n * (1.5 + 1.5)",
                "o.n * (nvl(1.5, 0) + 1.5)",
                "(SELECT max(p.n * (nvl(NULL, 1.5) + 1.5)) FROM shop.orders p)",
                "o.n * cast(3 AS decimal(4,2))",
                "(SELECT sum(p.n * (1.5 * 2)) FROM shop.orders p)",
                "(SELECT sum(q.n * q.k) FROM (SELECT p.n, 1.5 + 1.5 AS k FROM shop.orders p) q)",
            )
        ),
        *(
            (expression, "string", "as text Hive shows the sum or choice without its zeros")
            for expression in (
                "concat(o.n + cast(3 AS decimal(10,4)), '|')",
                "concat(cast(3 AS decimal(10,4)) - o.n, '|')",
                "concat(coalesce(o.n, cast(3 AS decimal(10,4))), '|')",
                "concat(greatest(o.n, cast(3 AS decimal(10,4))), '|')",
                "concat(o.id + (1.5 + 1.5), '|')",
                "(SELECT max(concat(q.n + q.k, '')) FROM"
                " (SELECT p.n, cast(3 AS decimal(10,4)) AS k FROM shop.orders p) q)",
                "(SELECT max(concat(q.x, '|')) FROM"
                " (SELECT p.n + cast(3 AS decimal(10,4)) AS x FROM shop.orders p) q)",
            )
        ),
        *(
            (expression, "decimal(25,22)", "the choice between a bigint and a decimal")
            for expression in (
                "7 / coalesce(o.n, cast(o.id AS bigint))",
                "7 / if(o.b, o.n, cast(o.id AS bigint))",
                "7 / (CASE WHEN o.b THEN o.n ELSE 3L END + 1)",
            )
        ),
        (
            "(SELECT max(u.n) FROM (SELECT p.n FROM shop.orders p UNION ALL"
            " SELECT p.id FROM shop.orders p) u)",
            "decimal(3,2)",
            "in a UNION, INTERSECT or EXCEPT with decimals, Hive makes NULL of whole numbers",
        ),
        *(
            (
                f"(SELECT max(u.n) FROM (SELECT p.n FROM shop.orders p {operation}"
                f" SELECT {number} FROM shop.orders p) u)",
                "decimal(3,2)",
                "in a UNION, INTERSECT or EXCEPT with decimals, Hive makes NULL of whole numbers",
            )
            for operation, number in (
                ("INTERSECT", "p.id"),
                ("EXCEPT ALL", "p.id"),
                # Also where Hive's decimal has room for all of them.
                ("UNION ALL", "0"),
                ("UNION ALL", "cast(p.id AS tinyint)"),
            )
        ),
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
    assert error.value.message.startswith("shop.v is a Hive view that cannot be read exactly. ")
    assert reason in str(error.value)


@pytest.mark.parametrize(
    ("expression", "type_", "reason"),
    [
        ("cast(o.s AS date)", "date", "Hive 3 makes a later day"),
        ("year(o.s)", "int", "Hive 3 makes a later day"),
        ("cast('2024-02-30' AS date)", "date", "Hive 3 makes a later day"),
        ("concat(o.s, o.n)", "string", "Hive 3 writes no zeros at the end"),
        ("(SELECT avg(p.n) FROM shop.orders p)", "decimal(7,6)", "another number in Hive 3"),
        ("(SELECT avg(p.s) FROM shop.orders p)", "double", "another number in Hive 3"),
        *(
            (expression, "decimal(7,6)", "Hive 3 treats it as a decimal of its own digits")
            for expression in (
                "o.n / cast(3 AS decimal(20,10))",
                "o.n / cast('3' AS decimal(20,10))",
                "o.n / cast('3' AS int)",
                "o.n / (1 + 2)",
                "o.n / (1.5 * 2)",
                "o.n / length('abc')",
                "o.n / (1.0 / 3)",
                "(o.n + cast(1 AS decimal(20,10))) / 7",
                "1 / cast(7 AS decimal(12,2))",
                "round(o.n / (1 + 2), 7)",
                "if(o.n / (1 + 2) > 0.4, o.n, 1.5)",
                "(SELECT sum(cast(3 AS decimal(20,10))) / 7 FROM shop.orders p)",
                "(SELECT max(q.n / q.k) FROM (SELECT p.n, 1 + 2 AS k FROM shop.orders p) q)",
            )
        ),
    ],
)
def test_what_differs_in_hive_3_is_refused_there(session, expression, type_, reason):
    with pytest.raises(UnreadableTableError, match=reason):
        rows(session, expression, type_, HIVE_3)


@pytest.mark.parametrize(
    ("expression", "type_", "value"),
    [
        ("o.n / 3", "decimal(1,0)", "0.416667"),
        ("o.n / -3", "decimal(1,0)", "-0.416667"),
        ("o.n / cast(3 AS bigint)", "decimal(1,0)", "0.416667"),
        ("o.n / cast(3 AS int)", "decimal(1,0)", "0.416667"),
        ("o.n / 3S", "decimal(1,0)", "0.416667"),
        ("o.n / -(3)", "decimal(1,0)", "-0.416667"),
        ("o.n / cast(3 AS decimal(1,0))", "decimal(1,0)", "0.416667"),
        ("o.n / 1.50", "decimal(1,0)", "0.833333"),
        ("o.n / -(1.5)", "decimal(1,0)", "-0.833333"),
        ("o.n / cast(o.id + 1 AS decimal(1,0))", "decimal(1,0)", "0.625"),
        ("coalesce(o.n, cast(3 AS decimal(4,2))) / 7", "decimal(1,0)", "0.178571"),
        ("1.0 / 3", "decimal(1,0)", "0.333333"),
        ("o.n * cast(3 AS decimal(20,10))", "decimal(1,0)", "3.75"),
        ("o.n / cast(NULL AS decimal(20,10))", "decimal(1,0)", None),
    ],
)
def test_a_division_by_a_constant_with_the_type_of_its_digits_is_read_in_hive_3(
    session, expression, type_, value
):
    (found, _) = rows(session, expression, type_, HIVE_3)
    assert found == (value if value is None else Decimal(value))


OF_CONSTANTS = {
    "a subquery": "(SELECT p.n, 3 AS k FROM shop.orders p) q",
    "two subqueries": "(SELECT r.n, r.k FROM (SELECT p.n, 3 AS k FROM shop.orders p) r) q",
    "a group": "(SELECT p.n, 1 + 2 AS k FROM shop.orders p GROUP BY p.n) q",
    "a join": "shop.orders q CROSS JOIN (SELECT cast(3 AS decimal(20,10)) AS k) c",
    "a view": "shop.below q",
    "a view in a subquery": "(SELECT r.n, r.k FROM (SELECT b.n, b.k FROM shop.below b) r) q",
}


@pytest.mark.parametrize("source", OF_CONSTANTS)
def test_a_column_that_is_a_constant_is_one_where_hive_3_divides(session, source):
    below = ("SELECT p.n, 3 AS k FROM shop.orders p", "n decimal(3,2)", "k int")
    above = (f"SELECT q.n / k AS x FROM {OF_CONSTANTS[source]}", "x decimal(1,0)")
    with pytest.raises(UnreadableTableError, match="Hive 3 treats it as a decimal"):
        shown(session, "select x from shop.v", HIVE_3, below=below, v=above)
    frame, _ = shown(session, "select x from shop.v", HIVE_4, below=below, v=above)
    assert len(frame.collect()) == 2


def test_a_column_of_a_common_table_expression_is_a_constant_where_hive_3_divides(session):
    text = "WITH q AS (SELECT p.n, 3 AS k FROM shop.orders p) SELECT q.n / q.k AS x FROM q"
    with pytest.raises(UnreadableTableError, match="Hive 3 treats it as a decimal"):
        shown(session, "select x from shop.v", HIVE_3, v=(text, "x decimal(1,0)"))


def test_a_column_that_is_no_constant_in_every_row_is_none_in_hive_3(session):
    """Neither is the key of a table with a single partition, a constant in Spark's plan."""
    for k in ("o.id", "if(o.id = 1, 3, 4)"):
        view = (
            f"SELECT q.n / q.k AS x FROM (SELECT o.n, {k} AS k FROM shop.orders o) q",
            "x decimal(1,0)",
        )
        frame, _ = shown(session, "select x from shop.v", HIVE_3, v=view)
        assert len(frame.collect()) == 2
    view = ("SELECT o.n / o.day AS x FROM shop.orders o", "x decimal(1,0)")
    rows_of_a_partition = f"select *, 3 as day from ({ROWS})"
    frame, _ = shown(session, "select x from shop.v", HIVE_3, rows_of_a_partition, v=view)
    assert len(frame.collect()) == 2


#: Queries with a column that is a constant because of a condition or in each part of a UNION.
FIXED = {
    "=": "SELECT q.n / q.id AS x FROM shop.orders q WHERE q.id = 1",
    "= to a text": "SELECT q.n / q.id AS x FROM shop.orders q WHERE '1' = q.id",
    "<=>": "SELECT q.n / q.id AS x FROM shop.orders q WHERE q.id <=> 1",
    "IN": "SELECT q.n / q.id AS x FROM shop.orders q WHERE q.id IN (1)",
    "NOT <>": "SELECT q.n / q.id AS x FROM shop.orders q WHERE NOT (q.id <> 1) AND q.n > 0",
    "a cast": "SELECT q.n / q.id AS x FROM shop.orders q WHERE cast(q.id AS bigint) = 1",
    "the dividend": "SELECT q.id / q.n AS x FROM shop.orders q WHERE q.id = 1",
    "above": "SELECT q.n / q.k AS x FROM "
    "(SELECT p.n, p.id AS k FROM shop.orders p WHERE p.id = 1) q",
    "below": "SELECT q.x FROM (SELECT p.n / p.id AS x, p.id AS k FROM shop.orders p) q "
    "WHERE q.k = 1",
    "in a view": "SELECT b.x FROM shop.below b WHERE b.k = 1",
    "HAVING": "SELECT sum(q.n) / q.id AS x FROM shop.orders q GROUP BY q.id HAVING q.id = 1",
    "an aggregate": "SELECT q.n / q.k AS x FROM "
    "(SELECT p.n, max(p.id) AS k FROM shop.orders p GROUP BY p.n) q WHERE q.k = 1",
    "a join": "SELECT p.n / q.id AS x FROM shop.orders p JOIN shop.orders q "
    "ON p.n = q.n AND q.id = 1",
    "equal in a join": "SELECT p.n / p.id AS x FROM shop.orders p JOIN shop.orders q "
    "ON p.id = q.id WHERE q.id = 1",
    "a left join": "SELECT p.n / q.id AS x FROM shop.orders p LEFT JOIN shop.orders q "
    "ON p.id = q.id WHERE q.id = 1",
    "UNION ALL": "SELECT q.n / q.k AS x FROM (SELECT p.n, 3 AS k FROM shop.orders p "
    "UNION ALL SELECT p.n, 3 AS k FROM shop.orders p) q",
    "UNION ALL of conditions": "SELECT q.n / q.id AS x FROM (SELECT p.n, p.id FROM shop.orders p "
    "WHERE p.id = 1 UNION ALL SELECT p.n, p.id FROM shop.orders p WHERE p.id = 1) q",
}
NOT_FIXED = {
    "a range": "SELECT q.n / q.id AS x FROM shop.orders q WHERE q.id >= 1 AND q.id < 2",
    "IN": "SELECT q.n / q.id AS x FROM shop.orders q WHERE q.id IN (1, 2)",
    "OR": "SELECT q.n / q.id AS x FROM shop.orders q WHERE q.id = 1 OR q.id = 2",
    "CASE": "SELECT CASE WHEN q.id = 1 THEN q.n / q.id ELSE q.n END AS x FROM shop.orders q",
    "a left join": "SELECT p.n / q.id AS x FROM shop.orders p LEFT JOIN shop.orders q "
    "ON p.id = q.id AND q.id = 1 WHERE p.n > 0",
    "the right of a left join": "SELECT p.n / q.id AS x FROM shop.orders p LEFT JOIN "
    "(SELECT * FROM shop.orders WHERE id = 1) q ON p.id = q.id WHERE p.n > 0",
    "UNION ALL": "SELECT q.n / q.k AS x FROM (SELECT p.n, 3 AS k FROM shop.orders p "
    "UNION ALL SELECT p.n, 4 AS k FROM shop.orders p) q",
    "another column": "SELECT q.n / q.id AS x FROM shop.orders q WHERE q.d = 2.5D AND q.b",
}


@pytest.mark.parametrize("name", FIXED)
def test_a_column_with_a_fixed_value_is_a_constant_where_hive_3_divides(session, name):
    """Each was compared in Hive 3.1.3, which has fewer digits, and in Hive 4.0.1, as Spark."""
    below = ("SELECT p.n / p.id AS x, p.id AS k FROM shop.orders p", "x decimal(1,0)", "k int")
    above = (FIXED[name], "x decimal(1,0)")
    with pytest.raises(UnreadableTableError, match="Hive 3 treats it as a decimal"):
        shown(session, "select x from shop.v", HIVE_3, below=below, v=above)
    frame, _ = shown(session, "select x from shop.v", HIVE_4, below=below, v=above)
    assert frame.collect() != []


@pytest.mark.parametrize("name", NOT_FIXED)
def test_other_columns_are_divided_by_in_hive_3(session, name):
    view = (NOT_FIXED[name], "x decimal(1,0)")
    frame, _ = shown(session, "select x from shop.v", HIVE_3, v=view)
    assert frame.collect() != []


@pytest.mark.parametrize(
    "query",
    [
        "SELECT concat({}, '') AS x FROM (SELECT p.n, cast(p.id AS decimal(10,4)) AS k "
        "FROM shop.orders p) q WHERE q.k = {}",
        "SELECT concat({}, '') AS x FROM (SELECT p.n, cast(1 AS decimal(10,4)) AS k "
        "FROM shop.orders p UNION ALL SELECT p.n, cast({} AS decimal(10,4)) AS k "
        "FROM shop.orders p) q",
    ],
)
@pytest.mark.parametrize("calculation", ["q.n + q.k", "coalesce(q.n, q.k)"])
def test_a_column_with_a_fixed_value_is_a_constant_in_texts_of_hive_4(session, query, calculation):
    view = (query.format(calculation, "1"), "x string")
    with pytest.raises(UnreadableTableError, match="as text Hive shows the sum or choice without"):
        shown(session, "select x from shop.v", v=view)
    if "UNION" in query:
        view = (query.format(calculation, "2"), "x string")
        frame, _ = shown(session, "select x from shop.v", v=view)
        assert frame.collect() != []


def test_old_days_of_hive_3_fail(session):
    day = "month(cast(if(o.id = 1, '{}', null) AS date))"
    known = "month(if(o.id = 1, date '2024-03-01', null))"
    assert rows(session, known, "int", HIVE_3) == [3, None]
    expected = "shop.v, column x: '1500-03-01' is a day before 1582-10-15, which Hive 3 counts"
    with pytest.raises(PySparkException, match=expected):
        rows(session, known.replace("2024", "1500"), "int", HIVE_3)
    assert rows(session, day.format("1500-03-01"), "int") == [3, None]


def test_a_text_that_hive_reads_as_something_else_fails(session):
    expected = "shop.v, column x: '10:00:00' is cast to date differently by Hive and Spark"
    with pytest.raises(PySparkException, match=expected):
        rows(session, "cast(o.odd AS date)", "date")
    # Hive makes NULL of it, and Spark the first of January.
    assert rows(session, "cast(if(o.id = 2, o.odd, NULL) AS date)", "date") == [None, None]


OTHER_VALUES = {
    "true": "false",
    "false": "true",
    "CORRECTED": "LEGACY",
    "TIMESTAMP_LTZ": "TIMESTAMP_NTZ",
    "spark_catalog": "elsewhere",
}

OF_SETTINGS = {
    "o.id / 0": "double",
    "O.ID + o.Id": "int",
    "cast(o.n AS decimal(38,10)) / 3": "decimal(38,10)",
    "concat(cast(o.s AS binary), cast('b' AS binary))": "binary",
    "elt(1, cast(o.s AS binary))": "binary",
    "1e2": "double",
    "size(if(o.id = 1, split(o.s, 'x'), null))": "int",
    "date_format(date '1500-03-01', 'yyyy-MM-dd')": "string",
    r"'a\\\\d\tb'": "string",
    "o.n * 2": "decimal(5,2)",
    "o.n * 2.0": "decimal(5,2)",
    "cast('2024-01-05' AS timestamp)": "timestamp",
    "cast(o.s AS date) > '2024-01-04'": "boolean",
    "o.id != 2 AND NOT o.id = 3": "boolean",
    "lpad(o.s, 3, 'z')": "string",
}
"""Expressions that mean something else under other settings, and their types."""


def test_settings_of_the_session_change_no_rows(spark, session):
    columns = ", ".join(f"{text} AS c{n}" for n, text in enumerate(OF_SETTINGS))
    types = [f"c{n} {type_}" for n, type_ in enumerate(OF_SETTINGS.values())]
    views = {
        "v": (f"SELECT {columns} FROM shop.orders o", *types),
        "w": (
            "SELECT o.s, o.id FROM (SELECT p.id, p.s FROM shop.orders p ORDER BY 1 DESC LIMIT 1) o",
            "s string",
            "id int",
        ),
        "x": ("SELECT max(o.id) FROM shop.orders o HAVING max(o.id) > 1", "_c0 int"),
    }

    def all_rows(session):
        return [
            shown(session, f"select * from shop.{view}", **views)[0].collect() for view in views
        ]

    expected = all_rows(session)
    others = {key: OTHER_VALUES[value] for key, value in SETTINGS.items()}
    outer = spark.newSession()
    outer.conf.set("spark.sql.session.timeZone", session.conf.get("spark.sql.session.timeZone"))
    application = spark._jsparkSession.sharedState().conf()
    for key, value in others.items():
        if key != "spark.sql.defaultCatalog":
            outer.conf.set(key, value)
        application.set(key, value)
    try:
        assert all_rows(outer) == expected
    finally:
        for key in others:
            application.remove(key)


def test_a_view_of_hives_over_no_acid_table_is_sparks_matter(session):
    view = ("SELECT hash(1) AS h", "h int")
    statement = parse(session, "select * from shop.v")
    assert find_acid(session, statement, Known(HIVE_4, v=view)) == ()


@pytest.mark.parametrize(
    "tail", ["DISTRIBUTE BY t.id SORT BY t.id", "CLUSTER BY t.id", "ORDER BY hash(t.id)"]
)
def test_a_view_over_plain_tables_is_left_to_spark_whatever_its_text(session, tail):
    statement = parse(session, "select * from shop.v")
    view = (f"SELECT t.id FROM shop.plain t {tail}", "id int")
    assert find_acid(session, statement, Known(HIVE_4, v=view)) == ()


def test_what_spark_cannot_parse_is_refused_over_acid_tables_alone(session):
    statement = parse(session, "select * from shop.v")
    text, columns = "SELECT t.id FROM shop.{} TABLESAMPLE (BUCKET 1 OUT OF 2 ON id) t", "id int"
    below = ("SELECT o.id FROM shop.orders o", "id int")
    assert find_acid(session, statement, Known(HIVE_4, v=(text.format("plain"), columns))) == ()
    for name in ("orders", "below"):
        known = Known(HIVE_4, v=(text.format(name), columns), below=below)
        with pytest.raises(UnreadableTableError, match="shop.v .* exactly. TABLESAMPLE"):
            find_acid(session, statement, known)
    # Nobody can tell what it reads.
    with pytest.raises(UnreadableTableError, match="sqlglot cannot parse it"):
        find_acid(session, statement, Known(HIVE_4, v=("no query at all", "id int")))


def test_a_view_of_trinos_is_refused_as_one(session):
    statement = parse(session, "select * from shop.v")
    with pytest.raises(UnreadableTableError, match="shop.v is a view of Trino or Presto"):
        find_acid(session, statement, Known(HIVE_4, v=("/* Presto View */", "id int")))


QUOTIENT = "o.n / cast(o.id AS bigint) AS x FROM shop.orders o"


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT s.x FROM (SELECT {QUOTIENT}) s",
        f"SELECT t.x FROM (SELECT s.x, s.id FROM (SELECT o.id, {QUOTIENT}) s WHERE s.x > 0) t "
        "ORDER BY t.id",
        f"SELECT max(s.x) AS x FROM (SELECT {QUOTIENT}) s",
        f"SELECT s.x FROM (SELECT {QUOTIENT}) s "
        "WHERE s.x IN (SELECT p.n / cast(p.id AS bigint) FROM shop.orders p)",
        f"WITH s AS (SELECT {QUOTIENT}) SELECT s.x FROM s",
        "SELECT l.x FROM shop.orders o LATERAL VIEW explode(array(o.n / cast(o.id AS bigint))) l "
        "AS x",
        f"SELECT q.x FROM (SELECT {QUOTIENT}) q WHERE "
        "EXISTS (SELECT 1 FROM shop.orders p WHERE p.n = q.x)",
        f"SELECT {QUOTIENT} ORDER BY x LIMIT 1",
        "SELECT abs(cast(o.id AS tinyint)) AS x FROM shop.orders o UNION ALL SELECT 1",
    ],
)
def test_another_type_inside_of_a_view_is_refused(session, text):
    """Spark would keep its own type where the query around refers to the column."""
    with pytest.raises(UnreadableTableError, match="it has another type in Hive than in Spark"):
        shown(session, "select x from shop.v", v=(text, "x decimal(23,22)"))


@pytest.mark.parametrize(
    ("text", "type_", "values"),
    [
        (f"SELECT {QUOTIENT}", "decimal(23,22)", [Decimal("1.25"), None]),
        # A condition inside makes no column.
        (
            "SELECT s.n AS x FROM (SELECT o.n FROM shop.orders o"
            " WHERE o.n / cast(o.id AS bigint) > 1) s",
            "decimal(3,2)",
            [Decimal("1.25")],
        ),
        (f"SELECT DISTINCT {QUOTIENT}", "decimal(23,22)", [Decimal("1.25"), None]),
        (
            "WITH s AS (SELECT o.n, o.id FROM shop.orders o)"
            " SELECT s.n / cast(s.id AS bigint) AS x FROM s",
            "decimal(23,22)",
            [Decimal("1.25"), None],
        ),
        # The view below is read with Hive's type.
        ("SELECT b.x FROM shop.below b", "decimal(23,22)", [Decimal("1.25"), None]),
        (
            "SELECT sum(o.n / cast(o.id AS bigint)) AS x FROM shop.orders o",
            "decimal(33,22)",
            [Decimal("1.25")],
        ),
    ],
)
def test_another_type_in_the_outermost_query_is_hives(session, text, type_, values):
    below = (f"SELECT {QUOTIENT}", "x decimal(23,22)")
    frame, _ = shown(session, "select x from shop.v", v=(text, f"x {type_}"), below=below)
    assert sorted((row.x for row in frame.collect()), key=str) == sorted(values, key=str)


@pytest.mark.parametrize(
    ("expression", "type_", "message"),
    [
        (
            "substr(concat(o.s, if(o.id = 1, '\U0001f600', '')), 1, 3)",
            "string",
            "column x: '2024-01-05abc\U0001f600' has characters outside the BMP",
        ),
        (
            "get_json_object(if(o.id = 1, '{\"a\":1e400}', o.s), '$.a')",
            "string",
            """column x: '{"a":1e400}' is JSON with characters or numbers that Hive writes""",
        ),
        ("cast(o.d * 1e-60 AS decimal(5,1))", "decimal(5,1)", "column x: '2.5E-60' is cast to dec"),
        ("cast(concat(o.n, 'e999') AS decimal(5,1))", "decimal(5,1)", "column x: '1.25e999' is "),
        ("cast(o.odd AS timestamp)", "timestamp", "column x: '10:00:00' is cast to timestamp "),
        # No column of the view has it.
        (
            "if(year(o.odd) = 2024, 1, 0)",
            "int",
            "column x: '10:00:00' is cast to date differently by Hive",
        ),
        (
            "(SELECT max(p.id) FROM shop.orders p WHERE year(p.odd) > 1)",
            "int",
            "shop.v, p.odd: '10:00:00' is cast to date differently by Hive",
        ),
    ],
)
def test_an_error_of_a_row_names_view_column_and_value(session, expression, type_, message):
    with pytest.raises(PySparkException) as error:
        rows(session, expression, type_)
    assert message in str(error.value)
    assert "shop.v, " in str(error.value)
    assert "Put the view's query into a model or a statement, in Spark's SQL." in str(error.value)
