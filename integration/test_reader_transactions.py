"""Work of transactions that are open, aborted, or committed in another order than begun."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName, TransactionState
from hiveacid.reader.verify import verify
from integration.support.differential import Differential
from integration.support.histories.writer import OpenWriter, delete_together, insert_together
from integration.support.hive import HiveClient, HiveServer
from integration.support.tables import FULL_ACID, REPEATS, storage


@contextmanager
def kept_open(client: MetastoreClient, writer: OpenWriter) -> Iterator[None]:
    """The writer's transaction is open during the block, however slow the machine."""
    client.heartbeat(writer.txn_id)
    yield
    assert client.heartbeat(writer.txn_id) is TransactionState.OPEN


@pytest.mark.parametrize(
    "partitioned", [pytest.param(False, marks=REPEATS), True], ids=["plain", "partitioned"]
)
@pytest.mark.parametrize(
    ("format", "properties"), [storage("full acid"), storage("text"), storage("orc", REPEATS)]
)
def test_uncommitted_and_aborted_work_is_not_shown(
    differential: Differential,
    hive_client: HiveClient,
    hive: HiveServer,
    database: str,
    format: str,
    properties: str,
    partitioned: bool,
) -> None:
    """Files of an open and of an aborted transaction lie in the table, as a writer leaves them."""
    name = TableName(database, "writers")
    columns = "(id int, v string) PARTITIONED BY (p int)" if partitioned else "(id int, p int)"
    hive_client.execute(
        f"CREATE TABLE {name} {columns} STORED AS {format} TBLPROPERTIES ({properties})"
    )
    hive_client.execute(f"INSERT INTO {name} (id, p) VALUES (1, 1), (2, 1), (3, 2)")
    deletes = properties == FULL_ACID
    with MetastoreClient(hive.metastore_uri, timeout=30) as client:
        writers = []
        partition = ("1",) if partitioned else None
        for number in (1, 2, 3):
            # Of two transactions that delete, Hive lets only the first one commit.
            is_deleting = deletes and number < 3
            writer = OpenWriter.begin(client, name, partition, is_deleting)
            writer.insert([100 * number])
            if is_deleting:
                writer.delete(hive_client, f"id = {number}")
            writers.append(writer)
        aborted, open_, committed = writers
        client.abort_txn(aborted.txn_id)
        client.commit_txn(committed.txn_id)
        with kept_open(client, open_):
            shown = {row[0] for row in differential.check(str(name), where="id > 1").rows}
        assert shown == {1, 2, 3, 300}
        client.commit_txn(open_.txn_id)
    shown = {row[0] for row in differential.check(str(name), where="id > 1").rows}
    assert shown == ({1, 3, 200, 300} if deletes else {1, 2, 3, 200, 300})


def test_invalid_rows_inside_a_directory_are_hidden(
    differential: Differential, hive_client: HiveClient, hive: HiveServer, database: str
) -> None:
    """A writer that streams leaves rows, or delete events, of several transactions in one file."""
    name = TableName(database, "streamed")
    hive_client.execute(f"CREATE TABLE {name} (id int) STORED AS ORC TBLPROPERTIES ({FULL_ACID})")
    hive_client.execute(f"INSERT INTO {name} VALUES (1), (2), (3), (4)")
    with MetastoreClient(hive.metastore_uri, timeout=30) as client:
        writers = [OpenWriter.begin(client, name, None, deletes=False) for _ in range(3)]
        insert_together([(w, [100 * i, 100 * i + 1]) for i, w in enumerate(writers, 1)])
        delete_together(hive_client, [(w, f"id = {i}") for i, w in enumerate(writers, 1)])
        aborted, open_, committed = writers
        client.abort_txn(aborted.txn_id)
        client.commit_txn(committed.txn_id)
        with kept_open(client, open_):
            read = differential.check(str(name), where="id > 1 AND id <> 300")
            with differential.pinned(str(name)) as pinned:
                verified = verify(differential.spark, pinned, differential.footers)
        assert {row[0] for row in read.rows} == {1, 2, 4, 300, 301}
        assert len(read.directories) == 3
        assert verified.hidden > 0 and not verified.problems
        client.commit_txn(open_.txn_id)
    read = differential.check(str(name), where="id > 1 AND id <> 300")
    assert {row[0] for row in read.rows} == {1, 4, 200, 201, 300, 301}
