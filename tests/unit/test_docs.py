"""Documents that stay true: code blocks, links, named files, decisions, quirks, the profile."""

from __future__ import annotations

import ast
import itertools
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from dbt.cli.main import cli

from dbt.adapters.hiveacid.credentials import HiveAcidCredentials
from dbt.adapters.hiveacid.options import declared_options, option, parse_bool
from hiveacid import __all__ as public_names
from hiveacid.jars.artifacts import read_lock
from hiveacid.metastore.connection import parse_addresses
from hiveacid.spark_versions import ALL_TESTS, LINES
from integration.support.spark_packages import (
    PACKAGES,
    delta_lock,
    example_settings,
    iceberg_lock,
)
from tools import api_reference, site_hooks, support_matrix
from tools.configuration_reference import PROFILES, REFERENCE, options_table, reference

ROOT = Path(__file__).parent.parent.parent
DEVELOPED_ON = next(line.tested for line in LINES if line.tests == ALL_TESTS)
PAGES = sorted((ROOT / "docs").rglob("*.md"))
AT_TOP = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
DOCUMENTS = [*AT_TOP, *PAGES]
EXAMPLES = [
    path
    for path in sorted((ROOT / "examples").rglob("*"))
    if path.suffix in (".sql", ".yml", ".py") and not {"target", "logs"} & set(path.parts)
]

_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
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
    """Return the code blocks in these languages."""
    return [
        Block(document, language, textwrap.dedent(text))
        for document in DOCUMENTS
        for _, language, text in _FENCE.findall(document.read_text(encoding="utf-8"))
        if language in languages
    ]


def is_excerpt(block: str, text: str) -> bool:
    """Tell whether a block is a run of lines of a text, whatever the indentation of the whole."""
    wanted, lines = block.splitlines(), text.splitlines()
    windows = (lines[i : i + len(wanted)] for i in range(len(lines) - len(wanted) + 1))
    return any(textwrap.dedent("\n".join(window)).splitlines() == wanted for window in windows)


def test_every_block_has_a_language_that_is_checked() -> None:
    languages = ("sql", "yaml", "python", "sh", "mermaid", "diff")
    every = sum(len(_FENCE.findall(d.read_text(encoding="utf-8"))) for d in DOCUMENTS)
    assert len(blocks(*languages)) == every
    assert blocks("sql") and blocks("yaml") and blocks("sh")


@pytest.mark.parametrize("block", blocks("sql", "yaml", "python"), ids=str)
def test_a_code_block_is_part_of_an_example_that_runs(block: Block) -> None:
    assert any(is_excerpt(block.text, path.read_text(encoding="utf-8")) for path in EXAMPLES)


def test_each_section_of_the_librarys_guide_begins_with_what_a_program_needs() -> None:
    page = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    firsts = [found[1] for section in page.split("\n## ") if (found := _PYTHON.search(section))]
    assert len(firsts) >= 4
    for first in firsts:
        assert "import hiveacid\n" in first and "spark = SparkSession." in first, first


def test_an_excerpt_keeps_lines_and_relative_indentation() -> None:
    text = "a:\n  b:\n    c: 1\n  d: 2\n"
    assert is_excerpt("b:\n  c: 1\n", text)
    assert not is_excerpt("b:\nc: 1\n", text)
    assert not is_excerpt("b:\n  c: 2\n", text)
    assert not is_excerpt("a:\n  d: 2\n", text)


def commands() -> list[str]:
    """Return every command that the documents show."""
    return sorted({line for block in blocks("sh") for line in block.text.splitlines()})


