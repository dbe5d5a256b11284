"""Bitmaps of deleted rows."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hiveacid.acid.layout import ListedFile
from hiveacid.reader import deletes
from hiveacid.reader.deletes import DeleteFile, are_near, bitmap_range, build_bitmap
from hiveacid.reader.orc_footers import RowIdRange

blocks = st.integers(0, 2**42)
near = st.tuples(blocks, st.integers(0, 2**12)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(st.one_of(near, st.tuples(blocks, blocks).map(lambda pair: (min(pair), max(pair)))), blocks)
def test_xor_finds_a_block_and_no_other(extremes: tuple[int, int], other: int) -> None:
    lowest, highest = extremes
    first, length = bitmap_range(lowest, highest)
    assert lowest ^ first == lowest - first
    assert highest ^ first == length - 1
    in_range = first <= other <= highest
    assert (0 <= other ^ first < length) == in_range


@given(
    st.dictionaries(st.integers(2**20, 2**20 + 5000), st.integers(-(2**63), 2**63 - 1), min_size=1)
)
def test_every_mask_is_at_its_place_and_the_rest_is_zero(masks: dict[int, int]) -> None:
    bitmap = build_bitmap(3, 7, 536870912, list(masks), list(masks.values()))
    found = {
        bitmap.first_block ^ index: mask for index, mask in enumerate(bitmap.masks) if mask != 0
    }
    assert found == {block: mask for block, mask in masks.items() if mask != 0}
    assert (bitmap.partition, bitmap.write_id, bitmap.bucket) == (3, 7, 536870912)


@given(
    st.sets(st.integers(6_000, 6_600), min_size=1),
    st.integers(5_900, 6_700),
    st.integers(0, 300),
)
def test_a_bitmap_tells_whether_any_of_some_rows_is_deleted(
    deleted: set[int], first: int, rows: int
) -> None:
    masks: dict[int, int] = {}
    for row in deleted:
        masks[row >> 6] = masks.get(row >> 6, 0) | 1 << (row & 63)
    signed = [mask - (1 << 64) if mask >> 63 else mask for mask in masks.values()]
    bitmap = build_bitmap(0, 0, 536870912, list(masks), signed)
    assert bitmap.has_any(first, first + rows) == any(
        row in deleted for row in range(first, first + rows)
    )


@given(st.sets(st.integers(100, 160), min_size=1), st.integers(80, 170), st.integers(0, 40))
def test_masks_of_some_blocks(present: set[int], low: int, more: int) -> None:
    bitmap = build_bitmap(0, 0, 0, list(present), [block * 3 for block in present])
    blocks = range(low, low + more + 1)
    expected = [block * 3 if block in present else 0 for block in blocks]
    assert list(bitmap.between(low, low + more)) == expected


def file(
    writes: tuple[int, int], buckets: tuple[int, int], rows: tuple[int, int], partition: int = 0
) -> DeleteFile:
    return of_events(1, RowIdRange(writes, buckets, rows), partition)


def of_events(count: int, ids: RowIdRange | None, partition: int = 0) -> DeleteFile:
    return DeleteFile(ListedFile("f", "file:/f", 1), partition, count, False, ids)


@pytest.mark.parametrize(
    ("files", "near"),
    [
        ([], True),
        ([of_events(0, None)], True),
        ([file((3, 3), (7, 7), (5, 6_000_000))], True),
        ([file((3, 6), (7, 9), (0, 10))], True),
        ([file((3, 6), (7, 11), (0, 10))], False),
        ([file((3, 3), (7, 7), (0, 10), partition) for partition in range(16)], True),
        ([file((3, 3), (7, 7), (0, 10), partition) for partition in range(17)], False),
        ([file((3, 3), (7, 7), (0, 10)), file((3, 3), (7, 7), (2**27, 2**27))], False),
        ([file((3, 3), (7, 7), (0, 10)), file((4, 4), (7, 7), (2**27, 2**27))], True),
        ([file((0, 2**63 - 1), (7, 7), (0, 10))], False),
        ([file((3, 3), (0, 2**31 - 1), (0, 10))], False),
    ],
    ids=[
        "none",
        "no events",
        "one write",
        "12 writes and buckets at most",
        "20 at most",
        "16 partitions",
        "17 partitions",
        "the same write far apart",
        "two writes far apart",
        "any write",
        "any bucket",
    ],
)
def test_what_footers_tell_of_the_extent_of_bitmaps(
    files: Sequence[DeleteFile], near: bool
) -> None:
    assert are_near(files, 16) == near


@pytest.mark.parametrize(
    ("rows", "extent", "are_few"),
    [(100_001, (0, 200_000), True), (100_001, (0, 2**27), False), (100_000, (0, 2**27), True)],
    ids=["near", "many and far apart", "few"],
)
def test_the_extent_is_asked_of_spark_only_where_it_is_not_known(
    rows: int, extent: tuple[int, int], are_few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    masks: Any = object()
    calls = []
    monkeypatch.setattr(deletes, "_collect", lambda *arguments: calls.append(arguments) or ())
    of_file = of_events(rows, RowIdRange((1, 1), (0, 0), extent))
    assert deletes.DeletedRows().bitmaps([of_file], lambda: masks) == ()
    assert calls == [(masks, are_few, 16)]


@pytest.mark.parametrize(
    ("rows", "files", "one_task"),
    [(1_000_000, 1, True), (1_000_001, 1, False), (1, 64, True), (1, 65, False)],
)
def test_few_events_of_few_files_are_for_one_task(rows: int, files: int, one_task: bool) -> None:
    assert deletes.one_task_reads([of_events(rows, None)] * files) == one_task


small = st.tuples(st.integers(0, 3), st.integers(0, 3)).map(lambda pair: (min(pair), max(pair)))
far = st.tuples(st.integers(0, 2**26), st.integers(0, 2**26)).map(lambda p: (min(p), max(p)))


@given(
    st.lists(st.builds(file, small, small, far, st.integers(0, 2)), max_size=6),
    st.randoms(use_true_random=False),
)
def test_bitmaps_of_rows_in_the_ranges_fit(files: Sequence[DeleteFile], random: Random) -> None:
    """Whichever rows the files name, if the footers tell that they are near."""
    blocks: dict[tuple[int, ...], list[int]] = {}
    for of_file in files:
        ids = of_file.row_id_range
        assert ids is not None
        for _ in range(8):
            write, bucket, row = (
                random.randint(*ends) for ends in (ids.write_id, ids.bucket, ids.row)
            )
            blocks.setdefault((of_file.partition, write, bucket), []).append(row >> 6)
    if are_near(files, 16):
        assert deletes._fit([(min(found), max(found)) for found in blocks.values()], 16)
