"""What random histories with other writers do, without a Hive."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow.orc
import pyarrow.parquet
import pyorc
import pytest

from integration.support.histories import loads, streams
from integration.support.histories.history import was_cleaned
from integration.support.histories.other_writers import OtherWriters
from integration.support.histories.shape import EXPRESSIONS, Column, Shape
from integration.support.histories.streams import (
    CloseStream,
    KillStream,
    OpenStream,
    StreamedTable,
    WriteStream,
)

COLUMNS = (Column("id", "int"), *(Column(f"c{i}", type_) for i, type_ in enumerate(EXPRESSIONS)))


def table(seed: int = 0, *, full_acid: bool = True, file_format: str = "ORC") -> StreamedTable:
    shape = Shape(full_acid, file_format, (), 0, converted=False, direct_insert=True)
    return StreamedTable(shape, random.Random(seed), list(COLUMNS), transactional=True)


@pytest.mark.parametrize("seed", range(8))
def test_files_hold_the_rows_whoever_wrote_them(seed: int, tmp_path: Path) -> None:
    rows = loads.rows_of(COLUMNS, 5, 304, null_every=7)
    assert [row[0] for row in rows] == list(range(5, 305))
    for i in range(1, len(COLUMNS)):
        assert 30 < sum(row[i] is None for row in rows) < 60
    rng = random.Random(seed)
    path = tmp_path / "file"
    loads.write_parquet_with_arrow(path, COLUMNS, rows, rng)
    read = pyarrow.parquet.read_table(path)
    assert read.column_names == [column.name for column in COLUMNS]
    # A timestamp may lose its microseconds.
    exact = [column.name for column in COLUMNS if column.type != "timestamp"]
    named = (dict(zip(read.column_names, row, strict=True)) for row in rows)
    written = [{name: row[name] for name in exact} for row in named]
    assert read.select(exact).to_pylist() == written
    loads.write_orc_with_arrow(path, COLUMNS, rows, rng)
    assert pyarrow.orc.read_table(path).select(exact).to_pylist() == written
    loads.write_with_pyorc(path, COLUMNS, rows, rng)
    with path.open("rb") as file:
        assert [row[:4] for row in pyorc.Reader(file)] == [row[:4] for row in rows]


def test_many_rows_make_several_stripes_and_row_groups(tmp_path: Path) -> None:
    rows, path = loads.rows_of(COLUMNS, 1, 300, null_every=5), tmp_path / "file"
    stripes, groups, without_statistics = [], [], 0
    for seed in range(20):
        loads.write_with_pyorc(path, COLUMNS, rows, random.Random(seed))
        with path.open("rb") as file:
            stripes.append(pyorc.Reader(file).num_of_stripes)
        loads.write_parquet_with_arrow(path, COLUMNS, rows, random.Random(seed))
        metadata = pyarrow.parquet.ParquetFile(path).metadata
        groups.append(metadata.num_row_groups)
        without_statistics += not metadata.row_group(0).column(1).is_stats_set
    assert min(stripes) == 1 < max(stripes)
    assert set(groups) == {1, 3, 100}
    assert 0 < without_statistics < 20


def test_a_batch_is_used_up_before_the_next_one_opens() -> None:
    of = table(1)
    opened, *written = streams.open_stream(of) or ()
    assert isinstance(opened, OpenStream) and not opened.partition
    while len(written) < 3 * opened.batch:
        written += streams.stream_commit(of) or ()
    firsts = [i for i, it in enumerate(written) if isinstance(it, WriteStream) and it.is_first]
    assert firsts[:2] == [0, opened.batch]
    assert streams.open_stream(of) is None, "one connection at a time"


def test_a_transaction_that_stays_open_goes_on() -> None:
    of = table(2)
    assert streams.open_stream(of)
    streams.stream_commit(of)
    assert of.is_written and not of.is_locked
    (first,) = streams.stream_rows(of) or ()
    assert of.is_locked
    (second,) = streams.stream_abort(of) or ()
    assert isinstance(first, WriteStream) and isinstance(second, WriteStream)
    assert (first.begins, second.begins, second.end) == (True, False, "abort")
    assert of.aborted and not of.is_locked
    assert isinstance((streams.close_stream(of) or ())[0], CloseStream)
    assert not of.is_written and streams.stream_rows(of) is None


def test_a_killed_client_leaves_locks_until_the_timeout() -> None:
    of = table(3)
    assert streams.open_stream(of) and streams.time_out(of) is None
    assert isinstance((streams.kill_stream(of) or ())[0], KillStream)
    assert of.is_locked and streams.stream_commit(of) is None and streams.open_stream(of) is None
    assert streams.time_out(of)
    assert not of.is_written and of.aborted


def test_rows_of_a_stream_are_text_that_hive_takes() -> None:
    of = table(4)
    opened, written = streams.open_stream(of) or ()
    assert isinstance(opened, OpenStream) and isinstance(written, WriteStream)
    for row in written.rows:
        values = row.split(",")
        assert len(values) == len(COLUMNS) and values[0].isdecimal()
        assert not any("'" in value or value == "NULL" for value in values)


def test_what_hive_cannot_load_or_stream_into_is_left_out() -> None:
    parquet = table(full_acid=False, file_format="PARQUET")
    assert streams.open_stream(parquet) is None
    assert loads.load_of_pyorc(parquet) is None
    (load,) = loads.load_parquet_of_arrow(parquet) or ()
    assert isinstance(load, loads.LoadFiles) and load.partition is None
    names = [n for seed in range(20) for n in _names(table(seed))]
    assert all(name.endswith("_0") for name in names), "a full-ACID table takes buckets only"
    locked = table()
    locked.lost = 1
    assert loads.load_of_pyorc(locked) is None


def _names(of: StreamedTable) -> tuple[str, ...]:
    (load,) = loads.load_of_pyorc(of) or ()
    assert isinstance(load, loads.LoadFiles)
    return load.names


def test_all_that_opens_something_has_an_ending() -> None:
    assert set(OtherWriters.endings) <= set(OtherWriters.operations)
    for name, others in OtherWriters.opened_by.items():
        assert {name, *others} <= set(OtherWriters.operations)


def test_only_a_file_next_to_an_empty_compaction_may_go_under_a_read(tmp_path: Path) -> None:
    file, base = tmp_path / "p=a b" / "delta_1_1_0" / "bucket_00000_0", "base_1_v0000007"
    gone = f"java.io.FileNotFoundException: File file:{file} does not exist\n\tat org.apache"
    file.parent.mkdir(parents=True)
    assert not was_cleaned(gone), "no compaction is there"
    (file.parents[1] / base).mkdir()
    assert was_cleaned(gone)
    assert was_cleaned(f"file:{file} was listed, and is gone.")
    assert not was_cleaned("assert [(1,)] == []")
    file.touch()
    assert not was_cleaned(gone), "the file is there"
    file.unlink()
    (file.parents[1] / base / "bucket_00000").touch()
    assert not was_cleaned(gone), "the compaction left a file"


def test_a_minor_compaction_below_an_open_write_is_left_out_after_an_abort() -> None:
    """Hive would put files together, under a name that shows rows twice."""
    minor = OtherWriters.operations["minor compaction"]
    of = table(5)
    assert [type(it).__name__ for it in minor(of) or ()] == ["Compact"]
    of.writers[1] = False
    assert [type(it).__name__ for it in minor(of) or ()] == ["Compact"], "nothing was aborted"
    of.aborted = True
    assert minor(of) is None
