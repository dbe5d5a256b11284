"""Rules of Hive's AcidUtils.getAcidState, one case each."""

import pytest

from hiveacid.acid.layout import ListedFile, Listing
from hiveacid.acid.selection import select
from hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from hiveacid.errors import UnreadableTableError

ALL_TXNS = ValidTxnList(1_000_000)


def listing(*paths, directories=(), data_formats=None, empty=(), without_files=()):
    files = tuple(ListedFile(path, f"file:/t/{path}", 0 if path in empty else 10) for path in paths)
    parents = {path.rpartition("/")[0] for path in paths if "/" in path}
    directories = {*directories, *parents, *without_files}
    return Listing(
        "file:/t", files, tuple(directories), data_formats or {}, frozenset(without_files)
    )


def write_ids(high_watermark, open=(), aborted=()):
    return ValidWriteIdList(high_watermark, frozenset(open), frozenset(aborted))


def chosen(listed, ids, txns=ALL_TXNS):
    """The names of the chosen directories and files: base, deltas, delete deltas, originals."""
    state = select(listed, ids, txns)
    return (
        state.base and state.base.directory.name,
        [delta.directory.name for delta in state.deltas],
        [delta.directory.name for delta in state.delete_deltas],
        [file.relative for file in state.originals],
    )


def test_deltas_and_delete_deltas_of_valid_write_ids():
    listed = listing(
        "delta_1_1_0000/bucket_00000_0", "delete_delta_2_2_0000/bucket_00000_0", "delta_3_3_0/b"
    )
    assert chosen(listed, write_ids(2)) == (
        None,
        ["delta_1_1_0000"],
        ["delete_delta_2_2_0000"],
        [],
    )


def test_the_best_base_replaces_what_came_before():
    listed = listing(
        "base_5/bucket_00000",
        "base_10/bucket_00000",
        "delta_8_8_0/b",
        "delta_11_11_0/b",
        "000000_0",
    )
    assert chosen(listed, write_ids(11)) == ("base_10", ["delta_11_11_0"], [], [])


def test_original_files_count_while_there_is_no_base():
    listed = listing("000000_0", "000000_0_copy_1", "HIVE_UNION_SUBDIR_2/000000_0", "delta_1_1_0/b")
    assert chosen(listed, write_ids(1)) == (
        None,
        ["delta_1_1_0"],
        [],
        ["000000_0", "000000_0_copy_1", "HIVE_UNION_SUBDIR_2/000000_0"],
    )


def test_a_base_of_originals_only_leaves_every_delta():
    listed = listing("base_-9223372036854775808_v0000101/bucket_00000", "delta_1_1_0/b", "000000_0")
    assert chosen(listed, write_ids(1)) == (
        "base_-9223372036854775808_v0000101",
        ["delta_1_1_0"],
        [],
        [],
    )


def test_an_empty_base_hides_all_that_came_before():
    listed = listing("delta_1_1_0/b", "delta_3_3_0/b", directories=["base_2"])
    assert chosen(listed, write_ids(3)) == ("base_2", ["delta_3_3_0"], [], [])


@pytest.mark.parametrize("ids", [write_ids(5, open=[3]), write_ids(4)])
def test_a_compacted_base_over_what_must_not_be_seen_is_not_used(ids):
    listed = listing("base_5_v0000020/bucket_00000", "base_2_v0000010/bucket_00000", "delta_3_5/b")
    base, deltas, _, _ = chosen(listed, ids)
    assert (base, deltas) == ("base_2_v0000010", ["delta_3_5"])


def test_without_an_older_base_that_is_not_enough_history():
    listed = listing("base_5_v0000020/bucket_00000")
    with pytest.raises(UnreadableTableError, match="not enough history.*base_5_v0000020"):
        select(listed, write_ids(5, open=[3]), ALL_TXNS)


def test_a_mark_that_has_gone_back_below_the_only_base_is_told():
    listed = listing("base_5_v0000020/bucket_00000")
    with pytest.raises(UnreadableTableError, match="high-water mark of the write ids is 4"):
        select(listed, write_ids(4, aborted=[4]), ALL_TXNS)
    of_hive_3 = listing("base_5/bucket_00000", data_formats={"base_5": "compacted"})
    with pytest.raises(UnreadableTableError, match="Take a new snapshot"):
        select(of_hive_3, write_ids(4), ALL_TXNS)


