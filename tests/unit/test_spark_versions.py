"""The table of Spark's lines, and what says the same elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hiveacid.jars.artifacts import read_lock
from hiveacid.spark_versions import ALL_TESTS, LINES, refuse_older_sparks, version_of
from integration.support.spark_packages import delta_lock, iceberg_lock

ROOT = Path(__file__).parents[2]


def test_a_line_is_found_by_any_of_its_releases() -> None:
    assert version_of("3.5.9") is version_of("3.5.4-amzn-0") is LINES[0]
    assert version_of("4.1.4").tests == ALL_TESTS


def test_a_line_that_nobody_has_tried_takes_the_careful_way() -> None:
    line = version_of("5.0.1")
    assert (line.name, line.whole_schema, line.delta) == ("5.0", False, None)
    assert line.has_options_clause


@pytest.mark.parametrize("version", ["3.4.4", "3.3.2+cdp", "2.4.8"])
def test_older_sparks_are_refused(version: str) -> None:
    with pytest.raises(
        ImportError, match=f"does not run on PySpark {re.escape(version)}: .* 3.5.9"
    ):
        refuse_older_sparks(version)


def test_importing_the_library_refuses_an_older_spark(tmp_path: Path) -> None:
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "__init__.py").write_text('__version__ = "3.3.4"\n')
    for module in ("hiveacid", "dbt.adapters.hiveacid"):
        path = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]; import {module}"
        done = subprocess.run([sys.executable, "-c", path], capture_output=True, text=True)
        assert "ImportError: hiveacid does not run on PySpark 3.3.4" in done.stderr, module


def test_the_package_allows_these_lines() -> None:
    first, last = (tuple(map(int, line.name.split("."))) for line in (LINES[0], LINES[-1]))
    allowed = f'"pyspark>={first[0]}.{first[1]},<{last[0]}.{last[1] + 1}"'
    assert allowed in (ROOT / "hiveacid" / "pyproject.toml").read_text(encoding="utf-8")


def test_make_spark_runs_on_all_but_the_line_of_the_development() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (versions,) = re.findall(r"^SPARKS \?= (.*)$", makefile, re.MULTILINE)
    assert versions.split() == [line.tested for line in LINES if line.tests != ALL_TESTS]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.name)
def test_the_jars_that_are_tested_are_locked(line) -> None:
    for coordinate, lock in (
        (line.delta, delta_lock(line.tested)),
        (line.iceberg, iceberg_lock(line.tested)),
    ):
        assert (coordinate is None) == (lock is None)
        if lock is not None:
            assert coordinate in {artifact.coordinate for artifact in read_lock(lock)}
