"""Write docs/api.md from the docstrings of what `hiveacid` exports. `make reference` runs it."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hiveacid

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "api.md"

TEXT = """\
# API of the library

<!-- Written by tools/api_reference.py (`make reference`) from docstrings; change them there. -->

The public names of `hiveacid`, and no others. The guide is [the library](library.md).
"""

CHAPTERS = {
    "Snapshots": ("snapshot", "Snapshot", "Changes"),
    "Secured metastores": (
        "Security",
        "Kerberos",
        "Password",
        "Jwt",
        "DelegationToken",
        "UserName",
        "Tls",
    ),
}
"""Names in the order in which a reader needs them. The other names follow."""

CONSTRUCTED = (*CHAPTERS["Secured metastores"], "TableName")
"""Classes that callers instantiate. Instances of the other classes are returned."""

STORED = {"SourceState": ("to_text", "parse", "to_json", "from_json")}
"""Classes that callers only store, and the methods for that. Their fields are not described."""

_SECTION = re.compile(r"^(Args|Raises|Returns|Yields|Attributes):$", re.MULTILINE)
_ENTRY = re.compile(r"^(\*{0,2}[\w.]+): ?", re.MULTILINE)


def reference() -> str:
    """Return the text of docs/api.md."""
    public = [name for name in hiveacid.__all__ if name != "__version__"]
    errors = [name for name in public if _is_error(getattr(hiveacid, name))]
    named = {name for names in CHAPTERS.values() for name in names}
    rest = [name for name in public if name not in named and name not in errors]
    parts = [TEXT]
    for chapter, names in [*CHAPTERS.items(), ("Other classes", rest)]:
        parts.append(f"## {chapter}\n")
        parts += [_entry(name, getattr(hiveacid, name)) for name in names if name in public]
    parts.append("## Errors\n")
    parts.append(_errors([getattr(hiveacid, name) for name in errors]))
    return "\n".join(parts)


def _is_error(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, Exception)


def _entry(name: str, value: Any) -> str:
    if not inspect.isclass(value):
        return _function(f"hiveacid.{name}", value)
    parts = [f"### `{name}`\n"]
    if name in CONSTRUCTED:
        parts.append(f"`{_signature(name, value)}`\n")
    parts.append(described(value, fields=name not in STORED))
    for member, attribute in _members(value):
        if member not in STORED.get(name, (member,)):
            continue
        shown = f"{name}.{member}"
        if isinstance(attribute, property) or hasattr(attribute, "func"):
            function = getattr(attribute, "fget", None) or attribute.func
            parts.append(f"#### `{shown}`\n")
            parts.append(f"Property, {_type(inspect.signature(function).return_annotation)}.\n")
            parts.append(described(attribute))
        else:
            parts.append(_function(shown, attribute, level=4))
    return "\n".join(parts)


def _members(value: type) -> Iterator[tuple[str, Any]]:
    """Yield public methods and properties of a class of the library, its own ones first."""
    seen: set[str] = set()
    for owner in value.__mro__:
        if not owner.__module__.startswith("hiveacid"):
            continue
        for name, attribute in vars(owner).items():
            if name.startswith("_") or name in seen:
                continue
            seen.add(name)
            is_property = isinstance(attribute, property) or hasattr(attribute, "func")
            method = getattr(attribute, "__func__", attribute)
            if is_property:
                yield name, attribute
            elif inspect.isfunction(method):
                yield name, method


def _function(shown: str, function: Any, level: int = 3) -> str:
    name = shown.rpartition(".")[2]
    return "\n".join(
        [
            f"{'#' * level} `{shown}`\n",
            f"`{_signature(name, function)}`\n",
            described(function),
        ]
    )


def _signature(name: str, value: Any) -> str:
    """Return a call with the names and defaults of its arguments; types are in the table."""
    signature = inspect.signature(value)
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
        if parameter.name not in ("self", "cls")
    ]
    shown = str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty))
    # A default that is an object shows what its class was called with.
    shown = re.sub(r"(?<==)(\w+)\((?:\w+=None(?:, )?)*\)", r"\1()", shown)
    returned = signature.return_annotation
    is_class = inspect.isclass(value) or returned is inspect.Signature.empty
    return f"{name}{shown}" if is_class else f"{name}{shown} -> {returned}"


def _parameters(value: Any) -> dict[str, str]:
    if not callable(value) or (inspect.isclass(value) and value.__name__ not in CONSTRUCTED):
        return {}
    parameters = inspect.signature(value).parameters.values()
    return {parameter.name: _type(parameter.annotation) for parameter in parameters}


def _type(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return " or ".join(f"`{part}`" for part in _alternatives(text))


def _alternatives(text: str) -> list[str]:
    """Split a union at the top level, not inside brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "[") - (character == "]")
        if character == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    # A pipe would end a cell of the table.
    return [part.strip().replace(" | ", " or ") for part in parts]


