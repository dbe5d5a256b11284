"""What a full-ACID or insert-only table's plan holds, and what it refuses."""

from dataclasses import replace

import pytest

from hiveacid.acid.layout import BucketProperty, ListedFile, Listing
from hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from hiveacid.errors import UnreadableTableError
from hiveacid.jvm.scratch import Scratch
from hiveacid.metastore.models import Column, Partition, StorageDescriptor, Table, TableName
from hiveacid.reader.full_acid import plan_full_acid
from hiveacid.reader.insert_only import plan_insert_only
from hiveacid.reader.locations import locations
from hiveacid.reader.orc_footers import OrcFooter, RowIdRange
from hiveacid.reader.plan import RowPositions
from hiveacid.snapshots.tables import PinnedTable


def ids(write_id):
    """Those of ten rows of one write."""
    return RowIdRange((write_id, write_id), (536870912, 536870912), (0, 9))


ACID = OrcFooter(rows=10, columns=("id",), is_acid=True, row_id_range=ids(1))
RAW = OrcFooter(rows=10, columns=("id",), is_acid=False)
UNION = "delta_2_2_0/HIVE_UNION_SUBDIR_1/000000_0"


def pinned_table(write_ids, partitions=0):
    storage = StorageDescriptor("file:/t", (Column("id", "int"),))
    table = Table(
        name=TableName("shop", "orders"),
        table_type="MANAGED_TABLE",
        storage=storage,
        partition_keys=(Column("p", "int"),) if partitions else (),
        parameters={"transactional": "true"},
        create_time=0,
    )
    parts = tuple(
        Partition((str(i),), replace(storage, location=f"file:/t/p={i}")) for i in range(partitions)
    )
    return PinnedTable(
        table, parts, write_ids, ValidTxnList(100), transaction_id=7, scratch=Scratch()
    )


def valid(high_watermark, open=(), aborted=()):
    return ValidWriteIdList(high_watermark, frozenset(open), frozenset(aborted), "shop.orders")


def plan(files, write_ids=None, planner=plan_full_acid, **fields):
    """The plan of one location; `files` maps relative paths to footers."""
    listed = {path: ListedFile(path, f"file:/t/{path}", 100) for path in files}
    directories = {path.rpartition("/")[0] for path in files} - {""}
    listing = Listing("file:/t", tuple(listed.values()), tuple(directories))
    pinned = replace(pinned_table(write_ids or valid(9)), **fields)
    if planner is plan_insert_only:
        parameters = {"transactional": "true", "transactional_properties": "insert_only"}
        pinned = replace(pinned, table=replace(pinned.table, parameters=parameters))
    footers = {listed[path]: footer for path, footer in files.items() if footer}
    return planner(pinned, locations(pinned, [listing]), footers)


def row_ids(planned):
    return {file.file.relative: file.row_ids for file in planned.data}


def bucket(number, statement_id=0):
    return BucketProperty(number, statement_id).encode()


@pytest.mark.parametrize(("planner", "footer"), [(plan_full_acid, ACID), (plan_insert_only, RAW)])
def test_rows_that_a_compaction_has_not_taken_in_are_to_be_lost(planner, footer):
    file = ListedFile("delta_1_1_0000/bucket_00000", "file:/t/x", 100)
    emptied = ("delta_1_2_v0000007", "delta_3_4_v0000008")
    directories = ("delta_1_1_0000", *emptied)
    listing = Listing("file:/t", (file,), directories, without_files=frozenset(emptied))
    pinned = pinned_table(valid(9))
    planned = planner(pinned, locations(pinned, [listing]), {file: footer})
    assert [data.file for data in planned.data] == [file]
    assert planned.rows_hive_will_drop == ("file:/t/delta_1_2_v0000007",)


