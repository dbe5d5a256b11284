"""Views that Hive has made over ACID tables: our rows are those of Hive's `SELECT * FROM view`."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

import hiveacid
from hiveacid.errors import InvalidSettingError, UnreadableTableError
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import HiveView, TableName
from hiveacid.sql.hive_views.refusals import warn_of_release
from integration.support import hive_expressions, views_of_sites
from integration.support.dbt_project import DbtProject, node_results
from integration.support.differential import canonical
from integration.support.held import assert_nothing_held
from integration.support.hive import HiveClient, HiveServer, HiveSettings
from integration.support.small_tables import ACID
from integration.support.targets import Tables

# `make test` takes half of them, others with each fresh seed.
pytestmark = pytest.mark.sampled(2)

Types = list[tuple[str, str]]
"""Columns and their types, as `DataFrame.dtypes` has them."""


@pytest.fixture
def held(hive_client: HiveClient, database: str) -> Iterator[str]:
    """The test's database. No lock is left."""
    yield database
    assert_nothing_held(hive_client, database)


def shown(value: Any) -> str:
    """A value of either client in one notation: Hive sends arrays, maps and structs as JSON."""
    if isinstance(value, bytes):
        value = value.decode()
    if isinstance(value, str):
        value = value.rstrip()  # Values of `char` are read without the blanks behind them.
    if isinstance(value, str) and re.match(r'\[.*\]$|\{".*\}$', value):
        try:
            value = json.loads(value)
        except ValueError:
            return value
    if isinstance(value, Row):
        value = value.asDict()
    if isinstance(value, list | dict):
        return json.dumps(plain(value), sort_keys=True)
    ((text,),) = canonical([(value,)])
    return text.rstrip()


def plain(value: Any) -> Any:
    """A nested value as JSON has it."""
    if isinstance(value, Row):
        value = value.asDict()
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, Decimal | float) and math.isfinite(value):
        return int(value) if value == int(value) else float(value)
    return [plain(inner) for inner in value] if isinstance(value, list) else value


def as_float(text: str) -> str:
    """A float in one notation: Hive's client has its shortest decimal, Spark's its double."""
    try:
        return repr(struct.unpack("f", struct.pack("f", float(text)))[0])
    except (ValueError, OverflowError):
        return text


def differences(
    snapshot: hiveacid.Snapshot,
    client: HiveClient,
    view: str,
    names: list[str],
    types: Types,
) -> dict[str, Any]:
    """By column: Hive's values and ours, where they differ. The first column identifies a row."""
    frame = snapshot.sql(f"select * from {view}")
    ours = sorted(([shown(it) for it in row] for row in frame.collect()), key=lambda row: row[0])
    hives = sorted(
        ([shown(it) for it in row] for row in client.query(f"SELECT * FROM {view}")),
        key=lambda row: row[0],
    )
    assert len(ours) == len(hives) > 0
    found: dict[str, Any] = {}
    for n, (name, type_) in enumerate(zip(names, frame.dtypes, strict=True)):
        pairs = [(it[0], a[n], it[n]) for a, it in zip(ours, hives, strict=True)]
        if type_[1] == "float":
            pairs = [(key, as_float(a), as_float(b)) for key, a, b in pairs]
        wrong = [(key, f"ours {a}", f"Hive's {b}") for key, a, b in pairs if a != b]
        if wrong:
            found[name] = wrong[:4]
        elif type_[1] != types[n][1] and name not in hive_expressions.WIDER:
            found[name] = (f"ours {type_[1]}", f"Hive's {types[n][1]}")
    return found


def types_of(metastore_uri: str, database: str, views: Iterable[str]) -> dict[str, Types]:
    """The columns of some views as DESCRIBE shows them, with the types that Spark has for them."""
    with MetastoreClient(metastore_uri, timeout=30) as client:
        tables = client.get_tables([TableName(database, view) for view in views])
    found: dict[str, Types] = {}
    for name, table in tables.items():
        view = HiveView.of(table)
        assert view is not None
        found[name.table] = [
            (it.name, re.sub(r"(var)?char\(\d+\)", "string", it.type)) for it in view.columns
        ]
    return found


