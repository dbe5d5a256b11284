"""The page on runs that were killed."""

from __future__ import annotations

import datetime as dt

from integration.support.crash_points import STEPS, CrashPoint, crash_points, document

DAY = dt.date(2026, 1, 2)


def test_kinds_and_formats_with_the_same_steps_share_a_row() -> None:
    outcomes = {point: "right" for name in STEPS for point in crash_points(name)}
    rows = [line for line in document(outcomes, DAY, 60).splitlines() if line.startswith("| ")][1:]
    cells = [tuple(cell.split(", ") for cell in row.strip("| ").split(" | ")) for row in rows]
    shown = [
        CrashPoint(file_format, kind, step)
        for formats, kinds, steps in cells
        for file_format in formats
        for kind in kinds
        for step in steps
    ]
    assert set(shown) == set(outcomes) and len(shown) == len(outcomes)
    assert len(rows) < len(STEPS) * 4
    assert ["orc", "parquet"] in [formats for formats, _, _ in cells]


def test_a_wrong_target_is_named_with_what_is_wrong() -> None:
    first, second = crash_points("delta", ["table"])
    page = document({first: "right", second: "no rows"}, DAY, 120)
    assert "2026-01-02, 2 minutes: 2 steps, 1 right." in page
    assert f"Wrong: {second.model}: no rows" in page and first.model not in page
