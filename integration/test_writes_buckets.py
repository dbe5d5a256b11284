"""Bucketed tables that `hiveacid.transaction` writes: each row in the bucket where Hive puts it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from pyspark.sql import functions as F

from hiveacid.metastore.models import Column
from hiveacid.writer.buckets import BUCKET_NUMBER, with_bucket
from integration.support.differential import Differential
from integration.support.hive import HiveClient
from integration.support.shop import ACID, INSERT_ONLY, Shop

MANY = 2**31 - 1
"""So many buckets that the number of a bucket is the whole hash."""

COLUMNS = {
    "b": "BOOLEAN",
    "y": "TINYINT",
    "s": "SMALLINT",
    "i": "INT",
    "l": "BIGINT",
    "f": "FLOAT",
    "d": "DOUBLE",
    "t": "STRING",
    "c": "CHAR(7)",
    "v": "VARCHAR(7)",
    "day": "DATE",
    "at": "TIMESTAMP",
    "m": "DECIMAL(9,4)",
    "n": "DECIMAL(38,18)",
    "o": "DECIMAL(20,0)",
}
#: Pseudo-random values of all types, with NULLs; the first rows hold extremes.
VALUES = """
    SELECT id,
        IF(id % 3 = 0, null, id % 2 = 0) b, cast(h % 128 AS tinyint) y,
        cast(h % 32768 AS smallint) s, cast(h AS int) i, x l,
        CASE id WHEN 0 THEN float('NaN') WHEN 1 THEN float('-Infinity') WHEN 2 THEN -0.0F
            ELSE cast(h / 1000 AS float) END f,
        CASE id WHEN 0 THEN double('NaN') WHEN 1 THEN double('Infinity') WHEN 2 THEN -0.0D
            ELSE x / 1000 END d,
        repeat(concat(char(97 + id % 26), 'é€😀'), cast(id % 5 AS int))
            || left(string(id), cast(id % 4 AS int)) t,
        IF(id % 7 = 0, null, left(concat('é', string(abs(h))), cast(id % 8 AS int))) c,
        IF(id % 7 = 1, null, left(concat(string(h), '€  '), cast(id % 8 AS int))) v,
        date_add(date'1970-01-01', cast(h % 700000 AS int)) day,
        CASE id WHEN 0 THEN timestamp'1970-01-01 00:00:00'
            WHEN 1 THEN timestamp'2038-01-19 03:14:08' WHEN 2 THEN timestamp'2038-01-19 03:14:07'
            WHEN 3 THEN timestamp'1969-12-31 23:59:58.9'
            WHEN 4 THEN timestamp'9999-12-31 23:59:59.999999'
            WHEN 5 THEN timestamp'0001-01-01 00:00:00'
            ELSE timestamp_micros((h % 4000000000) * 1000000 + IF(id % 2 = 0, 0, abs(x) % 1000000))
            END at,
        CASE id WHEN 0 THEN 0BD WHEN 1 THEN 99999.9999BD WHEN 2 THEN -99999.9999BD
            WHEN 3 THEN 0.0001BD ELSE cast(h % 100000 / IF(id % 2 = 0, 1, 8) AS decimal(9,4)) END m,
        CASE id WHEN 0 THEN 0BD WHEN 1 THEN -99999999999999999999.999999999999999999BD
            WHEN 2 THEN 0.000000000000000001BD WHEN 3 THEN -0.0000000001BD
            ELSE cast(cast(x / 4294967296 AS decimal(20,9)) * cast(h AS decimal(12,0))
                AS decimal(38,18)) END n,
        CASE id WHEN 0 THEN 255BD WHEN 1 THEN -128BD WHEN 2 THEN -129BD WHEN 3 THEN 128BD
            WHEN 4 THEN 1000BD
            ELSE cast(cast(x AS decimal(20,0)) * cast(id % 10 AS int) AS decimal(20,0)) END o
    FROM (SELECT id, xxhash64(id) x, hash(id) h FROM range(400))