def functions_that_differ(
    client: HiveClient,
    metastore_uri: str,
    session: SparkSession,
    database: str,
    left_out: frozenset[str] = frozenset(),
) -> dict[str, Any]:
    """By expression: Hive's values and ours, where they differ."""
    lists = (
        ("of_rows", "id", hive_expressions.OF_ROWS, ""),
        ("of_groups", "b", hive_expressions.OF_GROUPS, "GROUP BY b"),
        ("of_windows", "id", hive_expressions.OF_WINDOWS, ""),
    )
    views = {
        name: (key, [it for it in expressions if it not in left_out], tail)
        for name, key, expressions, tail in lists
    }
    found: dict[str, Any] = {}
    with hiveacid.snapshot(session, metastore_uri, []) as snapshot:
        for name, (key, expressions, tail) in views.items():
            columns = ", ".join(f"{it} AS c{n}" for n, it in enumerate(expressions))
            query = f"SELECT {key}, {columns} FROM every_type {tail}"
            client.execute(f"CREATE VIEW {name} AS {query}")
            names = [key, *expressions]
            types = types_of(metastore_uri, database, [name])[name]
            found |= differences(snapshot, client, f"{database}.{name}", names, types)
    return found


def test_every_function_is_evaluated_as_in_hive(
    hive_client: HiveClient, hive: HiveServer, spark: SparkSession, held: str
) -> None:
    """A unit test has the lists of functions: each is called here, or in the views of sites."""
    hive_client.script(hive_expressions.SETUP)
    assert functions_that_differ(hive_client, hive.metastore_uri, spark, held) == {}


@pytest.mark.long
def test_every_function_is_evaluated_as_in_hive_3(tmp_path: Path, spark: SparkSession) -> None:
    """What a Hive 3 evaluates in another way is refused, or reading it fails."""
    settings = HiveSettings(txn_timeout=60)
    with (
        HiveServer(settings, work=tmp_path, version="3.1.3") as server,
        HiveClient(server.hs2_port, log=server.log) as client,
    ):
        client.execute("CREATE DATABASE views")
        client.execute("USE views")
        client.script(hive_expressions.SETUP)
        left_out = hive_expressions.NOT_IN_HIVE_3
        client.execute("CREATE VIEW old_days AS SELECT id, month(da) AS m FROM every_type")
        for number, expression in enumerate(sorted(left_out)):
            over = f"SELECT {expression} AS x FROM every_type"
            client.execute(f"CREATE VIEW refused_{number} AS {over}")
        with hiveacid.snapshot(spark, server.metastore_uri, []) as snapshot:
            old = "views.old_days, column m: '1582-10-04' is a day before 1582-10-15, which"
            with pytest.raises(Exception, match=old):
                snapshot.sql("select * from views.old_days").collect()
            for number, expression in enumerate(sorted(left_out)):
                with pytest.raises(UnreadableTableError, match="cannot be read exactly"):
                    snapshot.sql(f"select * from views.refused_{number}")
                    pytest.fail(f"{expression} was read")
        client.execute("DELETE FROM every_type WHERE da < '1582-10-15'")
        uri = server.metastore_uri
        left_out |= hive_expressions.FAILS_IN_HIVE_3
        assert functions_that_differ(client, uri, spark, "views", left_out) == {}


SHOP = f"""
CREATE TABLE orders (id int, customer_id int, status string, amount decimal(9,2), placed timestamp,
  tags array<string>, lines map<string,int>, address struct<city:string,zip:int>)
  PARTITIONED BY (day string) {ACID};
CREATE TABLE flat (id int, customer_id int, status string, amount decimal(9,2), placed timestamp,
  city string, zip int, day string) {ACID};
INSERT INTO flat VALUES
  (1, 1, 'new', 10.5, '2024-11-01 08:00:00', 'Bern', 3000, '2024-11-01'),
  (2, 1, 'open', 7, '2024-11-01 23:30:00', 'Basel', 4000, '2024-11-01'),
  (3, 2, 'open', 3.25, '2024-11-02 10:00:00', null, null, '2024-11-02'),
  (4, null, 'lost', 1, null, 'Chur', 7000, '2024-11-02'),
  (5, 3, null, null, '2024-11-03 00:00:00', null, 0, '2024-11-03');
INSERT INTO orders PARTITION (day) SELECT id, customer_id, status, amount, placed,
  CASE id WHEN 1 THEN array('a', 'b') WHEN 4 THEN array('c', cast(null AS string))
    WHEN 5 THEN array('a') END,
  CASE id WHEN 1 THEN map('x', 1) WHEN 2 THEN map('y', 2) WHEN 4 THEN map('z', cast(null AS int))
    END,
  CASE WHEN id <> 3 THEN named_struct('city', city, 'zip', zip) END, day FROM flat;
CREATE TABLE customers (id int, name varchar(20), grade char(3), vip boolean)
  CLUSTERED BY (id) INTO 2 BUCKETS {ACID};
INSERT INTO customers VALUES (1, 'Ann', 'a', true), (2, 'Bob', 'b', false), (3, 'Cy', 'a', null),
  (4, 'Di', null, true);
CREATE TABLE rates (currency string, rate double) STORED AS TEXTFILE
  TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only');
INSERT INTO rates VALUES ('CHF', 1), ('EUR', 1.25), ('USD', 0.5);
CREATE TABLE regions (city string, region string) STORED AS PARQUET
  TBLPROPERTIES ('transactional'='false');
INSERT INTO regions VALUES ('Bern', 'middle'), ('Chur', 'east');
UPDATE orders SET status = 'paid' WHERE id = 1;
DELETE FROM customers WHERE id = 4
"""

