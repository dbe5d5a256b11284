"""What the error of a file that is gone says of who can have removed it."""

from types import SimpleNamespace

import pytest

from dbt.adapters.hiveacid.sources.missing import tables_to_lose, vanished_file
from hiveacid.errors import TransactionLostError
from hiveacid.metastore.models import TableName

ORDERS = TableName("shop", "orders")
EMPTIED = tuple(f"file:/t/p={i}/delta_1_1_v0000007" for i in range(5))


def snapshot(**dropped):
    return SimpleNamespace(
        transaction_id=17,
        check_alive=lambda: None,
        rows_hive_will_drop={TableName("shop", name): found for name, found in dropped.items()},
    )


def test_the_tables_with_rows_to_lose_are_found_by_the_files_place():
    found = snapshot(orders=EMPTIED, other=("file:/o/delta_1_1_v0000008",))
    assert tables_to_lose("file:/t/p=4/delta_1_1/a was listed", found) == [str(ORDERS)]
    assert tables_to_lose("file:/elsewhere/delta_1_1/a was listed", found) == []


def test_a_compaction_that_left_nothing_may_be_why_a_file_is_gone():
    gone = "file:/t/p=4/delta_1_1/a was listed, and is gone."
    error = vanished_file(gone, snapshot(orders=EMPTIED))
    assert error.message.startswith(
        "file:/t/p=4/delta_1_1/a was listed, and is gone. Hive's cleaner may have removed the "
        "file. A compaction of shop.orders has left a directory without any file"
    )


def test_else_somebody_else_has_removed_it():
    error = vanished_file("file:/t/a was listed, and is gone.", snapshot())
    assert (
        "The transaction 17, which holds this run's snapshot, is still open, and Hive's cleaner "
        "keeps what it may read, but not the files of earlier instants (`as_of`)."
    ) in error.message


def test_after_the_loss_of_the_transaction_the_loss_is_the_reason():
    def lost():
        raise TransactionLostError("transaction 17 is lost")

    found = SimpleNamespace(check_alive=lost)
    with pytest.raises(TransactionLostError):
        vanished_file("file:/t/a was listed, and is gone.", found)
