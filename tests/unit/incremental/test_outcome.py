from types import SimpleNamespace

from dbt.adapters.hiveacid.incremental.apply import AppliedRun
from dbt.adapters.hiveacid.incremental.config import Mode
from dbt.adapters.hiveacid.incremental.stage import StageSummary
from hiveacid.acid.layout import ListedFile
from hiveacid.changes.plan import FileAmount
from tests.unit.incremental.runs import context


def applied(write_ids, mode, summary, read, whole):
    planned = SimpleNamespace(
        mode=mode,
        plan=SimpleNamespace(new_write_ids=write_ids, whole=whole),
        rows=SimpleNamespace(amount_read=lambda: read),
    )
    return AppliedRun(SimpleNamespace(planned=planned, summary=summary, context=context()))


def test_what_was_applied_is_told():
    read = FileAmount.of([ListedFile("a", "/t/a", 1200), ListedFile("b", "/t/b", 300)])
    counted, whole = StageSummary(1, 2000), FileAmount(9, 150_000)
    run = applied("3, 5-6", Mode.UNIQUE_KEY, counted, read, whole)
    assert run.message == "OK, 1 upsert, 2,000 deletes"
    assert run.line(17) == (
        "Model m: 1 upsert and 2,000 deletes by write ids 3, 5-6 of shop.orders, read in "
        "transaction 17 from 2 of 9 files, 1.5 kB of 150 kB"
    )
    assert run.to_dict() == {
        "source": "shop.orders",
        "write_ids": "3, 5-6",
        "inserts": 1,
        "deletes": 2000,
        "files_read": 2,
        "files": 9,
        "bytes_read": 1500,
        "bytes": 150_000,
    }
    run = applied("4", Mode.ROW_ID, StageSummary(0, 1), read, read)
    assert run.message == "OK, 0 inserts, 1 delete"
