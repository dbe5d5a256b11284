"""The notification log, in the forms in which Hive's listener writes it."""

import base64
import gzip
import json

import pytest

from hiveacid.errors import MetastoreError, MetastoreUnavailableError
from hiveacid.metastore import event_log
from hiveacid.metastore.event_log import TableEvents, read_table_events, table_events
from hiveacid.metastore.models import NotificationEvent, TableName

ORDERS = TableName("shop", "orders")


class Log:
    """A log that counts its entries, one a second."""

    def __init__(self):
        self.events = []

    def add(self, type_, message=None, table="shop.orders", zipped=False):
        number = len(self.events) + 1
        text, form = json.dumps(message or {}), "json-0.2"
        if zipped:
            text = base64.b64encode(gzip.compress(text.encode())).decode()
            form = "gzip(json-2.0)"
        database, _, name = table.partition(".")
        self.events.append(
            NotificationEvent(number, 1000 + number, type_, database, name, text, form)
        )
        return self

    def write(self, txn_id, write_id, table="shop.orders", zipped=False, commit=True):
        ids = {"txnIdList": [txn_id], "writeIdList": [write_id]}
        self.add("OPEN_TXN", {"fromTxnId": txn_id}, table="", zipped=zipped)
        self.add("ALLOC_WRITE_ID_EVENT", ids, table=table, zipped=zipped)
        if commit:
            self.add("COMMIT_TXN", {"txnid": txn_id}, table="", zipped=zipped)
        return self

    def alter(self, before, after, **more):
        def partition(value, location):
            fields = {"1": {"lst": ["str", 1, value]}, "6": {"rec": {"2": {"str": location}}}}
            return json.dumps(fields)

        return self.add(
            "ALTER_PARTITION",
            {
                "partitionObjBeforeJson": partition(*before),
                "partitionObjAfterJson": partition(*after),
                **more,
            },
        )

    @property
    def of_orders(self):
        return table_events(self.events, ORDERS)


@pytest.mark.parametrize("zipped", [False, True])
def test_a_write_id_has_the_time_of_its_commit(zipped):
    log = Log().write(7, 1, zipped=zipped).write(8, 1, table="shop.items")
    log.write(9, 2, zipped=zipped).write(10, 3, commit=False)
    assert log.of_orders == TableEvents(1001, {1: 1003, 2: 1009}, frozenset({1, 2, 3}))


def test_messages_that_hive_4_has_written():
    """By `JSONMessageEncoder` and `GzipJSONMessageEncoder` of Hive 4.0.1."""
    allocated = (
        "H4sIAAAAAAAA/z3KsQqEMBAE0H/ZOoXaKPmDAxH744poFm7BaNhdVBD/3UTE6ebNHCDIKzJYEF7B3JVG7JnmkaKb"
        "0hAT+6FzAfPrv+SubpjwoYU9smTc549vSRTstzbNz8DGpPhaaapkSgFFXYhgy7p4cl57uXSniQAAAA=="
    )
    committed = (
        '{"txnid":7,"timestamp":1700000001,"server":"srv","servicePrincipal":"p","writeIds":null,'
        '"databases":null,"tables":null,"partitions":null,"tableObjs":null,"partitionObjs":null,'
        '"files":null}'
    )
    events = [
        NotificationEvent(
            1, 5, "ALLOC_WRITE_ID_EVENT", "shop", "orders", allocated, "gzip(json-2.0)"
        ),
        NotificationEvent(2, 6, "COMMIT_TXN", "", "", committed, "json-0.2"),
    ]
    assert table_events(events, ORDERS) == TableEvents(5, {1: 6}, frozenset({1, 2}))


def test_the_write_id_of_a_time():
    events = Log().add("OPEN_TXN", {}, "").write(7, 4).write(9, 5).of_orders
    assert [events.at(t, 9) for t in (1000, 1001, 1003, 1004, 1006, 1007)] == [None, 3, 3, 4, 4, 5]


def test_write_ids_that_were_committed_later_are_told():
    log = Log().write(7, 4, commit=False).write(9, 5).add("COMMIT_TXN", {"txnid": 7}, table="")
    events = log.of_orders
    assert [(events.at(t, 9), events.later(t, 5)) for t in (1005, 1006)] == [
        (5, {4}),
        (5, frozenset()),
    ]


def test_hive_3_names_the_table_of_a_write_id_in_the_message_only():
    def allocated(id_, table):
        ids = {"dbName": "shop", "tableName": table, "txnIdList": [7], "writeIdList": [4]}
        return NotificationEvent(
            id_, 5, "ALLOC_WRITE_ID_EVENT", "shop", "", json.dumps(ids), "json-0.2"
        )

    committed = NotificationEvent(3, 6, "COMMIT_TXN", "", "", '{"txnid": 7}', "json-0.2")
    ours = [allocated(1, "Orders"), committed]
    assert table_events(ours, ORDERS) == TableEvents(5, {4: 6}, frozenset({4}))
    assert table_events([allocated(2, "items"), committed], ORDERS) == TableEvents(5)
    unreadable = NotificationEvent(4, 6, "ALLOC_WRITE_ID_EVENT", "shop", "", "{", "json-0.2")
    assert table_events([*ours, unreadable], ORDERS) is None


def test_a_log_without_a_write_of_the_table_says_that_there_was_none():
    events = Log().write(7, 1, table="shop.items").of_orders
    assert events.at(2000, 9) == 9 and events.at(999, 9) is None


