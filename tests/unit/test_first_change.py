"""The example of "Your first change" in CONTRIBUTING.md can be followed as it stands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.test_docs import ROOT, blocks

TEST, CHANGE = (block.text for block in blocks("diff"))

# A pytest that has the module of a changed file in place of the project's own.
_PROGRAM = """
import importlib.util, sys, pytest
name, module, test = sys.argv[1:]
spec = importlib.util.spec_from_file_location(name, module)
sys.modules[name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules[name])
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", ".", test]))
"""


@pytest.mark.parametrize(
    ("diffs", "outcome"),
    [
        ((TEST,), pytest.ExitCode.TESTS_FAILED),
        ((TEST, CHANGE), pytest.ExitCode.OK),
    ],
    ids=["the test fails", "the change lets it pass"],
)
def test_the_first_change(diffs: tuple[str, ...], outcome: pytest.ExitCode, tmp_path: Path) -> None:
    paths = [text.splitlines()[0].removeprefix("--- a/") for text in (TEST, CHANGE)]
    for path in paths:
        copy = tmp_path / path
        copy.parent.mkdir(parents=True)
        copy.write_text((ROOT / path).read_text(encoding="utf-8"), encoding="utf-8")
    for diff in diffs:
        subprocess.run(["git", "apply"], input=diff, text=True, cwd=tmp_path, check=True)
    test, module = paths
    name = module.removesuffix(".py").replace("/", ".")
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, name, module, test],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == outcome, done.stdout + done.stderr
