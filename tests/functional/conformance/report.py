"""docs/conformance.md, from a complete run of the suites in this directory."""

from __future__ import annotations

import importlib
import inspect
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dbt.tests.adapter
import pytest

HERE = Path(__file__).parent
PAGE = HERE.parents[2] / "docs" / "conformance.md"
FORMATS = ("Parquet", "Delta", "Iceberg")

_NO_PYTHON = "Spark's catalogs keep no Python functions."

NOT_INHERITED: Mapping[str, str] = {
    "basic.test_get_catalog_for_single_relation": "dbt-core 1.11 does not ask adapters for it.",
    "functions.test_js_udfs": "Spark runs no JavaScript.",
    "functions.test_udafs": "Spark's catalogs keep no aggregate functions in SQL or Python.",
    "functions.test_udfs.PythonUDFDefaultArgSupport": _NO_PYTHON,
    "functions.test_udfs.PythonUDFSupported": _NO_PYTHON,
    "functions.test_udfs.PythonUDFVolatilitySupport": _NO_PYTHON,
    "functions.test_udfs.PythonUDFWithPackagesSupported": _NO_PYTHON,
    "materialized_view": "Spark has no materialized views.",
    "utils.test_current_timestamp.BaseCurrentTimestampAware": (
        "An adapter takes this one or BaseCurrentTimestampNaive: Spark's timestamps have no zone."
    ),
    "utils.test_escape_single_quotes.BaseEscapeSingleQuotesQuote": (
        "An adapter takes this one or BaseEscapeSingleQuotesBackslash, which is Spark's way."
    ),
}
"""dbt's modules and classes that no class here inherits, and why."""

_PACKAGE = dbt.tests.adapter.__name__ + "."
_PROPERTY = "conformance"


@cache
def classes_of_dbt() -> dict[str, type]:
    """Every class with tests that dbt has for adapters, by module and name.

    Without those that only run another one for Postgres.
    """
    root = Path(next(iter(dbt.tests.adapter.__path__)))
    found = {}
    for path in sorted(root.rglob("*.py")):
        module = ".".join(path.relative_to(root).with_suffix("").parts)
        for name, cls in inspect.getmembers(importlib.import_module(_PACKAGE + module)):
            if inspect.isclass(cls) and cls.__module__ == _PACKAGE + module and _tests(cls):
                if not (name.startswith("Test") and any(map(_tests, cls.__mro__[1:]))):
                    found[f"{module}.{name}"] = cls
    return found


def inherited_class(cls: type) -> str | None:
    """Which of dbt's classes a class of ours takes its tests from."""
    for base in cls.__mro__:
        name = f"{base.__module__.removeprefix(_PACKAGE)}.{base.__name__}"
        if name in classes_of_dbt():
            return name
    return None


def left_out(inherited: Iterable[str]) -> list[str]:
    """The classes of dbt's that are missing without a reason among those inherited.

    A base of classes that are inherited is not missing.
    """
    classes = classes_of_dbt()
    ours = {classes[name] for name in inherited}
    return [
        name
        for name, cls in classes.items()
        if not any(issubclass(other, cls) for other in ours)
        and not any(name == key or name.startswith(f"{key}.") for key in NOT_INHERITED)
    ]


def overridden_tests(cls: type) -> dict[str, str]:
    """The tests of dbt's that a class replaces, and why: their docstrings. Skipped ones say why."""
    own = [base for base in cls.__mro__ if not base.__module__.startswith(_PACKAGE)]
    return {
        name: inspect.getdoc(method) or ""
        for base in own
        for name, method in vars(base).items()
        if name.startswith("test")
        and any(hasattr(b, name) for b in cls.__mro__ if b not in own)
        and not hasattr(method, "pytestmark")
    }


@dataclass(frozen=True)
class Result:
    """How one test ended."""

    base: str
    file_format: str
    test: str
    outcome: str
    reason: str = ""
    overridden: str = ""


