"""Write the tables of supported versions into docs/install.md. `make reference` runs it.

hiveacid/spark_versions.py has what runs on which Spark, docs/spark-lines.md has what has passed.
The lines of dbt-core and Python are in this module.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import astuple, dataclass
from pathlib import Path

from hiveacid.spark_versions import ALL_TESTS, LINES, SparkVersion
from tools import spark_results

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "install.md"
BEGIN = "<!-- Written by tools/support_matrix.py (`make reference`); change it there. -->"
END = "<!-- End of what tools/support_matrix.py writes. -->"

NOT_TESTED = "not tested"

_SELECTION = "[a selection](../CONTRIBUTING.md#tests)"

DBT_CORES = {"1.10": _SELECTION, "1.11": ALL_TESTS, "1.12": _SELECTION}
"""Lines of dbt-core, and the tests that run on them."""


@dataclass(frozen=True)
class PythonLine:
    """A version of Python that both distributions allow.

    Attributes:
        tests: what has run on it, on the PySpark of the development.
        dbt_core: the lines of dbt-core that run on it.
        pyspark: the lines of PySpark that run on it.
        forbids: what forbids the others.
    """

    name: str
    tests: str
    dbt_core: str
    pyspark: str
    forbids: str


_UNIT_TESTS = "unit tests"
_WITH_HIVE = "unit tests, and the library with a real Hive"
_NEWEST_SPARK = "PySpark 4.3 requires Python 3.11"
_DISTUTILS = "nothing; PySpark 3.5 needs setuptools next to it to use pandas"
_OLDEST_DBT = "dbt-core 1.10 and 1.11 require a mashumaro before 3.15, which fails on 3.14"
_OLDEST_SPARK = "PySpark 3.5 cannot send functions to its workers (its cloudpickle fails)"

PYTHONS = (
    PythonLine("3.10", _UNIT_TESTS, "1.10 to 1.12", "3.5 to 4.2", _NEWEST_SPARK),
    PythonLine("3.11", ALL_TESTS, "1.10 to 1.12", "3.5 to 4.3", "nothing"),
    PythonLine("3.12", _UNIT_TESTS, "1.10 to 1.12", "3.5 to 4.3", _DISTUTILS),
    PythonLine("3.13", _WITH_HIVE, "1.10 to 1.12", "3.5 to 4.3", _DISTUTILS),
    PythonLine("3.14", _WITH_HIVE, "1.12", "4.0 to 4.3", f"{_OLDEST_DBT}; {_OLDEST_SPARK}"),
)


def matrix() -> str:
    """Return the tables, as docs/install.md has them between two marks."""
    spark = _table(
        (
            "PySpark",
            "What has passed",
            "Delta",
            "Iceberg",
            "Java",
            "Client of Hive 3.1",
            "Client of Hive 4",
        ),
        [_row(line) for line in LINES],
    )
    dbt = _table(("dbt-core", "Tests"), list(DBT_CORES.items()))
    python = _table(
        ("Python", "Tests", "dbt-core", "PySpark", "What forbids others"),
        [astuple(line) for line in PYTHONS],
    )
    return f"{BEGIN}\n\n{spark}\n\n{dbt}\n\n{python}\n\n{END}"


def write() -> None:
    """Put the tables into the document."""
    DOCUMENT.write_text(with_matrix(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")


def with_matrix(text: str) -> str:
    """Return the text of the document with the tables as they are now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{matrix()}{after}"


def _row(line: SparkVersion) -> tuple[str, ...]:
    by = "path" if line.hive_4_client == "3.1.3" else "maven or path"
    return (
        f"{line.name} ({line.tested})",
        _passed(line),
        _code(line.delta),
        _code(line.iceberg),
        ", ".join(map(str, line.java)),
        "built in, or 3.1.3 by path",
        f"{line.hive_4_client} by {by}",
    )


def _passed(line: SparkVersion) -> str:
    """Return how many tests that start Spark have passed on a line, by the page on their runs."""
    if line.tests == ALL_TESTS:
        return ALL_TESTS
    text = spark_results.DOCUMENT.read_text(encoding="utf-8")
    cells = {
        file: by_version[line.tested]
        for file, by_version in spark_results.parsed(text).items()
        if line.tested in by_version
    }
    if not cells:
        return NOT_TESTED
    day = cells.pop(spark_results.RAN_ON)
    cells.pop(spark_results.UNIT_TESTS, None)
    counts = sum((spark_results.counts_in(cell) for cell in cells.values()), Counter[str]())
    failed = f", {counts['failed']} failed" if counts["failed"] else ""
    which = f"[which]({spark_results.DOCUMENT.name})"
    return f"{counts['passed']} tests with Spark on {day} ({which}){failed}"


def _code(text: str | None) -> str:
    return NOT_TESTED if text is None else f"`{text}`"


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


if __name__ == "__main__":
    write()
