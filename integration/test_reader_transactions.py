"""Work of transactions that are open, aborted, or committed in another order than begun."""

from __future__ import annotations

from dbt.adapters.hiveacid.metastore.client import MetastoreClient
from dbt.adapters.hiveacid.metastore.models import TableName
from dbt.adapters.hiveacid.metastore.transactions import TransactionState
from integration.differential import Differential
from integration.histories.writer import OpenWriter
from integration.hive import HiveClient, HiveServer
from integration.tables import FULL_ACID


def test_uncommitted_and_aborted_work_is_not_shown(
    differential: Differential, hive_client: HiveClient, hive: HiveServer, database: str
) -> None:
    """Files of an open and of an aborted transaction lie in the table, as a writer leaves them."""
    name = TableName(database, "writers")
    hive_client.execute(f"CREATE TABLE {name} (id int) STORED AS ORC TBLPROPERTIES ({FULL_ACID})")
    hive_client.execute(f"INSERT INTO {name} VALUES (1), (2)")
    with MetastoreClient(hive.metastore_uri, timeout=30) as client:
        writers = []
        for identity in (100, 200, 300):
            writers.append(OpenWriter.begin(client, name, None, deletes=False))
            writers[-1].insert([identity])
        aborted, open_, committed = (writer.txn_id for writer in writers)
        client.abort_txn(aborted)
        client.commit_txn(committed)
        client.heartbeat(open_)  # a busy machine may be slower than the metastore's timeout
        shown = {row[0] for row in differential.check(str(name)).rows}
        assert client.heartbeat(open_) is TransactionState.OPEN
        assert shown == {1, 2, 300}
        client.commit_txn(open_)
    assert {row[0] for row in differential.check(str(name)).rows} == {1, 2, 200, 300}
