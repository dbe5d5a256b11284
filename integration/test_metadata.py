"""What dbt asks about ACID sources without reading them: columns, docs, freshness."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from dbt_common.events.base_types import EventMsg
from pyspark.sql import SparkSession

from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import Table, TableName
from hiveacid.reader.last_write import find_last_write
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.snapshots.tables import look_up_unlocked
from integration.support.dbt_project import DbtProject, node_results
from integration.support.histories.writer import OpenWriter
from integration.support.hive import HiveClient, HiveServer
from integration.support.metastore import is_cleaned
from integration.support.tables import FULL_ACID, INSERT_ONLY

LOCKS = ("Opened transaction", "One snapshot of")


UNIT_TEST = """
unit_tests:
  - name: ids
    model: mart
    given:
      - input: source('shop', 'plain')
        rows: [{id: 7}]
    expect:
      rows: [{id: 7, v: null}]
"""


def stats(catalog: dict[str, Any], source: str) -> dict[str, Any]:
    """The numbers of a source in the docs, by their labels."""
    entries = catalog["sources"][f"source.test.shop.{source}"]["stats"].values()
    return {entry["label"]: entry["value"] for entry in entries if entry["include"]}


def test_the_docs_of_sources_come_from_the_metastore(
    dbt_project: DbtProject, hive_client: HiveClient, spark: SparkSession
) -> None:
    """Rows as Hive counts them, with and without statistics that Hive vouches for.

    No lock, no transaction, no Spark job; not for a unit test, either.
    """
    hive_client.script(
        f"""
        SET hive.stats.autogather=true;
        CREATE TABLE plain (id int COMMENT 'the key', v int) COMMENT 'a table'
          STORED AS ORC TBLPROPERTIES ({FULL_ACID});
        INSERT INTO plain VALUES (1, 1), (2, 2), (3, 3);
        UPDATE plain SET v = 9 WHERE id = 1;
        DELETE FROM plain WHERE id = 2;
        CREATE TABLE parts (id int) PARTITIONED BY (p int)
          STORED AS ORC TBLPROPERTIES ({FULL_ACID});
        INSERT INTO parts VALUES (1, 1), (2, 2), (3, 2);
        SET hive.stats.autogather=false;
        CREATE TABLE doubtful (id int) STORED AS ORC TBLPROPERTIES ({FULL_ACID});
        INSERT INTO doubtful VALUES (1);
        """
    )
    dbt_project.sources("plain", "parts", "doubtful")
    # The only node; it makes no table, so that nobody needs to ask Spark for the database.
    ephemeral = "{{ config(materialized='ephemeral') }}"
    dbt_project.models(mart=f"{ephemeral} select id, v from {{{{ source('shop', 'plain') }}}}")
    dbt_project.write("models/unit.yml", UNIT_TEST)
    said: list[str] = []
    jobs = spark.sparkContext.statusTracker().getJobIdsForGroup()

    def listen(event: EventMsg) -> None:
        said.append(event.info.msg)  # type: ignore[attr-defined]

    dbt_project.succeed("--debug", "docs", "generate", on_event=listen)
    assert not [line for line in said if any(word in line for word in LOCKS)]
    assert not [line for line in said if "show table extended" in line.lower()]
    assert spark.sparkContext.statusTracker().getJobIdsForGroup() == jobs
    said.clear()
    dbt_project.succeed("--debug", "test", "--select", "test_type:unit", on_event=listen)
    assert said and not [line for line in said if any(word in line for word in LOCKS)]

    catalog = dbt_project.artifact("catalog.json")
    assert catalog["errors"] is None
    plain = catalog["sources"]["source.test.shop.plain"]
    assert plain["metadata"]["comment"] == "a table"
    assert plain["metadata"]["owner"]
    assert [(c["name"], c["type"], c["comment"]) for c in plain["columns"].values()] == [
        ("id", "int", "the key"),
        ("v", "int", None),
    ]
    ((rows,),) = hive_client.query("SELECT count(*) FROM plain")
    described = {
        key.strip(): value.strip()
        for _, key, value in hive_client.query("DESCRIBE FORMATTED plain")
        if key and value
    }
    found = stats(catalog, "plain")
    assert found == {
        "Rows": rows,
        "Bytes": int(described["totalSize"]),
        "Deltas": 4,
        "Last write id": 3,
    }
    assert rows == 2 and found["Bytes"] > 0
    assert list(catalog["sources"]["source.test.shop.parts"]["columns"]) == ["id", "p"]
    parts = stats(catalog, "parts")
    assert (parts["Rows"], parts["Partitions"], parts["Deltas"]) == (3, 2, 2)
    doubtful = stats(catalog, "doubtful")
    assert "Rows" not in doubtful
    assert doubtful["Bytes (not exact)"] > 0


class Watch:
    """Does things in Hive, and tells which of them a table's freshness is that of."""

    def __init__(self, hive: HiveServer, client: HiveClient, spark: SparkSession) -> None:
        self._client = client
        self._spark = spark
        self._footers = OrcFooters()
        self._metastore = MetastoreClient(hive.metastore_uri, timeout=60)
        self._done: dict[str, tuple[float, float]] = {}

    def close(self) -> None:
        self._metastore.close()

    def do(self, name: str, act: str | Callable[[], None]) -> None:
        """Run a script, or call a function, and remember when."""
        began = time.time()
        if callable(act):
            act()
        else:
            self._client.script(act)
        # The file system's clock ticks a few times in a hundredth of a second.
        self._done[name] = (began - 0.02, time.time())
        time.sleep(0.05)

    def last(self, table: TableName) -> tuple[str, bool] | None:
        """What the newest write was done by, and whether that is a bound."""

        found = find_last_write(
            self._spark,
            lambda: look_up_unlocked(self._metastore, [table])[table],
            self._metastore.get_valid_txns,
            self._footers,
        )
        if found is None:
            return None
        return self.at(found.time / 1000), found.is_bound

    def at(self, time: float) -> str:
        """What was being done at a time, in seconds since the epoch."""
        (name,) = [n for n, (began, ended) in self._done.items() if began <= time <= ended]
        return name


