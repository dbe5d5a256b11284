"""The report of what a run held and read: its numbers, and its file."""

import json
from dataclasses import asdict
from types import SimpleNamespace

import pytest

from dbt.adapters.hiveacid import report as report_module
from dbt.adapters.hiveacid.report import FILE_NAME, as_dict, write, write_report
from dbt.adapters.hiveacid.sources.read_log import (
    FilesRead,
    ReadAmount,
    ReadLog,
    amounts_by_table,
    summary_line,
)
from hiveacid.acid.layout import ListedFile
from hiveacid.acid.write_ids import ValidWriteIdList
from hiveacid.metastore.models import TableName
from hiveacid.reader.deletes import DeleteFile
from hiveacid.snapshots.run_snapshot import SnapshotReport

ORDERS, ITEMS = TableName("shop", "orders"), TableName("shop", "items")


def reading(table, *files, partitions=("a", "b"), events=None):
    """Files by name and length; a file's partition is its number in the list, while there are.

    `events` says how many delete events are in which of them.
    """
    pinned = SimpleNamespace(
        table=SimpleNamespace(name=table),
        partitions=tuple(SimpleNamespace(values=(value,)) for value in partitions),
        write_ids=ValidWriteIdList(9, frozenset({8}), table=str(table)),
        transaction_id=17,
    )
    listed = [ListedFile(name, f"/{table}/{name}", length) for name, length in files]
    deletes = [
        DeleteFile(f, 0, (events or {})[f.relative], False, None)
        for f in listed
        if f.relative in (events or {})
    ]
    return FilesRead.of(pinned, ((file, i) for i, file in enumerate(listed)), deletes)


def test_files_and_partitions_that_several_views_share_count_once():
    whole = reading(ORDERS, ("x", 10), ("y", 5))
    part = reading(ORDERS, ("x", 10), events={"x": 3})
    assert ReadAmount.of([part, whole, part]) == ReadAmount(2, 15, 2, 3)
    assert ReadAmount.of([part]) == ReadAmount(1, 10, 1, 3)
    assert ReadAmount.of([reading(ITEMS, ("z", 1), partitions=())]) == ReadAmount(1, 1, 0, 0)


def test_the_log_of_changes_names_their_write_ids():
    orders = reading(ORDERS, ("x", 1000))
    changes = FilesRead.of_changes(orders.pinned, 2, None)
    assert summary_line("model.shop.c", 1, [changes]) == (
        "model.shop.c: 1 row; read shop.orders (changes after write id 2 up to 9) in transaction 17"
    )
    between = FilesRead.of_changes(orders.pinned, 2, 5)
    assert "(changes after write id 2 up to 5, write ids up to 9, " in summary_line(
        "model.shop.c", 1, [between, orders]
    )


def test_the_log_and_the_response_tell_what_a_node_has_read():
    orders = reading(ORDERS, ("x", 1000), ("y", 250), events={"y": 1204})
    items = reading(ITEMS, ("z", 1), partitions=())
    assert summary_line("model.shop.a", 12, [orders, items, orders]) == (
        "model.shop.a: 12 rows; read shop.items (write ids up to 9, 1 file, 1 byte) and "
        "shop.orders (write ids up to 9, 2 files, 1.2 kB, 1,204 delete events) in transaction 17"
    )
    assert summary_line("test.shop.b", None, [items]) == (
        "test.shop.b: read shop.items (write ids up to 9, 1 file, 1 byte) in transaction 17"
    )
    assert amounts_by_table([orders, items]) == {
        "shop.items": {
            "write_ids": "shop.items:9:8:8:",
            "files": 1,
            "bytes": 1,
            "partitions": 0,
            "delete_events": 0,
        },
        "shop.orders": {
            "write_ids": "shop.orders:9:8:8:",
            "files": 2,
            "bytes": 1250,
            "partitions": 2,
            "delete_events": 1204,
        },
    }


