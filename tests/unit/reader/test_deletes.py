"""Bitmaps of deleted rows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.hiveacid.reader.deletes import bitmap_range, build_bitmap

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
