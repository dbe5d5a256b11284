"""The small tables show Hive's rows, and no longer do with a fault planted in the adapter."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from integration.support.differential import Differential, canonical
from integration.support.faults import FAULTS, noticed_by_unit_tests
from integration.support.tables import SMALL_TABLES


@pytest.mark.parametrize("table", SMALL_TABLES)
def test_rows_are_hives(differential: Differential, small_tables: str, table: str) -> None:
    differential.check(f"{small_tables}.{table}")


@pytest.mark.parametrize(
    "fault", [name for name, fault in FAULTS.items() if fault.noticed_by in SMALL_TABLES]
)
def test_a_fault_in_the_reader_is_noticed(
    differential: Differential,
    small_tables: str,
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
) -> None:
    table = f"{small_tables}.{FAULTS[fault].noticed_by}"
    FAULTS[fault].plant(monkeypatch)
    rows = differential.read(table).rows
    monkeypatch.undo()
    # What `test_rows_are_hives` asserts to be equal.
    assert canonical(rows) != canonical(differential.client.query(f"SELECT * FROM {table}"))


Outcomes = dict[str, tuple[int, str]]


@pytest.fixture(scope="module")
def outcomes() -> Outcomes:
    """Exit code and output of pytest by fault; those without a fault have an empty name.

    The faults that a functional test must notice are planted by `tests/functional/test_faults.py`.
    """
    command = [sys.executable, "-m", "integration.support.faults"]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    outcomes: Outcomes = json.loads(done.stdout)
    return outcomes


def test_without_a_fault_the_unit_tests_pass(outcomes: Outcomes) -> None:
    code, output = outcomes[""]
    assert code == pytest.ExitCode.OK, output


@pytest.mark.parametrize("fault", noticed_by_unit_tests())
def test_a_unit_test_notices_a_fault(outcomes: Outcomes, fault: str) -> None:
    code, output = outcomes[fault]
    assert code == pytest.ExitCode.TESTS_FAILED, output
    assert "1 failed" in output


def test_every_fault_has_a_kind_of_test_that_is_run() -> None:
    tests = {fault.noticed_by for fault in FAULTS.values()}
    assert all(
        test in SMALL_TABLES or test.startswith(("tests/unit/", "tests/functional/"))
        for test in tests
    )
