"""dbt's classes with tests for adapters, and those of this directory that inherit them."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import dbt.tests.adapter

from integration.support.dbt_project import HAS_FUNCTIONS

HERE = Path(__file__).parent
FORMATS = ("Parquet", "Delta", "Iceberg")

_NO_PYTHON = "Spark's catalogs keep no Python functions."

NOT_INHERITED: Mapping[str, str] = {
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

UNKNOWN_FILES = [] if HAS_FUNCTIONS else ["test_functions.py"]
"""Files of this directory whose classes of dbt's this dbt-core cannot import."""

_PACKAGE = dbt.tests.adapter.__name__ + "."


@cache
def classes_of_dbt() -> dict[str, type]:
    """Every class with tests that dbt has for adapters, by module and name.

    Without those that only run another one for Postgres.
    """
    root = Path(next(iter(dbt.tests.adapter.__path__)))
    found = {}
    for path in sorted(root.rglob("*.py")):
        module = ".".join(path.relative_to(root).with_suffix("").parts)
        if module.startswith("functions.") and not HAS_FUNCTIONS:
            continue
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


def classes() -> list[type]:
    """The classes of this directory's modules; to collect them starts no Spark."""
    found = []
    for path in sorted(HERE.glob("test_*.py")):
        spec = importlib.util.spec_from_file_location(f"conformance_{path.stem}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found += [
            cls
            for name, cls in inspect.getmembers(module, inspect.isclass)
            if cls.__module__ == module.__name__ and name.startswith("Test")
        ]
    return found


def format_of(cls: type) -> str:
    """The format in which a class of ours has its tables."""
    own = getattr(cls, "file_format", cls.__name__).lower()
    return next((name for name in FORMATS if own.endswith(name.lower())), "Parquet")


def overridden_tests(cls: type) -> dict[str, str]:
    """The tests of dbt's that a class replaces, and why: their docstrings. Skipped ones say why."""
    return {
        name: inspect.getdoc(method) or ""
        for name, method in _overrides(cls)
        if name.startswith("test") and not _may_be_skipped(method)
    }


def overridden_helpers(cls: type) -> dict[str, str]:
    """What else of a class of dbt's is replaced, and why: methods that its tests call.

    Fixtures are none of them.
    """
    return {
        name: inspect.getdoc(method) or ""
        for name, method in _overrides(cls)
        if not name.startswith("test")
    }


def _overrides(cls: type) -> Iterable[tuple[str, Callable[..., Any]]]:
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        first, *others = [base for base in cls.__mro__ if name in vars(base)]
        if not _is_of_dbt(first) and any(map(_is_of_dbt, others)):
            yield name, method


def _is_of_dbt(cls: type) -> bool:
    return cls.__module__.startswith(_PACKAGE)


def _may_be_skipped(method: Callable[..., Any]) -> bool:
    marks = getattr(method, "pytestmark", [])
    return any(mark.name in ("skip", "skipif") for mark in marks)


def _tests(cls: type) -> bool:
    return any(name.startswith("test") for name in dir(cls))
