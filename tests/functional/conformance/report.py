"""docs/conformance.md, from a complete run of the suites in this directory."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import pytest

from tests.functional.conformance.suites import (
    FORMATS,
    HERE,
    NOT_INHERITED,
    format_of,
    inherited_class,
    left_out,
    overridden_helpers,
    overridden_tests,
)

PAGE = HERE.parents[2] / "docs" / "conformance.md"

_PROPERTY = "conformance"


@dataclass(frozen=True)
class Result:
    """How one test ended."""

    base: str
    file_format: str
    test: str
    outcome: str
    reason: str = ""
    overridden: str = ""
    helpers: Mapping[str, str] = field(default_factory=dict)


class ConformanceReport:
    """Collects the results where pytest's workers send them."""

    def __init__(self) -> None:
        self._results: dict[str, Result] = {}
        self._began = time.monotonic()

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
            seconds = time.monotonic() - self._began
            PAGE.write_text(page(self._results.values(), seconds), encoding="utf-8")


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
    return {
        "base": base,
        "file_format": format_of(cls),
        "overridden": overridden_tests(cls).get(test, ""),
        "helpers": overridden_helpers(cls),
    }


def page(results: Iterable[Result], seconds: float) -> str:
    """The document. `seconds` is how long the run took."""
    results = sorted(results, key=lambda result: (result.base, result.test))
    return "\n".join([*_summary(results, seconds), *_tables(results), *_exceptions(results), ""])


def _summary(results: list[Result], seconds: float) -> Iterator[str]:
    counts = _counted(results)
    classes = len({result.base for result in results})
    yield "# Conformance"
    yield ""
    yield (
        f"dbt's own tests for adapters (dbt-tests-adapter {version('dbt-tests-adapter')}), "
        "inherited class by class in `tests/functional/conformance`. `make conformance` runs them "
        "on a local Spark and writes this page. Fixtures (seeds, models, YAML) and the tests' own "
        "SQL are translated from Postgres'."
    )
    yield ""
    yield (
        f"{len(results)} tests of {classes} classes: {counts}. The run took "
        f"{seconds / 60:.0f} minutes."
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
    by_class: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        by_class[result.base.partition(".")[0], result.base.rpartition(".")[2]].append(result)
    rows: dict[tuple[str, str], dict[str, list[Result]]] = defaultdict(dict)
    for (area, name), own in by_class.items():
        ran_on = {result.file_format for result in own}
        rows[area, ", ".join(f for f in FORMATS if f in ran_on)][name] = own
    yield ""
    yield "## What ran on which format"
    yield ""
    yield "| | formats | tests | classes |"
    yield "|---|---|---|---|"
    for (area, formats), classes in sorted(rows.items()):
        outcomes = _counted(result for own in classes.values() for result in own)
        yield f"| {area} | {formats} | {outcomes} | {', '.join(map(_code, sorted(classes)))} |"


def _counted(results: Iterable[Result]) -> str:
    outcomes = Counter(result.outcome for result in results)
    return ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))


def _exceptions(results: list[Result]) -> Iterator[str]:
    tests = {(r.base, r.test.partition("[")[0], r.overridden) for r in results}
    helpers = {(r.base, name, reason) for r in results for name, reason in r.helpers.items()}
    failed = {(r.base, r.test, r.file_format) for r in results if r.outcome == "failed"}
    if failed:
        yield from _list("Failed", failed)
    yield from _list("Replaced tests", tests)
    yield from _list("Replaced helpers of tests", helpers)
    yield from _list("Skipped", {(r.base, r.test, r.reason) for r in results})
    yield from _list("Not inherited", {(name, "", why) for name, why in NOT_INHERITED.items()})


def _list(title: str, entries: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """Yield a section with a line for each reason: a class and a test of it, or a class alone."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for base, test, reason in sorted(entries):
        if reason:
            name = f"{base.rpartition('.')[2]}.{test}" if test else base
            by_reason[" ".join(reason.split())].append(name)
    yield ""
    yield f"## {title}"
    yield ""
    for reason, names in by_reason.items():
        yield f"- {', '.join(map(_code, names))}: {reason}"


def _code(name: str) -> str:
    return f"`{name}`"