def test_the_report_tells_what_was_held_and_what_each_node_read():
    reads = ReadLog()
    assert reads.is_empty
    shared = reading(ORDERS, ("x", 10), ("y", 5))
    reads.add("model.b", shared)
    reads.add("model.b", reading(ITEMS, ("z", 1), partitions=()))
    reads.add("model.a", shared)
    reads.add("model.a", reading(ORDERS, ("x", 10), ("w", 7)))
    held = SnapshotReport(
        17,
        {
            ORDERS: ValidWriteIdList(9, frozenset({8}), frozenset({3}), "shop.orders"),
            ITEMS: ValidWriteIdList(1, table="shop.items"),
        },
        {ORDERS: 0.25, ITEMS: 1.5},
        1.75,
        60.00049,
    )
    report = as_dict("1234", held, reads, is_open=False, ended_after="model.a")
    assert report["metadata"]["invocation_id"] == "1234"
    assert report["transaction"] == {
        "id": 17,
        "is_open": False,
        "ended_after": "model.a",
        "lock_wait_seconds": 1.75,
        "held_seconds": 60.0,
    }
    items, orders = report["sources"]
    assert orders == {
        "table": "shop.orders",
        "transaction_id": 17,
        "write_ids": "shop.orders:9:8:8:3",
        "high_watermark": 9,
        "lock_wait_seconds": 0.25,
        "held_seconds": 60.0,
        "files": 3,
        "bytes": 22,
        "partitions": 2,
        "delete_events": 0,
    }
    assert (items["table"], items["files"], items["lock_wait_seconds"]) == ("shop.items", 1, 1.5)
    assert report["nodes"] == [
        {
            "unique_id": "model.b",
            "reads": [
                {"table": "shop.items"} | asdict(ReadAmount(1, 1, 0, 0)),
                {"table": "shop.orders"} | asdict(ReadAmount(2, 15, 2, 0)),
            ],
        },
        {
            "unique_id": "model.a",
            "reads": [{"table": "shop.orders"} | asdict(ReadAmount(3, 22, 2, 0))],
        },
    ]


def test_a_run_without_a_transaction_has_a_report_that_says_so():
    report = as_dict("1234", None, ReadLog(), is_open=False, ended_after=None)
    assert report["transaction"] is None
    assert report["sources"] == report["nodes"] == []


def test_the_file_is_replaced_as_a_whole(tmp_path):
    target = tmp_path / "new" / "target"
    write(target, {"a": 1})
    write(target, {"a": 2})
    assert json.loads((target / FILE_NAME).read_text()) == {"a": 2}
    with pytest.raises(TypeError):
        write(target, {"a": object()})
    assert json.loads((target / FILE_NAME).read_text()) == {"a": 2}
    assert [path.name for path in target.iterdir()] == [FILE_NAME]


def test_a_report_that_cannot_be_written_fails_with_the_reason(tmp_path):
    (tmp_path / "target").write_text("a file")
    with pytest.raises(OSError, match="target"):
        write(tmp_path / "target", {})


def test_a_report_is_kept_next_to_dbts_own_results(tmp_path, monkeypatch):
    flags = SimpleNamespace(WRITE_JSON=True)
    monkeypatch.setattr(report_module, "get_flags", lambda: flags)
    write_report(tmp_path, {"a": 1})
    assert json.loads((tmp_path / FILE_NAME).read_text()) == {"a": 1}
    write_report(None, {"a": 2})
    flags.WRITE_JSON = False
    write_report(tmp_path, {"a": 3})
    assert json.loads((tmp_path / FILE_NAME).read_text()) == {"a": 1}


def test_a_report_that_cannot_be_kept_does_not_fail_the_run(tmp_path, monkeypatch):
    warnings = []
    monkeypatch.setattr(report_module, "get_flags", lambda: SimpleNamespace(WRITE_JSON=True))
    monkeypatch.setattr(report_module.logger, "warning", warnings.append)
    (tmp_path / "target").write_text("a file")
    write_report(tmp_path / "target", {})
    (warning,) = warnings
    assert "could not be written" in warning and str(tmp_path) in warning