def test_original_rows_are_numbered_through_the_files_of_a_bucket():
    planned = plan(
        {
            "000000_0": RAW,
            "000000_0_copy_1": replace(RAW, rows=5),
            "000001_0": RAW,
            "sub/000000_0": RAW,
            "delete_delta_1_1_0000/bucket_00000_0": replace(ACID, row_id_range=ids(0)),
        }
    )
    assert row_ids(planned) == {
        "000000_0": RowPositions(0, bucket(0), 0),
        "000000_0_copy_1": RowPositions(0, bucket(0), 10),
        "000001_0": RowPositions(0, bucket(1), 0),
        "sub/000000_0": RowPositions(0, bucket(0), 15),
    }
    ranges = {data.file.name: data.row_id_range for data in planned.data}
    assert ranges["000000_0_copy_1"] == RowIdRange((0, 0), (bucket(0), bucket(0)), (10, 14))


def test_a_file_without_rows_has_no_range_of_row_ids():
    files = {
        "000000_0": replace(RAW, rows=0),
        "delta_2_2_0000/bucket_00000_0": replace(ACID, rows=0, row_id_range=None),
        "delete_delta_3_3_0000/bucket_00000_0": replace(ACID, row_id_range=ids(0)),
    }
    assert [data.row_id_range for data in plan(files).data] == [None, None]


def test_row_ids_are_given_only_where_a_delete_event_can_hit():
    files = {
        "000000_0": RAW,
        "delta_4_4_0002/000001_0": RAW,
        "delete_delta_5_5_0000/bucket_00000_0": replace(ACID, row_id_range=ids(3)),
    }
    assert row_ids(plan(files)) == {
        "000000_0": None,
        "delta_4_4_0002/000001_0": RowPositions(4, bucket(1, statement_id=2), 0),
    }


def test_rows_are_filtered_where_a_directory_mixes_write_ids():
    files = {"delta_1_3/bucket_00000": ACID, "delta_4_4_0/bucket_00000": ACID}
    planned = plan(files, valid(4, aborted=[2]))
    assert {file.file.relative: file.hides_rows for file in planned.data} == {
        "delta_1_3/bucket_00000": True,
        "delta_4_4_0/bucket_00000": False,
    }


def test_delete_events_are_counted():
    planned = plan(
        {
            "delta_1_1_0/bucket_00000": ACID,
            "delete_delta_2_2_0/bucket_00000": ACID,
            "delete_delta_3_3_0/bucket_00000": replace(ACID, rows=4),
        }
    )
    assert [delete.rows for delete in planned.deletes] == [10, 4]
    assert planned.delete_events == 14


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"000000_0": ACID}, "000000_0 has ACID columns outside of an ACID directory"),
        ({"delta_1_1_0/part-0.orc": ACID}, "part-0.orc is not named as an ACID file"),
        ({"delta_1_1_0/part-0.orc": RAW}, "the name of file:/t/delta_1_1_0/part-0.orc has no"),
        (
            {"delta_1_1_0/HIVE_UNION_SUBDIR_1/bucket_00000": ACID},
            "HIVE_UNION_SUBDIR_1/bucket_00000 is in a directory inside delta_1_1_0",
        ),
        (
            {"delete_delta_1_1_0/sub/bucket_00000": ACID},
            "sub/bucket_00000 is in a directory inside delete_delta_1_1_0",
        ),
        (
            {"delta_1_1_0/delta_1_1_0/bucket_00000": ACID},
            "bucket_00000 is in a directory inside delta_1_1_0",
        ),
        ({"delete_delta_1_1_0/bucket_00000": RAW}, "is in a delete delta but is not a delete file"),
        ({"delta_1_3/000000_0": RAW}, "spans write ids 1 to 3 but holds files without ACID"),
        ({"part-0.orc": RAW}, "the name of file:/t/part-0.orc has no bucket number"),
    ],
)
def test_what_is_not_what_its_place_or_name_says_is_refused(files, message):
    with pytest.raises(UnreadableTableError, match=f"shop.orders cannot be read: .*{message}"):
        plan(files)


