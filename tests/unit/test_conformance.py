"""Nothing of dbt's suites is left out, what is replaced says why, the page lists what runs."""

from __future__ import annotations

import re

import pytest

from integration.support.dbt_project import HAS_FUNCTIONS
from tests.functional.conformance import report, suites

pytestmark = pytest.mark.skipif(
    not HAS_FUNCTIONS, reason="the page and the reasons are those of all of dbt's suites"
)
CLASSES = suites.classes() if HAS_FUNCTIONS else []
_OF_ANY_CLASS = {"__module__", "__doc__", "__firstlineno__", "__static_attributes__", "pytestmark"}
_ROW = re.compile(r"^\| (\w+) \| ([\w, ]+) \| [^|]* \| (`.*`) \|$", re.MULTILINE)


def test_every_class_of_dbts_is_inherited_or_has_a_reason():
    inherited = {suites.inherited_class(cls) for cls in CLASSES}
    assert not suites.left_out(name for name in inherited if name is not None)


def test_no_class_of_dbts_runs_twice_in_the_same_way():
    plain = [cls.__bases__ for cls in CLASSES if not set(vars(cls)) - _OF_ANY_CLASS]
    assert len(plain) == len(set(plain))


def test_what_is_replaced_says_why():
    silent = [
        f"{cls.__name__}.{name}"
        for cls in CLASSES
        for overridden in (suites.overridden_tests(cls), suites.overridden_helpers(cls))
        for name, reason in overridden.items()
        if not reason
    ]
    assert not silent


def test_a_replaced_test_is_listed_unless_it_is_skipped():
    names = {name for cls in CLASSES for name in suites.overridden_tests(cls)}
    assert "test_relation_types_populate_correctly" in names
    assert "test_simple_copy_with_materialized_views" not in names
    assert "test_seed_empty_preserves_column_types" not in names


def test_a_replaced_helper_is_listed_and_a_fixture_is_not():
    helpers = {name for cls in CLASSES for name in suites.overridden_helpers(cls)}
    assert {"check_hooks", "run_and_inspect_cache", "check_function_volatility"} <= helpers
    assert not {"models", "seeds", "project_config_update"} & helpers


def test_a_reason_belongs_to_a_class_of_dbts():
    names = suites.classes_of_dbt()
    for key in suites.NOT_INHERITED:
        assert any(name == key or name.startswith(f"{key}.") for name in names), key


def test_the_page_lists_the_classes_and_formats_that_run():
    inherited = [(suites.inherited_class(cls), suites.format_of(cls)) for cls in CLASSES]
    run = {
        (base.partition(".")[0], base.rpartition(".")[2], file_format)
        for base, file_format in inherited
        if base is not None
    }
    assert _listed(report.PAGE.read_text(encoding="utf-8")) == run


def test_the_page_says_what_ran_and_how_long():
    base = "utils.test_concat.BaseConcat"
    results = [
        report.Result(base, "Parquet", "test_a[1]", "passed", overridden="Spark's\n  way."),
        report.Result(base, "Parquet", "test_a[2]", "passed", overridden="Spark's\n  way."),
        report.Result(base, "Delta", "test_b", "skipped", "Cannot.", helpers={"look": "Its own."}),
    ]
    page = report.page(results, seconds=754)
    assert "3 tests of 1 classes: 2 passed, 1 skipped. The run took 13 minutes." in page
    assert _listed(page) == {("utils", "BaseConcat", "Parquet"), ("utils", "BaseConcat", "Delta")}
    assert page.count("- `BaseConcat.test_a`: Spark's way.") == 1
    assert "- `BaseConcat.look`: Its own." in page
    assert "- `BaseConcat.test_b`: Cannot." in page


def test_a_reason_is_said_once() -> None:
    results = [
        report.Result(f"hooks.{name}", "Delta", "test_a", "passed", helpers={"look": "Spark's."})
        for name in ("BaseFirst", "BaseSecond")
    ]
    page = report.page(results, seconds=60)
    assert "- `BaseFirst.look`, `BaseSecond.look`: Spark's." in page


def test_classes_of_an_area_share_a_row_if_they_ran_on_the_same_formats() -> None:
    results = [
        report.Result("hooks.BaseFirst", "Delta", "test_a", "passed"),
        report.Result("hooks.BaseSecond", "Delta", "test_a", "failed"),
        report.Result("hooks.BaseThird", "Parquet", "test_a", "passed"),
        report.Result("hooks.BaseThird", "Delta", "test_a", "passed"),
    ]
    page = report.page(results, seconds=60)
    assert "| hooks | Delta | 1 failed, 1 passed | `BaseFirst`, `BaseSecond` |" in page
    assert "| hooks | Parquet, Delta | 2 passed | `BaseThird` |" in page
    assert "## Failed\n\n- `BaseSecond.test_a`: Delta\n" in page


def _listed(page: str) -> set[tuple[str, str, str]]:
    """Return the area, class and format of each class that the page lists."""
    return {
        (area, name, file_format)
        for area, formats, names in _ROW.findall(page)
        for file_format in formats.split(", ")
        for name in re.findall(r"`(\w+)`", names)
    }
