"""Nothing of dbt's suites is left out, and what is replaced says why."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Iterator
from types import ModuleType

from tests.functional.conformance import report


def _modules() -> Iterator[ModuleType]:
    for path in sorted(report.HERE.glob("test_*.py")):
        if path.name == "test_conformance.py":
            continue
        spec = importlib.util.spec_from_file_location(f"conformance_{path.stem}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module


CLASSES = [
    cls
    for module in _modules()
    for _, cls in inspect.getmembers(module, inspect.isclass)
    if cls.__module__ == module.__name__ and cls.__name__.startswith("Test")
]


def test_every_class_of_dbts_is_inherited_or_has_a_reason():
    inherited = {report.inherited_class(cls) for cls in CLASSES}
    assert not report.left_out(name for name in inherited if name is not None)


def test_a_replaced_test_says_why():
    silent = [
        f"{cls.__name__}.{test}"
        for cls in CLASSES
        for test, reason in report.overridden_tests(cls).items()
        if not reason
    ]
    assert not silent


def test_a_reason_belongs_to_a_class_of_dbts():
    names = report.classes_of_dbt()
    for key in report.NOT_INHERITED:
        assert any(name == key or name.startswith(f"{key}.") for name in names), key
