"""Files of full-ACID tables that state no version of the ACID format, compared with Hive.

Hive does not ask for the version when it reads. Its compaction that puts files together as they are
(`hive.compaction.merge.enabled`) writes none, nor did Hive 2.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import pyorc
import pytest
from pyspark.sql import SparkSession

import hiveacid
from hiveacid.errors import UnreadableTableError
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from hiveacid.reader.verify import verify
from integration.support.changes import Changes, Story
from integration.support.differential import Differential
from integration.support.histories.writer import OpenWriter
from integration.support.hive import HiveClient, HiveServer, HiveSettings
from integration.support.hive.config import ON_MAPREDUCE
from integration.support.tables import FULL_ACID, INSERT_ONLY, REPEATS

ACID_FILE = (
    "struct<operation:int,originalTransaction:bigint,bucket:int,rowId:bigint,"
    "currentTransaction:bigint,row:struct<id:int,v:string>>"
)
Record = tuple[int, int, int, int, int, tuple[int, str] | None]


def replace_files(location: Path, directories: Mapping[str, Sequence[Record]], stride: int) -> None:
    """Let a table have these records, as Hive 2 writes them: with bucket numbers, no version."""
    for directory in location.iterdir():
        shutil.rmtree(directory)
    for name, records in directories.items():
        (location / name).mkdir()
        with (
            (location / name / "bucket_00000").open("wb") as file,
            pyorc.Writer(file, ACID_FILE, row_index_stride=stride) as writer,
        ):
            writer.writerows(records)


INSERTS: list[Record] = [(0, 1, 0, 0, 1, (1, "a")), (0, 1, 0, 1, 1, (2, "b"))]
UPDATED_BASE: list[Record] = [(0, 1, 0, 0, 1, (1, "a")), (1, 1, 0, 1, 2, (2, "new"))]
CHANGES: list[Record] = [(1, 1, 0, 0, 2, (1, "new")), (2, 1, 0, 1, 2, None)]


@pytest.mark.parametrize(
    "stride",
    [
        pytest.param(10_000, id="with statistics", marks=REPEATS),
        pytest.param(0, id="without statistics"),
    ],
)
def test_files_of_hive_2(
    differential: Differential,
    hive: HiveServer,
    hive_client: HiveClient,
    database: str,
    stride: int,
) -> None:
    """Hive 4 reads what has no updates beside the rows they change; else it contradicts itself."""
    for name, directories in {
        "base": {"base_0000002": UPDATED_BASE},
        "inserted": {"delta_0000001_0000001_0000": INSERTS},
        "changed": {
            "delta_0000001_0000001_0000": INSERTS,
            "delta_0000002_0000002_0000": CHANGES,
        },
    }.items():
        hive_client.execute(
            f"CREATE TABLE {name} (id int, v string) STORED AS ORC TBLPROPERTIES ({FULL_ACID})"
        )
        for _ in range(2):
            hive_client.execute(f"INSERT INTO {name} VALUES (9, 'z')")
        replace_files(hive.warehouse / f"{database}.db" / name, directories, stride)

    changes = Changes(differential)
    for name, left in {"base": (1, "a"), "inserted": (1, "x")}.items():
        table = f"{database}.{name}"
        assert len(differential.check(table, where="id = 2").rows) == 2
        with differential.pinned(table) as pinned:
            assert verify(differential.spark, pinned, differential.footers).problems == ()
        story = Story(changes, hive_client, table)
        story.remember("before")
        story.then("INSERT INTO {t} VALUES (3, 'c')")
        story.then("DELETE FROM {t} WHERE id = 2")
        story.then(f"UPDATE {{t}} SET v = '{left[1]}' WHERE id = 1")
        found = differential.check(table, where="id = 1", hive_counts=name == "base")
        assert sorted(found.rows) == [left, (3, "c")]

    table = f"{database}.changed"
    assert sorted(hive_client.query(f"SELECT * FROM {table}")) == [
        (1, "a"),
        (1, "new"),
        (2, "b"),
    ]
    assert hive_client.query(f"SELECT count(*) FROM {table}") == [(4,)]
    with pytest.raises(
        UnreadableTableError, match="has updates or deletes in the format of Hive 2"
    ):
        differential.read(table)


@pytest.fixture(scope="module")
def merging(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveServer]:
    """A Hive that compacts by putting files together where it can, and on Tez where not."""
    extra = {"hive.compaction.merge.enabled": "true"}
    settings = HiveSettings(cleaner_interval=0.5, query_compaction=True, extra=extra)
    with HiveServer(settings, work=tmp_path_factory.mktemp("merging")) as server:
        yield server


@pytest.mark.long("starts a Hive of its own whose compactions merge files")
def test_compactions_that_put_files_together(merging: HiveServer, spark: SparkSession) -> None:
    with HiveClient(merging.hs2_port, log=merging.log) as client:
        client.execute(ON_MAPREDUCE)
        differential = Differential(merging, client, spark)
        for kind, made in {
            "minor": "delta_0000001_0000002_v",
            "major": "base_0000002_v",
        }.items():
            table = f"default.merged_{kind}"
            client.execute(
                f"CREATE TABLE {table} (id int, v string) STORED AS ORC TBLPROPERTIES ({FULL_ACID})"
            )
            client.execute(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')")
            story = Story(Changes(differential), client, table)
            story.remember("one insert")
            story.then("INSERT INTO {t} VALUES (3, 'c'), (4, 'd')")
            story.remember("two inserts")
            lost = {"one insert": ["includes write ids 2"]} if kind == "major" else {}
            story.then(story.compact(kind), lost)
            found = differential.check(table, where="id > 1")
            (directory,) = found.directories
            assert directory.startswith(made)
            (file,) = (data.file for data in found.plan.data)
            footer = differential.footers.read(spark, [file])[file]
            assert footer.acid_version is None and footer.is_acid
            story.remember("compacted")
            story.then("DELETE FROM {t} WHERE id = 2")
            story.then("UPDATE {t} SET v = 'x' WHERE id = 3")
            differential.check(table, where="id = 3", hive_counts=True)
            with differential.pinned(table) as pinned:
                assert verify(spark, pinned, differential.footers).problems == ()


LOADED = "LOAD DATA LOCAL INPATH '{file}' INTO TABLE {t}"
UNION_SETTINGS = [
    "hive.optimize.union.remove",
    "hive.mapred.supports.subdirectories",
    "mapreduce.input.fileinputformat.input.dir.recursive",
]
#: A kind of compaction, the properties of a table, a file's name, and what brings the file in.
LOSING = {
    "loaded": ("major", FULL_ACID, "000000_0", [LOADED]),
    "converted": (
        *("major", "'transactional'='false'", "000000_0"),
        [LOADED, f"ALTER TABLE {{t}} SET TBLPROPERTIES ({FULL_ACID})"],
    ),
    "insert_only_minor": ("minor", INSERT_ONLY, "part-0.orc", [LOADED]),
    "insert_only_major": ("major", INSERT_ONLY, "part-0.orc", [LOADED]),
    "insert_only_union": (
        *("major", INSERT_ONLY, "000000_0"),
        [
            "CREATE TABLE IF NOT EXISTS default.loaded (id int, v string) STORED AS ORC "
            "TBLPROPERTIES ('transactional'='false')",
            LOADED.replace("{t}", "default.loaded"),
            *(f"SET {setting}=true" for setting in UNION_SETTINGS),
            "INSERT INTO {t} SELECT id, v FROM (SELECT id, max(v) AS v FROM default.loaded WHERE "
            "id = 1 GROUP BY id UNION ALL SELECT id, max(v) AS v FROM default.loaded WHERE id = 2 "
            "GROUP BY id) u",
        ],
    ),
}
#: Names that the compaction takes in: nothing is lost.
TAKEN = {"insert_only_named": ("major", INSERT_ONLY, "000000_0", [LOADED])}


@pytest.mark.long("starts a Hive of its own whose compactions merge files")
def test_compactions_that_put_files_together_lose_others(
    merging: HiveServer, spark: SparkSession, tmp_path: Path
) -> None:
    """They take in files with the names that Hive's own writers give, and no others.

    Changes since a state that has the rows notice it.
    """
    with HiveClient(merging.hs2_port, log=merging.log) as client:
        client.execute(ON_MAPREDUCE)
        differential = Differential(merging, client, spark)
        for name, (kind, properties, file, statements) in (LOSING | TAKEN).items():
            table = f"default.loses_{name}"
            stored = f"STORED AS ORC TBLPROPERTIES ({properties})"
            client.execute(f"CREATE TABLE {table} (id int, v string) {stored}")
            with (
                (tmp_path / file).open("wb") as stream,
                pyorc.Writer(stream, "struct<id:int,v:string>") as writer,
            ):
                writer.writerows([(1, "a"), (2, "b")])
            for statement in statements:
                client.execute(statement.format(t=table, file=tmp_path / file))
            for i in (3, 4):
                client.execute(f"INSERT INTO {table} VALUES ({i}, 'x')")
            assert len(differential.check(table, where="id > 1").rows) == 4
            story = Story(Changes(differential), client, table)
            story.remember("all rows")
            lost = {"all rows": ["merged files (hive.compaction.merge.enabled) and left out"]}
            compact = partial(client.compact, table, kind, cleaned=True)
            story.then(compact, lost if name in LOSING else {})
            left = sorted(differential.check(table, where="id > 1").rows)
            assert left[-2:] == [(3, "x"), (4, "x")]
            assert len(left) == (2 if name in LOSING else 4)


@pytest.mark.long("starts a Hive of its own whose compactions merge files")
@pytest.mark.parametrize("properties", [FULL_ACID, INSERT_ONLY], ids=["full_acid", "insert_only"])
def test_compactions_that_put_files_together_take_what_the_library_writes(
    merging: HiveServer, spark: SparkSession, properties: str
) -> None:
    table = f"default.written_{len(properties)}"
    with HiveClient(merging.hs2_port, log=merging.log) as client:
        client.execute(ON_MAPREDUCE)
        differential = Differential(merging, client, spark)
        client.execute(
            f"CREATE TABLE {table} (id int, v string) STORED AS ORC TBLPROPERTIES ({properties})"
        )
        for first in (0, 6, 12):
            rows = spark.range(first, first + 6, 1, 3).selectExpr("cast(id as int) id", "'x' v")
            with hiveacid.transaction(spark, merging.metastore_uri) as transaction:
                if first:
                    transaction.append(table, rows)
                else:
                    transaction.overwrite(table, rows)
        expected = list(range(18))
        for kind in ("minor", "major"):
            client.compact(table, kind, cleaned=True)
            found = differential.check(table, where="id > 3").rows
            assert sorted(id_ for id_, _ in found) == expected
            for id_ in (len(expected), len(expected) + 1):
                client.execute(f"INSERT INTO {table} VALUES ({id_}, 'x')")
                expected.append(id_)


@pytest.mark.long("starts a Hive of its own whose compactions merge files")
@pytest.mark.parametrize("properties", [FULL_ACID, INSERT_ONLY], ids=["full_acid", "insert_only"])
def test_a_compaction_below_an_open_write_has_its_write_ids_reversed(
    merging: HiveServer, spark: SparkSession, properties: str
) -> None:
    """Hive passes over the directory, or shows its rows once more until the write has committed."""
    with (
        HiveClient(merging.hs2_port, log=merging.log) as client,
        MetastoreClient(merging.metastore_uri) as metastore,
    ):
        client.execute(ON_MAPREDUCE)
        differential = Differential(merging, client, spark)
        for place, shown in {4: [1, 2, 3], 2: [1, 1, 2, 2, 3, 3]}.items():
            name = TableName("default", f"reversed_{place}_{len(properties)}")
            client.execute(
                f"CREATE TABLE {name} (id int, v string) STORED AS ORC TBLPROPERTIES ({properties})"
            )
            for write_id, id_ in enumerate((1, 2, 3), start=1):
                if write_id == place:
                    _abort(metastore, name)
                client.execute(f"INSERT INTO {name} VALUES ({id_}, 'x')")
            if place == 4:
                _abort(metastore, name)
            writer = OpenWriter.begin(metastore, name, None, False)
            writer.insert([10])
            client.compact(str(name), "minor")
            location = merging.warehouse / name.table
            assert [it.name[:23] for it in location.glob("*_v*")] == ["delta_0000005_0000004_v"]
            assert sorted(client.query(f"SELECT id FROM {name}")) == [(i,) for i in shown]
            if place == 4:
                differential.check(str(name), where="id > 1", hive_counts=True)
            else:
                with pytest.raises(
                    UnreadableTableError, match="cannot be read: its write ids are reversed"
                ):
                    differential.read(str(name))
            metastore.commit_txn(writer.txn_id)
            found = differential.check(str(name), where="id > 1", hive_counts=True)
            assert sorted(id_ for id_, _ in found.rows) == [1, 2, 3, 10]


def _abort(metastore: MetastoreClient, name: TableName) -> None:
    """Abort a write that has written nothing."""
    metastore.abort_txn(OpenWriter.begin(metastore, name, None, False).txn_id)