def test_deletes_without_statistics_may_hit_any_row():
    longs = (2**63 - 1, -(2**63))
    unknown = RowIdRange.of(longs * 3)
    assert not unknown.is_known and unknown.intersects(ids(1)) and unknown.intersects(ids(10**12))
    assert RowIdRange.of(unknown.numbers) == unknown
    partly = RowIdRange.of((3, 3, *longs, 0, 9))
    assert (
        not partly.is_known
        and ids(1).is_known
        and partly.write_id == (3, 3)
        and partly.intersects(ids(3))
    )
    footer = replace(ACID, row_id_range=unknown)
    planned = plan({"000000_0": RAW, "delete_delta_2_2_0/bucket_00000": footer})
    assert row_ids(planned) == {"000000_0": RowPositions(0, bucket(0), 0)}


def test_a_bucket_number_that_no_row_id_can_have_is_refused_by_the_files_name():
    deletes = {"delete_delta_2_2_0/bucket_00000": replace(ACID, row_id_range=ids(0))}
    assert len(plan({"20240101_0": RAW}).data) == 1
    with pytest.raises(
        UnreadableTableError, match=r"file:/t/20240101_0 is not valid: BucketProperty\(buck"
    ):
        plan({"20240101_0": RAW, **deletes})


@pytest.mark.parametrize(
    ("in_file", "is_refused"),
    [
        ("struct<orderid:int>", True),
        ("array<struct<ORDERID:int,b:int>>", True),
        ("struct<orderId:bigint,other:int>", False),
        ("struct<b:int>", False),
    ],
)
def test_names_inside_of_columns_that_hive_does_not_find_are_refused(in_file, is_refused):
    pinned = pinned_table(valid(9))
    columns = (Column("id", "int"), Column("s", "struct<orderId:int>"))
    storage = replace(pinned.table.storage, columns=columns)
    pinned = replace(pinned, table=replace(pinned.table, storage=storage))
    file = ListedFile("delta_1_1_0/000000_0", "file:/t/delta_1_1_0/000000_0", 100)
    listing = Listing("file:/t", (file,), ("delta_1_1_0",))
    footers = {file: replace(RAW, types=("int", in_file))}
    for planner in (plan_full_acid, plan_insert_only):
        if is_refused:
            with pytest.raises(
                UnreadableTableError, match="nested fields in .*/000000_0 differ in case"
            ):
                planner(pinned, locations(pinned, [listing]), footers)
        else:
            assert len(planner(pinned, locations(pinned, [listing]), footers).data) == 1


@pytest.mark.parametrize("other", ["file:/t/p=0", "file:/t/p=0/sub"])
def test_partitions_that_share_files_are_refused(other):
    files = [ListedFile("sub/000000_0", "file:/t/p=0/sub/000000_0", 100)]
    listings = [Listing("file:/t/p=0", tuple(files), ()), Listing(other, tuple(files), ())]
    with pytest.raises(UnreadableTableError, match=f"{other} is the location of one of its part"):
        locations(pinned_table(valid(9), partitions=2), listings)


@pytest.mark.parametrize(
    ("names", "is_refused"),
    [(["_col0"], True), (["_col1", "_col0"], True), (["_col0", "id"], False), (["_COL0"], False)],
)
def test_columns_that_orc_takes_by_position_are_refused(names, is_refused):
    """It would show `_col0` where `_col1` alone is selected."""
    acid = replace(ACID, columns=tuple(names))
    raw = replace(RAW, columns=tuple(names))
    assert len(plan({"000000_0": raw}).data) == 1, "Spark knows such files, but for ACID ones"
    assert len(plan({"delta_1_1/000000_0": raw}, planner=plan_insert_only).data) == 1
    files = {"delta_1_1_0000/bucket_00000_0": acid}
    if is_refused:
        with pytest.raises(UnreadableTableError, match="file:/t/delta_1_1_0000/bucket_00000_0 has"):
            plan(files)
    else:
        assert len(plan(files).data) == 1


@pytest.mark.parametrize("partitions", [0, 2])
def test_a_table_that_was_written_to_and_is_nowhere_is_refused(partitions):
    places = [f"file:/t/p={i}" for i in range(partitions)] or ["file:/t"]
    listings = [Listing(place, (), is_missing=True) for place in places]
    with pytest.raises(UnreadableTableError, match=f"write id 9.*, but {places[0]} does not exist"):
        locations(pinned_table(valid(9), partitions), listings)
    unwritten = pinned_table(valid(0), partitions)
    assert plan_full_acid(unwritten, locations(unwritten, listings), {}).data == ()


