"""Filters of a statement reach ORC: fewer rows are read, and the answer is Hive's."""

from __future__ import annotations

import re
from typing import Any

from pyspark.sql import DataFrame

import hiveacid
from hiveacid.reader.pushdown import pushed_down, search_arguments, search_arguments_of_command
from integration.support.differential import Differential, canonical, collected, scanned
from integration.support.hive import HiveClient

ROWS = 60_000
"""Six row groups of ORC's default size in one file."""

FILTERS = {
    "id = 31233": True,
    "id IN (31234, 31235, 7)": True,
    "half > 29990 AND name <> 'x'": True,
    "amount < 1.5 OR amount >= 599.99": True,
    "name = 'name 000042'": True,
    "day = date '2020-01-03'": True,
    "rowId <= 3": True,
    "bucket = 3": True,
    "code = '59'": False,
    "at = timestamp '2020-01-03 00:00:00'": False,
    "pair.a = 17": False,
    "id + 1 = 8": False,
    "amount < 1.5 OR id + 1 = 8": False,
}
"""Filters, and whether ORC can pass over row groups for them."""

VIEWS = {
    "few_columns": "SELECT id, name, day FROM {t}",
    "renamed (number, label)": "SELECT id, upper(name) FROM {t}",
    "above": "SELECT number, label FROM renamed WHERE number > 9",
    "small": "SELECT id, half FROM {t} WHERE id < 20",
    "by_day": "SELECT day, count(*) AS n, max(id) AS last_one FROM {t} GROUP BY day",
    "ranked": "SELECT day, id, rank() OVER (PARTITION BY day ORDER BY id) AS r FROM {t}",
}
"""Hive views over the table."""

FILTERS_OF_VIEWS = {
    "few_columns WHERE id = 31233": True,
    "few_columns WHERE id IN (31234, 31235, 7)": True,
    "few_columns WHERE name = 'name 000042' AND day < date '2021-01-01'": True,
    "renamed WHERE number = 17": True,
    "renamed WHERE label = 'NAME 000042'": False,
    "above WHERE number < 12": True,
    "small": True,
    "small WHERE half > 8": True,
    "by_day WHERE day = date '2020-01-03'": True,
    "by_day WHERE last_one < 100": False,
    "ranked WHERE day = date '2020-01-03' AND r < 3": True,
    "ranked WHERE id = 7": False,
}
"""Filters on the views, and whether ORC can pass over row groups for them."""