@pytest.fixture
def watch(hive: HiveServer, hive_client: HiveClient, spark: SparkSession) -> Iterator[Watch]:
    """On the test's database."""
    found = Watch(hive, hive_client, spark)
    yield found
    found.close()


SOURCES = [
    *({"name": name} for name in ("t", "p", "empty", "plain")),
    {
        "name": "first",
        "identifier": "p",
        "config": {"meta": {"hiveacid": {"partitions": {"d": 1}}}},
    },
]


def test_freshness_is_the_time_of_the_newest_write_with_data(
    watch: Watch,
    hive: HiveServer,
    hive_client: HiveClient,
    dbt_project: DbtProject,
    database: str,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not that of DDL, of a write of nothing, of one that is not committed or of a compaction."""
    t = TableName(database, "t")
    hive_client.script(
        f"""
        CREATE TABLE t (id int, v int) STORED AS ORC TBLPROPERTIES ({FULL_ACID});
        CREATE TABLE empty (id int) STORED AS ORC TBLPROPERTIES ({FULL_ACID});
        CREATE TABLE plain (id int) STORED AS ORC TBLPROPERTIES ('transactional'='false');
        """
    )
    assert watch.last(t) is None
    watch.do("insert", "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
    assert watch.last(t) == ("insert", False)
    watch.do("insert of nothing", "INSERT INTO t SELECT 1, 1 FROM t WHERE id > 9")
    watch.do("update of nothing", "UPDATE t SET v = 9 WHERE id = 9")
    watch.do("DDL", "ALTER TABLE t ADD COLUMNS (w int);\nALTER TABLE t SET TBLPROPERTIES ('a'='b')")
    watch.do("statistics", "ANALYZE TABLE t COMPUTE STATISTICS")
    assert watch.last(t) == ("insert", False)
    watch.do("update", "UPDATE t SET v = 9 WHERE id = 1")
    assert watch.last(t) == ("update", False)
    watch.do("delete", "DELETE FROM t WHERE id = 2")
    assert watch.last(t) == ("delete", False)
    watch.do(
        "merge",
        "MERGE INTO t USING (SELECT 3 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = 8",
    )
    assert watch.last(t) == ("merge", False)

    with MetastoreClient(hive.metastore_uri, timeout=60) as client:
        for name in ("aborted", "committed late"):
            writer = OpenWriter.begin(client, t, None, deletes=False)
            watch.do(name, lambda writer=writer: writer.insert([7]))  # type: ignore[misc]
            assert watch.last(t) == ("merge", False)
            if name == "aborted":
                client.abort_txn(writer.txn_id)
                assert watch.last(t) == ("merge", False)
            else:
                client.commit_txn(writer.txn_id)
                assert watch.last(t) == ("committed late", False)

        reader = client.open_txn("reader", "localhost", "keeps the cleaner off", read_only=False)
        watch.do("minor", lambda: hive_client.compact("t", "minor"))
        assert watch.last(t) == ("committed late", False), "its files are still there"
        client.commit_txn(reader)

    assert is_cleaned(hive_client, database)
    # The compaction is all that there is.
    assert watch.last(t) == ("minor", True)
    watch.do("insert after", "INSERT INTO t VALUES (4, 4, 4)")
    assert watch.last(t) == ("insert after", False)
    watch.do("major", lambda: hive_client.compact("t", "major", cleaned=True))
    assert watch.last(t) == ("major", True)

    p = TableName(database, "p")
    hive_client.execute(
        f"CREATE TABLE p (id int) PARTITIONED BY (d int) STORED AS PARQUET "
        f"TBLPROPERTIES ({INSERT_ONLY})"
    )
    watch.do("p1", "INSERT INTO p PARTITION (d=1) VALUES (1)")
    watch.do("p2", "INSERT INTO p PARTITION (d=2) VALUES (2)")
    watch.do("nothing", "INSERT INTO p PARTITION (d=1) SELECT 1 FROM t WHERE id > 9")
    assert watch.last(p) == ("p2", False)
    dbt_project.sources(freshness={"warn_after": {"count": 1, "period": "day"}}, tables=SOURCES)
    said: list[str] = []
    asked: list[set[str]] = []
    get_tables = MetastoreClient.get_tables

    def asking(self: MetastoreClient, names: Iterable[TableName]) -> dict[TableName, Table]:
        wanted = set(names)
        asked.append({name.table for name in wanted})
        return get_tables(self, wanted)

    def listen(event: EventMsg) -> None:
        said.append(event.info.msg)  # type: ignore[attr-defined]

    jobs = spark.sparkContext.statusTracker().getJobIdsForGroup()
    with monkeypatch.context() as patch:
        patch.setattr(MetastoreClient, "get_tables", asking)
        result = dbt_project.invoke("--debug", "source", "freshness", on_event=listen)
    assert spark.sparkContext.statusTracker().getJobIdsForGroup() == jobs
    # All at once; then those that have no answer, for the reason.
    assert asked[0] == {"t", "p", "empty", "plain"}
    assert sorted(asked[1:], key=min) == [{"empty"}, {"plain"}]
    found = {node.node.name: node for node in node_results(result)}
    written = {
        name: watch.at(node.max_loaded_at.timestamp())
        for name, node in found.items()
        if str(node.status) == "pass"
    }
    assert written == {"t": "major", "p": "p2", "first": "p1"}
    assert f"{t} was last written to not after " in "\n".join(said)
    assert f"{database}.empty is empty: it has no files" in found["empty"].message
    assert f"{database}.plain is not a transactional table" in found["plain"].message
    assert not [line for line in said if any(word in line for word in LOCKS)]

    watch.do("truncate", "TRUNCATE TABLE p PARTITION (d=2)")
    assert watch.last(p) == ("p1", False)
    watch.do("drop", "ALTER TABLE p DROP PARTITION (d=1)")
    assert watch.last(p) is None
    watch.do("truncate of all", "TRUNCATE TABLE t")
    assert watch.last(t) is None


def test_freshness_of_files_that_no_insert_has_written(
    watch: Watch, hive: HiveServer, hive_client: HiveClient, database: str
) -> None:
    """LOAD DATA keeps a file's time, an overwrite is a write, conversion to ACID is none."""
    loaded, avro = TableName(database, "loaded"), TableName(database, "avro")
    hive_client.script(
        f"""
        CREATE TABLE loaded (id int) STORED AS ORC TBLPROPERTIES ({FULL_ACID});
        CREATE TABLE avro (id int) STORED AS AVRO TBLPROPERTIES ({INSERT_ONLY});
        CREATE TABLE old (id int) STORED AS ORC TBLPROPERTIES ('transactional'='false');
        """
    )
    watch.do("written", "INSERT INTO old VALUES (1), (2)")
    (file,) = (Path(hive.warehouse) / f"{database}.db" / "old").glob("0*")
    copy = file.parents[1] / "copy.orc"
    shutil.copy2(file, copy)
    watch.do("converted", f"ALTER TABLE old SET TBLPROPERTIES ({FULL_ACID})")
    assert watch.last(TableName(database, "old")) == ("written", False)

    watch.do("load", f"LOAD DATA INPATH 'file:{copy}' INTO TABLE loaded")
    assert hive_client.query("SELECT count(*) FROM loaded") == [(2,)]
    assert watch.last(loaded) == ("written", False), "the time that the file had"
    watch.do("overwrite", "INSERT OVERWRITE TABLE loaded SELECT 3")
    assert watch.last(loaded) == ("overwrite", False)
    watch.do("overwrite with nothing", "INSERT OVERWRITE TABLE loaded SELECT 1 FROM avro")
    assert watch.last(loaded) is None

    watch.do("first", "INSERT INTO avro VALUES (1)")
    watch.do("nothing", "INSERT INTO avro SELECT id FROM loaded")
    assert watch.last(avro) == ("first", False)
    watch.do("second", "INSERT INTO avro VALUES (2)")
    assert watch.last(avro) == ("second", False)
