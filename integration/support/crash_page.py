"""The page docs/crash-points.md: a section for each test that kills processes."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "crash-points.md"
DBT, WRITES = "Runs of dbt", "Writes into Hive's tables"
"""Headings of the sections, in their order."""

_TITLE = "# Where a process was killed\n"


def with_section(page: str, heading: str, text: str) -> str:
    """Return the page with another text in a section; the other sections stay."""
    found = dict(part.split("\n", 1) for part in page.split("\n## ")[1:])
    found[heading] = f"\n{text.strip()}\n"
    sections = [f"\n## {name}\n{found[name].rstrip()}\n" for name in (DBT, WRITES) if name in found]
    return _TITLE + "".join(sections)


def write_section(heading: str, text: str) -> None:
    """Write a section of the page."""
    PAGE.write_text(with_section(PAGE.read_text("utf-8"), heading, text), "utf-8")
