"""What tools/dbt_line.py installs beside another release of dbt-core."""

import re
from pathlib import Path

import pytest

from tools import dbt_line


@pytest.fixture
def line(tmp_path: Path) -> Path:
    """A directory with one package, which requires what `requires` adds."""
    metadata = tmp_path / "some_package-1.0.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: some-package\nVersion: 1.0\n", "utf-8")
    return tmp_path


def requires(line: Path, *requirements: str) -> None:
    metadata = line / "some_package-1.0.dist-info" / "METADATA"
    lines = "".join(f"Requires-Dist: {requirement}\n" for requirement in requirements)
    metadata.write_text(metadata.read_text("utf-8") + lines, "utf-8")


def test_what_the_environment_has_is_not_missing(line):
    requires(line, "dbt-core>=1.10", "some-package", "absent>=1; extra == 'all'")
    assert list(dbt_line.find_missing(line)) == []


def test_another_version_than_the_environments_is_missing(line):
    requires(line, "pytest<2", "absent[fast]>=3,<4")
    assert list(dbt_line.find_missing(line)) == ["pytest<2", "absent<4,>=3"]


def test_a_missing_package_has_the_pinned_version_if_it_will_do(line, monkeypatch):
    monkeypatch.setattr(dbt_line, "read_pins", lambda: {"absent": "3.1", "other": "1.0"})
    requires(line, "absent>=3", "other>=2")
    assert list(dbt_line.find_missing(line)) == ["absent==3.1", "other>=2"]


def test_pins_are_those_of_the_constraints():
    assert dbt_line.read_pins()["metricflow"] == "0.213.0"


def test_the_experimental_parser_is_left_out(line):
    requires(line, "dbt-core-experimental-parser<3,>=2.0.0b1")
    assert list(dbt_line.find_missing(line)) == []


def test_every_file_of_a_cut_is_there():
    for cut in dbt_line.CUTS.values():
        for tests in cut:
            for test in tests:
                assert (dbt_line.ROOT / test.partition("::")[0]).exists(), test


def test_the_short_cut_has_every_directory_whose_tests_import_dbt():
    directories = [directory for directory in Path(__file__).parent.iterdir() if directory.is_dir()]
    importing = {
        directory.name
        for directory in directories
        for path in directory.rglob("*.py")
        if re.search(r"^\s*(import|from) dbt\b", path.read_text("utf-8"), re.MULTILINE)
    }
    assert importing == set(dbt_line.ADAPTER_TESTS)