def test_dropped_partitions_are_told():
    log = Log().add("CREATE_TABLE").write(7, 1).write(8, 2).add("DROP_PARTITION").write(9, 3)
    events = log.of_orders
    assert events.dropped == (2,)
    # Since Hive 4 write id 2 may be that of the drop itself.
    for has_write_id, since in ((True, [0, 1]), (False, [0, 1, 2])):
        dropped = [i for i in range(4) if events.drops_since(i, has_write_id=has_write_id)]
        ruled_out = [i for i in range(4) if events.rules_out_drops(i, has_write_id=has_write_id)]
        assert dropped == since and ruled_out == [i for i in range(4) if i not in since]


def test_a_drop_before_the_first_write_of_the_log_may_be_of_any_earlier_write_id():
    events = Log().add("DROP_PARTITION").write(7, 4).of_orders
    assert [events.drops_since(i, has_write_id=True) for i in (1, 2, 3, 4)] == [1, 1, 0, 0]
    assert Log().add("DROP_PARTITION").of_orders.drops_since(99, has_write_id=True)


def test_a_log_that_does_not_reach_back_rules_nothing_out():
    events = Log().add("CREATE_TABLE", table="shop.items").write(7, 4).of_orders
    assert not events.rules_out_drops(3, has_write_id=True)
    assert events.rules_out_drops(4, has_write_id=True)


def test_a_log_without_events_of_tables_rules_nothing_out():
    assert not Log().write(7, 1).of_orders.rules_out_drops(1, has_write_id=True)


@pytest.mark.parametrize(
    ("after", "is_dropped"),
    [(("x", "/t/p=x"), False), (("y", "/t/p=y"), True), (("x", "/elsewhere"), True)],
)
def test_a_partition_that_was_renamed_or_moved_counts_as_dropped(after, is_dropped):
    log = Log().add("CREATE_TABLE").write(7, 1).alter(("x", "/t/p=x"), after)
    assert log.of_orders.drops_since(1, has_write_id=False) is is_dropped


@pytest.mark.parametrize("is_partition", [False, True])
def test_what_was_truncated_is_not_ruled_out(is_partition):
    """Hive 3 removes the files. In Hive 4 an empty base tells of it."""
    log = Log().add("CREATE_TABLE").write(7, 1).write(8, 2)
    for is_truncated in ("false", "true"):
        if is_partition:
            log.alter(("x", "/t/p=x"), ("x", "/t/p=x"), isTruncateOp=is_truncated)
        else:
            log.add("ALTER_TABLE", {"isTruncateOp": is_truncated})
        if is_truncated == "false":
            assert log.of_orders.rules_out_drops(1, has_write_id=False)
    events = log.write(9, 3).of_orders
    assert (events.dropped, events.truncated) == ((), (2,))
    assert not events.drops_since(0, has_write_id=False)
    for has_write_id, since in ((True, [0, 1]), (False, [0, 1, 2])):
        ruled_out = [i for i in range(4) if events.rules_out_drops(i, has_write_id=has_write_id)]
        assert ruled_out == [i for i in range(4) if i not in since]


def test_what_is_not_known_counts_as_dropped():
    log = Log().add("CREATE_TABLE").write(7, 1)
    for type_ in ("ADD_PARTITION", "UPDATE_PART_COL_STAT_EVENT", "ACID_WRITE_EVENT"):
        log.add(type_)
    assert log.of_orders.rules_out_drops(1, has_write_id=False)
    for type_ in ("ALTER_PARTITION", "EXCHANGED"):
        events = Log().add("CREATE_TABLE").write(7, 1).add(type_).of_orders
        assert not events.rules_out_drops(1, has_write_id=False)


def test_another_table_of_the_name_begins_again():
    log = Log().write(7, 1).write(8, 2).add("DROP_TABLE").add("CREATE_TABLE").write(9, 1)
    assert log.of_orders.committed == {1: 1011}


@pytest.mark.parametrize(
    ("message", "form"), [("{", "json-0.2"), ("[]", "json-0.2"), ("!", "gzip(json-2.0)")]
)
def test_a_log_whose_messages_cannot_be_read_is_no_log(message, form):
    for type_ in ("ALLOC_WRITE_ID_EVENT", "COMMIT_TXN"):
        event = NotificationEvent(9, 1009, type_, "shop", "orders", message, form)
        assert table_events([*Log().write(7, 1).events, event], ORDERS) is None


class Client:
    def __init__(self, events, error=None):
        self.events, self.error, self.asked = events, error, []

    def get_events(self, after, at_most, skipped_types):
        self.asked.append(after)
        if self.error:
            raise self.error
        return tuple(event for event in self.events if event.id > after)[:at_most]


def test_the_log_is_read_in_batches(monkeypatch):
    monkeypatch.setattr(event_log, "BATCH", 4)
    client = Client(Log().write(7, 1).write(8, 2).events)
    assert read_table_events(client, ORDERS) == table_events(client.events, ORDERS)
    assert client.asked == [0, 4]


def test_no_log_is_none(monkeypatch):
    assert read_table_events(Client([]), ORDERS) is None
    assert read_table_events(Client([], MetastoreError("no rights")), ORDERS) is None
    with pytest.raises(MetastoreUnavailableError):
        read_table_events(Client([], MetastoreUnavailableError("gone")), ORDERS)
    monkeypatch.setattr(event_log, "BATCH", 2)
    monkeypatch.setattr(event_log, "MOST", 3)
    assert read_table_events(Client(Log().write(7, 1).write(8, 2).events), ORDERS) is None