def test_filters_reach_orc(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    table = f"{database}.numbers"
    hive_client.script(f"""
        CREATE TABLE {table} (id int, half bigint, amount decimal(20,2), name string, day date,
            rowId int, bucket int, code char(4), at timestamp, pair struct<a:int,b:string>)
          STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
        INSERT INTO {table} SELECT pos, cast(pos div 2 AS bigint), pos / 100,
            concat('name ', lpad(cast(pos AS string), 6, '0')),
            date_add('2020-01-01', cast(pos div 100 AS int)), pos, {ROWS} - pos,
            cast(pos div 1000 AS string),
            cast(date_add('2020-01-01', cast(pos div 100 AS int)) AS timestamp),
            named_struct('a', pos, 'b', cast(pos AS string))
          FROM (SELECT posexplode(split(space({ROWS - 1}), ' ')) AS (pos, nothing)) numbers;
        DELETE FROM {table} WHERE id IN (5, 31234, 59999)
    """)
    spark = differential.spark
    own = spark.conf.get("spark.sql.orc.filterPushdown")
    with differential.pinned_frame(table) as (_, frame):
        frame.createOrReplaceTempView("numbers")
        for condition, skips in FILTERS.items():
            query = f"SELECT id, name FROM numbers WHERE {condition}"
            found = spark.sql(query)
            rows = collected(found)
            assert canonical(rows) == canonical(hive_client.query(query)), condition
            assert (scanned(found, "numOutputRows") < ROWS) == skips, condition
        twice = spark.sql("SELECT a.id FROM numbers a JOIN numbers b USING (id) WHERE a.half < 9")
        assert search_arguments(spark, _execution(twice)) == {}, "two scans, one search argument"
        assert spark.sql("SELECT count(*) FROM numbers").collect()[0][0] == ROWS - 3

        insert = f"INSERT INTO {database}.copy SELECT id FROM numbers WHERE id < 10"
        spark.sql(f"CREATE TABLE {database}.copy (id int) USING parquet")
        for statement in (
            f"CREATE TABLE {database}.few USING parquet AS SELECT id FROM numbers WHERE id < 10",
            insert,
            f"WITH few AS (SELECT * FROM numbers) {insert.replace('numbers', 'few')}",
        ):
            arguments = search_arguments_of_command(spark, statement)
            assert len(arguments) == 1, statement
            with pushed_down(spark, arguments):
                spark.sql(statement)
        assert spark.table(f"{database}.few").count() == 9
        assert spark.table(f"{database}.copy").count() == 18

        # Planned twice, these would be lost if midnight came between.
        for today in ("current_date()", "cast(now() as date)", "date 'today'"):
            statement = insert.replace("id < 10", f"day <= {today}")
            assert search_arguments_of_command(spark, statement) == {}, today

        # A cache that is filled while another statement runs holds all rows all the same.
        spark.sql("CACHE LAZY TABLE all_numbers AS SELECT id FROM numbers")
        both = spark.sql("SELECT count(*) FROM all_numbers, (SELECT id FROM numbers WHERE id < 2)")
        assert search_arguments(spark, _execution(both)) == {}
        assert both.collect()[0][0] == 2 * (ROWS - 3)
        spark.sql("UNCACHE TABLE all_numbers")
    assert spark.conf.get("spark.sql.orc.filterPushdown") == own

    for name, query in VIEWS.items():
        hive_client.execute(f"CREATE VIEW {name} AS {query.format(t=table)}")
    with hiveacid.snapshot(spark, differential.hive.metastore_uri, []) as snapshot:
        for condition, skips in FILTERS_OF_VIEWS.items():
            query = f"SELECT * FROM {database}.{condition}"
            found = snapshot.sql(query)
            assert canonical(collected(found)) == canonical(hive_client.query(query)), condition
            assert (scanned(found, "numOutputRows") < ROWS) == skips, condition


def test_filters_that_orc_compares_otherwise_stay_with_spark(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    """Texts beyond U+D7FF, and dates of the Julian calendar where there are bloom filters."""
    table = f"{database}.compared"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, name string, day date) STORED AS ORC TBLPROPERTIES "
        "('transactional'='true', 'NO_AUTO_COMPACTION'='true', 'orc.bloom.filter.columns'='day')"
    )
    hive_client.execute(
        f"INSERT INTO {table} VALUES (1, '（株）山田商店', date '0001-01-01'), "
        "(2, '𠮷野家', date '2020-01-01'), (3, 'x', date '1582-10-15')"
    )
    with differential.pinned_frame(table) as (_, frame):
        for condition, expected in {
            "name = '（株）山田商店'": [1],
            "name IN ('（株）山田商店', 'none')": [1],
            "name >= '（株）'": [1, 2],
            "name < '𠮷'": [1, 3],
            "name = 'none'": [],
            "day = date '0001-01-01'": [1],
            "day IN (date '0001-01-01', date '2019-01-01')": [1],
            "day < date '1582-10-10'": [1],
            "day = date '1582-10-15'": [3],
            "day IN (date '2020-01-01', date '2021-01-01')": [2],
        }.items():
            found = frame.where(condition).select("id")
            assert sorted(row[0] for row in collected(found)) == expected, condition


def test_a_count_decodes_no_part_of_the_row_id_that_the_statistics_fix(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    table = f"{database}.counted"
    hive_client.script(f"""
        CREATE TABLE {table} (id int) STORED AS ORC
          TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
        INSERT INTO {table} VALUES (1), (2), (3);
        DELETE FROM {table} WHERE id = 2
    """)
    assert _columns_of_count(differential, table) == {"rowId"}
    # Its second row has the bucket and the row of the deleted one.
    hive_client.execute(f"INSERT INTO {table} VALUES (4), (5)")
    assert _columns_of_count(differential, table) == {"originalTransaction", "rowId"}


def _columns_of_count(differential: Differential, table: str) -> set[str]:
    hives = differential.client.query(f"SELECT count(*) FROM {table}")
    with differential.pinned_frame(table) as (_, frame):
        count = frame.groupBy().count()
        assert canonical(count.collect()) == canonical(hives)
        structs = re.findall(r"ReadSchema: struct<(.*)>", _execution(count).toString())
    return set(re.findall(r"(\w+):", " ".join(structs)))


def _execution(frame: DataFrame) -> Any:
    return frame._jdf.queryExecution()
