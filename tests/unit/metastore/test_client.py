"""The client against a metastore that speaks real thrift over a real socket."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest
from hmsclient.genthrift.hive_metastore import ttypes

from hiveacid.acid.write_ids import ValidTxnList
from hiveacid.errors import (
    MetastoreError,
    MetastoreUnavailableError,
    TableNotFoundError,
    TransactionLostError,
    WriteIdsNotSupportedError,
)
from hiveacid.metastore import thrift
from hiveacid.metastore.client import PARTITION_BATCH, MetastoreClient
from hiveacid.metastore.connection import ATTEMPTS
from hiveacid.metastore.models import (
    Column,
    Compaction,
    CompactionState,
    HiveSql,
    LockState,
    LockType,
    NotificationEvent,
    TableName,
    TransactionState,
)
from tests.unit.metastore.thrift_server import HANG_UP, ThriftServer

ORDERS = TableName("shop", "orders")
CUSTOMERS = TableName("shop", "customers")


@pytest.fixture
def server() -> Iterator[ThriftServer]:
    server = ThriftServer({})
    yield server
    server.close()


@pytest.fixture
def client(server: ThriftServer) -> Iterator[MetastoreClient]:
    with MetastoreClient(server.uri, timeout=5) as client:
        yield client


def storage(location: str = "file:/w/orders") -> ttypes.StorageDescriptor:
    return ttypes.StorageDescriptor(
        cols=[ttypes.FieldSchema("id", "int", None), ttypes.FieldSchema("é", "string", "näme")],
        location=location,
        inputFormat="org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
        numBuckets=4,
        bucketCols=["id"],
        serdeInfo=ttypes.SerDeInfo(
            serializationLib="org.apache.hadoop.hive.ql.io.orc.OrcSerde",
            parameters={"serialization.format": "1"},
        ),
    )


def thrift_table(name: TableName = ORDERS) -> thrift.Table:
    return thrift.Table(
        tableName=name.table,
        dbName=name.database,
        owner="hive",
        createTime=1_700_000_000,
        sd=storage(),
        partitionKeys=[ttypes.FieldSchema("day", "date", None)],
        parameters={"transactional": "true"},
        tableType="MANAGED_TABLE",
        id=42,
    )


class TestDatabases:
    def test_the_location_of_a_database(self, server, client):
        server.handlers["get_database"] = lambda name: ttypes.Database(
            name=name, locationUri=f"hdfs://lake/{name}"
        )
        assert client.get_database_location("default") == "hdfs://lake/default"

    def test_the_default_one_may_be_refused(self, server, client):
        def get_database(name):
            raise ttypes.MetaException("Permission denied")

        settings = {"metastore.warehouse.dir": "hdfs://lake/warehouse"}
        server.handlers["get_database"] = get_database
        server.handlers["get_config_value"] = lambda key, default: settings.get(key, default)
        assert client.get_default_location() == "hdfs://lake/warehouse"
        settings["metastore.warehouse.external.dir"] = "hdfs://lake/external"
        assert client.get_default_location() == "hdfs://lake/external"
        settings.clear()
        with pytest.raises(MetastoreError, match="Permission denied"):
            client.get_default_location()

    def test_a_missing_database_is_named(self, server, client):
        def get_database(name):
            raise ttypes.NoSuchObjectException(name)

        server.handlers["get_database"] = get_database
        with pytest.raises(MetastoreError, match=r"database nowhere: .* try again"):
            client.get_database_location("nowhere")


class TestTables:
    def test_a_table_comes_with_everything_that_the_reader_needs(self, server, client):
        requests = []

        def get_table_req(request):
            requests.append(request)
            return thrift.GetTableResult(table=thrift_table())

        server.handlers["get_table_req"] = get_table_req
        table = client.get_table(TableName("Shop", "ORDERS"))

        assert table.name == ORDERS
        assert table.id == 42
        assert table.create_time == 1_700_000_000
        assert table.is_full_acid
        assert table.partition_keys == (Column("day", "date"),)
        assert table.storage.columns == (Column("id", "int"), Column("é", "string", "näme"))
        assert table.storage.location == "file:/w/orders"
        assert table.storage.serde == "org.apache.hadoop.hive.ql.io.orc.OrcSerde"
        assert table.storage.serde_parameters == {"serialization.format": "1"}
        assert (table.storage.bucket_columns, table.storage.num_buckets) == (("id",), 4)
        (request,) = requests
        assert (request.dbName, request.tblName) == ("shop", "orders")
        assert request.capabilities.values == [thrift.INSERT_ONLY_TABLES]
        assert "HIVEFULLACIDREAD" in request.processorCapabilities

    def test_an_old_metastore_is_asked_with_get_table(self, server, client):
        old = ttypes.Table(
            tableName="orders",
            dbName="shop",
            owner="hive",
            createTime=1,
            sd=storage(),
            partitionKeys=[],
            parameters={},
            tableType="MANAGED_TABLE",
        )
        server.handlers["get_table"] = lambda database, table: old
        table = client.get_table(ORDERS)
        assert server.calls == ["get_table_req", "get_table"]
        assert table.id is None
        assert not table.is_transactional

    def test_a_missing_table_is_named(self, server, client):
        def get_table_req(request):
            raise ttypes.NoSuchObjectException("hive.shop.orders table not found")

        server.handlers["get_table_req"] = get_table_req
        with pytest.raises(TableNotFoundError) as error:
            client.get_table(ORDERS)
        assert str(error.value.message) == (
            "The metastore has no table shop.orders (hive.shop.orders table not found). Check the "
            "names of the database and the table."
        )

    def test_tables_are_asked_for_by_database_and_missing_ones_left_out(self, server, client):
        requests = []

        def get_tables(request):
            requests.append((request.dbName, request.tblNames))
            if request.dbName == "nowhere":
                raise ttypes.UnknownDBException("nowhere")
            return thrift.GetTablesResult(tables=[thrift_table()])

        server.handlers["get_table_objects_by_name_req"] = get_tables
        tables = client.get_tables([ORDERS, CUSTOMERS, ORDERS, TableName("nowhere", "t")])
        assert requests == [("nowhere", ["t"]), ("shop", ["customers", "orders"])]
        assert list(tables) == [ORDERS]
        assert tables[ORDERS].id == 42

    def test_partitions_are_asked_for_in_batches(self, server, client):
        names = [f"day={number}" for number in range(2 * PARTITION_BATCH + 1)]
        batches = []

        def get_partitions_by_names(database, table, batch):
            batches.append(len(batch))
            return [
                ttypes.Partition(values=[name[4:]], sd=storage(f"file:/w/{name}"), createTime=7)
                for name in batch
            ]

        server.handlers["get_partition_names"] = lambda database, table, limit: names
        server.handlers["get_partitions_by_names"] = get_partitions_by_names
        partitions = client.get_partitions(ORDERS)
        assert batches == [PARTITION_BATCH, PARTITION_BATCH, 1]
        assert [partition.values for partition in partitions] == [(name[4:],) for name in names]
        assert partitions[1].storage.location == "file:/w/day=1"
        assert partitions[1].create_time == 7

    def test_partitions_that_the_caller_may_not_see(self, server, client):
        def get_partition_names(database, table, limit):
            raise ttypes.MetaException("Permission denied: user=dbt")

        server.handlers["get_partition_names"] = get_partition_names
        with pytest.raises(MetastoreError, match="table shop.orders: Permission denied: user=dbt"):
            client.get_partition_names(ORDERS)

    def test_no_call_for_no_partition_names(self, server, client):
        assert client.get_partitions(ORDERS, []) == ()
        assert server.calls == []


class TestTransactions:
    def test_valid_txns_tell_open_from_aborted(self, server, client):
        server.handlers["get_open_txns"] = lambda: thrift.GetOpenTxnsResponse(
            txn_high_water_mark=20,
            open_txns=[3, 5, 7, 9, 11, 12, 13, 14, 16],
            # Java's BitSet: bits 1 and 8 are 5 and 16.
            abortedBits=b"\x02\x01",
        )
        assert client.get_valid_txns() == ValidTxnList(
            20, open=frozenset({3, 7, 9, 11, 12, 13, 14}), aborted=frozenset({5, 16})
        )

    def test_aborted_transactions_that_were_no_compactions(self, server, client):
        asked = []

        def get_open_txns_req(request):
            asked.append(request.excludeTxnTypes)
            return thrift.GetOpenTxnsResponse(
                txn_high_water_mark=20, open_txns=[3, 5], abortedBits=b"\x02"
            )

        # Hive 3 does not know the call.
        assert client.get_aborted_writers() is None
        server.handlers["get_open_txns_req"] = get_open_txns_req
        assert client.get_aborted_writers() == frozenset({5})
        assert asked == [[3, 6]]

    def test_a_list_of_hive_2_is_not_taken_for_an_empty_one(self, server, client):
        server.handlers["get_open_txns"] = lambda: thrift.GetOpenTxnsResponse(
            txn_high_water_mark=20, open_txns=None
        )
        with pytest.raises(WriteIdsNotSupportedError, match="older than Hive 3"):
            client.get_valid_txns()

    def test_write_ids_of_several_tables_in_one_call(self, server, client):
        requests = []

        def get_valid_write_ids(request):
            requests.append((request.fullTableNames, request.validTxnList))
            return thrift.GetValidWriteIdsResponse(
                tblValidWriteIds=[
                    thrift.TableValidWriteIds(
                        fullTableName="shop.orders",
                        writeIdHighWaterMark=9,
                        invalidWriteIds=[2, 5],
                        minOpenWriteId=5,
                        abortedBits=b"\x01",
                    ),
                    thrift.TableValidWriteIds(
                        fullTableName="shop.customers",
                        writeIdHighWaterMark=0,
                        invalidWriteIds=[],
                        abortedBits=b"",
                    ),
                ]
            )

        server.handlers["get_valid_write_ids"] = get_valid_write_ids
        lists = client.get_valid_write_ids([ORDERS, CUSTOMERS], ValidTxnList(20, frozenset({3})))
        assert requests == [(["shop.customers", "shop.orders"], "20:3:3:")]
        assert str(lists[ORDERS]) == "shop.orders:9:5:5:2"
        assert str(lists[CUSTOMERS]) == f"shop.customers:0:{2**63 - 1}::"

    def test_a_table_left_out_of_the_answer_is_an_error(self, server, client):
        server.handlers["get_valid_write_ids"] = lambda request: thrift.GetValidWriteIdsResponse(
            tblValidWriteIds=[]
        )
        with pytest.raises(MetastoreError, match="no write ids for shop.orders"):
            client.get_valid_write_ids([ORDERS], ValidTxnList(1))

    def test_a_metastore_without_write_ids(self, client):
        with pytest.raises(WriteIdsNotSupportedError) as error:
            client.get_valid_write_ids([ORDERS], ValidTxnList(1))
        assert str(error.value.message) == (
            "The metastore has no get_valid_write_ids, so it can give no consistent snapshot for "
            "table shop.orders: it is older than Hive 3. Upgrade the metastore, or read the table "
            "through Hive itself."
        )

    def test_a_transaction_is_opened_read_only_and_named(self, server, client):
        requests = []

        def open_txns(request):
            requests.append(vars(request))
            return ttypes.OpenTxnsResponse(txn_ids=[57])

        server.handlers["open_txns"] = open_txns
        assert client.open_txn("ann", "laptop", "dbt 1234") == 57
        assert requests == [
            {
                "num_txns": 1,
                "user": "ann",
                "hostname": "laptop",
                "agentInfo": "dbt 1234",
                "txn_type": thrift.TXN_TYPE_READ_ONLY,
            }
        ]

    @pytest.mark.parametrize(
        ("aborted", "nosuch", "state"),
        [
            (set(), set(), TransactionState.OPEN),
            ({57}, set(), TransactionState.ABORTED),
            (set(), {57}, TransactionState.UNKNOWN),
        ],
    )
    def test_a_heartbeat_reads_the_lists(self, server, client, aborted, nosuch, state):
        server.handlers["heartbeat_txn_range"] = lambda request: ttypes.HeartbeatTxnRangeResponse(
            aborted=aborted, nosuch=nosuch
        )
        assert client.heartbeat(57) is state

    def test_committing_a_lost_transaction_names_it(self, server, client):
        def commit_txn(request):
            raise ttypes.TxnAbortedException("Transaction txnid:57 already aborted")

        server.handlers["commit_txn"] = commit_txn
        with pytest.raises(TransactionLostError, match="commit_txn for transaction 57 .*already"):
            client.commit_txn(57)

    def test_write_ids_are_allocated_and_registered(self, server, client):
        registered = []
        server.handlers["allocate_table_write_ids"] = lambda request: (
            thrift.AllocateTableWriteIdsResponse(
                txnToWriteIds=[thrift.TxnToWriteId(txnId=request.txnIds[0], writeId=8)]
            )
        )
        server.handlers["add_write_ids_to_min_history"] = lambda txn_id, write_ids: (
            registered.append((txn_id, write_ids))
        )
        assert client.allocate_table_write_ids(57, ORDERS) == 8
        client.add_write_ids_to_min_history(57, {ORDERS: 3})
        assert registered == [(57, {"shop.orders": 3})]


class TestLocks:
    def test_one_request_sorted_without_duplicates(self, server, client):
        requests = []

        def lock(request):
            requests.append(request)
            return ttypes.LockResponse(lockid=3, state=ttypes.LockState.WAITING)

        server.handlers["lock"] = lock
        answer = client.lock_shared_read(57, [ORDERS, CUSTOMERS, ORDERS], "ann", "laptop", "dbt 1")
        assert (answer.lock_id, answer.state) == (3, LockState.WAITING)
        (request,) = requests
        assert (request.txnid, request.agentInfo) == (57, "dbt 1")
        assert [(part.dbname, part.tablename) for part in request.component] == [
            ("shop", "customers"),
            ("shop", "orders"),
        ]
        for part in request.component:
            assert part.type == ttypes.LockType.SHARED_READ
            assert part.operationType == ttypes.DataOperationType.SELECT
            assert part.isAcid

    def test_locks_that_concern_a_table(self, server, client):
        def element(lock_id, table, **more):
            return ttypes.ShowLocksResponseElement(
                lockid=lock_id,
                dbname="shop",
                tablename=table,
                state=ttypes.LockState.ACQUIRED,
                type=LockType.EXCL_WRITE.value,
                txnid=90,
                lastheartbeat=0,
                user="hive",
                hostname="node3",
                **more,
            )

        server.handlers["show_locks"] = lambda request: ttypes.ShowLocksResponse(
            locks=[
                element(1, "orders", acquiredat=1_700_000_000_123),
                element(2, "customers"),
                element(3, None),
            ]
        )
        locks = client.show_locks(ORDERS)
        assert [lock.lock_id for lock in locks] == [1, 3]
        assert locks[0].type is LockType.EXCL_WRITE
        assert locks[0].acquired_at == 1_700_000_000_123


class TestPast:
    def test_compactions_of_a_table(self, server, client):
        def element(id_, table, **more):
            return thrift.ShowCompactResponseElement(
                id=id_, dbname="shop", tablename=table, type=id_, **more
            )

        asked = []

        def show_compact(request):
            asked.append((request.dbName, request.tbName))
            return thrift.ShowCompactResponse(
                compacts=[
                    element(1, "orders", state="ready for cleaning", txnId=7, cleanerStart=99),
                    element(2, "customers", state="succeeded"),
                    element(3, "Orders", state="new in Hive 5", partitionname="p=1"),
                    element(4, "orders", state="failed", errorMessage="deadlock", txnId=0),
                ]
            )

        server.handlers["show_compact"] = show_compact
        assert client.get_compactions(ORDERS) == (
            Compaction(1, "", CompactionState.READY_FOR_CLEANING, 7, True, ""),
            Compaction(3, "p=1", CompactionState.OTHER, None, False, "", renumbers=True),
            Compaction(4, "", CompactionState.FAILED, None, False, "deadlock"),
        )
        assert asked == [("shop", "orders")]

    def test_events_come_in_the_order_of_their_ids(self, server, client):
        asked = []

        def get_next_notification(request):
            asked.append((request.lastEvent, request.maxEvents, request.eventTypeSkipList))
            return ttypes.NotificationEventResponse(
                events=[
                    ttypes.NotificationEvent(6, 1006, "COMMIT_TXN", None, " ", "{}", "json-0.2"),
                    ttypes.NotificationEvent(5, 1005, "INSERT", "shop", "orders", "x", None),
                ]
            )

        server.handlers["get_next_notification"] = get_next_notification
        assert client.get_events(4, 10, ("OPEN_TXN",)) == (
            NotificationEvent(5, 1005, "INSERT", "shop", "orders", "x", ""),
            NotificationEvent(6, 1006, "COMMIT_TXN", "", "", "{}", "json-0.2"),
        )
        assert asked == [(4, 10, ["OPEN_TXN"])]

    def test_a_metastore_without_a_log_refuses(self, client):
        with pytest.raises(MetastoreError, match="get_next_notification"):
            client.get_events(0, 10)


class TestServerInfo:
    @staticmethod
    def answer(server, version="4.0.1", **settings):
        server.handlers.update(
            getVersion=lambda: version,
            get_config_value=lambda key, default: settings.get(key.rpartition(".")[2], default),
            get_open_txns=lambda: thrift.GetOpenTxnsResponse(txn_high_water_mark=1, open_txns=[]),
            get_valid_write_ids=lambda request: thrift.GetValidWriteIdsResponse(
                tblValidWriteIds=[]
            ),
        )

    def test_what_a_server_can_do(self, server, client):
        self.answer(server, timeout="5min", minhistorywriteid="TRUE", minhistorylevel="false")
        info = client.server_info()
        assert info.version == "4.0.1"
        assert info.supports_write_ids
        assert info.transaction_timeout == 300
        assert info.min_history_write_ids
        del server.handlers["get_valid_write_ids"]
        assert not client.server_info().supports_write_ids

    @pytest.mark.parametrize("settings", [{}, {"minhistorylevel": "true"}])
    def test_one_that_forgets_open_write_ids(self, server, client, settings):
        self.answer(server, minhistorywriteid="true", **settings)
        with pytest.raises(MetastoreError) as error:
            client.server_info()
        assert str(error.value.message) == (
            "The metastore (version 4.0.1) forgets which write ids belong to open transactions, so "
            "readers, Hive included, would show uncommitted rows: "
            "metastore.txn.use.minhistorywriteid and metastore.txn.use.minhistorylevel are both "
            "true there. Set metastore.txn.use.minhistorylevel to false in the metastore's "
            "configuration."
        )

    @pytest.mark.parametrize(
        ("version", "settings"),
        [
            ("4.0.1", {}),
            ("4.0.0", {"minhistorylevel": "false"}),
            # Not known of a later one.
            ("4.1.0", {"minhistorywriteid": "true"}),
        ],
    )
    def test_one_that_forgets_none(self, server, client, version, settings):
        self.answer(server, version, **settings)
        assert client.server_info().version == version

    @pytest.mark.parametrize(
        ("version", "settings", "last"),
        [
            ("4.0.1", {}, True),
            ("3.1.3", {}, False),
            ("4.0.1", {"last": "false"}, False),
            ("3.1.3", {"last": "TRUE"}, True),
            ("3.1.3000.7.1.9.0-387", {}, True),
            ("3.1.3000", {"last": "false"}, False),
        ],
    )
    def test_where_hive_sorts_null(self, server, client, version, settings, last):
        self.answer(server, version, **settings)
        assert client.hive_sql() == HiveSql(version, last)

    @pytest.mark.parametrize(
        ("version", "hive_views", "settings", "last"),
        [
            # The order of NULL is that of the release that is chosen.
            ("4.0.1", "3.1", {}, False),
            ("3.0", "4.0", {}, True),
            ("unknown", "4.0", {}, True),
            ("unknown", "3.1", {}, False),
            # The metastore knows it better.
            ("4.0.1", "3.1", {"last": "true"}, True),
            ("4.1.0", "4.0", {}, True),
            ("3.1.3000.7.1.9.0-387", "3.1", {}, True),
            ("4.1.0", "refuse", {}, True),
        ],
    )
    def test_where_hive_sorts_null_in_the_release_that_is_chosen(
        self, server, client, version, hive_views, settings, last
    ):
        self.answer(server, version, **settings)
        assert client.hive_sql(hive_views) == HiveSql(version, last, hive_views)


class TestConnection:
    def test_every_address_that_was_tried_is_listed_with_the_reason(self):
        with socket.create_server(("127.0.0.1", 0)) as unused:
            port = unused.getsockname()[1]
        client = MetastoreClient(f"thrift://127.0.0.1:{port},thrift://no-such-host.invalid:9083")
        with pytest.raises(MetastoreUnavailableError) as error:
            client.get_partition_names(ORDERS)
        lines = str(error.value.message).splitlines()
        assert lines[0] == "Could not connect to the Hive metastore. Tried:"
        assert lines[1] == f"  thrift://127.0.0.1:{port}: Connection refused"
        assert lines[2].startswith("  thrift://no-such-host.invalid:9083: unknown host (")
        assert lines[3] == ("Check metastore_uri, and that the metastore is running.")

    def test_the_next_address_is_used_when_the_first_is_down(self, server):
        with socket.create_server(("127.0.0.1", 0)) as unused:
            down = unused.getsockname()[1]
        server.handlers["get_partition_names"] = lambda *arguments: ["day=1"]
        with MetastoreClient(f"thrift://127.0.0.1:{down}, {server.uri}") as client:
            assert client.get_partition_names(ORDERS) == ["day=1"]

    def test_a_read_goes_on_elsewhere_when_its_server_dies(self, server):
        first = ThriftServer({"get_partition_names": lambda *arguments: ["first"]})
        server.handlers["get_partition_names"] = lambda *arguments: ["second"]
        with MetastoreClient(f"{first.uri},{server.uri}") as client:
            assert client.get_partition_names(ORDERS) == ["first"]
            first.close()
            assert client.get_partition_names(ORDERS) == ["second"]

    def test_a_server_that_hangs_is_left_for_the_next(self, server):
        server.handlers["get_partition_names"] = lambda *arguments: ["second"]
        with socket.create_server(("127.0.0.1", 0)) as hanging:
            uris = f"thrift://127.0.0.1:{hanging.getsockname()[1]},{server.uri}"
            with MetastoreClient(uris, timeout=0.2) as client:
                for _ in range(2):
                    assert client.get_partition_names(ORDERS) == ["second"]
                server.drop_connections()
                started = time.monotonic()
                assert client.get_partition_names(ORDERS) == ["second"]
                assert time.monotonic() - started < 2, "the other one is tried, and left again"

    def test_a_server_that_hangs_up_is_left_for_the_next(self, server):
        server.handlers["get_partition_names"] = lambda *arguments: ["second"]
        first = ThriftServer({"get_partition_names": lambda *arguments: HANG_UP})
        with MetastoreClient(f"{first.uri},{server.uri}", timeout=5) as client:
            assert client.get_partition_names(ORDERS) == ["second"]
        first.close()

    def test_a_shorter_wait_for_answers(self, server, client):
        """That of heartbeats, whatever the profile allows other calls."""
        answer = threading.Event()
        server.handlers["get_partition_names"] = lambda *arguments: [str(answer.wait(5))]
        client.wait_at_most(0.1)
        started = time.monotonic()
        with pytest.raises(MetastoreUnavailableError, match="did not answer in time"):
            client.get_partition_names(ORDERS)
        assert time.monotonic() - started < 5
        answer.set()

    def test_a_read_is_tried_so_often_and_no_more(self, server, client):
        server.handlers["get_partition_names"] = lambda *arguments: HANG_UP
        with pytest.raises(MetastoreUnavailableError) as error:
            client.get_partition_names(ORDERS)
        assert server.calls == ["get_partition_names"] * ATTEMPTS
        assert str(error.value.message) == (
            f"The Hive metastore at {server.uri} failed in get_partition_names for table "
            "shop.orders: it closed the connection. Check the metastore's log. A metastore with "
            "Kerberos or TLS also closes the connections of clients without them: set "
            "`security` (in a profile auth, use_ssl and use_http_transport)."
        )

    @pytest.mark.parametrize(
        ("call", "arguments"),
        [
            ("open_txns", ("open_txn", "ann", "laptop", "dbt")),
            ("commit_txn", ("commit_txn", 57)),
            ("abort_txn", ("abort_txn", 57)),
            ("lock", ("lock_shared_read", 57, [ORDERS], "ann", "laptop", "dbt")),
            ("allocate_table_write_ids", ("allocate_table_write_ids", 57, ORDERS)),
        ],
    )
    def test_what_changes_the_metastore_is_never_repeated(self, server, client, call, arguments):
        server.handlers[call] = lambda *_: HANG_UP
        method, *values = arguments
        with pytest.raises(MetastoreUnavailableError):
            getattr(client, method)(*values)
        assert server.calls == [call]

    def test_a_slow_answer_times_out_and_is_not_taken_for_the_next_one(self, server):
        released = threading.Event()

        def slow(*arguments):
            released.wait(5)
            return ["late"]

        server.handlers["get_partition_names"] = slow
        server.handlers["commit_txn"] = lambda request: (time.sleep(0.4), None)[1]
        server.handlers["getVersion"] = lambda: "4.0.1"
        with MetastoreClient(server.uri, timeout=0.2) as client:
            with pytest.raises(MetastoreUnavailableError, match="did not answer in time"):
                client.commit_txn(57)
            released.set()
            assert client.get_partition_names(ORDERS) == ["late"]
        assert server.connections == 2

    def test_an_interrupted_call_leaves_no_answer_behind(self, server, client, monkeypatch):
        server.handlers["get_partition_names"] = lambda database, table, limit: [table]
        assert client.get_partition_names(ORDERS) == ["orders"]
        connection = client._channel._connection

        def interrupted():
            raise KeyboardInterrupt

        monkeypatch.setattr(connection.calls._iprot, "readMessageBegin", interrupted)
        with pytest.raises(KeyboardInterrupt):
            client.get_partition_names(ORDERS)
        assert client.get_partition_names(CUSTOMERS) == ["customers"]

    def test_a_signal_handler_may_call_while_a_call_is_interrupted(self, server, client):
        server.handlers["getVersion"] = lambda: "4.0.1"
        server.handlers["get_partition_names"] = lambda *arguments: ["day=1"]

        def run(thrift):
            thrift.send_getVersion()
            return client.get_partition_names(ORDERS)  # as from a handler of this thread

        assert client._channel.once("getVersion", "the server", run) == ["day=1"]
        assert server.connections == 2

    def test_threads_share_a_client(self, server, client):
        server.handlers["get_partition_names"] = lambda database, table, limit: [table]
        wrong = []

        def ask(number: int) -> None:
            for _ in range(30):
                if client.get_partition_names(TableName("d", f"t{number}")) != [f"t{number}"]:
                    wrong.append(number)

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        assert server.connections == 1

    def test_a_server_that_is_no_metastore(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:

            def answer() -> None:
                handle, _ = listener.accept()
                with handle:
                    handle.recv(1000)
                    handle.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

            thread = threading.Thread(target=answer, daemon=True)
            thread.start()
            client = MetastoreClient(f"thrift://127.0.0.1:{listener.getsockname()[1]}", timeout=2)
            with pytest.raises(MetastoreUnavailableError, match="failed in open_txns for dbt"):
                client.open_txn("ann", "laptop", "dbt")
            client.close()
            thread.join(5)
