"""The small tables show Hive's rows, and no longer do with a fault planted in the adapter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from integration.support.differential import Differential, canonical
from integration.support.faults import FAULT_VARIABLE, FAULTS
from integration.support.small_tables import TABLES


@pytest.mark.parametrize("table", TABLES)
def test_rows_are_hives(differential: Differential, small_tables: str, table: str) -> None:
    differential.check(f"{small_tables}.{table}")


@pytest.mark.parametrize(
    "fault", [name for name, fault in FAULTS.items() if fault.noticed_by in TABLES]
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


ELSEWHERE = [name for name, fault in FAULTS.items() if fault.noticed_by not in TABLES]


def run(*tests: str, fault: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run tests in a process of their own, with a fault planted."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *tests]
    environment = dict(os.environ)
    if fault is not None:
        command += ["-p", "integration.support.faults"]
        environment[FAULT_VARIABLE] = fault
    root = Path(__file__).parents[1]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def right() -> None:
    """The tests that have to notice a fault pass without one."""
    outcome = run(*sorted({FAULTS[fault].noticed_by for fault in ELSEWHERE}))
    assert outcome.returncode == 0, outcome.stdout


@pytest.mark.usefixtures("right")
@pytest.mark.parametrize("fault", ELSEWHERE)
def test_a_fault_elsewhere_is_noticed(fault: str) -> None:
    wrong = run(FAULTS[fault].noticed_by, fault=fault)
    assert wrong.returncode == pytest.ExitCode.TESTS_FAILED, wrong.stdout
    assert "1 failed" in wrong.stdout
