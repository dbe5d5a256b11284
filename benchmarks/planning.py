"""How long a read takes to plan, step by step, for a table of very many directories.

::

    python -m benchmarks.planning                           # 200 partitions × 10 directories
    python -m benchmarks.planning --partitions 10000        # 100,000 directories
    python -m benchmarks.planning --partitions 10000 --raw  # … without looking for checksums

A real Hive makes the table and its first files; hard links to them fill the other directories, on
the local file system, under write ids that the metastore has allotted. One in five directories is
a delete delta. Each round plans like a dbt run of its own (nothing is remembered), in one process:
the first one also pays for what Java has not compiled yet. With `--raw` Spark reads local files
without Hadoop's checksum files beside them, which no other file system has. The steps:

metastore  lock, snapshot, table and partitions (`RunSnapshot.pin`), and how many calls that took
listing    all directories of all partitions
selection  which directories make up the snapshot
footers    of all ORC files
plan       which files, and what is known of each
view       the temporary view, made from the plan; with that the delete events are read
explain    Spark's physical plan of `select count(*)` over the view
pruned     the same with a filter on the partition column
cached     the footers once more, from the cache on disk, as every later run has them
again      the same view once more, in another session, with the delete events known
whole      listing to plan, once more, with the footers known
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from hmsclient.genthrift.hive_metastore import ttypes
from pyspark.sql import SparkSession

from hiveacid.jvm.filesystem import list_locations
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.connection import Channel, parse_addresses
from hiveacid.metastore.models import TableName
from hiveacid.metastore.thrift import ThriftMetastore
from hiveacid.reader.footer_cache import FooterCache
from hiveacid.reader.full_acid import plan_full_acid
from hiveacid.reader.locations import locations
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.reader.read import plan_read, to_dataframe
from hiveacid.snapshots.run_snapshot import RunSnapshot
from hiveacid.snapshots.transaction import SnapshotSettings
from integration.support.hive import HiveClient, HiveServer
from integration.support.metastore import counted_calls

T = TypeVar("T")

TABLE = TableName("default", "planned")

_DELETES_EVERY = 5
_PARTITIONS_A_CALL = 500
_RAW_LOCAL = "org.apache.hadoop.fs.RawLocalFileSystem"
_LINKS_A_FILE = 30_000
"""ext4 allows 65,000 hard links to one file."""


def main() -> None:
    """Make the table, plan it some times, and print the seconds."""
    parser = argparse.ArgumentParser(description="Seconds of each step of planning a read.")
    parser.add_argument("--partitions", type=int, default=200)
    parser.add_argument("--directories", type=int, default=10, help="in each partition")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory", default="1g", help="of Spark's driver (default: 1g)")
    parser.add_argument("--raw", action="store_true", help="no checksums of local files")
    parser.add_argument("--work", type=Path, help="keep Hive's files here (default: a new place)")
    options = parser.parse_args()
    with HiveServer(work=options.work) as hive:
        seconds, _ = timed(lambda: make_table(hive, options.partitions, options.directories))
        total = options.partitions * options.directories
        print(
            f"{total:,} directories in {options.partitions:,} partitions, made in {seconds:.1f} s"
        )
        spark = start_spark(options.memory, raw=options.raw)
        try:
            for number in range(1, options.rounds + 1):
                print(f"\nround {number}")
                measure(hive, spark)
                print_memory(spark)
        finally:
            spark.stop()


def start_spark(memory: str, raw: bool = False) -> SparkSession:
    """A local Spark with that much memory for its driver, and no catalog of Hive's."""
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", memory)
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
    )
    if raw:
        builder = builder.config("spark.hadoop.fs.file.impl", _RAW_LOCAL)
    return builder.getOrCreate()


# The table


def make_table(hive: HiveServer, partitions: int, directories: int) -> None:
    """Make a partitioned full-ACID table in Hive, and link its first files into all directories."""
    with HiveClient(hive.hs2_port) as client:
        client.execute(
            f"CREATE TABLE {TABLE} (id int, name string, amount decimal(12,2)) "
            "PARTITIONED BY (day int) STORED AS ORC TBLPROPERTIES ('transactional'='true', "
            "'NO_AUTO_COMPACTION'='true')"
        )
        client.execute(f"INSERT INTO {TABLE} VALUES (1, 'a', 1.5, 0), (2, 'b', 2, 0)")
        client.execute(f"DELETE FROM {TABLE} WHERE id = 1")
    root = Path(hive.warehouse) / TABLE.table
    with MetastoreClient(hive.metastore_uri) as metastore:
        for _ in range(directories - 2):
            transaction = metastore.open_txn("benchmark", "localhost", "", read_only=False)
            metastore.allocate_table_write_ids(transaction, TABLE)
            metastore.commit_txn(transaction)
    first = root / "day=0"
    samples = {kind: Sample(next(first.glob(f"{kind}_*"))) for kind in ("delta", "delete_delta")}
    for day in range(partitions):
        for write_id in range(1, directories + 1):
            kind = "delete_delta" if write_id % _DELETES_EVERY == 2 else "delta"
            samples[kind].link(root / f"day={day}" / f"{kind}_{write_id:07}_{write_id:07}_0000")
    add_partitions(hive, root, partitions)


