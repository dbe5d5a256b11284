"""Values of columns that `hiveacid.transaction` writes, as Hive shows them in three ways."""

from __future__ import annotations

import re

import pytest
from pyspark.errors import PySparkException

from integration.support.differential import Differential
from integration.support.hive import HiveClient
from integration.support.shop import ACID, INSERT_ONLY, WAYS, Shop
from integration.support.tables import REPEATS


@pytest.mark.parametrize("kind", [pytest.param("ORC", marks=REPEATS), "PARQUET"])
def test_values_of_insert_only_tables(shop: Shop, hive_client: HiveClient, kind: str) -> None:
    """Also a column that is added later, of rows in an old partition elsewhere."""
    hive_client.execute(
        "CREATE TABLE t (a TINYINT, d DECIMAL(20,4), s STRING, x STRUCT<y:DOUBLE>, b BINARY) "
        f"PARTITIONED BY (k STRING) {INSERT_ONLY.format(kind)}"
    )
    place = shop.hive.warehouse / f"{shop.database}.elsewhere"
    hive_client.execute("ALTER TABLE t ADD PARTITION (k='p')")
    hive_client.execute(f"ALTER TABLE t PARTITION (k='p') SET LOCATION 'file:{place}'")
    rows = (
        "SELECT -128Y a, -1.5BD d, 'ä\n' s, named_struct('y', 0.1D) x, X'00' b, 'p' k UNION ALL "
        "SELECT null, null, null, null, null, 'p' UNION ALL SELECT 1Y, 2BD, '', null, X'', 'q'"
    )
    with shop.transaction() as transaction:
        transaction.append(shop.name("t"), shop.spark.sql(rows))
    texts = "cast(a as string), cast(d as string), s, cast(x.y as string), hex(b), k"
    expected = [
        ("-128", "-1.5000", "ä\n", "0.1", "00", "p"),
        ("1", "2.0000", "", None, "", "q"),
        (None, None, None, None, None, "p"),
    ]
    assert shop.shown("t", texts) == sorted(expected, key=repr)
    assert list(place.glob("delta_*"))
    hive_client.execute("ALTER TABLE t ADD COLUMNS (n INT) CASCADE")
    more = shop.spark.sql("SELECT 2Y a, null d, null s, null x, null b, 7 n, 'p' k")
    with shop.transaction() as transaction:
        transaction.append(shop.name("t"), more)
    assert [row for row in shop.shown("t", "a, n") if row[1]] == [(2, 7)]
    with shop.transaction("t") as transaction:
        read = transaction.table(shop.name("t")).selectExpr(*texts.split(", "), "n").collect()
    assert sorted(map(tuple, read), key=repr) == shop.shown("t", f"{texts}, n")


TYPES = (
    "a TINYINT, b SMALLINT, c INT, d BIGINT, e FLOAT, f DOUBLE, g BOOLEAN, h STRING, i BINARY, "
    "j DATE, k TIMESTAMP, l DECIMAL(38,10), m ARRAY<TIMESTAMP>, n MAP<STRING,INT>, "
    "o STRUCT<x:INT,y:DATE>"
)
VALUES = """
    SELECT cast(1 as tinyint) a, cast(-2 as smallint) b, 3 c, 4L d, cast(1.5 as float) e,
        double('NaN') f, true g, 'ä\\n\\t' h, X'00ff' i, date'0010-01-01' j,
        timestamp'0010-01-01 00:00:00' k, 1234567890.0123456789BD l,
        array(timestamp'1969-12-31 23:59:58.999999', null) m, map('a', 1, 'b', null) n,
        named_struct('x', 1, 'y', date'1582-10-04') o
    UNION ALL SELECT null, null, null, null, null, null, null, null, null, null, null, null, null,
        null, null
    UNION ALL SELECT cast(-128 as tinyint), cast(32767 as smallint), -2147483648,
        -9223372036854775808L, float('-Infinity'), -0.0D, false, '', X'', date'9999-12-31',
        timestamp'9999-12-31 23:59:59.999999', -9999999999999999999999999999.9999999999BD,
        array(), map(), named_struct('x', null, 'y', null)
    UNION ALL SELECT 0Y, 0S, 0, 0L, 0.1F, 0.1D, true, ' ', X'0a', date'1582-10-15',
        timestamp'2026-03-08 02:30:00', 0.5BD, array(timestamp'1900-01-01 00:00:00'),
        map('', 0), named_struct('x', 0, 'y', date'1970-01-01')
"""
SHOWN = "a b c d h j k l m[0] n['a'] o.x o.y if(e>1,1,0) if(g,1,0) hex(i) size(m)".split()
"""Expressions that Hive and Spark show alike as texts, whatever the formats of their texts."""