def described(value: Any, fields: bool = True) -> str:
    """Return a docstring as Markdown: its text, a table of arguments, a list of errors.

    Without `fields` the attributes of a class are left out.
    """
    types = _parameters(value)
    text = inspect.getdoc(value) or ""
    intro, *sections = _SECTION.split(text)
    parts = [_prose(intro)]
    for kind, body in zip(sections[::2], sections[1::2], strict=True):
        block, after = _indented(body)
        entries = _ENTRY.split(block)[1:]
        pairs = [
            (name, " ".join(meaning.split()))
            for name, meaning in zip(entries[::2], entries[1::2], strict=True)
        ]
        if kind == "Attributes" and not fields:
            continue
        if kind in ("Args", "Attributes"):
            parts.append(_table(pairs, types))
        elif kind == "Raises":
            parts.append("Raises:\n")
            parts.append("".join(f"- `{name}`: {meaning}\n" for name, meaning in pairs))
        else:
            parts.append(f"{kind}: {' '.join(block.split())}\n")
        if after:
            parts.append(_prose(after))
    return "\n".join(parts)


def _indented(body: str) -> tuple[str, str]:
    """Return the indented lines of a section without their indentation, and what follows."""
    lines = body.strip("\n").split("\n")
    count = next((i for i, line in enumerate(lines) if line[:1].strip()), len(lines))
    return textwrap.dedent("\n".join(lines[:count])), "\n".join(lines[count:])


def _prose(text: str) -> str:
    """Return paragraphs and literal blocks (`::`) of a docstring as Markdown."""
    parts: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        if paragraph.startswith("    "):
            block = textwrap.dedent(paragraph)
            if parts and parts[-1].endswith("\n```\n"):
                parts[-1] = f"{parts[-1][:-5]}\n\n{block}\n```\n"
            else:
                parts.append(f"```python\n{block}\n```\n")
        elif paragraph.strip():
            parts.append(" ".join(paragraph.split()).replace("::", ":") + "\n")
    return "\n".join(parts)


def _table(pairs: list[tuple[str, str]], types: dict[str, str]) -> str:
    rows = ["| argument | type | meaning |", "|---|---|---|"]
    for name, meaning in pairs:
        cell = meaning.replace("|", "\\|")
        rows.append(f"| `{name}` | {types.get(name, '')} | {cell[:1].upper()}{cell[1:]} |")
    return "\n".join(rows) + "\n"


def _errors(classes: list[type]) -> str:
    rows = ["| error | is also | when |", "|---|---|---|"]
    for kind in classes:
        bases = [base.__name__ for base in kind.__bases__ if base is not Exception]
        shown = ", ".join(f"`{base}`" for base in bases)
        first = " ".join((inspect.getdoc(kind) or "").split("\n\n")[0].split())
        rows.append(f"| `{kind.__name__}` | {shown} | {first} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    REFERENCE.write_text(reference(), encoding="utf-8")