VIEWS = {
    "two_columns": "SELECT id, status FROM orders",
    "everything": "SELECT * FROM orders",
    "later_days": "SELECT day, id FROM orders WHERE day >= '2024-11-02'",
    "renamed (number, state)": "SELECT id, upper(status) FROM orders",
    "unnamed": "SELECT id, id + 1, upper(status), 'x' FROM orders",
    "typed": "SELECT id, cast(amount AS varchar(4)) AS short, cast(status AS char(6)) AS padded,"
    " cast(id AS bigint) AS big, cast(day AS date) AS on_day FROM orders",
    "joined": "SELECT o.id, c.name, c.grade FROM orders o JOIN customers c ON o.customer_id = c.id",
    "left_joined": "SELECT o.id, c.name FROM orders o LEFT OUTER JOIN customers c"
    " ON o.customer_id = c.id AND c.vip",
    "full_joined": "SELECT o.id, c.id AS c FROM orders o FULL OUTER JOIN customers c"
    " ON o.customer_id = c.id",
    "semi_joined": "SELECT c.id FROM customers c LEFT SEMI JOIN orders o ON o.customer_id = c.id",
    "crossed": "SELECT o.id, r.currency, o.amount * r.rate AS money FROM orders o"
    " CROSS JOIN rates r",
    "comma": "SELECT o.id, c.name FROM orders o, customers c WHERE o.customer_id = c.id",
    "three": "SELECT o.id, c.name, g.region FROM orders o JOIN customers c ON o.customer_id = c.id"
    " LEFT JOIN regions g ON o.address.city = g.city",
    "grouped": "SELECT customer_id, count(*) AS n, sum(amount) AS total, avg(amount) AS mean,"
    " min(placed) AS first_one FROM orders GROUP BY customer_id",
    "of_days": "SELECT day, count(DISTINCT customer_id) AS n FROM orders GROUP BY day"
    " HAVING count(*) > 1",
    "by_expression": "SELECT substr(day, 1, 7) AS month, count(*) FROM orders"
    " GROUP BY substr(day, 1, 7)",
    "rolled": "SELECT day, status, count(*) AS n, max(amount) AS m FROM orders"
    " GROUP BY day, status WITH ROLLUP",
    "in_sets": "SELECT day, status, count(*) AS n FROM orders GROUP BY day, status"
    " GROUPING SETS ((day), (day, status), ())",
    "no_group": "SELECT count(*) AS n, max(amount) AS most FROM orders",
    "different": "SELECT DISTINCT status, day FROM orders",
    "numbered": "SELECT id, row_number() OVER (PARTITION BY day ORDER BY amount DESC) AS r,"
    " sum(amount) OVER (PARTITION BY customer_id) AS s, lag(id) OVER (ORDER BY id) AS before"
    " FROM orders",
    "ranked": "SELECT * FROM (SELECT id, day, rank() OVER (PARTITION BY day ORDER BY amount) AS r"
    " FROM orders) x WHERE r = 1",
    "all_of_two": "SELECT id, status FROM orders UNION ALL SELECT id, grade FROM customers",
    "either": "SELECT id FROM orders UNION SELECT id FROM customers",
    "in_both": "SELECT id FROM orders INTERSECT SELECT id FROM customers",
    "one_only": "SELECT id FROM orders EXCEPT SELECT id FROM customers",
    "with_ctes": "WITH late AS (SELECT * FROM orders WHERE day > '2024-11-01'),"
    " few AS (SELECT id, status FROM late WHERE id < 5) SELECT f.id, f.status FROM few f",
    "shadowed": "WITH customers AS (SELECT 7 AS id) SELECT c.id, o.id AS o FROM customers c"
    " CROSS JOIN orders o",
    "inside": "SELECT id FROM orders WHERE customer_id IN (SELECT id FROM customers WHERE vip)",
    "not_inside": "SELECT id FROM orders WHERE customer_id NOT IN"
    " (SELECT id FROM customers WHERE grade = 'b')",
    "existing": "SELECT c.id FROM customers c WHERE EXISTS"
    " (SELECT 1 FROM orders o WHERE o.customer_id = c.id AND o.amount > 5)",
    "exploded": "SELECT id, tag FROM orders LATERAL VIEW explode(tags) t AS tag",
    "outer_exploded": "SELECT id, pos, tag FROM orders"
    " LATERAL VIEW OUTER posexplode(tags) t AS pos, tag",
    "exploded_map": "SELECT o.id, k, v FROM orders o LATERAL VIEW explode(lines) t AS k, v",
    "stacked": "SELECT id, what, much FROM orders"
    " LATERAL VIEW stack(2, 'id', id, 'amount', cast(amount AS int)) t AS what, much",
    "inlined": "SELECT id, a, b FROM orders"
    " LATERAL VIEW inline(array(struct(id, 'x'), struct(id + 1, 'y'))) t AS a, b",
    "nested": "SELECT id, address.city, tags[0] AS tag, lines['x'] AS x, address FROM orders",
    "made": "SELECT id, array(id, 2) AS a, map('k', id) AS m, named_struct('n', id) AS s,"
    " struct(id, status) AS t FROM orders",
    "topmost": "SELECT id, amount FROM orders ORDER BY amount DESC, id LIMIT 3",
    "sorted": "SELECT id FROM orders SORT BY id",
    "cases": "SELECT id, CASE WHEN amount > 5 THEN 'much' WHEN amount IS NULL THEN 'none' ELSE"
    " 'few' END AS c, if(status = 'open', 1, 0) AS o, nvl(status, '-') AS s FROM orders",
    "dates": "SELECT id, to_date(day) AS d, year(placed) AS y, date_format(placed, 'yyyyMM') AS m,"
    " datediff(placed, '2024-10-01') AS n, date_add(day, 1) AS next_one FROM orders",
    "above": "SELECT a.id, a.name FROM joined a WHERE a.id > 1",
    "above_above (x)": "SELECT max(b.id) FROM above b JOIN renamed r ON b.id = r.number",
    "quoted": "SELECT id AS `a b`, status AS `select` FROM orders WHERE status = 'it\\'s'"
    " OR status LIKE '%e_' OR status = \"paid\"",
    "constants": "SELECT c.id, 1.50 AS d, 10L AS l, 1e2 AS e, date '2024-01-05' AS day, true AS t"
    " FROM customers c",
    "windowed_groups": "SELECT day, sum(amount) AS s, rank() OVER (ORDER BY sum(amount) DESC) AS r"
    " FROM orders GROUP BY day",
    "scalar": "SELECT id, (SELECT max(rate) FROM rates) AS most FROM orders",
    "partitioned": "SELECT id, status, day FROM orders WHERE day = '2024-11-01' AND placed >"
    " '2024-11-01 12:00:00'",
}
"""Views and their queries."""