"""


def test_hashes_are_those_of_hive(shop: Shop, hive_client: HiveClient) -> None:
    types = ", ".join(f"{name} {type_}" for name, type_ in COLUMNS.items())
    hive_client.execute(f"CREATE TABLE t (id BIGINT, {types}) {ACID}")
    rows = shop.spark.sql(VALUES).localCheckpoint()
    with shop.transaction() as transaction:
        transaction.append(shop.name("t"), rows)
    wrong = []
    for vectorized in ("false", "true"):
        hive_client.execute(f"SET hive.vectorized.execution.enabled={vectorized}")
        hashes = [f"murmur_hash({name})" for name in [*COLUMNS, "i, t", "l, c, m"]]
        hives = hive_client.query(f"SELECT id, {', '.join(hashes)} FROM t ORDER BY id")
        for place, names in enumerate([*([it] for it in COLUMNS), ["i", "t"], ["l", "c", "m"]], 1):
            columns = [Column(name, COLUMNS[name].lower()) for name in names]
            ours = with_bucket(rows, columns, MANY).orderBy("id")
            ours = ours.select(BUCKET_NUMBER, *(F.col(it).cast("string") for it in names))
            for mine, his in zip(ours.collect(), hives, strict=True):
                if mine[0] != (his[place] & MANY) % MANY:
                    wrong.append((vectorized, names, *mine, his[place] & MANY))
    assert not wrong, wrong[:: max(1, len(wrong) // 40)]


@pytest.mark.parametrize("kind", [ACID, INSERT_ONLY.format("ORC"), INSERT_ONLY.format("PARQUET")])
def test_hive_finds_each_row_in_its_bucket(
    shop: Shop, differential: Differential, hive_client: HiveClient, kind: str
) -> None:
    """Sampling and joins by bucket read only files of the wanted number."""
    full = kind is ACID
    into = "(id INT, v STRING, w INT) PARTITIONED BY (k INT) CLUSTERED BY (v, id) INTO 3 BUCKETS"
    for table in ("hives", "ours"):
        hive_client.execute(f"CREATE TABLE {table} {into} {kind}")
    schema = "id int, v string, w int, k int"
    given = [(i, None if i % 5 == 0 else "x" * (i % 7), 0, i % 2) for i in range(40)]
    with shop.transaction() as transaction:
        transaction.append(shop.name("ours"), shop.rows(*given[:30], schema=schema).repartition(4))
        transaction.append(shop.name("ours"), shop.rows(*given[30:], schema=schema))
    hive_client.execute("INSERT INTO hives SELECT * FROM ours")
    number = "regexp_extract(INPUT__FILE__NAME, '/[a-z_]*0*([0-9])(_0)?$', 1)"

    def check(rows: Sequence[tuple[object, ...]]) -> None:
        assert shop.shown("ours") == sorted(rows, key=repr)
        assert shop.shown("ours", f"id, {number}") == shop.shown("hives", f"id, {number}")
        samples = [
            hive_client.query(f"SELECT id FROM ours TABLESAMPLE(BUCKET {n} OUT OF 3 ON v, id)")
            for n in (1, 2, 3)
        ]
        hives = [
            hive_client.query(f"SELECT id FROM hives TABLESAMPLE(BUCKET {n} OUT OF 3 ON v, id)")
            for n in (1, 2, 3)
        ]
        assert [sorted(it) for it in samples] == [sorted(it) for it in hives]
        assert sorted(sum(samples, [])) == sorted((row[0],) for row in rows)
        hive_client.execute("SET hive.optimize.bucketmapjoin=true")
        joined = hive_client.query(
            "SELECT count(*) FROM ours o JOIN hives h ON o.id = h.id AND o.v = h.v AND o.k = h.k"
        )
        assert joined == [(sum(row[1] is not None for row in rows),)]
        differential.check(shop.name("ours"))

    check(given)
    if full:
        for table in ("hives", "ours"):
            hive_client.execute(f"UPDATE {table} SET w = id WHERE id % 4 = 1")
            hive_client.execute(f"DELETE FROM {table} WHERE id % 10 = 3")
        kept = [row for row in given if row[0] % 10 != 3]
        state = {i: (i, v, i if i % 4 == 1 else w, k) for i, v, w, k in kept}
        with shop.transaction() as transaction:
            news = [(i, "merged", 2, 1) for i in range(0, 60, 6)]
            transaction.merge(shop.name("ours"), shop.rows(*news, schema=schema), "id")
        state |= {row[0]: row for row in news}
        hive_client.execute("TRUNCATE TABLE hives")
        hive_client.execute("INSERT INTO hives SELECT * FROM ours")
        given = list(state.values())
        check_rows = sorted(given, key=repr)
        assert shop.shown("ours") == check_rows
        for k in (0, 1):
            hive_client.compact("ours", "minor", f"k={k}", cleaned=True)
        assert shop.shown("ours") == check_rows
        for k in (0, 1):
            hive_client.compact("ours", "major", f"k={k}", cleaned=True)
        check(given)
    with shop.transaction() as transaction:
        transaction.overwrite(shop.name("ours"), shop.rows((1, "a", 0, 1), schema=schema))
    hive_client.execute("TRUNCATE TABLE hives")
    hive_client.execute("INSERT INTO hives VALUES (1, 'a', 0, 1)")
    assert shop.shown("ours", f"id, {number}", (("true", "none"),)) == shop.shown(
        "hives", f"id, {number}", (("true", "none"),)
    )


def test_an_overwrite_without_rows_empties_a_bucketed_table(
    shop: Shop, hive_client: HiveClient
) -> None:
    with shop.transaction() as transaction:
        transaction.create(shop.name("t"), "id int", clustered_by="id", buckets=2)
        transaction.append(shop.name("t"), shop.rows((1,), (2,), schema="id int"))
    hive_client.execute("INSERT INTO t VALUES (3)")
    assert shop.shown("t") == [(1,), (2,), (3,)]
    with shop.transaction() as transaction:
        transaction.overwrite(shop.name("t"), shop.rows(schema="id int"))
    assert shop.shown("t", "count(*)") == [(0,)]
    hive_client.execute("INSERT INTO t VALUES (4)")
    assert shop.shown("t") == [(4,)]
