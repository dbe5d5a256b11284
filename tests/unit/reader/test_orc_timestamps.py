"""What ORC files tell of their timestamps."""

import pytest

from hiveacid.reader.timestamps import shows_nanoseconds, timestamps_in

TYPES = [
    "int",
    "timestamp",
    "decimal(10,2)",
    "struct<x:timestamp,`a:timestamp,b`:char(3),l:array<map<string,timestamp>>,timestamp:int>",
    "timestamp with local time zone",
    "timestamp",
]


def test_timestamps_are_numbered_as_orc_numbers_them():
    # 1 int, 2 timestamp, 3 decimal, 4 struct, 5 x, 6 char, 7 array, 8 map, 9 string, 10 timestamp
    assert list(timestamps_in(TYPES, 1)) == [(1, 2), (3, 5), (3, 10), (5, 13)]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("count: 3 hasNull: true", False),
        ("min: 2026-01-01 00:00:00.0 max: 2026-01-01 00:00:00.123456", False),
        ("min: 2026-01-01 00:00:00.1234567 max: 2026-01-02 00:00:00.0", True),
        ("min: 1960-01-01 00:00:00.000000001 max: 2026-01-02 00:00:00.0", True),
        # What ORC's library shows of files that say nothing below the millisecond.
        ("min: 2026-01-01 00:00:00.123 max: 2026-01-02 00:00:00.456999999", False),
    ],
)
def test_nanoseconds_in_statistics(text, shown):
    assert shows_nanoseconds(text) is shown
