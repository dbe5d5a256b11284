"""What a read plans: the chosen partitions only, and many files without asking for them again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyorc
import pytest
from pyspark.sql import SparkSession

from hiveacid.acid.layout import ListedFile
from hiveacid.jvm import filesystem
from hiveacid.reader import orc_footers, scan
from hiveacid.reader.footer_cache import FooterCache
from hiveacid.reader.orc_footers import OrcFooter, OrcFooters
from hiveacid.reader.read import to_dataframe
from integration.support.dbt_project import DbtProject, node_results
from integration.support.differential import (
    Differential,
    canonical,
    collected,
    null_partitions,
    scanned,
)
from integration.support.hive import HiveClient
from integration.support.metastore import counted_calls
from integration.test_dbt_run import rows


class NoReader:
    """Stands in for what reads footers from files, where all are known."""

    read = None

    def __init__(self, spark: SparkSession, path: str) -> None:
        raise AssertionError(f"a footer is read from a file: {path}")


def test_files_that_spark_does_not_look_up(
    differential: Differential,
    hive_client: HiveClient,
    spark: SparkSession,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """As for a table of very many files: the index comes from the listing alone."""
    monkeypatch.setattr(scan, "_LISTED_BY_SPARK", 0)
    monkeypatch.setattr(filesystem, "THREADS", 1)
    acid, text = f"{database}.acid", f"{database}.text"
    hive_client.script(
        f"""
        CREATE TABLE {acid} (id int) PARTITIONED BY (q string) STORED AS ORC
          TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
        INSERT INTO {acid} VALUES (1, 'a b/c=d,%'), (2, 'ü'), (7, 'ü'), (3, NULL),
          (4, '[x]*?'), (5, 'a:b');
        DELETE FROM {acid} WHERE id IN (2, 5);
        CREATE TABLE {text} (id int, what string) STORED AS TEXTFILE TBLPROPERTIES
          ('transactional'='true', 'transactional_properties'='insert_only');
        INSERT INTO {text} VALUES (1, 'x'), (2, NULL);
        """
    )
    differential.check(acid, where="q = '[x]*?'")
    differential.check(text)
    with differential.pinned_frame(acid) as (plan, _):
        files = [*(data.file for data in plan.data), *(delete.file for delete in plan.deletes)]
        footers = OrcFooters().read(spark, files)
    for file, footer in footers.items():
        with Path(file.path.removeprefix("file:")).open("rb") as stream:
            assert footer.rows == len(pyorc.Reader(stream)), file
    assert {footer.rows for footer in footers.values()} == {1, 2}
    _check_cache(footers, spark, tmp_path)
    # What changes is planned again; what does not is looked up once for all sessions.
    hive_client.execute(f"INSERT INTO {acid} VALUES (6, 'ü')")
    with differential.pinned_frame(acid) as (plan, frame):
        other = to_dataframe(spark.newSession(), plan)
        other.createOrReplaceTempView("seen")
        other.sparkSession.sql("REFRESH TABLE seen")
        shown = hive_client.query(f"SELECT * FROM {acid}")
        expected = canonical(null_partitions(row, 1, 2) for row in shown)
        assert canonical(frame.collect()) == expected
        assert canonical(other.sparkSession.table("seen").collect()) == expected


def test_metastore_calls_do_not_grow_with_files(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    table = f"{database}.grown"
    hive_client.execute(
        f"CREATE TABLE {table} (id int) PARTITIONED BY (p int) STORED AS ORC "
        "TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"
    )

    def calls_and_files() -> tuple[list[str], int]:
        with counted_calls() as calls, differential.pinned_frame(table) as (plan, _):
            return list(calls), len(plan.data) + len(plan.deletes)

    hive_client.execute(f"INSERT INTO {table} VALUES (0, 0), (0, 1)")
    first, files = calls_and_files()
    for i in range(1, 6):
        hive_client.execute(f"INSERT INTO {table} VALUES ({i}, 0), ({i}, 1)")
    hive_client.execute(f"DELETE FROM {table} WHERE id = 3")
    now, more_files = calls_and_files()
    assert (files, more_files) == (2, 14)
    assert first and now == first


def test_a_filter_on_partitions_opens_their_files_only(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    table = f"{database}.parted"
    hive_client.script(
        f"""
        CREATE TABLE {table} (id int) PARTITIONED BY (p string, n int) STORED AS ORC
          TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
        INSERT INTO {table} VALUES (1, 'a', 1), (2, 'b c/d', 2), (3, 'ü', 3), (4, 'd', NULL);
        DELETE FROM {table} WHERE id = 1
        """
    )
    files = {"p = 'a'": 1, "p IN ('ü', 'b c/d')": 2, "n > 1": 2, "n IS NULL": 1, "n < 0": 0}
    files |= {"id = 2": 4, "p = 'a' OR id = 2": 4}
    with differential.pinned_frame(table) as (_, frame):
        for where, opened in files.items():
            found = frame.where(where)
            assert canonical(collected(found)) == canonical(
                hive_client.query(f"SELECT * FROM {table} WHERE {where}")
            )
            assert scanned(found, "numFiles") == opened, where


def _check_cache(
    footers: Mapping[ListedFile, OrcFooter], spark: SparkSession, directory: Path
) -> None:
    """Footers that are read once come from the cache afterwards, in every detail."""
    assert OrcFooters(FooterCache(directory)).read(spark, footers) == footers
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(orc_footers, "_FooterReader", NoReader)
        assert OrcFooters(FooterCache(directory)).read(spark, footers) == footers
        newer = replace(next(iter(footers)), modification_time=1)
        with pytest.raises(AssertionError, match="read from a file"):
            OrcFooters(FooterCache(directory)).read(spark, [newer])


def test_the_partitions_of_a_source(
    dbt_project: DbtProject,
    hive_client: HiveClient,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = f"{database}.orders"
    hive_client.script(
        f"""
        CREATE TABLE {table} (id int) PARTITIONED BY (day date, region string) STORED AS ORC
          TBLPROPERTIES ('transactional'='true');
        INSERT INTO {table} VALUES (1, '2026-01-31', 'eu'), (2, '2026-01-31', 'a/b'),
          (3, '2026-02-01', 'eu'), (4, '2026-02-02', 'eu'), (5, '2026-02-01', NULL);
        DELETE FROM {table} WHERE id = 4;
        """
    )

    def source(name: str, **partitions: object) -> dict[str, object]:
        options = {"hiveacid": {"partitions": partitions}} if partitions else {}
        return {"name": name, "identifier": "orders", "config": options}

    dbt_project.sources(
        loaded_at_field="cast(day as timestamp)",
        freshness={"warn_after": {"count": 1, "period": "day"}},
        tables=[
            source("everything"),
            source("some", day=["2026-01-31", "2026-02-02"], region=["eu", "a/b"]),
            source("nowhere", region=None),
            source("wrong", month=1, region="eu", year=2026),
        ],
    )
    names = ("everything", "some", "nowhere", "wrong")
    dbt_project.models(
        **{f"m_{name}": f"select id from {{{{ source('shop', '{name}') }}}}" for name in names}
    )
    result = dbt_project.invoke("run")
    messages = {node.node.name: str(node.message) for node in node_results(result)}
    assert (
        f"The option `partitions` of the source {table} names month, year, but the table's "
        "partition keys are: day, region."
    ) in messages["m_wrong"]
    for name, where in {
        "everything": "true",
        "some": "day IN ('2026-01-31', '2026-02-02') AND region IN ('eu', 'a/b')",
        "nowhere": "region = '__HIVE_DEFAULT_PARTITION__'",
    }.items():
        expected = sorted(hive_client.query(f"SELECT id FROM {table} WHERE {where}"))
        assert rows(hive_client, f"m_{name}") == expected, name
        assert expected
    # Another run, which finds all footers in the cache.
    monkeypatch.setattr(orc_footers, "_FooterReader", NoReader)
    fresh = dbt_project.succeed(
        "source", "freshness", "--select", "source:shop.everything", "source:shop.some"
    )
    latest = {it.node.name: str(it.max_loaded_at.date()) for it in node_results(fresh)}
    assert latest == {"everything": "2026-02-01", "some": "2026-01-31"}