@pytest.mark.parametrize(
    "zone",
    [
        pytest.param("UTC", marks=REPEATS),
        "America/New_York",
        pytest.param("Asia/Kolkata", marks=REPEATS),
    ],
)
def test_values_of_every_type(
    shop: Shop, differential: Differential, hive_client: HiveClient, zone: str
) -> None:
    """Hive shows what Spark shows in the session's zone, whatever the zone."""
    hive_client.execute(f"CREATE TABLE t ({TYPES}) {ACID}")
    texts = [f"cast({it} as string)" for it in SHOWN]
    with differential.session_zone(zone):
        # The zone skips the hour before three in the night of 2026-03-08.
        written = shop.spark.sql(VALUES.replace("2026-03-08 02:30", "2026-03-08 03:30"))
        with shop.transaction() as transaction:
            transaction.append(shop.name("t"), written)
        given = sorted(map(tuple, written.selectExpr(*texts).collect()), key=repr)
        with shop.transaction("t") as transaction:
            read = transaction.table(shop.name("t")).selectExpr(*texts)
            assert sorted(map(tuple, read.collect()), key=repr) == given
    assert shop.shown("t", ", ".join(texts)) == given


def test_times_that_orc_would_shift_are_refused(shop: Shop, hive_client: HiveClient) -> None:
    hive_client.execute(f"CREATE TABLE t (at TIMESTAMP) {ACID}")
    rows = shop.spark.sql("SELECT timestamp'1969-12-31 23:59:59.5' AS at")
    with pytest.raises(PySparkException, match="HIVEACID_TIME_BEFORE_1970"):
        with shop.transaction() as transaction:
            transaction.append(shop.name("t"), rows)
    assert shop.shown("t", "count(*)") == [(0,)]


TEXTS = """
    SELECT 1 id, 'ab' c, 'ab' v, array('ab') a UNION ALL SELECT 2, 'abcd', 'abcd', array('abc')
    UNION ALL SELECT 3, 'é€', 'é€', array('é') UNION ALL SELECT 4, 'éé€😀', '😀éé€', array('éé€')
    UNION ALL SELECT 5, null, null, array(null) UNION ALL SELECT 6, 'b', 'b ', array(null, 'b')
    UNION ALL SELECT 7, 'a\tb', '', array('x')
"""
EXPRESSIONS = (
    "id, concat('<', c, '>'), concat('<', v, '>'), length(c), hex(cast(c AS binary)), c = 'ab', "
    "c = 'ab ', v = 'b', v = 'b ', c > 'ab', c < 'b', c LIKE 'ab%', c IN ('ab', 'b'), c = v, "
    "upper(c), murmur_hash(c), concat('<', a[0], '>'), a[0] = 'ab'"
)
CONDITIONS = (
    "c = 'ab'",
    "c = 'ab  '",
    "c IN ('ab', 'b')",
    "c <= 'ab'",
    "c >= 'ab'",
    "c < 'abcd'",
    "c BETWEEN 'a' AND 'b'",
    "v = 'ab'",
    "v = 'b '",
    "v = 'b'",
    "c = 'é€'",
    "c IS NULL",
    "c = cast('ab' AS char(8))",
)


def in_hive(query: str) -> str:
    """Return a query of Spark's with arrays of CHAR, into which Hive does not cast arrays."""
    return re.sub(r"array\((.*?)\)", lambda it: f"array({_chars(it[1])})", query)


def _chars(items: str) -> str:
    return ", ".join(f"cast({item} AS char(3))" for item in items.split(", "))


