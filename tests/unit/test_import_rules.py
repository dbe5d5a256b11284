"""The import rules notice what they must; the code keeps them (`make lint`)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.import_rules import (
    INTEGRATION,
    LAYERS,
    ROOT,
    find_breaches,
    find_taken,
    read_allowed,
    read_imports,
)

NAMES_TAKEN = 89
"""Names of the library that the adapter takes, besides the public ones. It may only shrink."""


def breaches(root: Path, **modules: str) -> list[str]:
    for name, source in modules.items():
        path = root.joinpath(*name.split("__")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return list(find_breaches(read_imports(root)))


def test_the_code_keeps_them() -> None:
    assert list(find_breaches(read_imports(ROOT))) == []
    assert list(find_breaches(read_imports(ROOT, INTEGRATION))) == []


@pytest.mark.parametrize(
    ("module", "source", "reason"),
    [
        ("hiveacid__acid__layout", "import dbt.flags", "without dbt"),
        ("hiveacid__acid__layout", "def f():\n    import agate", "without dbt"),
        ("hiveacid__acid__layout", "from hiveacid.reader import plan", "not in a lower layer"),
        ("hiveacid__jvm__bulk", "from hiveacid.metastore.client import x", "not in a lower layer"),
        ("hiveacid__reader__plan", "from hiveacid.changes.diff import x", "not in a lower layer"),
        ("hiveacid__sql__prepare", "from hiveacid.engine import x", "not in a lower layer"),
        ("hiveacid__engine", "from hiveacid.api import x", "not in a lower layer"),
        ("dbt__adapters__hiveacid__spark__x", "import dbt.adapters.hiveacid.targets.y", "targets"),
        ("dbt__adapters__hiveacid__x", "from dbt.adapters.hiveacid import impl", "impl is the top"),
    ],
)
def test_a_breach_is_told(tmp_path: Path, module: str, source: str, reason: str) -> None:
    (found,) = breaches(tmp_path, **{module: source, "dbt__adapters__hiveacid__impl": ""})
    assert reason in found


def test_what_is_below_may_be_imported(tmp_path: Path) -> None:
    source = "from hiveacid.acid.layout import x\nfrom hiveacid.errors import y"
    assert breaches(tmp_path, hiveacid__reader__plan=source) == []


def test_a_circle_is_told_also_one_for_types_only(tmp_path: Path) -> None:
    (found,) = breaches(
        tmp_path,
        hiveacid__acid__a="from hiveacid.acid.b import x",
        hiveacid__acid__b="if TYPE_CHECKING:\n    from hiveacid.acid.a import y",
    )
    assert "circle" in found and "hiveacid.acid.a -> hiveacid.acid.b -> hiveacid.acid.a" in found


def test_the_adapter_takes_what_is_listed_and_the_list_only_shrinks() -> None:
    allowed = read_allowed()
    assert list(find_taken(ROOT, allowed)) == []
    assert len(allowed) <= NAMES_TAKEN, (
        "The adapter takes more names of the library. Ask the engine, or another name in "
        "tools/adapter_imports.txt, or make the name public."
    )
    assert len(allowed) >= NAMES_TAKEN, f"Well done: lower NAMES_TAKEN to {len(allowed)}."


TAKE = "from hiveacid.deep import listed"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (f"from hiveacid import public\n{TAKE}, public", None),
        (f"{TAKE}, hidden", "x.py:1 takes hiveacid.deep.hidden, which is not in"),
        (f"def f():\n    {TAKE}, hidden", "x.py:2 takes hiveacid.deep.hidden"),
        (f"import hiveacid.deep\n{TAKE}", "imports hiveacid.deep as a whole"),
        ("from hiveacid.deep import public", "hiveacid.deep.listed, which is public or not"),
    ],
)
def test_a_name_must_be_public_or_listed_and_taken(
    tmp_path: Path, source: str, told: str | None
) -> None:
    for name, text in (
        ("hiveacid/__init__.py", '__all__ = ["public"]'),
        ("hiveacid/deep.py", ""),
        ("dbt/adapters/hiveacid/x.py", source),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = list(find_taken(tmp_path, frozenset({("hiveacid.deep", "listed")})))
    assert [told is not None and told in line for line in found] == ([True] if told else [])


def test_the_diagram_of_the_architecture_has_every_package() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    diagram = text.partition("```mermaid")[2].partition("```")[0]
    adapter, library = diagram.partition("subgraph library")[::2]
    assert rooms_drawn(library) == rooms_of(ROOT / "hiveacid") == {r for it in LAYERS for r in it}
    packages = {path.parent.name for path in (ROOT / "dbt/adapters/hiveacid").glob("*/__init__.py")}
    assert packages <= rooms_drawn(adapter)


def rooms_drawn(diagram: str) -> set[str]:
    """Return the names of the packages and modules that the boxes of a diagram name."""
    boxes = re.findall(r'^ +\w+\["(?:([^:"]*): [^"]*|([^":]*))"\]$', diagram, re.MULTILINE)
    named = ", ".join(before or alone for before, alone in boxes).split(", ")
    return {name.removesuffix(".py").removesuffix("/") for name in named}


def rooms_of(package: Path) -> set[str]:
    """Return the names of the packages and modules in a package."""
    modules = {path.stem for path in package.glob("*.py")} - {"__init__"}
    return modules | {path.parent.name for path in package.glob("*/__init__.py")}
