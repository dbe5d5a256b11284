"""The metastore client against Hive's own metastore."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hiveacid.errors import MetastoreError, TableNotFoundError, TransactionLostError
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import Column, LockState, TableName, TransactionState
from integration.support.hive import HiveClient, HiveServer, HiveSettings


@pytest.fixture
def metastore(hive: HiveServer) -> Iterator[MetastoreClient]:
    with MetastoreClient(hive.metastore_uri) as client:
        yield client


def test_what_the_server_can_do(metastore: MetastoreClient, hive: HiveServer) -> None:
    info = metastore.server_info()
    assert info.version == "4.0.1"
    assert info.supports_write_ids
    assert info.transaction_timeout == hive.settings.txn_timeout
    assert not info.min_history_write_ids


def test_a_table_and_its_partitions(
    metastore: MetastoreClient,
    hive: HiveServer,
    hive_client: HiveClient,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hive_client.script(f"""
        CREATE TABLE {database}.t (id int COMMENT 'kéy', v struct<a:int,b:array<string>>)
          PARTITIONED BY (d string, n int) CLUSTERED BY (id) INTO 3 BUCKETS STORED AS ORC
          TBLPROPERTIES ('transactional'='true');
        INSERT INTO {database}.t PARTITION (d, n)
          SELECT 1, named_struct('a', 1, 'b', array('x')), 'a b/c=d', 1
          UNION ALL SELECT 2, named_struct('a', 2, 'b', array('y')), 'ü', 2
          UNION ALL SELECT 3, named_struct('a', 3, 'b', array('z')), NULL, 3;
    """)
    name = TableName(database.upper(), "T")
    table = metastore.get_table(name)
    assert table.name == TableName(database, "t")
    assert table.is_full_acid
    assert table.id is not None
    assert table.storage.columns == (
        Column("id", "int", "kéy"),
        Column("v", "struct<a:int,b:array<string>>"),
    )
    assert table.partition_keys == (Column("d", "string"), Column("n", "int"))
    assert table.storage.num_buckets == 3
    assert table.storage.bucket_columns == ("id",)
    assert table.storage.location == f"file:{hive.warehouse}/{database}.db/t"
    assert metastore.get_tables([name]) == {name: table}

    # Three partitions in batches of two.
    monkeypatch.setattr("hiveacid.metastore.client.PARTITION_BATCH", 2)
    partitions = metastore.get_partitions(name)
    assert {partition.values for partition in partitions} == {
        ("a b/c=d", "1"),
        ("ü", "2"),
        ("__HIVE_DEFAULT_PARTITION__", "3"),
    }
    by_value = {partition.values[0]: partition for partition in partitions}
    assert by_value["a b/c=d"].storage.location.endswith("/t/d=a b%2Fc%3Dd/n=1")


def test_insert_only_tables_are_not_refused(
    metastore: MetastoreClient, hive_client: HiveClient, database: str
) -> None:
    name = TableName(database, "io")
    hive_client.execute(
        f"CREATE TABLE {name} (id int) STORED AS PARQUET TBLPROPERTIES "
        "('transactional'='true', 'transactional_properties'='insert_only')"
    )
    assert metastore.get_table(name).is_insert_only
    assert metastore.get_tables([name])[name].is_insert_only


def test_missing_tables(metastore: MetastoreClient, database: str) -> None:
    name = TableName(database, "nope")
    with pytest.raises(TableNotFoundError, match=f"The metastore has no table {database}.nope "):
        metastore.get_table(name)
    assert metastore.get_tables([name, TableName("no_such_database", "t")]) == {}
    # Write ids and locks do not tell: the reason to look a table up once it is locked.
    assert (
        metastore.get_valid_write_ids([name], metastore.get_valid_txns())[name].high_watermark == 0
    )
    txn_id = metastore.open_txn("tester", "here", "test")
    assert metastore.lock_shared_read(txn_id, [name], "tester", "here", "test").state is (
        LockState.ACQUIRED
    )
    metastore.abort_txn(txn_id)


def test_write_ids_of_committed_aborted_and_open_transactions(
    metastore: MetastoreClient, hive_client: HiveClient, database: str
) -> None:
    name = TableName(database, "t")
    hive_client.execute(
        f"CREATE TABLE {name} (id int) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )
    transactions = [
        metastore.open_txn("tester", "here", "test", read_only=False) for _ in range(12)
    ]
    write_ids = [metastore.allocate_table_write_ids(txn_id, name) for txn_id in transactions]
    first = write_ids[0]
    assert write_ids == list(range(first, first + 12))
    # The tenth id lies in the second byte of the bit set.
    aborted, open_ = {write_ids[1], write_ids[9]}, {write_ids[4], write_ids[11]}
    for txn_id, write_id in zip(transactions, write_ids, strict=True):
        if write_id in aborted:
            metastore.abort_txn(txn_id)
        elif write_id not in open_:
            metastore.commit_txn(txn_id)
    valid = metastore.get_valid_write_ids([name], metastore.get_valid_txns())[name]
    assert valid.high_watermark == write_ids[11]
    assert valid.aborted == aborted
    assert valid.open == open_
    for write_id in open_:
        metastore.abort_txn(transactions[write_ids.index(write_id)])


def test_the_states_of_a_transaction(metastore: MetastoreClient) -> None:
    committed, aborted = (metastore.open_txn("tester", "here", "test") for _ in range(2))
    assert metastore.heartbeat(committed) is TransactionState.OPEN
    metastore.commit_txn(committed)
    metastore.abort_txn(aborted)
    assert metastore.heartbeat(committed) is TransactionState.UNKNOWN
    assert metastore.heartbeat(aborted) in (TransactionState.ABORTED, TransactionState.UNKNOWN)
    metastore.commit_txn(committed)  # a second time does no harm
    with pytest.raises(TransactionLostError, match=f"commit_txn for transaction {aborted} "):
        metastore.commit_txn(aborted)


def test_a_second_lock_of_a_table_waits_for_the_first_when_another_waits(
    metastore: MetastoreClient, hive: HiveServer, hive_client: HiveClient, database: str
) -> None:
    """Why no run asks twice: this is what would happen."""
    from integration.test_run_snapshot import dropping

    name = TableName(database, "t")
    hive_client.execute(
        f"CREATE TABLE {name} (id int) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )
    txn_id = metastore.open_txn("tester", "here", "test")
    first = metastore.lock_shared_read(txn_id, [name], "tester", "here", "test")
    assert first.state is LockState.ACQUIRED
    with dropping(hive, metastore, name):
        second = metastore.lock_shared_read(txn_id, [name], "tester", "here", "test")
        assert second.state is LockState.WAITING
        metastore.unlock(second.lock_id)  # a waiting request can be withdrawn …
        with pytest.raises(MetastoreError):
            metastore.unlock(first.lock_id)  # … a granted one cannot
        metastore.commit_txn(txn_id)


def test_the_address_of_hiveserver2(hive: HiveServer) -> None:
    client = MetastoreClient(f"thrift://127.0.0.1:{hive.hs2_port}")
    with client, pytest.raises(MetastoreError, match="not of HiveServer2"):
        client.server_info()


def test_a_metastore_that_translates_tables() -> None:
    """Hive 4's default transformer hides what a client does not say it can read."""
    with (
        HiveServer(HiveSettings(translate_tables=True)) as hive,
        HiveClient(hive.hs2_port) as sql,
        MetastoreClient(hive.metastore_uri) as metastore,
    ):
        sql.script("""
            CREATE TABLE acid (id int) STORED AS ORC TBLPROPERTIES ('transactional'='true');
            CREATE TABLE io (id int) STORED AS PARQUET TBLPROPERTIES
              ('transactional'='true', 'transactional_properties'='insert_only');
            CREATE TABLE plain (id int) STORED AS ORC;
        """)
        names = [TableName("default", name) for name in ("acid", "io", "plain")]
        tables = metastore.get_tables(names)
        assert tables == {name: metastore.get_table(name) for name in names}
        assert [tables[name].is_transactional for name in names] == [True, True, False]
        assert tables[names[1]].is_insert_only
        assert [tables[name].table_type for name in names] == [
            "MANAGED_TABLE",
            "MANAGED_TABLE",
            "EXTERNAL_TABLE",
        ]
        assert tables[names[0]].storage.location == f"file:{hive.warehouse}/acid"
