"""What the self-check makes of listings, footers and counts."""

from dataclasses import replace

from hiveacid.acid.layout import BucketProperty, ListedFile, Listing
from hiveacid.acid.selection import Skipped
from hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from hiveacid.jvm.scratch import Scratch
from hiveacid.metastore.models import Column, StorageDescriptor, Table, TableName
from hiveacid.reader.deletes import DeleteFile
from hiveacid.reader.plan import DataFile, ReadPlan, RowPositions
from hiveacid.reader.verify_result import (
    SHOWN,
    DeleteEvents,
    Verification,
    count_problems,
    directory_problems,
    file_problems,
    name_problems,
    numbering_problems,
)
from hiveacid.snapshots.tables import PinnedTable

BUCKET_0 = BucketProperty(0, 0).encode()


def listed(relative):
    return ListedFile(relative, f"file:/t/{relative}", 10)


def plan(files, skipped=()):
    table = Table(
        name=TableName("shop", "orders"),
        table_type="MANAGED_TABLE",
        storage=StorageDescriptor("file:/t", (Column("id", "int"),)),
        partition_keys=(),
        parameters={"transactional": "true"},
        create_time=0,
    )
    write_ids = ValidWriteIdList(9, frozenset({7}), frozenset({2, 3}))
    return ReadPlan(
        PinnedTable(table, (), write_ids, ValidTxnList(100), transaction_id=12, scratch=Scratch()),
        tuple(DataFile(listed(f), 0, ("id",), is_acid=True) for f in files),
        (),
        tuple(Skipped(f"file:/t/{name}", reason) for name, reason in skipped),
    )


def problems(planned, *files, gone=()):
    listing = Listing("file:/t", tuple(map(listed, files)))
    still_there = {listed(file).path for file in files if file not in gone}
    return list(file_problems(planned, [listing], still_there))


def test_directories_on_which_the_releases_of_hive_differ_are_named():
    planned = replace(plan([]), ignored_directories=("file:/t/base_2",))
    assert list(directory_problems(planned)) == [
        "file:/t/base_2 has no visible file: Hive 4 shows the rows that its name covers, Hive 3.1 "
        "does not"
    ]


def test_two_files_of_one_bucket_with_delete_events_are_named():
    def deletes(*files):
        found = tuple(DeleteFile(listed(file), 0, 1, False, None) for file in files)
        return list(directory_problems(replace(plan([]), deletes=found)))

    first, second = (f"delete_delta_2_2_0000/bucket_00000_{i}" for i in range(2))
    other = "delete_delta_2_2_0000/bucket_00001_0", "delete_delta_2_2_0001/bucket_00000_0"
    assert deletes(first, *other) == []
    (problem,) = deletes(first, *other, second)
    assert problem.startswith("file:/t/delete_delta_2_2_0000 has two files of bucket 0")


def test_a_listed_file_is_read_or_skipped_by_its_own_or_its_directorys_name():
    planned = plan(["delta_4_4/a"], [("delta_1_1", "covered"), ("delta_4_4/b", "an empty file")])
    files = ["delta_4_4/a", "delta_4_4/b", "delta_1_1/a", "delta_1_1/sub/a"]
    assert problems(planned, *files) == []
    assert problems(planned, *files, "delta_5_5/a") == [
        "file:/t/delta_5_5/a is neither read nor named as skipped"
    ]
    assert problems(planned, "delta_5_5/a", gone=["delta_5_5/a"]) == []


def test_a_file_is_read_once():
    assert problems(plan(["base_1/a", "base_1/a"])) == ["file:/t/base_1/a is read 2 times"]


def test_rows_are_as_many_as_the_footer_says():
    one, other, empty = map(listed, ("a", "b", "c"))
    expected = {one: 3, other: 5, empty: 0}
    assert list(count_problems(expected, expected, {one: 3, other: 4})) == [
        "file:/t/b has 5 rows by its footer, but Spark read 4"
    ]


def test_row_ids_of_raw_files_do_not_overlap():
    def raw(name, first_row):
        row_ids = RowPositions(0, BUCKET_0, first_row)
        return DataFile(listed(name), 0, ("id",), is_acid=False, row_ids=row_ids)

    rows = {listed("a"): 10, listed("b"): 10}
    assert list(numbering_problems([raw("b", 10), raw("a", 0)], rows)) == []
    assert list(numbering_problems([raw("b", 9), raw("a", 0)], rows)) == [
        "file:/t/a and file:/t/b have row ids in common"
    ]


def test_the_report():
    skipped = [(f"delta_{i}_{i}", "covered") for i in range(SHOWN + 2)]
    verification = Verification(
        plan(["base_1/a"], skipped),
        listed=23,
        rows=10,
        hidden=1,
        shown=7,
        events=DeleteEvents(4, 2, 1, {"the base has it": 1}),
        problems=("one", "two"),
        nanoseconds={"at": 3},
    )
    lines = list(verification.lines())
    assert str(verification).splitlines() == lines
    assert lines[:3] == [
        "shop.orders in transaction 12: write ids up to 9; open: 7; aborted: 2, 3",
        "files: 23 listed, 1 read for rows, 0 for delete events; 22 directories and files not read",
        "  not read: file:/t/delta_0_0: covered",
    ]
    assert lines[SHOWN + 2 :] == [
        "  and 2 more",
        "rows: 10 in the files, 1 of write ids not to be seen, 2 deleted, 7 shown",
        "delete events: 4, of which 1 repeat another one",
        "  without a row: 1: the base has it",
        "timestamps: 3 of at have nanoseconds, which Spark cuts",
        "PROBLEM: one",
        "PROBLEM: two",
    ]


def test_deltas_that_overlap_are_named():
    names = (
        *("delta_0000001_0000002", "delta_0000002_0000003", "delete_delta_0000002_0000003"),
        *("delta_0000001_0000003", "base_0000002"),
    )
    files = tuple(ListedFile(f"{name}/bucket_00000", f"file:/t/{name}/x", 1) for name in names)
    assert list(name_problems([Listing("file:/t", files)])) == [
        "file:/t/delta_0000001_0000002 and delta_0000002_0000003 overlap",
    ]