class Sample:
    """A directory that Hive wrote, to be linked elsewhere."""

    def __init__(self, directory: Path) -> None:
        self._files = [file for file in directory.iterdir() if not file.name.startswith(".")]
        self._links = 0

    def link(self, directory: Path) -> None:
        """Make `directory` with links to the files, unless it is there."""
        if directory.exists():
            return
        directory.mkdir(parents=True)
        for i, file in enumerate(self._files):
            target = directory / file.name
            if self._links % _LINKS_A_FILE == _LINKS_A_FILE - 1:
                shutil.copy2(file, target)
                self._files[i] = target
            else:
                os.link(file, target)
        self._links += 1


def add_partitions(hive: HiveServer, root: Path, count: int) -> None:
    """Enter the partitions 1..`count`-1 into the metastore."""
    channel = Channel(parse_addresses(hive.metastore_uri), connect_timeout=10, read_timeout=600)

    def add(thrift: ThriftMetastore) -> None:
        like = thrift.get_partition(TABLE.database, TABLE.table, ["0"])
        for start in range(1, count, _PARTITIONS_A_CALL):
            days = range(start, min(count, start + _PARTITIONS_A_CALL))
            thrift.add_partitions([partition(like, root, day) for day in days])

    channel.once("add_partitions", f"table {TABLE}", add)
    channel.close()


def partition(like: ttypes.Partition, root: Path, day: int) -> ttypes.Partition:
    """A partition as `like`, of another day."""
    storage = ttypes.StorageDescriptor(**{**vars(like.sd), "location": f"file:{root}/day={day}"})
    return ttypes.Partition(
        values=[str(day)], dbName=TABLE.database, tableName=TABLE.table, sd=storage, parameters={}
    )


# The measurement


def measure(hive: HiveServer, spark: SparkSession) -> None:
    """Plan once, and print the seconds of each step."""
    clock = Clock(spark)
    snapshot = RunSnapshot(
        lambda: MetastoreClient(hive.metastore_uri), SnapshotSettings(), "dbt-hiveacid benchmark"
    )
    with counted_calls() as calls:
        pinned = clock.step("metastore", lambda: snapshot.pin([TABLE])[TABLE])
    print(f"    {len(calls)} calls")
    try:
        places = [storage.location for storage in pinned.storages]
        listings = clock.step("listing", lambda: list_locations(spark, places))
        selected = clock.step("selection", lambda: locations(pinned, listings))
        footers = OrcFooters()
        files = [file for place in selected for file in place.orc_files()]
        clock.step("footers", lambda: footers.read(spark, files))
        plan = clock.step(
            "plan", lambda: plan_full_acid(pinned, selected, footers.read(spark, files))
        )

        def view(session: SparkSession) -> None:
            to_dataframe(session, plan).createOrReplaceTempView("planned")

        clock.step("view", lambda: view(spark))
        clock.step("explain", lambda: explain(spark, ""))
        clock.total()
        clock.step("pruned", lambda: explain(spark, "where day = 7"))
        with tempfile.TemporaryDirectory() as directory:
            FooterCache(Path(directory)).put(footers.read(spark, files))
            clock.step(
                "cached", lambda: OrcFooters(FooterCache(Path(directory))).read(spark, files)
            )
        session = spark.newSession()
        clock.step("again", lambda: view(session))
        clock.step("whole", lambda: plan_read(spark, pinned, footers))
    finally:
        snapshot.end()


def explain(spark: SparkSession, where: str) -> None:
    """Spark's physical plan of a count over the view."""
    frame = spark.sql(f"select count(*) from planned {where}")
    frame._jdf.queryExecution().executedPlan()


class Clock:
    """Measures steps: seconds that passed, and of the processors in Java and in Python.

    On a machine that does other work, too, only the latter can be compared.
    """

    def __init__(self, spark: SparkSession) -> None:
        assert spark._jvm is not None
        self._java = spark._jvm.java.lang.ProcessHandle.current()
        self._sums = [0.0, 0.0, 0.0]
        print(f"  {'':12}{'wall s':>10}{'Java s':>10}{'Python s':>10}")

    def step(self, name: str, step: Callable[[], T]) -> T:
        """Run a step and print what it took."""
        before = self._now()
        result = step()
        spent = [after - start for after, start in zip(self._now(), before, strict=True)]
        self._sums = [total + seconds for total, seconds in zip(self._sums, spent, strict=True)]
        self._print(name, spent)
        return result

    def total(self) -> None:
        """Print the sums of the steps so far."""
        self._print("total", self._sums)

    def _now(self) -> tuple[float, float, float]:
        java = self._java.info().totalCpuDuration().get().toNanos() / 1e9
        return time.perf_counter(), java, time.process_time()

    @staticmethod
    def _print(name: str, seconds: list[float]) -> None:
        print(f"  {name:12}" + "".join(f"{value:10.2f}" for value in seconds), flush=True)


def timed(step: Callable[[], T]) -> tuple[float, T]:
    """The wall seconds of a step, and its result."""
    start = time.perf_counter()
    result = step()
    return time.perf_counter() - start, result


def print_memory(spark: SparkSession) -> None:
    """What the driver holds: Java's heap after a collection, of its limit; Python's peak."""
    assert spark._jvm is not None
    spark._jvm.System.gc()
    runtime = spark._jvm.java.lang.Runtime.getRuntime()
    used = (runtime.totalMemory() - runtime.freeMemory()) >> 20
    limit = runtime.maxMemory() >> 20
    unit = 1 if sys.platform == "darwin" else 1024
    python = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    print(f"  Java heap {used} of {limit} MB, Python at most {python >> 20} MB", flush=True)


if __name__ == "__main__":
    main()