def test_a_base_compacted_by_hive_3_is_known_by_its_metadata_file():
    listed = listing("base_5/bucket_00000", data_formats={"base_5": "compacted"})
    with pytest.raises(UnreadableTableError, match="not enough history"):
        select(listed, write_ids(5, open=[3]), ALL_TXNS)


def test_an_overwrite_is_visible_as_soon_as_its_own_write_id_is():
    listed = listing("base_5/bucket_00000", "delta_3_3_0/b")
    assert chosen(listed, write_ids(5, open=[3])) == ("base_5", [], [], [])
    assert chosen(listed, write_ids(5, aborted=[5])) == (None, ["delta_3_3_0"], [], [])


def test_of_two_bases_with_one_write_id_the_compacted_one_is_used():
    listed = listing("base_5/bucket_00000", "base_5_v0000020/bucket_00000")
    assert chosen(listed, write_ids(5))[0] == "base_5_v0000020"


def test_the_work_of_a_compaction_counts_once_its_transaction_is_visible():
    listed = listing("delta_1_1_0/b", "delta_2_2_0/b", "delta_1_2_v0000020/b")
    assert chosen(listed, write_ids(2))[1] == ["delta_1_2_v0000020"]
    before = ValidTxnList(19)
    assert chosen(listed, write_ids(2), before)[1] == ["delta_1_1_0", "delta_2_2_0"]
    running = ValidTxnList(30, open=frozenset({20}))
    assert chosen(listed, write_ids(2), running)[1] == ["delta_1_1_0", "delta_2_2_0"]


@pytest.mark.parametrize("emptied", ["delta_1_2_v0000020", "base_2_v0000020"])
def test_a_compaction_that_has_left_no_file_covers_nothing(emptied):
    listed = listing("delta_1_1_0/b", "delta_2_2_0/b", without_files=[emptied])
    assert chosen(listed, write_ids(2)) == (None, ["delta_1_1_0", "delta_2_2_0"], [], [])
    (skipped,) = select(listed, write_ids(2), ALL_TXNS).skipped
    assert (skipped.relative, skipped.reason) == (emptied, "its compaction has left no file in it")


@pytest.mark.parametrize(
    ("emptied", "there", "is_lost"),
    [
        ("delta_1_2_v0000020", "delta_2_2_0/b", True),
        ("delta_1_2_v0000020", "delete_delta_2_2_0/b", True),
        ("delta_1_2_v0000020", "delta_3_3_0/b", False),
        ("delta_1_2_v0000020", "000000_0", False),
        ("base_2_v0000020", "000000_0", True),
        ("base_2_v0000020", "base_1/b", True),
        ("base_2_v0000020", "base_3/b", False),
        # Nothing to lose: no data, or in the base, or aborted, or what the compaction has made.
        ("delta_1_2_v0000020", "delta_2_2_0/", False),
        ("delta_1_2_v0000020", "delta_2_2_0/b base_2/b", False),
        ("delta_5_6_v0000020", "delta_5_5_0/b", False),
        ("delete_delta_1_2_v0000020", "delta_1_2_v0000020/b", False),
        # To be seen by a later snapshot.
        ("delta_1_4_v0000020", "delta_4_4_0/b", True),
        # The cleaner has not come yet after another compaction, or after TRUNCATE.
        ("delta_1_3_v0000020", "delta_1_1_0/b delta_3_3_0/b delta_1_4_v0000030/b", False),
        ("delta_1_3_v0000020", "delta_1_1_0/b delta_1_2_v0000010/b", True),
        ("delete_delta_1_3_v9", "delta_1_1_0/b delta_3_3_0/b delta_1_3_v9/b", False),
        ("delete_delta_1_3_v9", "delete_delta_2_2_0/b delta_1_3_v9/b", True),
        ("base_3_v0000020", "delta_1_1_0/b 000000_0 base_2/", False),
        # Another base with the same write id would go, too.
        ("base_2_v0000020", "base_2/b", True),
    ],
)
def test_what_a_compaction_covers_and_has_not_taken_in_is_to_be_lost(emptied, there, is_lost):
    paths = [path for path in there.split() if not path.endswith("/")]
    directories = [path.rstrip("/") for path in there.split() if path.endswith("/")]
    listed = listing(*paths, directories=directories, without_files=[emptied])
    state = select(listed, write_ids(3, aborted=[5]), ALL_TXNS)
    assert [lost.directory.name for lost in state.rows_hive_will_drop] == [emptied] * is_lost


