"""A Hive and a Spark that do a little of everything, so that Java keeps the classes they load.

`python -m integration.support.class_recordings` makes the archives of `class_archives`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from integration.support.class_archives import (
    DIRECTORY,
    HIVE_ARCHIVE,
    QUIETLY,
    SPARK_ARCHIVE,
    quoted_options,
)
from integration.support.dbt_project import spark_settings
from integration.support.hive import HiveClient, HiveServer, HiveSettings

_STATEMENTS = """
CREATE DATABASE recorded;
USE recorded;
CREATE TABLE plain (id int, v string, d decimal(9,2), t timestamp) STORED AS ORC
  TBLPROPERTIES ('transactional'='true');
INSERT INTO plain VALUES (1, 'a', 1.5, '2026-01-31 12:00:00'), (2, 'b', NULL, NULL);
UPDATE plain SET v = 'c' WHERE id = 1;
DELETE FROM plain WHERE id = 2;
CREATE TABLE parts (id int) PARTITIONED BY (p string) CLUSTERED BY (id) INTO 2 BUCKETS
  STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO parts PARTITION (p) VALUES (1, 'a'), (2, 'b');
CREATE TABLE texts STORED AS TEXTFILE
  TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only')
  AS SELECT * FROM plain;
CREATE TABLE parquets STORED AS PARQUET AS SELECT id, v FROM plain;
ALTER TABLE parts DROP PARTITION (p = 'b');
ALTER TABLE plain COMPACT 'major' AND WAIT;
ALTER TABLE plain ADD COLUMNS (w string);
DROP TABLE texts
"""

_QUERIES = (
    "create table {} using {format} as select id, cast(id as string) as v from range(5)",
    "insert into {} select id, concat('v', id) from range(5, 8)",
    "create or replace view of_{} as select max(id) as id, v from {} where id > 1 group by v",
    "select a.id, count(*), max(b.v) from {} a left join of_{} b on a.id = b.id "
    "where a.v like '%1%' group by a.id order by 1",
    "select id, sum(id) over (partition by v) from {}",
    "describe table extended {}",
    "show tables like '*'",
    "alter table {} set tblproperties ('a'='b')",
    "analyze table {} compute statistics for all columns",
    "drop view of_{}",
    "drop table {}",
)


class _RecordedHive(HiveServer):
    """A Hive whose Java has time to write what it has loaded."""

    def __init__(self, options: list[str], work: Path) -> None:
        settings = HiveSettings(txn_timeout=60, reaper_interval=2, cleaner_interval=0.5)
        super().__init__(settings, work=work)
        self._options = options

    def _java_options(self) -> list[str]:
        return self._options

    def stop(self) -> None:
        if self._jvm is not None:
            self._jvm.end(orderly=True, timeout=300)
            self._jvm = None


def record_hive(options: list[str], work: Path) -> None:
    """Run a Hive with options of Java."""
    with _RecordedHive(options, work / "hive") as hive, HiveClient(hive.hs2_port) as client:
        client.script(_STATEMENTS)
        client.query("SELECT v, count(*) FROM plain GROUP BY v ORDER BY v")
        client.query("SELECT * FROM plain a JOIN parts b ON a.id = b.id")


def record_spark(options: list[str], work: Path) -> None:
    """Run a Spark with options of Java, on a metastore of Hive."""
    with HiveServer(work=work / "metastore", metastore_only=True) as hive:
        settings = spark_settings(hive)
        java = "spark.driver.extraJavaOptions"
        settings[java] = f"{settings[java]} {quoted_options(options)}"
        session = SparkSession.builder.config(map={**settings}).enableHiveSupport().getOrCreate()
        gateway: Any = session.sparkContext._gateway
        for format in ("parquet", "orc", "json"):
            table = f"in_{format}"
            for query in _QUERIES if format == "parquet" else _QUERIES[:2]:
                session.sql(query.replace("{format}", format).replace("{}", table)).collect()
        session.stop()
        # It ends when its input ends, and writes what it has loaded.
        gateway.proc.stdin.close()
        gateway.proc.wait(300)


def main() -> None:
    """Make the archives, in place of those that are there.

    The old ones go first: a Java that starts from an archive records none.
    """
    DIRECTORY.mkdir(exist_ok=True)
    for archive in (HIVE_ARCHIVE, SPARK_ARCHIVE):
        archive.unlink(missing_ok=True)
    _make(HIVE_ARCHIVE, record_hive)
    _make(SPARK_ARCHIVE, record_spark)


def _make(archive: Path, record: Callable[[list[str], Path], None]) -> None:
    with tempfile.TemporaryDirectory(dir=DIRECTORY) as directory:
        written = Path(directory) / archive.name
        try:
            record([f"-XX:ArchiveClassesAtExit={written}", *QUIETLY], Path(directory))
        except Exception as error:  # noqa: BLE001
            print(f"No {archive.name}: Java will load classes from jars. {error}", flush=True)
            return
        if written.exists():
            written.rename(archive)
            size = archive.stat().st_size >> 20
            print(f"{archive.name}: {size} MB of classes", flush=True)
        else:
            print(f"Java wrote no {archive.name}: it will load classes from jars", flush=True)


if __name__ == "__main__":
    main()
