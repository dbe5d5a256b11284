"""The two distributions: what each has, what each needs, and that they are of one version."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import hiveacid
from dbt.adapters.hiveacid.__version__ import version
from tools import bootstrap, support_matrix

ROOT = Path(__file__).parents[2]
NAMES = ("hiveacid", "dbt-hiveacid")


def build(project: Path, directory: Path) -> tuple[set[str], Message]:
    """Build a distribution from its sources, and the wheel from what they were packed into.

    Return the files of the wheel, and its metadata. The environment has the build's own needs.
    """
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(directory)]
    done = subprocess.run([*command, str(project)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = directory.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        files = set(archive.namelist())
        (name,) = (file for file in files if file.endswith(".dist-info/METADATA"))
        return files, Parser().parsestr(archive.read(name).decode("utf-8"))


def requirements(described: Message) -> list[Requirement]:
    """Return what a distribution requires, by its metadata."""
    return [Requirement(text) for text in described.get_all("Requires-Dist")]


def files_of(*packages: str) -> set[str]:
    """Return the files that a wheel must have of packages."""
    kinds = {".py", ".typed", ".lock", ".xml", ".sql", ".yml"}
    return {
        str(path.relative_to(ROOT))
        for package in packages
        for path in (ROOT / package).rglob("*")
        if path.suffix in kinds
    }


def test_the_library_is_built_without_dbt(tmp_path: Path) -> None:
    files, described = build(ROOT / "hiveacid", tmp_path)
    info = f"hiveacid-{hiveacid.__version__}.dist-info"
    assert {file for file in files if not file.startswith(info)} == files_of("hiveacid")
    assert f"{info}/licenses/LICENSE" in files
    assert described["Version"] == hiveacid.__version__
    needed = requirements(described)
    assert {it.name for it in needed if it.marker is None} == {
        *("hmsclient", "pyspark", "tenacity", "thrift", "xxhash"),
    }
    assert [(it.name, str(it.marker)) for it in needed if it.marker is not None] == [
        ("sqlglot", 'extra == "views"')
    ]
    text = (ROOT / "hiveacid" / "README.md").read_text(encoding="utf-8")
    assert described.get_payload() == text


def test_the_adapter_is_built_without_the_library(tmp_path: Path) -> None:
    files, described = build(ROOT, tmp_path)
    packages = ("dbt/adapters/hiveacid", "dbt/include/hiveacid")
    info = f"dbt_hiveacid-{version}.dist-info"
    assert {file for file in files if not file.startswith(info)} == files_of(*packages)
    assert f"{info}/licenses/LICENSE" in files
    assert described["Version"] == hiveacid.__version__
    (library,) = (it for it in requirements(described) if it.name == "hiveacid")
    # With what reads Hive views: only the metastore knows which source is one.
    assert str(library) == f"hiveacid[views]=={hiveacid.__version__}"
    (sources,) = tmp_path.glob("*.tar.gz")
    root = f"dbt_hiveacid-{version}"
    with tarfile.open(sources) as archive:
        names = [name for name in archive.getnames() if name.startswith(f"{root}/hiveacid/")]
    assert names == [f"{root}/hiveacid/version.py"]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_installed_is_of_this_version(name: str) -> None:
    assert metadata.version(name) == hiveacid.__version__ == version, "run `make setup`"


@pytest.mark.parametrize("name", NAMES)
def test_both_allow_the_pythons_of_the_support_matrix(name: str) -> None:
    pythons = [line.name for line in support_matrix.PYTHONS]
    described = metadata.metadata(name)
    shown = re.compile(r"Programming Language :: Python :: (3\.\d+)")
    classifiers = map(shown.fullmatch, described.get_all("Classifier") or ())
    assert [found[1] for found in classifiers if found] == pythons
    allowed = SpecifierSet(described["Requires-Python"])
    first, last = int(pythons[0].split(".")[1]), int(pythons[-1].split(".")[1])
    minors = [f"3.{minor}" for minor in range(first - 1, last + 2)]
    assert [minor for minor in minors if f"{minor}.1" in allowed] == pythons


def test_the_set_up_takes_the_pythons_of_the_support_matrix() -> None:
    pythons = {line.name for line in support_matrix.PYTHONS}
    assert {f"{major}.{minor}" for major, minor in bootstrap.SUPPORTED} == pythons


def test_the_library_has_the_projects_license() -> None:
    texts = {(ROOT / path).read_bytes() for path in ("LICENSE", "hiveacid/LICENSE")}
    assert len(texts) == 1


def test_the_documents_name_a_dbt_core_that_the_package_index_alone_installs() -> None:
    """Any other 1.12 needs GitHub."""
    text = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    named = set(re.findall(r'"(dbt-core\S*==[^*"]+)"', text))
    assert len(named) == 2
    assert {f'{pin}; python_version >= "3.14"' for pin in named} <= set(pins)
