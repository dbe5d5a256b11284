"""The locked jars of the Hives of the tests."""

from pathlib import Path

import pytest

LOCKS = Path(__file__).parents[3] / "integration" / "support" / "hive"


@pytest.mark.parametrize("version", ["3.1.3", "4.0.1"])
def test_the_schema_tool_finds_its_shell(version):
    """The tool runs once on a machine: no other test would miss a jar of it afterwards."""
    lock = (LOCKS / f"hive-{version}.lock").read_text(encoding="utf-8")
    found = {line.partition(":")[0] for line in lock.splitlines()}
    assert {"sqlline", "jline"} <= found