@pytest.mark.parametrize("planner", [plan_full_acid, plan_insert_only])
def test_a_partition_without_a_directory_is_empty_and_told(planner):
    pinned = pinned_table(valid(9), partitions=2)
    listings = [Listing("file:/t/p=0", ()), Listing("file:/t/p=1", (), is_missing=True)]
    planned = planner(pinned, locations(pinned, listings), {})
    assert (planned.data, planned.missing) == ((), ("file:/t/p=1",))
    dropped = pinned_table(valid(9), partitions=1)
    assert locations(replace(dropped, partitions=()), []) == [], "no partition is left"


def test_an_insert_only_plan_holds_files_of_any_format():
    planned = plan(
        {"delta_1_1_0/part-0.csv": None, UNION: None, "delta_2_2_0/000000_0": RAW},
        planner=plan_insert_only,
    )
    assert {file.file.relative: file.columns for file in planned.data} == {
        "delta_2_2_0/000000_0": ("id",),
        "delta_1_1_0/part-0.csv": None,
        UNION: None,
    }


def test_hive_shows_original_files_of_an_insert_only_table_only_if_it_says_so():
    files = {"delta_2_2_0/000000_0": None, "000000_0": None}
    hidden = plan(files, planner=plan_insert_only)
    assert [file.file.relative for file in hidden.data] == ["delta_2_2_0/000000_0"]
    assert [file.relative for file in hidden.ignored_files] == ["000000_0"]
    assert [item.relative for item in hidden.skipped] == ["file:/t/000000_0"]
    shown = plan(files, planner=plan_insert_only, shows_originals=True)
    assert {file.file.relative for file in shown.data} == set(files)
    assert shown.ignored_files == ()
    replaced = {"base_2/000000_0": None, "000000_0": None}
    for shows in (True, False):
        one = plan(replaced, planner=plan_insert_only, shows_originals=shows)
        assert [file.file.relative for file in one.data] == ["base_2/000000_0"]
        assert one.ignored_files == ()


def test_insert_only_files_may_lie_in_a_directory_of_the_same_name():
    files = ["base_1/base_1/000000_0", f"delta_2_2_0/{UNION}"]
    planned = plan(dict.fromkeys(files), valid(2), plan_insert_only)
    assert [file.file.relative for file in planned.data] == files
    with pytest.raises(UnreadableTableError, match="base_1 has files and a directory of its own"):
        plan(dict.fromkeys([*files, "base_1/000000_0"]), valid(2), plan_insert_only)


def test_insert_only_files_may_lie_in_the_directories_of_an_export():
    exported = "export_old_delta_0000001_0000001_0000"
    files = [
        "delta_1_1_0/export_old_base_0000003/000000_0",
        f"delta_1_1_0/{exported}/000000_0",
        f"delta_1_1_0/{exported}/export_old_base_0000002_v0000009/000000_0",
    ]
    planned = plan(dict.fromkeys(files), valid(2), plan_insert_only)
    assert {file.file.relative for file in planned.data} == set(files)
    for name in ("export_old_files", "export_old_delta_1"):
        with pytest.raises(UnreadableTableError, match=f"{name}/000000_0 is in a directory ins"):
            plan({f"delta_1_1_0/{name}/000000_0": None}, planner=plan_insert_only)
    with pytest.raises(UnreadableTableError, match="export_old_base_1/bucket_00000 is in a direct"):
        plan({"delta_1_1_0/export_old_base_1/bucket_00000": ACID})


def test_insert_only_files_in_a_directory_that_hive_passes_over_are_refused():
    with pytest.raises(UnreadableTableError, match="sub/000000_0 is in a directory inside base_2"):
        plan({"base_2/sub/000000_0": None}, planner=plan_insert_only)