@pytest.mark.parametrize("unseen", ["base_2", "delta_1_2", "delta_1_2_0000", "delta_2_2_0000"])
def test_a_directory_without_a_visible_file_covers_nothing_in_hive_4(unseen):
    """`base_2/_empty` of Impala's TRUNCATE: integration/test_directories.py."""
    listed = listing("delta_1_1_0/b", "delta_2_2_0/b", without_files=[unseen])
    assert chosen(listed, write_ids(2)) == (None, ["delta_1_1_0", "delta_2_2_0"], [], [])
    state = select(listed, write_ids(2), ALL_TXNS)
    assert [(it.relative, it.reason) for it in state.skipped] == [
        (unseen, "it has no file that Hive sees")
    ]
    # An INSERT without rows leaves the last one.
    covers_others = unseen != "delta_2_2_0000"
    assert [it.directory.name for it in state.ignored_directories] == [unseen] * covers_others
    assert state.rows_hive_will_drop == ()


def test_a_directory_without_files_next_to_nothing_that_it_covers_is_usual():
    listed = listing("delta_3_3_0/b", directories=["delta_2_2_0"], without_files=["base_2"])
    state = select(listed, write_ids(3, aborted=[1]), ALL_TXNS)
    assert (state.ignored_directories, len(state.empty_directories)) == ((), 1)


def test_a_compaction_with_hives_hidden_file_alone_covers_what_it_took_in():
    listed = listing("delta_1_1_0/b", "delta_2_2_0/b", directories=["delta_1_2_v0000020"])
    assert chosen(listed, write_ids(2))[1] == ["delta_1_2_v0000020"]


def test_the_wider_delta_wins():
    listed = listing(
        "delta_5_20/b", "delta_5_10/b", "delta_11_20/b", "delta_51_60/b", "delta_12_12_0/b"
    )
    assert chosen(listed, write_ids(60))[1] == ["delta_5_20", "delta_51_60"]


def test_all_statements_of_one_write_id_are_read():
    listed = listing("delta_2_2_0000/b", "delta_2_2_0001/b", "delta_2_2_0002/b")
    assert len(chosen(listed, write_ids(2))[1]) == 3


def test_a_minor_compaction_covers_statements_and_the_delete_deltas_in_between():
    listed = listing(
        "delta_30_50/b",
        "delete_delta_30_50/b",
        "delete_delta_40_40_0000/b",
        "delta_30_30_0000/b",
        "delta_50_50_0000/b",
    )
    assert chosen(listed, write_ids(50)) == (None, ["delta_30_50"], ["delete_delta_30_50"], [])


def test_a_delete_delta_without_statement_id_next_to_deltas():
    listed = listing("delta_1_1_0000/b", "delete_delta_2_3_v0000009/b", "delta_4_4_0000/b")
    assert chosen(listed, write_ids(4)) == (
        None,
        ["delta_1_1_0000", "delta_4_4_0000"],
        ["delete_delta_2_3_v0000009"],
        [],
    )


def test_a_delta_that_holds_some_valid_write_ids_is_read():
    listed = listing("delta_1_5/b")
    assert chosen(listed, write_ids(5, open=[2], aborted=[3]))[1] == ["delta_1_5"]
    assert chosen(listed, write_ids(5, open=[1, 2, 4], aborted=[3, 5]))[1] == []


def test_every_file_and_directory_is_used_or_skipped_with_a_reason():
    listed = listing(
        "base_2/bucket_00000",
        "base_1/bucket_00000",
        "delta_3_3_0/bucket_00000",
        "delta_3_3_0/bucket_00001",
        "delta_9_9_0/bucket_00000",
        "000000_0",
        empty=["delta_3_3_0/bucket_00001"],
    )
    state = select(listed, write_ids(3), ALL_TXNS)
    assert {(s.relative, s.reason) for s in state.skipped} == {
        ("base_1", "replaced by base_2"),
        ("delta_9_9_0", "no write id in 9..9 is valid in this snapshot"),
        ("delta_3_3_0/bucket_00001", "an empty file"),
        ("000000_0", "an original file, replaced by base_2"),
    }


