"""The library where dbt is not installed: its door opens, and its tests of no JVM pass."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from integration.support.dbt_process import WITHOUT_DBT

ROOT = Path(__file__).parent.parent.parent


def run_without_dbt(program: str) -> str:
    """Run a program in a Python that has no dbt; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT_DBT + program],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_dbt_is_refused() -> None:
    assert "refused by a test" in run_without_dbt(
        "try:\n    import dbt.adapters.hiveacid\nexcept ImportError as error:\n    print(error)"
    )


def test_every_module_of_the_library_is_imported() -> None:
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in sorted((ROOT / "hiveacid").rglob("*.py"))
    ]
    assert "hiveacid.api" in modules
    imports = "".join(f"import {module}\n" for module in modules)
    assert run_without_dbt(f"{imports}print(hiveacid.__version__)").strip()


def test_the_tests_of_the_door_pass() -> None:
    """Without the top-level conftest, which is dbt's."""
    directory = "tests/unit/snapshots"
    arguments = ["-q", "-p", "no:cacheprovider", f"--confcutdir={directory}", directory]
    program = f"import pytest\nsys.exit(pytest.main({arguments!r}))"
    assert " passed" in run_without_dbt(program)
