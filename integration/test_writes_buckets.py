"""Bucketed tables that `hiveacid.transaction` writes: each row in the bucket where Hive puts it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from integration.support.differential import Differential
from integration.support.hive import HiveClient
from integration.support.shop import INSERT_ONLY, Shop
from integration.support.tables import REPEATS


@pytest.mark.parametrize(
    "kind",
    [INSERT_ONLY.format("ORC"), pytest.param(INSERT_ONLY.format("PARQUET"), marks=REPEATS)],
)
def test_hive_finds_each_row_in_its_bucket(
    shop: Shop, differential: Differential, hive_client: HiveClient, kind: str
) -> None:
    """Sampling and joins by bucket read only files of the wanted number."""
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
        transaction.create(
            shop.name("t"), "id int", clustered_by="id", buckets=2, kind="insert_only"
        )
        transaction.append(shop.name("t"), shop.rows((1,), (2,), schema="id int"))
    hive_client.execute("INSERT INTO t VALUES (3)")
    assert shop.shown("t") == [(1,), (2,), (3,)]
    with shop.transaction() as transaction:
        transaction.overwrite(shop.name("t"), shop.rows(schema="id int"))
    assert shop.shown("t", "count(*)") == [(0,)]
    hive_client.execute("INSERT INTO t VALUES (4)")
    assert shop.shown("t") == [(4,)]
