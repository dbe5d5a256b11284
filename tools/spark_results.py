"""Results of the tests on other lines of Spark: docs/spark-lines.md. tools/spark_line.py writes it.

A run covers some lines. The page keeps the results of earlier runs for the other lines.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.etree import ElementTree

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "spark-lines.md"
RAN_ON = "run on"
CRASHED = "crashed"
UNIT_TESTS = "tests/unit"
HEAD = """# Tests by line of Spark

All tests run on the line of Spark that the project is developed on. `make spark` runs a cut of \
them on the others, and writes this page. A cell has how many tests have passed, and `-` where the \
file is not in the line's cut. A test that is skipped says why, such as a syntax that the line \
lacks.
"""

Results = Mapping[str, Mapping[str, str]]
"""Results of the tests by file, and for each file by release of Spark."""


def results_of(report: Path) -> dict[str, str]:
    """Return the results of the tests by file, from pytest's report in JUnit's format.

    The report has the files of the tests (`junit_family=xunit1`).
    """
    counts: dict[str, Counter[str]] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        outcomes = {child.tag for child in case}
        failed = bool(outcomes & {"failure", "error"})
        outcome = "failed" if failed else "skipped" if "skipped" in outcomes else "passed"
        file = _shown(case.attrib.get("file") or case.attrib.get("classname", "pytest"))
        counts.setdefault(file, Counter())[outcome] += 1
    return {file: _cell(count) for file, count in counts.items()}


def write(version: str, results: Mapping[str, str], today: dt.date) -> None:
    """Put the results of a release of Spark into the page, in place of its earlier ones."""
    text = DOCUMENT.read_text(encoding="utf-8") if DOCUMENT.exists() else ""
    known = {
        file: {v: cell for v, cell in cells.items() if v != version}
        for file, cells in parsed(text).items()
    }
    for file, cell in {RAN_ON: today.isoformat(), **results}.items():
        known.setdefault(file, {})[version] = cell
    DOCUMENT.write_text(rendered(known), encoding="utf-8")


def parsed(text: str) -> dict[str, dict[str, str]]:
    """Return the results in the text of the page."""
    rows = [_cells(line) for line in text.splitlines() if line.startswith("|")]
    if not rows:
        return {}
    (_, *versions), _, *others = rows
    return {
        file.strip("`"): {v: cell for v, cell in zip(versions, cells, strict=True) if cell != "-"}
        for file, *cells in others
    }


def rendered(results: Results) -> str:
    """Return the text of the page."""
    versions = sorted(
        {version for cells in results.values() for version in cells},
        key=lambda version: tuple(map(int, version.split("."))),
    )
    files = sorted(file for file, cells in results.items() if cells and file != RAN_ON)
    rows = [
        ("tests", *versions),
        ("---" for _ in ("tests", *versions)),
        *(
            (
                file if file == RAN_ON else f"`{file}`",
                *(results[file].get(v, "-") for v in versions),
            )
            for file in (RAN_ON, *files)
        ),
    ]
    return "\n".join([HEAD, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def counts_in(cell: str) -> Counter[str]:
    """Return how many tests of a cell have passed, failed and been skipped."""
    if cell == CRASHED:
        return Counter({"failed": 1})
    passed, *others = cell.split(", ")
    words = (other.split() for other in others)
    return Counter({"passed": int(passed), **{name: int(number) for number, name in words}})


def _shown(file: str) -> str:
    """Return the row of a file: all unit tests are one row."""
    return UNIT_TESTS if file.startswith(f"{UNIT_TESTS}/") else file


def _cell(count: Counter[str]) -> str:
    others = [f"{count[name]} {name}" for name in ("failed", "skipped") if count[name]]
    return ", ".join([str(count["passed"]), *others])


def _cells(line: str) -> Iterable[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]