class ConformanceReport:
    """Collects the results where pytest's workers send them."""

    def __init__(self) -> None:
        self._results: dict[str, Result] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the worst of a test's three phases."""
        properties = dict(report.user_properties)
        if _PROPERTY not in properties:
            return
        former = self._results.get(report.nodeid)
        if former is None or report.outcome != "passed":
            test = report.nodeid.rpartition("::")[2]
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
            self._results[report.nodeid] = Result(
                test=test,
                outcome=report.outcome,
                reason=reason.removeprefix("Skipped: "),
                **properties[_PROPERTY],
            )

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the page if every class has run, on every format."""
        ran = {result.base for result in self._results.values()}
        if ran and not left_out(ran) and not session.config.option.markexpr:
            PAGE.write_text(page(self._results.values()), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Where tests run in workers, they are reported to the process that started these."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(ConformanceReport(), "conformance")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let each test's reports say what it is."""
    for item in items:
        cls = getattr(item, "cls", None)
        if HERE not in item.path.parents or cls is None:
            continue
        base = inherited_class(cls)
        if base is not None:
            test = getattr(item, "originalname", item.name)
            item.user_properties.append((_PROPERTY, _properties(cls, base, test)))


def _properties(cls: type, base: str, test: str) -> dict[str, Any]:
    own = getattr(cls, "file_format", cls.__name__).lower()
    file_format = next((name for name in FORMATS if own.endswith(name.lower())), "Parquet")
    overridden = overridden_tests(cls).get(test, "")
    return {"base": base, "file_format": file_format, "overridden": overridden}


def page(results: Iterable[Result]) -> str:
    """The document."""
    results = sorted(results, key=lambda result: (result.base, result.test))
    return "\n".join([*_summary(results), *_tables(results), *_exceptions(results), ""])


def _summary(results: list[Result]) -> Iterator[str]:
    outcomes = Counter(result.outcome for result in results)
    counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
    classes = len({result.base for result in results})
    yield "# Conformance"
    yield ""
    yield (
        f"dbt's own tests for adapters (dbt-tests-adapter {version('dbt-tests-adapter')}), "
        "inherited class by class in `tests/functional/conformance`. `make conformance` runs them "
        "on a local Spark and writes this page; `make test` leaves out repetitions on other "
        "formats."
    )
    yield ""
    yield (
        f"{len(results)} tests of {classes} classes: {counts}. Fixtures (seeds, models, YAML) and "
        "the SQL that the tests send to the database themselves are Postgres'; they are put into "
        "Spark's form. Tests that are replaced or skipped are listed with the reason."
    )
    yield ""
    yield "| | tests | passed | skipped | failed |"
    yield "|---|---:|---:|---:|---:|"
    for file_format in FORMATS:
        own = Counter(r.outcome for r in results if r.file_format == file_format)
        if own:
            yield (
                f"| {file_format} | {own.total()} | {own['passed']} | {own['skipped']} "
                f"| {own['failed']} |"
            )


def _tables(results: list[Result]) -> Iterator[str]:
    by_area: dict[str, dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        by_area[result.base.partition(".")[0]][result.base.rpartition(".")[2]].append(result)
    yield ""
    yield "## What passes"
    yield ""
    yield "| | class | " + " | ".join(FORMATS) + " |"
    yield "|---|---|" + "---|" * len(FORMATS)
    for area, classes in by_area.items():
        for place, (name, own) in enumerate(classes.items()):
            cells = [_cell([r for r in own if r.file_format == f]) for f in FORMATS]
            yield f"| {'' if place else area} | `{name}` | " + " | ".join(cells) + " |"


def _cell(results: list[Result]) -> str:
    outcomes = Counter(result.outcome for result in results)
    return ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))


def _exceptions(results: list[Result]) -> Iterator[str]:
    yield from _list("Replaced tests", {(r.base, r.test, r.overridden) for r in results})
    yield from _list("Skipped", {(r.base, r.test, r.reason) for r in results})
    yield ""
    yield "## Not inherited"
    yield ""
    for name, reason in NOT_INHERITED.items():
        yield f"- `{name}`: {reason}"


def _list(title: str, entries: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    yield ""
    yield f"## {title}"
    yield ""
    for base, test, reason in sorted(entries):
        if reason:
            yield f"- `{base.rpartition('.')[2]}.{test}`: {' '.join(reason.split())}"


def _tests(cls: type) -> bool:
    return any(name.startswith("test") for name in dir(cls))
