"""What reading an ACID table costs beside reading the same rows from a flat ORC table.

::

    python -m benchmarks.lineitem                    # TPC-H lineitem, scale factor 1
    python -m benchmarks.lineitem --scale 0.1 --suites layouts

A real Hive writes the tables from TPC-H's rows (`pip install tpchgen-cli`); `--work` keeps them
for the next call with the same scale and suites. In each round every query runs once on every
table, so that what disturbs the machine disturbs all of them. The first table is flat ORC. A cell
has the fastest round's wall seconds, and as ratios to the flat table the wall seconds and the
processor seconds of Java.

layouts     base only, one delete delta, one insert delta, five deletes, five of both; 1 % each.
            They are snapshots of one table: other valid write ids, another layout.
originals   flat tables that were made transactional: without deletes, with five deletes all over
            the table, the same in 20 files, in one file of 40 stripes, and in one file of 100
            stripes with five deletes in one of them.
many        a million rows deleted at once, by each way of leaving out deleted rows.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pyspark.sql import SparkSession

from benchmarks.planning import start_spark
from hiveacid.acid.write_ids import ValidWriteIdList
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from hiveacid.reader import deletes
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.reader.pushdown import pushed_down, search_arguments
from hiveacid.reader.read import plan_read, to_dataframe
from hiveacid.snapshots.run_snapshot import RunSnapshot
from hiveacid.snapshots.transaction import SnapshotSettings
from integration.support.hive import HiveClient, HiveServer, HiveSettings

COLUMNS = (
    "l_orderkey bigint, l_partkey bigint, l_suppkey bigint, l_linenumber int, "
    "l_quantity decimal(15,2), l_extendedprice decimal(15,2), l_discount decimal(15,2), "
    "l_tax decimal(15,2), l_returnflag string, l_linestatus string, l_shipdate date, "
    "l_commitdate date, l_receiptdate date, l_shipinstruct string, l_shipmode string, "
    "l_comment string"
)

QUERIES: Mapping[str, str] = {
    "count(*)": "SELECT count(*) FROM {}",
    "sum": "SELECT sum(l_quantity) FROM {}",
    "Q1": (
        "SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), "
        "sum(l_extendedprice * (1 - l_discount)), "
        "sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), avg(l_quantity), "
        "avg(l_extendedprice), avg(l_discount), count(*) FROM {} "
        "WHERE l_shipdate <= date '1998-09-02' GROUP BY l_returnflag, l_linestatus"
    ),
    "point": "SELECT * FROM {} WHERE l_orderkey = 100001",
    "dates": (
        "SELECT sum(l_extendedprice * l_discount) FROM {} "
        "WHERE l_shipdate >= date '1994-01-01' AND l_shipdate < date '1994-02-01'"
    ),
    "full row": "SELECT * FROM {}",
}

#: For each layout the high-water mark and the invalid write ids: 1 wrote the base, 2 to 6 deleted,
#: 7 to 11 inserted.
LAYOUTS: Mapping[str, tuple[int, frozenset[int]]] = {
    "base": (1, frozenset()),
    "1 delete": (2, frozenset()),
    "1 insert": (7, frozenset(range(2, 7))),
    "5 deletes": (6, frozenset()),
    "5 and 5": (11, frozenset()),
}

_PART = "pmod(hash(l_orderkey, l_linenumber), {})"
_READY = "ready"
"""A file of this name says that a directory has its tables."""

_TRANSACTIONAL = "('transactional'='true', 'NO_AUTO_COMPACTION'='true')"
_ACID = f"STORED AS ORC TBLPROPERTIES {_TRANSACTIONAL}"
_FLAT = "STORED AS ORC TBLPROPERTIES ('transactional'='false')"


_SPLIT = "mapreduce.input.fileinputformat.split"
_ONE_FILE = 100 << 30
"""Bytes for each task of Hive's, so that one task writes all rows."""

_TEXT_BYTES = 760_000_000
"""What lineitem has as text, a scale factor."""


def _original(
    table: str, source: str, task_bytes: int, stripe_rows: int | None, deleted: Iterable[str]
) -> list[str]:
    """What makes a flat table, of one file for each task of Hive's, and converts it."""
    stripes = f", 'orc.stripe.row.count'='{stripe_rows}')" if stripe_rows else ")"
    return [
        f"CREATE TABLE {table} ({COLUMNS}) {_FLAT[:-1]}{stripes}",
        # Hive would put small files together again.
        "SET hive.merge.mapfiles=false",
        *(f"SET {_SPLIT}.{end}={task_bytes}" for end in ("minsize", "maxsize")),
        f"INSERT INTO {table} SELECT * FROM {source}",
        *(f"SET {_SPLIT}.{end}={400 << 20}" for end in ("minsize", "maxsize")),
        f"ALTER TABLE {table} SET TBLPROPERTIES {_TRANSACTIONAL}",
        *(f"DELETE FROM {table} WHERE {condition}" for condition in deleted),
    ]