@pytest.mark.parametrize("command", commands())
def test_a_command_exists(command: str) -> None:
    program, *arguments = shlex.split(command)
    if program == "make":
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        (target,) = arguments
        assert re.search(rf"^{target}:.*## ", makefile, re.MULTILINE)
    elif Path(program).name == "dbt":
        assert arguments[0] in cli.commands
    else:
        assert Path(program).name == "python" and arguments[0] == "-m", "a command of this project"
        words = itertools.takewhile(lambda word: not word.startswith("-"), arguments[1:])
        done = subprocess.run(
            [sys.executable, "-m", *words, "--help"], cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", [it for it in commands() if " pip install " in it])
def test_a_line_that_installs_brings_no_package_that_needs_github(command: str) -> None:
    """The build of dbt-core 1.12.1 and later does, by `dbt-core-experimental-parser`."""
    _, _, packages = command.partition(" pip install ")
    named = set(shlex.split(packages))
    if "." in named:
        parser = "dbt-core-experimental-parser==2.0.0a4"
        assert "dbt-core==1.11.*" in named or {"dbt-core==1.12.0", parser} <= named
    else:
        assert named == {"./hiveacid", "pyspark==4.1.*"}


def links() -> list[tuple[Path, str]]:
    """Return every link of a document to another one or to a part of itself."""
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
    """Return the anchor that GitHub gives a heading."""
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")


THEMES = sorted((ROOT / "docs" / "decisions").glob("*.md"))


def test_the_index_of_decisions_names_each_record_once() -> None:
    index = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
    records = [
        f"decisions/{page.name}#{slug(heading)}"
        for page in THEMES
        for heading in re.findall(r"^## (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    named = [link for link in _LINK.findall(index) if link.startswith("decisions/")]
    assert sorted(named) == sorted(records)
    assert records


@pytest.mark.parametrize("page", THEMES, ids=lambda page: page.name)
def test_a_decision_says_what_and_why(page: Path) -> None:
    _, *records = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for record in records:
        words = set(re.findall(r"^\*\*([\w ]+)[.*]", record, re.MULTILINE))
        assert {"Decision", "Why"} <= words or "Decision and why" in words, record[:60]


def quirks() -> list[tuple[str, str]]:
    """Return what each quirk of Hive is, and the cell that names its tests."""
    text = (ROOT / "docs" / "hive-quirks.md").read_text(encoding="utf-8")
    rows = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [(row[0].strip(), row[-1].strip()) for row in rows if row[-1].strip() != "Test"]


@pytest.mark.parametrize(("quirk", "tests"), quirks())
def test_a_quirk_of_hive_names_the_tests_that_show_it(quirk: str, tests: str) -> None:
    if tests.startswith("-"):
        assert re.fullmatch(r"- \(.+\)", tests), "the reason why no test shows it"
        return
    named = re.findall(r"`(\w+)::(\w+)`", tests)
    assert named, tests
    for module, test in named:
        assert test in definitions(ROOT / "integration" / f"{module}.py"), f"{module}::{test}"


def definitions(path: Path) -> set[str]:
    """Return the names that a file defines: functions, classes, methods, constants, macros."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".sql":
        return set(re.findall(r"{%-? *(?:macro|materialization) (\w+)", text))
    if path.suffix != ".py":
        return set()
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
            names |= {f"{node.name}.{method.name}" for method in methods}
        if isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def named_files() -> list[tuple[Path, str, str]]:
    """Return each file of the code that a document names, and the name in it, if it names one.

    A name is said as `` `name` in `path.py` ``, or as `path.py::name` in diagrams.
    """
    found = []
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        for path in _NAMED_FILE.findall(text):
            found.append((document, path, ""))
        for name, path in _NAME_IN_FILE.findall(text):
            found.append((document, path, name))
    return sorted(set(found))


_CODE = r"(?:hiveacid|dbt|tools|integration|tests|benchmarks|examples)/[\w/.-]*"
_NAMED_FILE = re.compile(rf"`({_CODE})`")
_NAME_IN_FILE = re.compile(rf"`([A-Za-z_][\w.]*)(?:\([^`]*\))?` in `({_CODE})`")


@pytest.mark.parametrize(("document", "path", "name"), named_files())
def test_a_named_file_exists_and_has_what_is_said_to_be_in_it(
    document: Path, path: str, name: str
) -> None:
    assert (ROOT / path).exists(), f"{document.name} names {path}"
    if name:
        assert name in definitions(ROOT / path), f"{document.name} says that {path} has {name}"


def test_the_architecture_answers_ten_questions_with_files() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    _, _, rest = text.partition("## Where is X?\n")
    answers = [line for line in rest.split("\n## ")[0].splitlines() if line.startswith("| ")][1:]
    assert len(answers) >= 10
    assert all(_NAME_IN_FILE.search(answer) for answer in answers)


def targets() -> list[tuple[str, dict[str, Any]]]:
    """Return the targets of the example profiles."""
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


def test_the_api_page_is_up_to_date() -> None:
    text = api_reference.REFERENCE.read_text(encoding="utf-8")
    assert text == api_reference.reference(), "run `make reference`"


@pytest.mark.parametrize("name", sorted(set(public_names) - {"__version__"}))
def test_the_api_page_describes_each_public_name(name: str) -> None:
    text = api_reference.REFERENCE.read_text(encoding="utf-8")
    described = rf"^### `(hiveacid\.)?{name}`\n\n(?!#)|^\| `{name}` \| [^|]* \| \w"
    assert re.search(described, text, re.MULTILINE)


def test_the_names_that_the_api_page_puts_in_order_are_public() -> None:
    named = {name for names in api_reference.CHAPTERS.values() for name in names}
    assert named | set(api_reference.CONSTRUCTED) <= set(public_names)


def test_a_docstring_becomes_text_arguments_and_errors() -> None:
    def read(name: str, kind: str | None = None) -> int:
        """Return rows.

        Read them once::

            read("shop.orders")

        Args:
            name: the table, such as
                `shop.orders`.

        Raises:
            ValueError: the name is wrong.
        """
        raise ValueError(name, kind)

    assert api_reference.described(read) == textwrap.dedent(
        """\
        Return rows.

        Read them once:

        ```python
        read("shop.orders")
        ```

        | argument | type | meaning |
        |---|---|---|
        | `name` | `str` | The table, such as `shop.orders`. |

        Raises:

        - `ValueError`: the name is wrong.
        """
    )


def site_settings() -> dict[str, Any]:
    """Return mkdocs.yml; the Python objects in it stay texts."""

    class Loader(yaml.SafeLoader):
        """YAML with mkdocs' tags."""

    Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)
    loaded = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)  # noqa: S506
    assert isinstance(loaded, dict)
    return loaded


def pages_in(nav: object) -> list[str]:
    """Return the pages of a part of the site's navigation, in their order."""
    if isinstance(nav, str):
        return [nav]
    parts = nav.values() if isinstance(nav, dict) else nav
    assert isinstance(parts, Iterable)
    return [page for part in parts for page in pages_in(part)]


def test_the_site_shows_each_page_once() -> None:
    docs = [str(page.relative_to(ROOT / "docs")) for page in PAGES]
    assert sorted(pages_in(site_settings()["nav"])) == sorted([*docs, *site_hooks.PAGES])


def test_the_entrance_leads_to_each_page_for_users() -> None:
    _, dbt, library, *_ = site_settings()["nav"]
    linked = {link.split("#")[0] for link in _LINK.findall((ROOT / "docs/index.md").read_text())}
    assert set(pages_in([dbt, library])) <= linked


@pytest.mark.parametrize(
    "html",
    [
        '<script src="https://cdn.example/x.js"></script>',
        "<script async src=//cdn.example/x.js>",
        '<link rel="stylesheet" href="https://fonts.example/css">',
        '<img alt="" src="https://img.example/badge.svg">',
        "@import 'https://fonts.example/css';",
        "a { background: url(https://img.example/x.png) }",
    ],
)
def test_a_page_that_needs_the_network_is_noticed(html: str) -> None:
    assert list(site_hooks.fetched(html))


def test_a_link_is_not_fetched() -> None:
    assert not list(site_hooks.fetched('<a href="https://example.com">x</a> <img src="a.svg">'))


def test_the_supported_versions_are_up_to_date() -> None:
    text = support_matrix.DOCUMENT.read_text(encoding="utf-8")
    assert support_matrix.BEGIN in text
    assert text == support_matrix.with_matrix(text), "run `make reference`"


def test_a_declared_option_gets_into_the_reference() -> None:
    @dataclass(frozen=True)
    class Options:
        """Options that a later release may have."""

        read_deletes: bool = option("Show deleted rows.", parse_bool, default=True)

    row = options_table(declared_options(Options)).splitlines()[-1]
    assert row == "| `read_deletes` | `true` |  | Show deleted rows. |"


@pytest.mark.parametrize(("example", "lock_of"), [("lake", iceberg_lock), ("delta", delta_lock)])
def test_the_documents_name_the_jars_that_are_tested(
    example: str, lock_of: Callable[[str], Path | None]
) -> None:
    lock = lock_of(DEVELOPED_ON)
    assert lock is not None
    named = example_settings(example)[PACKAGES]
    assert named in {f"{jar.organisation}:{jar.name}:{jar.revision}" for jar in read_lock(lock)}
    assert named in (ROOT / "docs" / "install.md").read_text(encoding="utf-8")


def test_the_documents_name_the_pyspark_that_is_tested() -> None:
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    tested = re.search(r"^pyspark==(\d+\.\d+)", constraints, re.MULTILINE)
    assert tested and f'"pyspark=={tested[1]}.*"' in (ROOT / "README.md").read_text("utf-8")