@pytest.mark.parametrize("path", ["delta_1_x/bucket_00000", "base_/bucket_00000"])
def test_a_name_that_cannot_be_understood_is_refused(path):
    with pytest.raises(UnreadableTableError, match="looks like the name of an ACID directory"):
        select(listing(path), write_ids(5), ALL_TXNS)


@pytest.mark.parametrize(
    "directory",
    ["delta_1_1_0/delta_2_2_0", "sub/delta_1_1_0", "base_1/base_1/base_1", "base_1/sub/base_1"],
)
def test_an_acid_directory_inside_another_is_refused(directory):
    with pytest.raises(UnreadableTableError, match=f"inside another directory: {directory}"):
        select(listing(f"{directory}/bucket_00000"), write_ids(2), ALL_TXNS)


def test_a_directory_inside_one_of_the_same_name_belongs_to_it():
    nested = ("base_1/base_1/000000_0", "delta_2_2_0/delta_2_2_0/000000_0")
    state = select(listing(*nested), write_ids(2), ALL_TXNS)
    assert [file.relative for d in state.of_rows for file in d.files] == list(nested)
    assert [d.directory.name for d in state.of_rows] == ["base_1", "delta_2_2_0"]
    assert state.skipped == ()


# The cases of Hive's own TestAcidUtils (and so of Trino's TestAcidTables) that are not above.
@pytest.mark.parametrize(
    ("names", "ids", "expected"),
    [
        pytest.param(
            "base_5 base_10 base_25 delta_98_100 base_100 delta_120_130 base_200",
            write_ids(150),
            "base_100 delta_120_130",
            id="best base",
        ),
        pytest.param(
            "base_5 base_10 base_49 delta_025_025 delta_029_029 delta_025_030 delta_050_105",
            write_ids(100),
            "base_49 delta_050_105",
            id="a base and deltas",
        ),
        pytest.param(
            "base_5 base_10 base_49 delta_025_025 delta_029_029 delete_delta_029_029 "
            "delta_025_030 delete_delta_025_030 delta_050_105 delete_delta_050_105 "
            "delete_delta_110_110",
            write_ids(100),
            "base_49 delta_050_105 delete_delta_050_105",
            id="a base and delete deltas",
        ),
        pytest.param(
            "delta_0000063_63 delta_000062_62 delta_00061_61 delta_40_60 delta_0060_60 "
            "delta_052_55 base_50",
            write_ids(100),
            "base_50 delta_40_60 delta_00061_61 delta_000062_62 delta_0000063_63",
            id="overlapping deltas",
        ),
        pytest.param(
            "delta_0000063_63_0 delta_000062_62_0 delta_000062_62_3 delta_00061_61_0 delta_40_60 "
            "delta_0060_60_1 delta_0060_60_4 delta_0060_60_7 delta_052_55 delta_058_58 base_50",
            write_ids(100),
            "base_50 delta_40_60 delta_00061_61_0 delta_000062_62_0 delta_000062_62_3 "
            "delta_0000063_63_0",
            id="overlapping deltas with statement ids",
        ),
        pytest.param(
            "delta_0000063_63 delta_000062_62 delta_00061_61 delete_delta_00064_64 delta_40_60 "
            "delete_delta_40_60 delta_0060_60 delete_delta_052_55 base_50",
            write_ids(100),
            "base_50 delta_40_60 delta_00061_61 delta_000062_62 delta_0000063_63 "
            "delete_delta_40_60 delete_delta_00064_64",
            id="overlapping delta and delete delta",
        ),
        pytest.param(
            "delta_40_60 delete_delta_50_50",
            write_ids(100),
            "delta_40_60",
            id="a delete delta within a minor compaction",
        ),
        pytest.param(
            "delta_1_1 delta_2_5",
            write_ids(100, open=[4]),
            "delta_1_1 delta_2_5",
            id="a delta with an open write id",
        ),
        pytest.param(
            "delta_1_1 delta_2_5 delta_4_4 delta_4_4_1 delta_4_4_3 delta_101_101_1",
            write_ids(100, open=[4]),
            "delta_1_1 delta_2_5",
            id="deltas of an open write id",
        ),
        pytest.param(
            "delta_1_1 delta_2_5 delete_delta_2_5 delete_delta_3_3 delta_4_4_1 delta_4_4_3 "
            "delta_101_101_1",
            write_ids(100, open=[4]),
            "delta_1_1 delta_2_5 delete_delta_2_5",
            id="delete deltas and an open write id",
        ),
    ],
)
def test_as_in_hives_own_tests(names, ids, expected):
    listed = listing(*(f"{name}/bucket_0" for name in names.split()))
    base, deltas, delete_deltas, _ = chosen(listed, ids)
    assert [base] * (base is not None) + deltas + delete_deltas == expected.split()


