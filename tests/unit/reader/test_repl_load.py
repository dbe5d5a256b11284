"""Compactions that are another metastore's, by what this one remembers of its own."""

from typing import Any

import pytest

from hiveacid.acid.write_ids import ValidTxnList
from hiveacid.metastore.models import Compaction, CompactionState, ServerInfo, TableName
from hiveacid.reader.repl_load import find_compactions_of_other_metastore

ORDERS = TableName("shop", "orders")
HIVE_4, VENDOR = (ServerInfo(v, True, 300.0, False) for v in ("4.0.1", "3.1.3000.7.1.9.0-387"))
AHEAD = [("/t/base_3_v0000070", 70), ("/t/base_4_v0000090", 90)]


class Client:
    """A metastore at transaction 80, with compactions of its own."""

    def __init__(self, *transactions, aborted=(), writers=()):
        """`writers` are the aborted transactions that were none of compactions; None: unknown."""
        self.transactions = transactions
        self.aborted = frozenset(aborted)
        self.writers = None if writers is None else frozenset(writers)

    def get_compactions(self, name):
        assert name == ORDERS
        state = CompactionState.READY_FOR_CLEANING
        return tuple(
            Compaction(i, "", state, it, False, "") for i, it in enumerate(self.transactions)
        )

    def get_valid_txns(self):
        return ValidTxnList(80, aborted=self.aborted)

    def get_aborted_writers(self):
        return self.writers


@pytest.mark.parametrize(
    ("server", "own", "foreign"),
    [
        (HIVE_4, (), [70, 90]),
        (HIVE_4, (70,), [90]),
        (HIVE_4, (70, 90, 60), []),
        # A compaction that waits has no transaction yet.
        (HIVE_4, (None,), [70, 90]),
        # These have transactions, which nobody tells: their numbers must do.
        (VENDOR, (None, None), [90]),
        (VENDOR, (70, None), [90]),
        (VENDOR, (), [70, 90]),
    ],
)
def test_the_metastores_own_compactions_are_known_by_their_transactions(server, own, foreign):
    found = find_compactions_of_other_metastore(Client(*own), server, ORDERS, AHEAD)
    assert [transaction for _, transaction in found] == foreign


def test_what_a_dead_worker_has_left_is_not_foreign():
    """The compaction's next try has a transaction of its own."""
    found = find_compactions_of_other_metastore(Client(75, aborted=[70]), HIVE_4, ORDERS, AHEAD)
    assert found == [("/t/base_4_v0000090", 90)]


@pytest.mark.parametrize(("writers", "foreign"), [((70,), [70, 90]), (None, [90])])
def test_an_aborted_transaction_that_was_no_compaction_has_made_none(writers, foreign):
    """Hive shows the directory once it forgets the transaction. A Hive 3 tells no kinds."""
    found = find_compactions_of_other_metastore(
        Client(75, aborted=[70], writers=writers), HIVE_4, ORDERS, AHEAD
    )
    assert [transaction for _, transaction in found] == foreign


def test_compactions_are_not_asked_for_where_a_dead_worker_has_left_all():
    """A metastore may refuse to tell them."""
    client: Any = Client(aborted=[70, 90])
    client.get_compactions = None
    assert find_compactions_of_other_metastore(client, HIVE_4, ORDERS, AHEAD) == []


def test_nobody_is_asked_without_a_compaction_ahead():
    assert find_compactions_of_other_metastore(None, HIVE_4, ORDERS, []) == []