LEFT_TO_LONG = frozenset(
    """
    by_expression cases comma constants dates different either everything existing exploded
    exploded_map full_joined grouped in_both in_sets inside later_days left_joined no_group
    numbered of_days one_only ranked scalar semi_joined two_columns windowed_groups
    """.split()
)
"""Views of which each is translated as another one, or as the expressions above."""


def names_of(views: dict[str, str]) -> list[str]:
    return [name.partition(" ")[0] for name in views]


@pytest.mark.parametrize(
    "views",
    [
        {name: query for name, query in VIEWS.items() if name not in LEFT_TO_LONG},
        pytest.param({name: VIEWS[name] for name in LEFT_TO_LONG}, marks=pytest.mark.long),
    ],
    ids=["some", "others"],
)
def test_shows_what_hive_shows(
    views: dict[str, str], hive_client: HiveClient, hive: HiveServer, spark: SparkSession, held: str
) -> None:
    hive_client.script(SHOP)
    for name, query in views.items():
        hive_client.execute(f"CREATE VIEW {name} AS {query}")
    wrong = {}
    types = types_of(hive.metastore_uri, held, names_of(views))
    session = spark.newSession()
    # The session's own settings do not count, but for its time zone.
    session.conf.set("spark.sql.ansi.enabled", "true")
    for moment in ("before", "after"):
        with hiveacid.snapshot(session, hive.metastore_uri, []) as snapshot:
            # Every view follows the tables behind it in the same way.
            for name in names_of(views)[:: 1 if moment == "before" else 7]:
                frame = snapshot.sql(f"select * from {held}.{name}")
                ours = sorted(tuple(map(shown, row)) for row in frame.collect())
                hives = hive_client.query(f"SELECT * FROM {held}.{name}")
                expected = sorted(tuple(map(shown, row)) for row in hives)
                if (ours, frame.dtypes) != (expected, types[name]):
                    wrong[moment, name] = (ours, expected, frame.dtypes, types[name])
        if moment == "before":
            hive_client.execute("DELETE FROM orders WHERE id = 2")
    assert wrong == {}


