from hiveacid.acid.file_times import UnknownTime, file_times
from hiveacid.acid.layout import ListedFile, Listing
from hiveacid.acid.write_ids import ValidWriteIdList, WriteIdRanges

IDS = ValidWriteIdList(9, frozenset({7}), frozenset({3}))


def listing(times, formats=()):
    """A location with a file of each path; a path without a time is an empty directory."""
    files = tuple(
        ListedFile(path, f"/t/{path}", 9, time) for path, time in times.items() if time is not None
    )
    names = {path.partition("/")[0] for path in times if "/" in path or times[path] is None}
    return Listing("/t", files, tuple(sorted(names)), dict(formats))


def times_of(*locations):
    return file_times(map(listing, locations), IDS)


def test_a_write_was_there_when_its_last_file_was():
    one = {"delta_1_1_0000/a": 10, "delta_1_1_0000/b": 12, "delta_3_3_0000/a": 20}
    other = {"delta_1_1_0000/a": 11, "base_4/a": 40, "delete_delta_5_5_0000/a": 50}
    assert times_of(one, other).known == {1: 12, 4: 40, 5: 50}


def test_the_write_id_of_a_time():
    times = times_of({"delta_1_1_0000/a": 10, "delta_2_2_0000/a": 20, "delta_4_4_0000/a": 40})
    assert [times.at(time, IDS) for time in (9, 10, 19, 20, 39, 40, 99)] == [0, 1, 1, 2, 2, 4, 4]


def test_a_compaction_says_only_when_all_its_writes_were_there():
    times = times_of({"base_4_v0000009/a": 40, "base_4_v0000009/b": 45, "delta_5_5_0000/a": 50})
    assert times.at(40, IDS) == 4
    assert times.at(50, IDS) == 5
    assert times.at(39, IDS) == UnknownTime(
        "/t/base_4_v0000009", WriteIdRanges(((0, 2), (3, 4))), 40
    )


def test_a_writer_of_several_transactions_is_done_with_its_last_file():
    times = times_of({"delta_1_2/a": 10, "delta_1_2/b": 20})
    assert isinstance(times.at(10, IDS), UnknownTime)
    assert times.at(20, IDS) == 2


def test_write_ids_that_were_committed_later_are_told():
    times = times_of({"delta_1_1_0000/a": 10, "delta_2_2_0000/a": 50, "delta_4_4_0000/a": 40})
    assert (times.at(40, IDS), times.later(40, 4)) == (4, {2})
    assert times.later(50, 4) == frozenset()


def test_the_transactions_of_a_batch_may_have_ended_one_after_the_other():
    """A higher write id says nothing of them; those of a compaction had all ended."""
    batch = {"delta_1_2/a": 30, "delta_4_4_0000/a": 10}
    times = times_of(batch)
    assert times.at(20, IDS) == UnknownTime("/t/delta_1_2", WriteIdRanges(((0, 2),)), 30)
    assert times.at(30, IDS) == 4
    assert times_of({"delta_1_2_v0000009/a": 30, "delta_4_4_0000/a": 10}).at(20, IDS) == 4


def test_a_file_that_is_being_written_has_no_time():
    """HDFS has the time of its creation: the batch was opened at 10, and committed in at 30."""
    committed = {"delta_1_1_0000/a": 5}
    opened = {"delta_2_6/bucket_00000": 10, "delta_2_6/bucket_00000_flush_length": 10}
    times = times_of({**committed, **opened})
    assert times.at(20, IDS) == UnknownTime("/t/delta_2_6", WriteIdRanges(((1, 2), (3, 6))), None)
    closed = times_of({**committed, "delta_2_6/bucket_00000": 40})
    assert closed.at(40, IDS) == 6


def test_hive_3_gives_the_compaction_of_one_write_the_name_of_a_write():
    """The statements of a transaction, compacted: they were there before."""
    compacted = Listing("/t", (ListedFile("delta_4_4/b", "/t/delta_4_4/b", 9, 40),), ("delta_4_4",))
    times = file_times([listing({"delta_1_1_0000/a": 10}), compacted], IDS, names_compactions=False)
    assert times.known == {1: 10} and times.at(40, IDS) == 4
    assert times.at(39, IDS) == UnknownTime("/t/delta_4_4", WriteIdRanges(((3, 4),)), 40)
    assert times.at(41, IDS) == 4
    # The time of the write is known while its own directory is there.
    own = listing({"delta_4_4_0000/a": 30})
    times = file_times([own, compacted], IDS, names_compactions=False)
    assert (times.at(29, IDS), times.at(30, IDS)) == (0, 4)


def test_what_a_compaction_took_in_tells_more_while_it_is_there():
    of_writes = {"delta_1_1_0000/a": 10, "delta_2_2_0000/a": 20}
    times = times_of({**of_writes, "base_2_v0000009/a": 40})
    assert [times.at(time, IDS) for time in (9, 15, 25, 45)] == [0, 1, 2, 2]


def test_a_directory_without_files_makes_the_time_unknown_until_a_later_write():
    times = times_of({"delta_1_1_0000/a": 10, "base_2": None, "delta_4_4_0000/a": 40})
    assert times.at(9, IDS) == UnknownTime("/t/base_2", WriteIdRanges(((1, 2),)), None)
    assert isinstance(times.at(39, IDS), UnknownTime)
    assert times.at(40, IDS) == 4


def test_write_ids_that_are_not_valid_have_no_time():
    times = times_of({"delta_3_3_0000/a": 10, "delta_7_7_0000/a": 20, "delta_12_12_0000/a": 30})
    assert times.known == {} and times.at(99, IDS) == 0
