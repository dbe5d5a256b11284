"""Names of what a write leaves."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hiveacid.acid.layout import BaseDir, DeltaDir, bucket_of_file, parse_directory
from hiveacid.errors import UnwritableTableError
from hiveacid.metastore.models import partition_name
from hiveacid.writer.layout import (
    Kind,
    StagedDirectory,
    bucket_name,
    partition_values,
    raw_name,
    task_of,
)


@given(st.sampled_from(Kind), st.integers(1, 10**9), st.integers(0, 4095))
def test_a_directory_is_named_as_hive_reads_it(kind: Kind, write_id: int, statement: int) -> None:
    name = StagedDirectory("/stage", "", kind, statement).name(write_id)
    if kind is Kind.BASE:
        assert parse_directory(name) == BaseDir(name, write_id)
    else:
        is_delete = kind is Kind.DELETE_DELTA
        expected = DeltaDir(name, write_id, write_id, statement, is_delete=is_delete)
        assert parse_directory(name) == expected


@pytest.mark.parametrize("name", [partial(raw_name, is_full_acid=True), bucket_name])
def test_a_file_is_named_by_its_number(name: Callable[[int], str]) -> None:
    assert [bucket_of_file(name(number)) for number in (0, 7, 4095)] == [0, 7, 4095]
    with pytest.raises(UnwritableTableError, match="HIVEACID_TOO_MANY_FILES"):
        name(4096)
    assert raw_name(4096, is_full_acid=False) == "004096_0"


def test_sparks_files_show_their_task() -> None:
    assert task_of("part-00012-b75d.c000.zstd.orc") == 12
    assert task_of("_SUCCESS") is None


@given(st.lists(st.text(min_size=1), min_size=1, max_size=3))
def test_values_come_back_from_a_partitions_name(values: list[str]) -> None:
    keys = [f"k{i}" for i in range(len(values))]
    assert partition_values(partition_name(keys, values)) == tuple(values)