@pytest.mark.long
def test_shows_what_hive_shows_of_views_of_sites(
    hive_client: HiveClient, hive: HiveServer, spark: SparkSession, held: str
) -> None:
    """A hundred views, and two minutes; the others show what is special in each."""
    hive_client.script(views_of_sites.SETUP)
    for name, query in views_of_sites.READ.items():
        hive_client.execute(f"CREATE VIEW {name} AS {query}")
    wrong = {}
    types = types_of(hive.metastore_uri, held, views_of_sites.READ)
    with hiveacid.snapshot(spark, hive.metastore_uri, []) as snapshot:
        for name in views_of_sites.READ:
            frame = snapshot.sql(f"select * from {held}.{name}")
            ours = sorted(tuple(map(shown, row)) for row in frame.collect())
            hives = hive_client.query(f"SELECT * FROM {held}.{name}")
            expected = sorted(tuple(map(shown, row)) for row in hives)
            if (ours, frame.dtypes) != (expected, types[name]):
                wrong[name] = (ours, expected, frame.dtypes, types[name])
    assert wrong == {}


ON_ANOTHER_RELEASE = ("joined", "numbered", "typed", "topmost", "dates", "with_ctes", "rolled")


def test_another_release_is_read_as_the_nearest_with_a_warning(
    hive_client: HiveClient,
    hive: HiveServer,
    spark: SparkSession,
    held: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Hive 4.1 and Cloudera's 3.1.3000 say other versions; here a Hive 4.0.1 says one."""
    hive_client.script(SHOP)
    for name in ON_ANOTHER_RELEASE:
        hive_client.execute(f"CREATE VIEW {name} AS {VIEWS[name]}")
    server_info = MetastoreClient.server_info
    monkeypatch.setattr(
        MetastoreClient, "server_info", lambda self: replace(server_info(self), version="4.1.0")
    )
    warn_of_release.cache_clear()
    for hive_views, warns in ((None, True), ("4.0", False)):
        caplog.clear()
        with hiveacid.snapshot(spark, hive.metastore_uri, [], hive_views=hive_views) as snapshot:
            for name in ON_ANOTHER_RELEASE:
                ours = snapshot.sql(f"select * from {held}.{name}").collect()
                hives = hive_client.query(f"SELECT * FROM {held}.{name}")
                assert sorted(tuple(map(shown, row)) for row in ours) == sorted(
                    tuple(map(shown, row)) for row in hives
                ), name
        told = [it for it in caplog.messages if "is that of Hive 4.1.0, of which nobody" in it]
        assert len(told) == warns
    with hiveacid.snapshot(spark, hive.metastore_uri, [], hive_views="3.1") as snapshot:
        with pytest.raises(UnreadableTableError, match="Hive 3 makes a later day"):
            snapshot.sql(f"select * from {held}.typed")
        assert len(snapshot.sql(f"select * from {held}.joined").collect()) == 4
    with hiveacid.snapshot(spark, hive.metastore_uri, [], hive_views="refuse") as snapshot:
        with pytest.raises(
            UnreadableTableError, match=r"the metastore is that of Hive 4\.1\.0, wh"
        ):
            snapshot.sql(f"select * from {held}.joined")


WIDENED = """
CREATE TABLE grown (id int, a int, b decimal(10,2), c varchar(3), f float) {ACID};
INSERT INTO grown VALUES (1, 5, 1.25, 'abc', 1.5);
CREATE VIEW of_grown AS SELECT id, a, b, c FROM grown;
CREATE VIEW of_sums AS SELECT a + 1 AS n, b * 2 AS d, concat(c, '!') AS t FROM grown;
CREATE VIEW of_most AS SELECT max(o.a) AS a, max(o.c) AS c FROM of_grown o;
CREATE VIEW of_float AS SELECT f FROM grown;
ALTER TABLE grown CHANGE COLUMN a a bigint;
ALTER TABLE grown CHANGE COLUMN b b decimal(20,4);
ALTER TABLE grown CHANGE COLUMN c c varchar(10);
ALTER TABLE grown CHANGE COLUMN f f string;
INSERT INTO grown VALUES (2, 3000000000, 123456789012.1234, 'abcdefgh', 'text')
"""


def test_columns_that_became_wider_after_the_view(
    hive_client: HiveClient, hive: HiveServer, spark: SparkSession, held: str
) -> None:
    hive_client.script(WIDENED.format(ACID=ACID))
    with hiveacid.snapshot(spark, hive.metastore_uri, []) as snapshot:
        for name in ("of_grown", "of_sums", "of_most"):
            ours = snapshot.sql(f"select * from {held}.{name}").collect()
            expected = canonical(hive_client.query(f"SELECT * FROM {held}.{name}"))
            assert canonical(map(tuple, ours)) == expected
            assert "3000000000" in str(expected) or "3000000001" in str(expected)
        with pytest.raises(UnreadableTableError, match="f: it is float in Hive, and string in Sp"):
            snapshot.sql(f"select * from {held}.of_float")


PLAIN_CHARS = f"""
CREATE TABLE codes (code char(4), label varchar(9)) STORED AS ORC
  TBLPROPERTIES ('transactional'='false');
INSERT INTO codes VALUES ('A', 'gold'), ('B', 'silver'), (null, 'none');
CREATE TABLE nested_codes (code array<char(4)>) STORED AS ORC
  TBLPROPERTIES ('transactional'='false');
CREATE TABLE accounts (id int, code char(4)) {ACID};
INSERT INTO accounts VALUES (1, 'A'), (2, 'B'), (3, 'A');
CREATE TABLE names (id int, name string) {ACID};
INSERT INTO names VALUES (1, 'Ann'), (2, 'Bob');
CREATE VIEW labelled AS SELECT a.id, c.label, concat(c.code, '|') AS k, length(c.code) AS n,
  c.code LIKE 'A' AS is_a FROM accounts a JOIN codes c ON a.code = c.code;
CREATE VIEW named AS SELECT n.name, c.label FROM accounts a JOIN codes c ON a.code = c.code
  JOIN names n ON n.id = a.id;
CREATE VIEW nested AS SELECT a.id, c.code FROM accounts a CROSS JOIN nested_codes c;
CREATE VIEW plain_nested AS SELECT count(code) AS n FROM nested_codes
"""


def test_plain_tables_with_char(
    hive_client: HiveClient, hive: HiveServer, spark: SparkSession, held: str
) -> None:
    """Spark fills char of plain tables up: nothing would be equal to the char of ACID tables."""
    hive_client.script(PLAIN_CHARS)
    with hiveacid.snapshot(spark, hive.metastore_uri, []) as snapshot:
        # Spark's catalog is asked for several tables together where a query has three.
        for name, count in (("labelled", 3), ("named", 2)):
            ours = canonical(map(tuple, snapshot.sql(f"select * from {held}.{name}").collect()))
            assert ours == canonical(hive_client.query(f"SELECT * FROM {held}.{name}"))
            assert len(ours) == count
        with pytest.raises(UnreadableTableError, match=r"column code is array<char\(4\)>"):
            snapshot.sql(f"select * from {held}.nested")
        # No ACID table is behind it, so it is Spark's own matter.
        assert snapshot.sql(f"select n from {held}.plain_nested").collect() == [(0,)]


REFUSED = {
    "hashed": ("SELECT hash(id) AS h FROM orders", "it is Java's hash"),
    "now": ("SELECT id FROM orders WHERE placed < current_timestamp", "it depends on the moment"),
    "zone": ("SELECT from_unixtime(id) AS u FROM orders", "it depends on the time zone of Hive"),
    "unknown": ("SELECT soundex(status) AS s FROM orders", "it differs for texts with other"),
    "untried": (
        "SELECT reflect('java.lang.Math', 'abs', id) AS r FROM orders",
        "functions that were tried",
    ),
    "spread": ("SELECT stddev(id) AS s FROM orders", "it is that of the population in Hive"),
    "any_order": ("SELECT collect_set(id) AS s FROM orders", "the order in its result is chance"),
    "any_rows": ("SELECT id FROM orders LIMIT 2", "LIMIT without ORDER BY shows rows by chance"),
    "later": ("SELECT placed + interval '1' day AS p FROM orders", "it was not tried in Hive"),
    "sampled": ("SELECT id FROM orders TABLESAMPLE (BUCKET 1 OUT OF 2 ON id) s", "cannot parse it"),
    "scripted": ("SELECT transform(id) USING 'cat' AS (a) FROM orders", "was not tried in Hive"),
    "file_names": ("SELECT INPUT__FILE__NAME AS f FROM orders", "virtual columns are Hive's own"),
    "compared": ("SELECT id FROM orders WHERE status > id", "Hive compares or converts a string"),
    "flag": ("SELECT cast(status AS boolean) AS b FROM orders", "a string with boolean in another"),
    "flag_text": (
        "SELECT cast(vip AS string) AS s FROM customers",
        "from boolean to string differs",
    ),
    "blanks": ("SELECT id FROM customers WHERE grade = 'a '", "passes over blanks at the end"),
    "joined_array": (
        "SELECT concat_ws(',', tags) AS t FROM orders",
        "Hive writes a NULL in an array as text",
    ),
    "in_place": ("SELECT tags, sort_array(tags) AS s FROM orders", "Hive sorts the array where it"),
    "shared": (
        "SELECT split(status, 'e')[0] AS f, sort_array(split(status, 'e')) AS s FROM orders",
        "also what is computed twice",
    ),
    "many_digits": (
        "SELECT cast(amount AS decimal(38,10)) * amount AS m FROM orders",
        "of products that may have more than 38 digits",
    ),
    "mixed": (
        "SELECT amount AS m FROM orders UNION ALL SELECT id FROM orders",
        "of a UNION, INTERSECT or EXCEPT of decimals and whole numbers",
    ),
    "mixed_less": (
        "SELECT id FROM orders EXCEPT SELECT amount FROM orders",
        "of a UNION, INTERSECT or EXCEPT of decimals and whole numbers",
    ),
    "mixed_small": (
        "SELECT amount FROM orders UNION ALL SELECT cast(id AS smallint) FROM orders",
        "of a UNION, INTERSECT or EXCEPT of decimals and whole numbers",
    ),
    "mixed_sets": (
        "SELECT cast(id AS tinyint) AS n FROM orders INTERSECT SELECT amount FROM orders",
        "of a UNION, INTERSECT or EXCEPT of decimals and whole numbers",
    ),
    "inner_type": (
        "SELECT q.x FROM (SELECT amount / cast(id AS bigint) AS x FROM orders) q",
        "in a query inside of the view it has another type in Hive than in Spark",
    ),
    "around": (
        "SELECT sum(id) OVER (ORDER BY id RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS s"
        " FROM orders",
        "of a range around the present value",
    ),
    "by_number": ("SELECT count(*) AS n FROM orders GROUP BY 1", "hive.groupby.position.alias"),
    "above_hashed": ("SELECT h FROM hashed WHERE h > 1", "it is Java's hash"),
    "unions": ("SELECT create_union(0, id, 'a') AS u FROM orders", "functions that were tried"),
}
"""Views that cannot be read exactly, and words of the reasons."""


def test_is_refused_with_its_reason(
    hive_client: HiveClient, hive: HiveServer, spark: SparkSession, held: str
) -> None:
    hive_client.script(SHOP)
    for name, (query, _) in REFUSED.items():
        hive_client.execute(f"CREATE VIEW {name} AS {query}")
    hive_client.execute("CREATE VIEW of_regions AS SELECT region, hash(city) AS h FROM regions")
    hive_client.execute("CREATE VIEW days AS SELECT id, cast(status AS date) AS d FROM orders")
    hive_client.execute("INSERT INTO orders (id, status, day) VALUES (9, '10:00:00', 'x')")
    wrong = {}
    with hiveacid.snapshot(spark, hive.metastore_uri, []) as snapshot:
        for name, (_, reason) in REFUSED.items():
            try:
                snapshot.sql(f"select * from {held}.{name}").collect()
                wrong[name] = "it was read"
            except UnreadableTableError as error:
                start = f"{held}.{'hashed' if name == 'above_hashed' else name} is a view of Hive's"
                if not str(error).startswith(start) or reason not in str(error):
                    wrong[name] = str(error)
                assert "Its text in Hive: SELECT" in str(error)
        assert wrong == {}
        for clause in ("with (partitions = '{}')", "version as of 1"):
            with pytest.raises(InvalidSettingError, match="is a view over transactional Hive"):
                snapshot.sql(f"select * from {held}.days {clause}")
        odd = f"{held}.days, column d: '10:00:00' is cast to date by Hive in another way than by"
        with pytest.raises(Exception, match=odd):
            snapshot.sql(f"select * from {held}.days").collect()
        with pytest.raises(UnreadableTableError, match="days is a view of Hive's, and only tables"):
            snapshot.table(f"{held}.days")
        with pytest.raises(UnreadableTableError, match="days is a view of Hive's, and only tables"):
            snapshot.changes(f"{held}.days")
        # No ACID table is behind it, so it is Spark's own matter.
        assert snapshot.sql(f"select region from {held}.of_regions").count() == 2


FOLLOWED = (
    "{{ config(materialized='incremental', incremental_strategy='acid_changes', unique_key='id') }}"
)


def test_sources_that_are_views(
    dbt_project: DbtProject, hive_client: HiveClient, held: str, tables: Tables
) -> None:
    """Two views are one snapshot, whose tables are locked in one request."""
    hive_client.script(SHOP)
    for name in ("joined", "above", "grouped", "quoted"):
        hive_client.execute(f"CREATE VIEW {name} AS {VIEWS[name]}")
    hive_client.execute(f"CREATE VIEW states AS {VIEWS['two_columns']}")
    dbt_project.sources("above", "grouped", "states", "orders")
    dbt_project.models(
        filtered="select * from {{ source('shop', 'states') }} where id > 2 or status = 'paid'",
        appended="{{ config(materialized='incremental') }} select * from "
        "{{ source('shop', 'states') }} {% if is_incremental() %} where id > "
        "(select max(id) from {{ this }}) {% endif %}",
        # The query of the view, over its table.
        followed=FOLLOWED + "select id, status from {{ acid_changes(source('shop', 'orders')) }}",
        unfollowed=FOLLOWED + "select * from {{ acid_changes(source('shop', 'above')) }}",
        first="select * from {{ source('shop', 'above') }}",
        second="select g.n, f.name from {{ source('shop', 'grouped') }} g"
        " left join {{ ref('first') }} f on f.id = g.customer_id",
        stored="{{ config(materialized='view') }} select id from {{ source('shop', 'above') }}",
        third="select * from {{ ref('stored') }}",
        refused="select * from {{ source('shop', 'above') }} version as of 1",
    )
    result = dbt_project.invoke("run")
    messages = {node.node.name: str(node.message) for node in node_results(result)}
    assert "is a view over transactional Hive tables" in messages.pop("refused")
    unfollowed = (
        f"acid_changes({held}.above), which is a view of Hive's over {held}.customers, {held}."
    )
    assert unfollowed in messages.pop("unfollowed")
    assert all(it.startswith("OK") for it in messages.values()), messages
    above = canonical(hive_client.query("SELECT * FROM above"))
    assert tables.rows("*", "first") == above
    assert tables.rows("id", "third") == [(row[0],) for row in above]
    locked = dbt_project.artifact("hiveacid_snapshot.json")["sources"]
    assert {it["table"] for it in locked} == {f"{held}.orders", f"{held}.customers"}
    # `grouped` reads one of them, and was foreseen.
    assert len({it["lock_wait_seconds"] for it in locked}) == 1

    def compare() -> None:
        states = "SELECT * FROM states"
        expected = canonical(hive_client.query(states))
        assert tables.rows("*", "followed") == expected
        assert {*tables.rows("id", "appended")} == {row[:1] for row in expected}
        where = "WHERE id > 2 OR status = 'paid'"
        assert tables.rows("*", "filtered") == canonical(hive_client.query(f"{states} {where}"))

    compare()
    hive_client.execute("INSERT INTO orders (id, status, day) VALUES (7, 'new', '2024-11-04')")
    hive_client.execute("UPDATE orders SET status = 'sent' WHERE id IN (1, 3)")
    dbt_project.succeed("run", "--select", "filtered", "appended", "followed")
    compare()