def _statements(suites: Iterable[str], scale: str) -> list[str]:
    """What makes the tables of some suites: the layouts of `lineitem`, `originals`, `many`."""
    # Of 6 million rows a scale factor a million is to go.
    parts = max(2, round(6 * float(scale)))
    five = [f"{_PART.format(100)} = {i}" for i in range(5)]
    rows, middle = round(6_000_000 * float(scale)), round(3_000_000 * float(scale))
    # There are about as many keys as rows, in their order: a tenth of a stripe of a hundredth.
    near = f"l_orderkey BETWEEN {middle} AND {middle + rows // 1000}"
    made = {
        "layouts": [
            *(f"DELETE FROM lineitem WHERE {_PART.format(100)} = {i}" for i in range(5)),
            *(
                f"INSERT INTO lineitem SELECT * FROM flat WHERE {_PART.format(100)} = {i}"
                for i in range(50, 55)
            ),
        ],
        "originals": [
            f"CREATE TABLE originals ({COLUMNS}) {_FLAT}",
            "INSERT INTO originals SELECT * FROM flat",
            f"ALTER TABLE originals SET TBLPROPERTIES {_TRANSACTIONAL}",
            *(f"DELETE FROM originals WHERE {condition}" for condition in five),
            *_original("files_20", "text", int(_TEXT_BYTES * float(scale)) // 20, None, five),
            *_original("stripes_40", "flat", _ONE_FILE, rows // 40, five),
            *_original(
                "stripes_100",
                "flat",
                _ONE_FILE,
                rows // 100,
                [f"{near} AND {_PART.format(100)} < {10 * i}" for i in range(1, 6)],
            ),
        ],
        "many": [
            f"CREATE TABLE many ({COLUMNS}) {_ACID}",
            "INSERT OVERWRITE TABLE many SELECT * FROM flat",
            f"DELETE FROM many WHERE {_PART.format(parts)} = 0",
        ],
    }
    return [statement for suite in suites for statement in made[suite]]


def main() -> None:
    """Make the tables unless they are there, run the suites, and print their ratios."""
    parser = options_parser("ACID tables beside flat ORC.", rounds=5)
    parser.add_argument("--suites", nargs="+", choices=SUITES, default=list(SUITES))
    options = parser.parse_args()
    statements = _statements(options.suites, options.scale)
    with hive_with_lineitem(options.scale, options.work, statements) as (hive, _):
        spark = start_spark("4g")
        try:
            Benchmark(hive, spark, options.rounds).run(options.suites)
        finally:
            spark.stop()


def options_parser(description: str, rounds: int) -> argparse.ArgumentParser:
    """The options of every benchmark on `lineitem`; `rounds` is the default of that one."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--scale", default="1", help="TPC-H's scale factor (1: 6 million rows)")
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--work", type=Path, help="keep the tables here (default: a new place)")
    return parser


@contextmanager
def hive_with_lineitem(
    scale: str, kept: Path | None, statements: Sequence[str], split_bytes: int | None = None
) -> Iterator[tuple[HiveServer, Path]]:
    """A Hive with the tables `flat` and `lineitem`, and the directory that all is in.

    Further statements are run once, when the tables are made. The directory is `kept`, or a new one
    that goes at the end. Hive's tasks write a file each, of what they read: `split_bytes`; as few
    files as possible by default.
    """
    work = kept or Path(tempfile.mkdtemp(prefix="lineitem-"))
    split = "mapreduce.input.fileinputformat.split"
    sizes = {f"{split}.minsize": str(split_bytes or 400 << 20)}
    if split_bytes is not None:
        sizes[f"{split}.maxsize"] = str(split_bytes)
    settings = HiveSettings(txn_timeout=3600, extra=sizes)
    wanted = "\n".join((f"-- scale factor {scale}", *statements))
    ready = work / _READY
    if ready.exists() and ready.read_text() != wanted:
        sys.exit(f"{work} has other tables. Give the options that it was made with, or remove it.")
    with HiveServer(settings, work=work / "hive") as hive:
        if not ready.exists():
            _make_tables(hive, work, scale, statements)
            ready.write_text(wanted)
        yield hive, work
    if kept is None:
        shutil.rmtree(work)


def _make_tables(hive: HiveServer, work: Path, scale: str, statements: Iterable[str]) -> None:
    text = work / "text"
    generator = shutil.which("tpchgen-cli", path=str(Path(sys.executable).parent))
    if generator is None:
        sys.exit("TPC-H's rows come from tpchgen-cli: pip install tpchgen-cli")
    command = [generator, "tbl", f"--scale-factor={scale}", "--tables=lineitem"]
    subprocess.run([*command, f"--output-dir={text}"], check=True)
    base = (
        f"CREATE EXTERNAL TABLE text ({COLUMNS}) ROW FORMAT DELIMITED FIELDS TERMINATED BY '|' "
        f"LOCATION 'file:{text}'",
        f"CREATE TABLE flat ({COLUMNS}) {_FLAT}",
        "INSERT INTO flat SELECT * FROM text",
        f"CREATE TABLE lineitem ({COLUMNS}) {_ACID}",
        "INSERT OVERWRITE TABLE lineitem SELECT * FROM flat",
    )
    with HiveClient(hive.hs2_port) as client:
        for statement in (*base, *statements):
            start = time.perf_counter()
            client.execute(statement)
            print(f"[{time.perf_counter() - start:5.1f} s] {statement[:80]}", flush=True)
    shutil.rmtree(text)


class Benchmark:
    """The suites on one Hive and one Spark."""

    def __init__(self, hive: HiveServer, spark: SparkSession, rounds: int) -> None:
        self._hive = hive
        self._spark = spark
        self._rounds = rounds
        self._footers = OrcFooters()
        (spark.read.schema(COLUMNS).orc(f"{hive.warehouse}/flat").createOrReplaceTempView("flat"))

    def run(self, suites: Sequence[str]) -> None:
        """Run the suites of these names."""
        for name in suites:
            views = {"flat": "flat", **SUITES[name](self)}
            print(f"\n{name}: wall seconds, ratio of wall seconds, of processor seconds")
            self._compare(views)

    def layouts(self) -> dict[str, str]:
        """The snapshots of `lineitem`."""
        return {
            name: self._view("lineitem", f"layout_{i}", ids)
            for i, (name, ids) in enumerate(LAYOUTS.items())
        }

    def originals(self) -> dict[str, str]:
        """Converted tables. The first one before the deletes, whose write ids begin at 10000001."""
        return {
            "originals": self._view("originals", "originals_alone", (10_000_000, frozenset())),
            "5 deletes": self._view("originals", "originals_deleted"),
            "20 files": self._view("files_20", "originals_20_files"),
            "40 stripes": self._view("stripes_40", "originals_40_stripes"),
            "in 1 of 100": self._view("stripes_100", "originals_100_stripes"),
        }

    def many(self) -> dict[str, str]:
        """One table with very many deletes, by each way of leaving them out."""
        ways: Mapping[str, dict[str, Any]] = {
            "bitmaps": {},
            "broadcast": {"_MAX_WRITES": 0, "_MAX_BROADCAST_DELETES": 10_000_000},
            "shuffled": {"_MAX_WRITES": 0, "_MAX_BROADCAST_DELETES": 0},
        }
        views = {}
        for way, limits in ways.items():
            with patch.multiple(deletes, **limits) if limits else nullcontext():
                views[way] = self._view("many", f"many_{way}")
        return views

    def _view(self, table: str, view: str, ids: tuple[int, frozenset[int]] | None = None) -> str:
        name = TableName("default", table)
        snapshot = RunSnapshot(
            lambda: MetastoreClient(self._hive.metastore_uri), SnapshotSettings(), "benchmark"
        )
        try:
            pinned = snapshot.pin([name])[name]
            if ids is not None:
                high, aborted = ids
                valid = ValidWriteIdList(high, aborted=aborted, table=str(name))
                pinned = replace(pinned, write_ids=valid)
            plan = plan_read(self._spark, pinned, self._footers)
            to_dataframe(self._spark, plan).createOrReplaceTempView(view)
        finally:
            snapshot.end()
        return view

    def _compare(self, views: Mapping[str, str]) -> None:
        spent: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for number in range(-1, self._rounds):
            for query, sql in QUERIES.items():
                for name, view in views.items():
                    seconds = self._seconds(sql.format(view), fetch=query != "full row")
                    if number >= 0:
                        spent.setdefault((query, name), []).append(seconds)
        print(" " * 12 + "".join(f"{query:>20}" for query in QUERIES))
        for name in views:
            cells = []
            for query in QUERIES:
                wall, java = (min(column) for column in zip(*spent[query, name], strict=True))
                flat = [min(column) for column in zip(*spent[query, "flat"], strict=True)]
                cells.append(f"{wall:7.2f} {wall / flat[0]:6.2f}{java / flat[1]:6.2f}")
            print(f"{name:12}" + "".join(cells), flush=True)

    def _seconds(self, sql: str, fetch: bool) -> tuple[float, float]:
        """The wall seconds and Java's processor seconds of a statement, as dbt would run it."""
        start, java = time.perf_counter(), self._java_seconds()
        frame = self._spark.sql(sql)
        arguments = search_arguments(self._spark, frame._jdf.queryExecution())
        with pushed_down(self._spark, arguments):
            if fetch:
                frame.collect()
            else:
                frame.write.format("noop").mode("overwrite").save()
        return time.perf_counter() - start, self._java_seconds() - java

    def _java_seconds(self) -> float:
        assert self._spark._jvm is not None
        process = self._spark._jvm.java.lang.ProcessHandle.current()
        return float(process.info().totalCpuDuration().get().toNanos() / 1e9)


SUITES: Mapping[str, Callable[[Benchmark], dict[str, str]]] = {
    "layouts": Benchmark.layouts,
    "originals": Benchmark.originals,
    "many": Benchmark.many,
}


if __name__ == "__main__":
    main()
