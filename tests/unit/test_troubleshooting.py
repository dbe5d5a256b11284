"""docs/troubleshooting.md has a section for each code that an error can have, and no others."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PACKAGES = [ROOT / "hiveacid", ROOT / "dbt" / "adapters" / "hiveacid"]

_SECTION = re.compile(r"^### (.*)\n((?:(?!#).*\n?)*)", re.MULTILINE)


#: What begins a warning, or an error that Spark raises while it computes rows.
_CODE = re.compile(r"\[(HIVEACID_[A-Z0-9_]+)\] ")


@dataclass(frozen=True)
class Message:
    """A text that users may see; `…` stands for what is put in. `kind`: its class, `warning`, or
    `raise_error` for what Spark raises while it computes rows."""

    kind: str
    code: str | None
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
    for path in modules():
        tree = _tree(path)
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and _name(call.func) in KINDS and call.args:
                kind, place = _name(call.func), f"{path.relative_to(ROOT)}:{call.lineno}"
                # An error whose message is handed on has a code, and no words of its own.
                handed_on = [] if kind in ("warning", "raise_error") else [""]
                for text in _texts(call.args[0], functions) or handed_on:
                    yield Message(kind, _code_of(call, kind, text), text, place)


def _code_of(call: ast.Call, kind: str, text: str) -> str | None:
    for keyword in call.keywords:
        if keyword.arg == "code":
            assert isinstance(keyword.value, ast.Constant), "a code can be searched for"
            return str(keyword.value.value)
    match = _CODE.match(text)
    return match[1] if match else KINDS[kind]


def _error_classes() -> dict[str, str | None]:
    """The classes of errors, and the code of each; None where each error has a code of its own."""
    codes: dict[str, str | None] = {}
    for package in PACKAGES:
        for node in _tree(package / "errors.py").body:
            if isinstance(node, ast.ClassDef):
                inherited = [codes[_name(base)] for base in node.bases if _name(base) in codes]
                codes[node.name] = _own_code(node) or next(iter(inherited), None)
    return codes | dict.fromkeys(("HiveAcidError", "AdapterError"))


def _own_code(node: ast.ClassDef) -> str | None:
    for statement in node.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            return str(statement.value.value)
    return None


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


KINDS: dict[str, str | None] = {
    **_error_classes(),
    **dict.fromkeys(("warning", "raise_error")),
}
SECTIONS: dict[str, str] = dict(
    _SECTION.findall((ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8"))
)
MESSAGES = list(messages())


def test_the_messages_are_found() -> None:
    kinds = {message.kind for message in MESSAGES}
    assert kinds >= {"warning", "raise_error", "AdapterError"}
    assert KINDS.keys() - kinds == {"HiveAcidError"}


@pytest.mark.parametrize("message", MESSAGES, ids=str)
def test_a_message_has_a_code_with_a_section(message: Message) -> None:
    assert message.code in SECTIONS, f"docs/troubleshooting.md has no section {message.code}"
    if message.kind not in ("warning", "raise_error"):
        assert f"`{message.kind}`" in SECTIONS[message.code]


@pytest.mark.parametrize("code", SECTIONS)
def test_a_section_is_about_an_error(code: str) -> None:
    """Some codes stand in texts that are put before an error of Spark's."""
    assert any(message.code == code for message in MESSAGES) or f"[{code}] " in _beginnings()
    assert SECTIONS[code].strip(), "it says what to do"


@cache
def _beginnings() -> frozenset[str]:
    nodes = (node for path in modules() for node in ast.walk(_tree(path)))
    texts = (_text(node) for node in nodes if isinstance(node, ast.Constant | ast.JoinedStr))
    return frozenset(match[0] for text in texts if (match := _CODE.match(text)))


def test_every_code_in_a_text_has_a_section() -> None:
    assert {code[1:-2] for code in _beginnings()} <= SECTIONS.keys()


_REFUSED = [
    code
    for code in SECTIONS
    if any(m.kind == "UnreadableTableError" and m.code == code for m in MESSAGES)
    # Spark raises these while it reads.
    or "USER_RAISED_EXCEPTION" in SECTIONS[code]
]


@pytest.mark.parametrize("code", _REFUSED)
def test_a_refusal_says_what_hive_answers(code: str) -> None:
    assert re.search(r"\bHive: [a-z]", SECTIONS[code])


# "Hive's cleaner will remove them" is no advice.
_ADVICE_TO_REMOVE = re.compile(
    r"(?<!will )\b(remove|delete|erase) (it|them|the (file|files|directory|directories))\b",
    re.IGNORECASE,
)


@pytest.mark.parametrize("message", MESSAGES, ids=str)
def test_no_message_advises_to_remove_what_may_hold_rows(message: Message) -> None:
    assert not _ADVICE_TO_REMOVE.search(message.text), message.text


def test_no_section_advises_to_remove_what_may_hold_rows() -> None:
    advised = [code for code, text in SECTIONS.items() if _ADVICE_TO_REMOVE.search(text)]
    assert advised == []