@pytest.mark.parametrize("write_ids", [valid(3, open=[2]), valid(2)])
def test_insert_only_rows_that_cannot_be_told_apart_are_refused(write_ids):
    with pytest.raises(UnreadableTableError, match="delta_1_3 holds rows of write ids that this"):
        plan({"delta_1_3/000000_0": None}, write_ids, plan_insert_only)


@pytest.mark.parametrize("planner", [plan_full_acid, plan_insert_only])
def test_an_overwrite_holds_nothing_of_an_open_write_id_below(planner):
    footer = ACID if planner is plan_full_acid else None
    name = "bucket_00000" if footer else "000000_0"
    planned = plan({f"base_5/{name}": footer}, valid(5, open=[3]), planner)
    assert [file.file.relative for file in planned.data] == [f"base_5/{name}"]


def test_a_compaction_over_an_aborted_write_id_is_read():
    planned = plan({"delta_1_3/000000_0": None}, valid(3, aborted=[2]), plan_insert_only)
    assert len(planned.data) == 1


def test_write_ids_that_the_metastore_has_forgotten_do_not_hide_a_compaction():
    planned = plan({"delta_1_3_v7/000000_0": None}, valid(2), plan_insert_only)
    assert len(planned.data) == 1
    with pytest.raises(UnreadableTableError, match=r"open: \[2\], high-water mark 2"):
        plan({"delta_1_3_v7/000000_0": None}, valid(2, open=[2]), plan_insert_only)


def test_a_delete_delta_in_an_insert_only_table_is_refused():
    with pytest.raises(UnreadableTableError, match="delete delta in an insert-only table"):
        plan({"delete_delta_1_1_0/bucket_00000": None}, planner=plan_insert_only)


def test_what_is_left_out_is_named_with_its_place():
    planned = plan({"base_2/bucket_00000": ACID, "delta_1_1_0/bucket_00000": ACID})
    assert [(s.relative, s.reason) for s in planned.skipped] == [
        ("file:/t/delta_1_1_0", "its write ids are covered by base_2")
    ]


@pytest.mark.parametrize(
    ("file_type", "table_type", "converted"),
    [
        ("varchar(3)", "varchar(3)", ()),
        ("varchar(9)", "varchar(3)", (0,)),
        ("int", "string", (0,)),
        ("int", "bigint", ()),
        ("decimal(10,2)", "decimal(9,0)", (0,)),
    ],
)
@pytest.mark.parametrize("footer", [ACID, RAW], ids=["acid", "raw"])
def test_columns_of_another_type_in_the_file_are_known(file_type, table_type, converted, footer):
    file = ListedFile("delta_1_1_0000/bucket_00000", "file:/t/x", 100)
    listing = Listing("file:/t", (file,), ("delta_1_1_0000",))
    pinned = pinned_table(valid(9))
    storage = replace(pinned.table.storage, columns=(Column("id", table_type),))
    pinned = replace(pinned, table=replace(pinned.table, storage=storage))
    footers = {file: replace(footer, types=(file_type,))}
    for planner in (plan_full_acid, plan_insert_only):
        (data,) = planner(pinned, locations(pinned, [listing]), footers).data
        assert data.converted == converted


@pytest.mark.parametrize(
    ("table_type", "cut"),
    [("timestamp", {"id"}), ("array<timestamp>", {"id"}), ("string", set())],
)
def test_columns_that_spark_cuts_are_known(table_type, cut):
    pinned = pinned_table(valid(9))
    storage = replace(pinned.table.storage, columns=(Column("id", table_type),))
    pinned = replace(pinned, table=replace(pinned.table, storage=storage))
    listed = [ListedFile(f"delta_{i}_{i}_0/bucket_00000", f"file:/{i}", 100) for i in (1, 2)]
    listing = Listing("file:/t", tuple(listed), ("delta_1_1_0", "delta_2_2_0"))
    # The second file has a column that the table has not.
    footers = {listed[0]: ACID, listed[1]: replace(ACID, nanoseconds=(0, 1))}
    planned = plan_full_acid(pinned, locations(pinned, [listing]), footers)
    assert planned.nanoseconds == dict.fromkeys(cut, listed[1])