def test_originals_keep_hives_order_whatever_they_are_called():
    names = ["random", "000000_0", "000001_1", "000000_0_copy_2", "subdir/000000_0"]
    listed = listing(*names)
    assert chosen(listed, write_ids(9))[3] == sorted(names)


@pytest.mark.parametrize("directory", ["delta_1_1_0", "base_1", "delete_delta_1_3"])
def test_the_side_file_of_a_writer_is_passed_over_where_it_means_nothing(directory):
    side = f"{directory}/bucket_00000_0_flush_length"
    state = select(listing(f"{directory}/bucket_00000_0", side), write_ids(3), ALL_TXNS)
    assert [(skipped.relative, "length" in skipped.reason) for skipped in state.skipped] == [
        (side, True)
    ]


def test_a_file_that_its_writer_has_not_closed_is_open():
    names = ["delta_1_3/bucket_00000", "delta_1_3/bucket_00000_flush_length"]
    listed = listing(*names, "delta_1_3/bucket_00001", "delta_1_3/bucket_00002_flush_length")
    state = select(listed, write_ids(3), ALL_TXNS)
    (found,) = state.open_files
    assert found.directory == "delta_1_3"
    assert [found.file.relative, found.side_file.relative] == names
    (delta,) = state.deltas
    assert [file.name for file in delta.files] == ["bucket_00001"]
    assert {skipped.relative for skipped in state.skipped} == {
        names[1],
        "delta_1_3/bucket_00002_flush_length",
    }
    # Not if it is not read.
    assert select(listed, write_ids(0), ALL_TXNS).open_files == ()


def test_compactions_whose_transactions_have_not_ended_are_ahead():
    """Another metastore's may become visible later, also with the number of an aborted one."""
    txns = ValidTxnList(20, frozenset({9}), frozenset({12}))
    names = ["base_3_v0000009", "delta_4_5_v0000021", "delta_4_6_v0000012", "base_2_v0000010"]
    state = select(listing(*(f"{name}/b" for name in names)), ValidWriteIdList(9), txns)
    assert [directory.name for directory in state.uncommitted_compactions] == names[:3]
    assert state.base is not None and state.base.directory.name == "base_2_v0000010"


@pytest.mark.parametrize(
    "ids",
    [
        write_ids(3),
        write_ids(3, open={3}),
        write_ids(3, open={3}, aborted={1}),
        write_ids(3, aborted={3}),
    ],
)
def test_a_delta_with_its_write_ids_reversed_is_refused_where_hive_shows_it(ids):
    listed = listing("delta_1_1_0/b", "delta_2_2_0/b", "delta_3_2_v0000007/b")
    with pytest.raises(
        UnreadableTableError, match="delta_3_2_v0000007 cannot be read: its write ids are reversed"
    ):
        select(listed, ids, ALL_TXNS)


@pytest.mark.parametrize(
    "ids", [write_ids(3, open={3}, aborted={2}), write_ids(2), write_ids(3, aborted={2, 3})]
)
def test_a_delta_with_its_write_ids_reversed_is_passed_over_where_hive_does(ids):
    listed = listing("delta_1_1_0/b", "delta_3_2_v0000007/b")
    assert chosen(listed, ids) == (None, ["delta_1_1_0"], [], [])


def test_a_delta_with_its_write_ids_reversed_is_passed_over_after_the_open_write():
    """Below it, Hive has put `delta_1_1_0` into the reversed one, and 3 has committed since."""
    listed = listing("delta_1_1_0/b", "delta_2_2_0/b", "delta_3_2_v0000007/b", "delta_3_3_0/b")
    assert chosen(listed, write_ids(3)) == (
        None,
        ["delta_1_1_0", "delta_2_2_0", "delta_3_3_0"],
        [],
        [],
    )
