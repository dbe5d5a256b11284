"""The small tables show Hive's rows, and no longer do with a fault planted in the adapter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from integration.differential import Differential, canonical
from integration.faults import FAULT_VARIABLE, FAULTS
from integration.small_tables import TABLES


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


@pytest.mark.parametrize(
    "fault", [name for name, fault in FAULTS.items() if fault.noticed_by not in TABLES]
)
def test_a_fault_elsewhere_is_noticed(fault: str) -> None:
    test = FAULTS[fault].noticed_by
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", test]
    root = Path(__file__).parents[1]
    right = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert right.returncode == 0, right.stdout
    wrong = subprocess.run(
        [*command, "-p", "integration.faults"],
        cwd=root,
        env={**os.environ, FAULT_VARIABLE: fault},
        capture_output=True,
        text=True,
    )
    assert wrong.returncode == pytest.ExitCode.TESTS_FAILED, wrong.stdout
    assert "1 failed" in wrong.stdout
