"""The documents say what is so: code blocks, links, the profile, the reference."""

from __future__ import annotations

import itertools
import re
import shlex
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from dbt.adapters.hiveacid.credentials import HiveAcidCredentials
from dbt.adapters.hiveacid.options import declared_options, option, parse_bool
from hiveacid.metastore.connection import parse_addresses
from integration.support import delta, iceberg
from integration.support.hive.artifacts import read_lock
from integration.support.lake_settings import PACKAGES, example_settings
from tools.configuration_reference import PROFILES, REFERENCE, options_table, reference

ROOT = Path(__file__).parent.parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = [
    path
    for path in sorted((ROOT / "examples").rglob("*"))
    if path.suffix in (".sql", ".yml", ".py") and not {"target", "logs"} & set(path.parts)
]

_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced code block of a document."""

    document: Path
    language: str
    text: str

    def __str__(self) -> str:
        first = self.text.splitlines()[0]
        return f"{self.document.relative_to(ROOT)}: {self.language}: {first}"


def blocks(*languages: str) -> list[Block]:
    """The code blocks in these languages."""
    return [
        Block(document, language, textwrap.dedent(text))
        for document in DOCUMENTS
        for _, language, text in _FENCE.findall(document.read_text(encoding="utf-8"))
        if language in languages
    ]


def is_excerpt(block: str, text: str) -> bool:
    """Whether a block is a run of lines of a text, but for the indentation of the whole."""
    wanted, lines = block.splitlines(), text.splitlines()
    windows = (lines[i : i + len(wanted)] for i in range(len(lines) - len(wanted) + 1))
    return any(textwrap.dedent("\n".join(window)).splitlines() == wanted for window in windows)


def test_every_block_has_a_language_that_is_checked() -> None:
    languages = ("sql", "yaml", "python", "sh", "mermaid")
    every = sum(len(_FENCE.findall(d.read_text(encoding="utf-8"))) for d in DOCUMENTS)
    assert len(blocks(*languages)) == every
    assert blocks("sql") and blocks("yaml") and blocks("sh")


@pytest.mark.parametrize("block", blocks("sql", "yaml", "python"), ids=str)
def test_a_code_block_is_part_of_an_example_that_runs(block: Block) -> None:
    assert any(is_excerpt(block.text, path.read_text(encoding="utf-8")) for path in EXAMPLES)


def test_an_excerpt_keeps_lines_and_relative_indentation() -> None:
    text = "a:\n  b:\n    c: 1\n  d: 2\n"
    assert is_excerpt("b:\n  c: 1\n", text)
    assert not is_excerpt("b:\nc: 1\n", text)
    assert not is_excerpt("b:\n  c: 2\n", text)
    assert not is_excerpt("a:\n  d: 2\n", text)


def commands() -> list[str]:
    """Every command that the documents show."""
    return sorted({line for block in blocks("sh") for line in block.text.splitlines()})


@pytest.mark.parametrize("command", commands())
def test_a_command_exists(command: str) -> None:
    program, *arguments = shlex.split(command)
    if program == "make":
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        (target,) = arguments
        assert re.search(rf"^{target}:.*## ", makefile, re.MULTILINE)
    else:
        assert Path(program).name == "python" and arguments[0] == "-m", "a command of this project"
        words = itertools.takewhile(lambda word: not word.startswith("-"), arguments[1:])
        done = subprocess.run(
            [sys.executable, "-m", *words, "--help"], cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr


def links() -> list[tuple[Path, str]]:
    """Every link of a document to another one or to a part of itself."""
    return [
        (document, target)
        for document in DOCUMENTS
        for target in _LINK.findall(document.read_text(encoding="utf-8"))
        if not re.match(r"https?://", target)
    ]


@pytest.mark.parametrize(
    ("document", "target"), links(), ids=lambda value: getattr(value, "name", value)
)
def test_a_link_leads_somewhere(document: Path, target: str) -> None:
    path, _, anchor = target.partition("#")
    linked = document.parent / path if path else document
    assert linked.exists()
    if anchor:
        headings = _HEADING.findall(linked.read_text(encoding="utf-8"))
        assert anchor in {slug(heading) for heading in headings}


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")


def targets() -> list[tuple[str, dict[str, Any]]]:
    """The targets of the example profiles."""
    profiles = yaml.safe_load(PROFILES.read_text(encoding="utf-8"))
    return [item for profile in profiles.values() for item in profile["outputs"].items()]


@pytest.mark.parametrize(("name", "target"), targets())
def test_the_example_profiles_are_valid(name: str, target: dict[str, Any]) -> None:
    # dbt takes these two away before it asks the adapter.
    keys = {key: value for key, value in target.items() if key not in ("type", "threads")}
    assert target["type"] == "hiveacid"
    HiveAcidCredentials.validate(keys)
    credentials = HiveAcidCredentials.from_dict(keys)
    assert parse_addresses(credentials.metastore_uri)


def test_the_reference_is_up_to_date() -> None:
    assert REFERENCE.read_text(encoding="utf-8") == reference(), "run `make reference`"


def test_a_declared_option_gets_into_the_reference() -> None:
    @dataclass(frozen=True)
    class Options:
        """Options that a later release may have."""

        read_deletes: bool = option("Show deleted rows.", parse_bool, default=True)

    row = options_table(declared_options(Options)).splitlines()[-1]
    assert row == "| `read_deletes` | `true` |  | Show deleted rows. |"


@pytest.mark.parametrize(
    ("example", "lock"), [("lake", iceberg.LOCK_FILE), ("delta", delta.LOCK_FILE)]
)
def test_the_documents_name_the_jars_that_are_tested(example: str, lock: Path) -> None:
    named = example_settings(example)[PACKAGES]
    assert named in {f"{jar.organisation}:{jar.name}:{jar.revision}" for jar in read_lock(lock)}
    assert named in (ROOT / "docs" / "install.md").read_text(encoding="utf-8")


def test_the_documents_name_the_pyspark_that_is_tested() -> None:
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    tested = re.search(r"^pyspark==(\d+\.\d+)", constraints, re.MULTILINE)
    assert tested and f'"pyspark=={tested[1]}.*"' in (ROOT / "README.md").read_text("utf-8")
