"""Splits of files, and which of them have deleted rows."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hiveacid.acid.layout import ListedFile
from hiveacid.jvm.orc_readers import Stripe
from hiveacid.reader.deletes import Bitmap, DeleteFile
from hiveacid.reader.orc_footers import RowIdRange
from hiveacid.reader.plan import DataFile, RowPositions
from hiveacid.reader.raw_files import (
    Hit,
    by_key,
    divide,
    hit_files,
    hit_of,
    stripe_bytes,
    stripes_of,
)

BUCKET = 536870912


def raw(
    stripes: list[tuple[int, int]],
    length: int,
    name: str = "000000_0",
    first_row: int = 0,
    partition: int = 0,
) -> DataFile:
    row_ids = RowPositions(0, BUCKET, first_row)
    rows = sum(rows for _, rows in stripes)
    return DataFile(
        ListedFile(name, f"file:/t/{name}", length),
        partition,
        ("id",),
        is_acid=False,
        row_ids=row_ids,
        row_id_range=row_ids.of(rows),
        stripes=tuple(map(Stripe._make, stripes)),
    )


def test_a_stripe_belongs_to_the_split_in_which_it_begins() -> None:
    file = raw([(3, 10), (100, 20), (199, 30), (500, 40)], 610)
    splits = sorted(divide([file], 100), key=lambda split: split.start)
    assert [(it.start, it.length, it.rows_before, it.rows) for it in splits] == [
        (0, 100, 0, 10),
        (100, 100, 10, 50),
        (200, 100, 60, 0),
        (300, 100, 60, 0),
        (400, 100, 60, 0),
        (500, 100, 60, 40),
        (600, 10, 100, 0),
    ]


def test_long_splits_come_first_and_then_the_order_of_the_files() -> None:
    files = [raw([(3, 1)], 50, "a"), raw([(3, 1)], 120, "b"), raw([(3, 1)], 50, "c")]
    order = [(split.file.name, split.start) for split in divide(files, 100)]
    assert order == [("b", 0), ("a", 0), ("c", 0), ("b", 100)]


@given(
    st.lists(st.tuples(st.integers(1, 400), st.integers(1, 50)), max_size=20),
    st.integers(1, 700),
)
def test_every_row_is_in_one_split(sizes: list[tuple[int, int]], split_bytes: int) -> None:
    stripes, offset = [], 3
    for size, rows in sizes:
        stripes.append((offset, rows))
        offset += size
    file = raw(stripes, offset + 20)
    for splits in (divide([file], split_bytes), stripes_of(file)):
        ordered = sorted(splits, key=lambda split: split.start)
        before = 0
        for split in ordered:
            assert split.rows_before == before
            before += split.rows
        assert before == sum(rows for _, rows in stripes)
    assert sum(split.length for split in divide([file], split_bytes)) == file.file.length


def test_splits_as_large_as_stripes() -> None:
    small, large = raw([(3, 1)] * 10, 10_000), raw([(3, 1)] * 10, 50_000_000)
    assert stripe_bytes([small]) == 1 << 20
    assert 5_000_000 <= stripe_bytes([small, large]) < 5_700_000
    assert stripe_bytes([raw([], 0)]) == 1 << 20


def bitmap(rows: list[int], partition: int = 0, bucket: int = BUCKET) -> Bitmap:
    masks = [0] * (1 + (max(rows) >> 6))
    for row in rows:
        masks[row >> 6] |= 1 << (row & 63)
    signed = [mask - (1 << 64) if mask >> 63 else mask for mask in masks]
    return Bitmap(partition, 0, bucket, 0, array("q", signed))


@pytest.mark.parametrize(
    ("rows", "hit"),
    [
        ([0], Hit.FEW_STRIPES),
        ([25, 26, 63, 64, 99], Hit.FEW_STRIPES),
        ([99, 100], Hit.ANY),
        ([7, 2_500], Hit.ANY),
        ([4_000], Hit.NONE),
    ],
)
def test_how_deleted_rows_hit_a_file(rows: list[int], hit: Hit) -> None:
    file = raw([(3 + 50 * i, 100) for i in range(39)], 2000)
    assert hit_of(file, by_key([bitmap(rows)])) is hit
    assert hit_of(file, by_key([bitmap(rows, partition=1), bitmap(rows, bucket=7)])) is Hit.NONE
    assert hit_of(file, None) is Hit.ANY


def test_rows_before_the_file_count() -> None:
    file = raw([(3 + 50 * i, 100) for i in range(20)], 2000, first_row=1000)
    assert hit_of(file, by_key([bitmap([999, 3000])])) is Hit.NONE
    assert hit_of(file, by_key([bitmap([1000, 1099])])) is Hit.FEW_STRIPES


def test_files_that_delete_files_can_name() -> None:
    def delete(rows: tuple[int, int], bucket: int = BUCKET, partition: int = 0) -> DeleteFile:
        ids = RowIdRange((0, 0), (bucket, bucket), rows)
        file = ListedFile("bucket_00000", "file:/t/delete_delta_2_2_0000/bucket_00000", 9)
        return DeleteFile(file, partition, 3, False, ids)

    first = raw([(3, 10)], 99, "a")
    second = raw([(3, 10)], 99, "b", first_row=10)
    other = raw([(3, 10)], 99, "p/a", partition=1)
    empty = raw([], 9, "empty")
    files = [first, second, other, empty]
    assert hit_files(files, []) == []
    assert hit_files(files, [delete((5, 7))]) == [first]
    assert hit_files(files, [delete((5, 7)), delete((30, 40))]) == [first, second], "one range"
    assert hit_files(files, [delete((5, 7), bucket=7), delete((10, 11))]) == [second]
    assert hit_files(files, [delete((0, 99), partition=1)]) == [other]