@pytest.mark.parametrize(
    "kind",
    [ACID, pytest.param(INSERT_ONLY.format("ORC"), marks=REPEATS)],
    ids=["full", "insert_only"],
)
def test_char_and_varchar_are_those_of_hive(shop: Shop, hive_client: HiveClient, kind: str) -> None:
    """The same rows, inserted by Hive and by us, also as its predicates find them in files."""
    for table in ("hives", "ours"):
        hive_client.execute(
            f"CREATE TABLE {table} (id INT, c CHAR(4), v VARCHAR(4), a ARRAY<CHAR(3)>) {kind}"
        )
    rows = shop.spark.sql(TEXTS.replace("'b' c", "'b  ' c"))
    with shop.transaction() as transaction:
        transaction.append(shop.name("ours"), rows)
    hive_client.execute(f"INSERT INTO hives {in_hive(TEXTS)}")

    def check() -> None:
        for way in WAYS:
            ours, hives = (shop.shown(it, EXPRESSIONS, [way]) for it in ("ours", "hives"))
            assert ours == hives
        for vectorized in ("true", "false"):
            hive_client.execute(f"SET hive.vectorized.execution.enabled={vectorized}")
            found = [
                " UNION ALL ".join(
                    f"SELECT {number}, id FROM {table} WHERE {condition}"
                    for number, condition in enumerate(CONDITIONS)
                )
                for table in ("ours", "hives")
            ]
            ours, hives = (sorted(hive_client.query(f"SELECT * FROM ({it}) u")) for it in found)
            assert ours == hives and ours

    check()
    if kind is ACID:
        for table in ("hives", "ours"):
            hive_client.execute(f"UPDATE {table} SET v = 'new' WHERE c = 'ab'")
            hive_client.execute(f"DELETE FROM {table} WHERE c = 'b'")
        with shop.transaction() as transaction:
            source = shop.rows(
                (10, "abcd  ", "m", ["x"]), schema="id int, c string, v string, a array<string>"
            )
            transaction.merge(shop.name("ours"), source, "c")
        hive_client.execute(
            "UPDATE hives SET id = 10, v = 'm', a = array(cast('x' AS char(3))) WHERE c = 'abcd'"
        )
        hive_client.compact("ours", "major", cleaned=True)
        check()
    with pytest.raises(PySparkException, match="HIVEACID_VALUE_TOO_LONG"):
        with shop.transaction() as transaction:
            transaction.append(shop.name("ours"), rows.selectExpr("id", "'abcde' c", "v", "a"))


KEYS = {
    "BOOLEAN": "SELECT 1 id, true k UNION ALL SELECT 2, false",
    "TIMESTAMP": "SELECT 1 id, timestamp'2026-01-01 12:00:00' k UNION ALL SELECT 2, "
    "timestamp'2026-01-01 00:00:00.12' UNION ALL SELECT 3, timestamp'1500-01-01 00:00:00' "
    "UNION ALL SELECT 4, cast(null AS timestamp)",
    "CHAR(4)": "SELECT 1 id, 'ab' k UNION ALL SELECT 2, 'abcd' UNION ALL SELECT 3, 'é/' UNION ALL "
    "SELECT 4, cast(null AS string)",
    "VARCHAR(4)": "SELECT 1 id, 'ab' k UNION ALL SELECT 2, 'ab=d' UNION ALL SELECT 3, 'é/' UNION "
    "ALL SELECT 4, cast(null AS string)",
}


@pytest.mark.parametrize("hive_type", KEYS)
def test_partitions_have_the_names_of_hive(
    shop: Shop, differential: Differential, hive_client: HiveClient, hive_type: str
) -> None:
    for table in ("hives", "ours"):
        hive_client.execute(f"CREATE TABLE {table} (id INT) PARTITIONED BY (k {hive_type}) {ACID}")
    with differential.session_zone("America/New_York"), shop.transaction() as transaction:
        transaction.append(shop.name("ours"), shop.spark.sql(KEYS[hive_type]))
    hive_client.execute(f"INSERT INTO hives {KEYS[hive_type]}")
    hives = hive_client.query("SHOW PARTITIONS hives")
    assert hive_client.query("SHOW PARTITIONS ours") == hives
    assert shop.shown("ours") == shop.shown("hives")
    hive_client.execute(f"INSERT INTO ours {KEYS[hive_type]}")
    assert hive_client.query("SHOW PARTITIONS ours") == hives
    with differential.session_zone("UTC"), shop.transaction() as transaction:
        rows = shop.spark.sql(KEYS[hive_type]).where("id = 2")
        transaction.overwrite(shop.name("ours"), rows, partitions="dynamic")
    assert [row[0] for row in shop.shown("ours")].count(2) == 1
    if hive_type == "BOOLEAN":
        with pytest.raises(PySparkException, match="HIVEACID_NULL_BOOLEAN_PARTITION"):
            with shop.transaction() as transaction:
                null = shop.spark.sql("SELECT 1 id, cast(null AS boolean) k")
                transaction.append(shop.name("ours"), null)
