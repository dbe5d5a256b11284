"""The page on tests by line of Spark."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from pathlib import Path

import pytest

from tools import spark_results

REPORT = """<testsuites><testsuite>
<testcase file="integration/test_names.py" name="a"/>
<testcase file="integration/test_names.py" name="b"><skipped message="why"/></testcase>
<testcase file="integration/test_names.py" name="c"><failure/></testcase>
<testcase file="integration/test_names.py" name="d"><error/></testcase>
<testcase file="tests/unit/acid/test_bucket.py" name="a"/>
<testcase file="tests/unit/test_docs.py" name="a"/>
</testsuite></testsuites>"""


def test_a_report_is_counted_by_file(tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text(REPORT)
    assert spark_results.results_of(tmp_path / "report.xml") == {
        "integration/test_names.py": "1, 2 failed, 1 skipped",
        "tests/unit": "2",
    }


def test_a_run_replaces_its_own_results_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    monkeypatch.setattr(spark_results, "DOCUMENT", page)
    spark_results.write("4.3.0", {"a.py": "1", "gone.py": "1"}, dt.date(2026, 1, 1))
    spark_results.write("3.5.9", {"a.py": "2, 1 skipped"}, dt.date(2026, 1, 2))
    spark_results.write("4.3.0", {"a.py": "3", "b.py": "4"}, dt.date(2026, 1, 3))
    assert page.read_text().partition("| tests")[2].splitlines() == [
        " | 3.5.9 | 4.3.0 |",
        "| --- | --- | --- |",
        "| run on | 2026-01-02 | 2026-01-03 |",
        "| `a.py` | 2, 1 skipped | 3 |",
        "| `b.py` | - | 4 |",
    ]
    assert spark_results.rendered(spark_results.parsed(page.read_text())) == page.read_text()


def test_the_page_is_as_the_tool_writes_it() -> None:
    text = spark_results.DOCUMENT.read_text(encoding="utf-8")
    assert spark_results.rendered(spark_results.parsed(text)) == text


def test_cells_are_added_up() -> None:
    cells = ["2", "1, 2 failed, 1 skipped", spark_results.CRASHED]
    total = sum(map(spark_results.counts_in, cells), Counter[str]())
    assert total == {"passed": 3, "failed": 3, "skipped": 1}
