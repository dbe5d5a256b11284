"""The page on random histories: a run replaces the section of its own kind, and no other."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from integration.support.histories import incremental_report, report
from integration.support.histories.history import Broken, Tally

DAY = dt.date(2026, 1, 2)


@pytest.fixture(autouse=True)
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    page = tmp_path / "page.md"
    monkeypatch.setattr(report, "PAGE", page)
    monkeypatch.delenv("HISTORIES_HIVE", raising=False)
    return page


def tally(comparisons: int = 7) -> Tally:
    return Tally(
        tables=4,
        comparisons=comparisons,
        operations=Counter({"create": 4, "insert values": 9, "move": 1}),
        shapes=Counter(
            {
                "full ACID": 1,
                "full ACID, partitioned by date, string, bucketed": 2,
                "insert-only ORC, converted, no direct insert": 1,
            }
        ),
    )


def sections(page: Path) -> dict[str, str]:
    """Return the text of each section by its title."""
    _, *parts = page.read_text("utf-8").split("\n## ")
    return {title: body for title, _, body in (part.partition("\n") for part in parts)}


def write_each_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the sections of all kinds of runs, as `make long` on both Hives does."""
    runs: Any = SimpleNamespace(
        tally=tally(), seed=3, compared=Counter({"delta_key": 5}), ways=Counter()
    )
    runs.ways.update({("delta_key", "merge"): 2, ("orc_ids", "merge"): 1, ("orc_ids", "append"): 4})
    for version in ("4.0.1", "3.1.3"):
        monkeypatch.setenv("HISTORIES_HIVE", version)
        report.write_reads(tally(), 1, 60, DAY)
        incremental_report.write_runs(runs, 120, DAY)
    monkeypatch.delenv("HISTORIES_HIVE")
    report.write_other_writers(tally(), 2, 60, DAY, Counter({"major, on Tez": 3}))


def test_each_kind_of_run_has_a_section(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_each_kind(monkeypatch)
    assert page.read_text("utf-8").startswith(report.HEAD)
    assert list(sections(page)) == [
        "Reads on Hive 4.0.1",
        "dbt runs on Hive 4.0.1",
        "Reads on Hive 3.1.3",
        "dbt runs on Hive 3.1.3",
        "Reads on Hive 4.0.1 with other writers",
    ]


def test_a_run_replaces_its_own_section_only(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_each_kind(monkeypatch)
    before = sections(page)
    report.write_reads(tally(comparisons=8), 5, 60, DAY)
    after = sections(page)
    assert list(after) == list(before)
    assert {title for title in before if before[title] != after[title]} == {"Reads on Hive 4.0.1"}
    assert "seed 5: 4 tables, 14 operations, 8 comparisons" in after["Reads on Hive 4.0.1"]


def test_the_same_run_leaves_the_page_as_it_is(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_each_kind(monkeypatch)
    text = page.read_text("utf-8")
    write_each_kind(monkeypatch)
    assert page.read_text("utf-8") == text


def test_a_section_counts_tables_by_format_and_property(page: Path) -> None:
    report.write_reads(tally(), 1, 60, DAY)
    body = sections(page)["Reads on Hive 4.0.1"]
    assert "2026-01-02, 1 minutes, seed 1: 4 tables" in body
    assert "3 kinds, from 1 (move) to 9 (insert values)" in body
    assert "3 full ACID, 1 insert-only ORC; of all 2 partitioned, 2 bucketed, 1 converted" in body
    assert "Left out" not in body


def test_what_a_hive_3_leaves_out_is_said(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HISTORIES_HIVE", "3.1.3")
    report.write_reads(tally(), 1, 60, DAY)
    assert "compactions of insert-only tables" in sections(page)["Reads on Hive 3.1.3"]


def test_a_section_on_dbt_runs_adds_up_what_they_did(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_each_kind(monkeypatch)
    body = sections(page)["dbt runs on Hive 4.0.1"]
    assert "append 4; merge 3" in body
    assert "5 comparisons of a target, 0 mismatches" in body


def test_a_mismatch_is_kept_whole_and_a_failure_of_hive_in_a_line(page: Path) -> None:
    broken = tally()
    script = "CREATE DATABASE d;\n## no heading\nSELECT 1;"
    broken.mismatches.append(Broken(1, "full ACID", "other rows", script))
    broken.failed_in_hive.append(Broken(2, "full ACID", f"{'long ' * 90}\nStatement: X", script))
    report.write_reads(broken, 1, 60, DAY)
    report.write_other_writers(tally(), 2, 60, DAY, Counter())
    body = sections(page)["Reads on Hive 4.0.1"]
    assert "    Table 1 (full ACID):\n    other rows\n" in body
    assert "    ## no heading\n    SELECT 1;" in body
    (failure,) = [line for line in body.splitlines() if line.startswith("- ")]
    assert failure.startswith("- Table 2 (full ACID): long long")
    assert failure.endswith("… Statement: X")
    assert list(sections(page)) == ["Reads on Hive 4.0.1", "Reads on Hive 4.0.1 with other writers"]
