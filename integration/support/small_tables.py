"""One small table for each thing that a reader can get wrong; tests share them and only read."""

from __future__ import annotations

from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from integration.support.histories.writer import OpenWriter, insert_together
from integration.support.hive import HiveClient, HiveServer

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"

#: What Hive does to each table; `{t}` is its name.
TABLES = {
    # Row ids repeat from partition to partition, and the deleted ones differ.
    "partitioned": f"""
        CREATE TABLE {{t}} (id int) PARTITIONED BY (p int) {ACID};
        INSERT INTO {{t}} VALUES (1, 1), (2, 1), (3, 2), (4, 2);
        DELETE FROM {{t}} WHERE id IN (2, 3);
        """,
    "aborted": f"""
        CREATE TABLE {{t}} (id int) {ACID};
        INSERT INTO {{t}} VALUES (1);
        """,
    # What is written to it is in `_stream`.
    "streamed": f"CREATE TABLE {{t}} (id int) {ACID}",
    "originals": """
        CREATE TABLE {t} (id int) STORED AS ORC TBLPROPERTIES ('transactional'='false');
        INSERT INTO {t} VALUES (1), (2);
        INSERT INTO {t} VALUES (3), (4);
        ALTER TABLE {t} SET TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
        DELETE FROM {t} WHERE id = 3;
        """,
    "truncated": f"""
        CREATE TABLE {{t}} (id int) {ACID};
        INSERT INTO {{t}} VALUES (1);
        TRUNCATE TABLE {{t}};
        """,
    "renamed": f"""
        CREATE TABLE {{t}} (id int, name string) {ACID};
        INSERT INTO {{t}} VALUES (1, 'a');
        ALTER TABLE {{t}} CHANGE COLUMN name label string;
        """,
}


def make_small_tables(hive: HiveServer, client: HiveClient, database: str) -> None:
    """Create and fill them all."""
    for table, script in TABLES.items():
        client.script(script.format(t=f"{database}.{table}"))
    _abort_an_insert(hive, TableName(database, "aborted"))
    _stream(hive, TableName(database, "streamed"))


def _abort_an_insert(hive: HiveServer, table: TableName) -> None:
    """Leave the directory of an aborted transaction, below a write id that was committed."""
    with MetastoreClient(hive.metastore_uri, timeout=30) as client:
        writers = [OpenWriter.begin(client, table, None, deletes=False) for _ in range(2)]
        for writer in writers:
            writer.insert([writer.write_id])
        client.abort_txn(writers[0].txn_id)
        client.commit_txn(writers[1].txn_id)


def _stream(hive: HiveServer, table: TableName) -> None:
    """Leave rows of an aborted and of a committed transaction in one file."""
    with MetastoreClient(hive.metastore_uri, timeout=30) as client:
        writers = [OpenWriter.begin(client, table, None, deletes=False) for _ in range(2)]
        insert_together([(writer, [writer.write_id]) for writer in writers])
        client.abort_txn(writers[0].txn_id)
        client.commit_txn(writers[1].txn_id)
