from dbt.adapters.hiveacid.incremental.apply import Outcome
from hiveacid.acid.layout import ListedFile
from hiveacid.changes.plan import FileAmount


def test_what_was_applied_is_told():
    read = FileAmount.of([ListedFile("a", "/t/a", 1200), ListedFile("b", "/t/b", 300)])
    applied = Outcome("m", "shop.orders", "3, 5-6", True, 1, 2000, read, FileAmount(9, 150_000))
    assert applied.message == "OK, 1 upsert, 2,000 deletes"
    assert applied.line(17) == (
        "Model m: 1 upsert and 2,000 deletes by write ids 3, 5-6 of shop.orders, read in "
        "transaction 17 from 2 of 9 files, 1.5 kB of 150 kB"
    )
    assert applied.to_dict() == {
        "source": "shop.orders",
        "write_ids": "3, 5-6",
        "inserts": 1,
        "deletes": 2000,
        "files_read": 2,
        "files": 9,
        "bytes_read": 1500,
        "bytes": 150_000,
    }
    assert Outcome("m", "t", "4", False, 0, 1, read, read).message == "OK, 0 inserts, 1 delete"
