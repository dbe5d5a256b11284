"""docs/troubleshooting.md knows every message that the code can give, and no others."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PACKAGES = [ROOT / "hiveacid", ROOT / "dbt" / "adapters" / "hiveacid"]

#: dbt's own classes that the adapter raises with a text of its own.
DBT_ERRORS = {"DbtRuntimeError", "FailedToConnectError"}

_SECTION = re.compile(r"^### (.*)\n((?:(?!#).*\n?)*)", re.MULTILINE)


@dataclass(frozen=True)
class Message:
    """A text that users may see; `…` stands for what is put in. `kind`: its class, `warning`, or
    `raise_error` for what Spark raises while it computes rows."""

    kind: str
    text: str
    place: str

    def __str__(self) -> str:
        return f"{self.place} {self.kind}"


def modules() -> Iterator[Path]:
    """The modules of the library and of the adapter."""
    for package in PACKAGES:
        yield from sorted(package.rglob("*.py"))


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def messages() -> Iterator[Message]:
    """What the package gives to its errors, to `logger.warning` and to Spark's `raise_error`."""
    kinds = _error_classes() | DBT_ERRORS | {"warning", "raise_error"}
    for path in modules():
        tree = _tree(path)
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and _name(call.func) in kinds and call.args:
                place = f"{path.relative_to(ROOT)}:{call.lineno}"
                for text in _texts(call.args[0], functions):
                    yield Message(_name(call.func), text, place)


def _error_classes() -> set[str]:
    classes = set()
    for package in PACKAGES:
        tree = _tree(package / "errors.py")
        classes |= {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    return classes - {"HiveAcidError", "AdapterError"}


def _name(function: ast.expr) -> str:
    return getattr(function, "id", None) or getattr(function, "attr", "")


def _texts(node: ast.expr, functions: dict[str, ast.FunctionDef]) -> list[str]:
    """The text of an expression, or the texts that a function of the same module returns."""
    if isinstance(node, ast.Call) and _name(node.func) in functions:
        body = ast.walk(functions[_name(node.func)])
        returned = [n.value for n in body if isinstance(n, ast.Return) and n.value is not None]
        return [text for value in returned for text in _texts(value, functions)]
    text = _plain(_text(node))
    # What is handed on, such as the message of another error, has no words of its own.
    return [text] if text.strip("… ") else []


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(value) for value in node.values)
    if isinstance(node, ast.BinOp):
        return _text(node.left) + _text(node.right)
    if isinstance(node, ast.Call) and _name(node.func) == "join":
        (parts,) = node.args
        return " ".join(map(_text, parts.elts)) if isinstance(parts, ast.List) else "…"
    if isinstance(node, ast.Call) and _name(node.func) in ("lit", "concat"):
        return "".join(map(_text, node.args))
    return "…"


def _plain(text: str) -> str:
    return re.sub(r"…+", "…", " ".join(text.split()))


@cache
def literals() -> frozenset[str]:
    """Every text in the package."""
    nodes = (node for path in modules() for node in ast.walk(_tree(path)))
    texts = (ast.Constant, ast.JoinedStr, ast.BinOp)
    return frozenset(_plain(_text(node)) for node in nodes if isinstance(node, texts))


SECTIONS: dict[str, str] = dict(
    _SECTION.findall((ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8"))
)
MESSAGES = list(messages())


def test_the_messages_are_found() -> None:
    assert {message.kind for message in MESSAGES} >= DBT_ERRORS | {"warning", "raise_error"}
    unused = _error_classes() - {message.kind for message in MESSAGES}
    assert unused == set()


@pytest.mark.parametrize("message", MESSAGES, ids=str)
def test_a_message_has_a_section(message: Message) -> None:
    headings = [heading for heading in SECTIONS if heading in message.text]
    assert headings, f"docs/troubleshooting.md has no section for: {message.text}"
    if message.kind not in ("warning", "raise_error"):
        assert any(f"(`{message.kind}`)" in SECTIONS[heading] for heading in headings)


@pytest.mark.parametrize("heading", SECTIONS)
def test_a_section_is_about_a_message(heading: str) -> None:
    assert any(heading in text for text in literals())
    assert SECTIONS[heading].strip(), "it says what to do"


def test_sections_of_one_class_stand_together() -> None:
    """So that each class can become a heading of its own."""
    text = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    for chapter in re.split(r"^## ", text, flags=re.MULTILINE):
        kinds = re.findall(r"^\(`(\w+)`\)", chapter, re.MULTILINE)
        in_a_row = [kind for kind, _ in itertools.groupby(kinds)]
        assert len(in_a_row) == len(set(in_a_row)), chapter.partition("\n")[0]


_REFUSED = [
    heading
    for heading in SECTIONS
    if any(m.kind == "UnreadableTableError" and heading in m.text for m in MESSAGES)
    # Spark raises these while it reads.
    or "USER_RAISED_EXCEPTION" in SECTIONS[heading]
]


@pytest.mark.parametrize("heading", _REFUSED)
def test_a_refusal_says_what_hive_answers(heading: str) -> None:
    assert re.search(r"\bHive: [a-z]", SECTIONS[heading])


# "Hive's cleaner will remove them" is no advice.
_ADVICE_TO_REMOVE = re.compile(
    r"(?<!will )\b(remove|delete|erase) (it|them|the (file|files|directory|directories))\b",
    re.IGNORECASE,
)


@pytest.mark.parametrize("message", MESSAGES, ids=str)
def test_no_message_advises_to_remove_what_may_hold_rows(message: Message) -> None:
    assert not _ADVICE_TO_REMOVE.search(message.text), message.text


def test_no_section_advises_to_remove_what_may_hold_rows() -> None:
    advised = [heading for heading, text in SECTIONS.items() if _ADVICE_TO_REMOVE.search(text)]
    assert advised == []
