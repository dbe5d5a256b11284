"""SQL files of `integration/data`: cases, with what is expected of each in comments.

A statement ends with `;` at the end of a line. A statement that begins with a blank belongs to the
case of the statement before it; any other statement begins a case. Between statements
`-- name: value` notes something about the next case, and `-- group: value` names the group of all
cases that follow. Every other comment is a remark.

Words in braces are placeholders: `{table}`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"

#: What a comment can note about a case. A comment that begins like a note must have one of these.
NOTES = frozenset(
    "name group reason settings other_words hive3 decimals compacted selected".split()
)

_NOTE = re.compile(r"-- (\w+): (.*)")
_NO_WORD = re.compile(r"\W+")


@dataclass(frozen=True)
class Case:
    """One or more statements that belong together, with placeholders."""

    name: str
    """The note `name`; without one the group and the number of the case in the group."""
    statements: tuple[str, ...]
    group: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """All statements."""
        return ";\n".join(self.statements)

    @property
    def statement(self) -> str:
        """The only statement."""
        (statement,) = self.statements
        return statement

    def fill(self, values: Mapping[str, str]) -> list[str]:
        """Return the statements with the placeholders replaced: `{name}` by the case's own name."""
        return [fill(statement, {**values, "name": self.name}) for statement in self.statements]


def fill(text: str, values: Mapping[str, str]) -> str:
    """Return a text with the placeholders replaced by values."""
    for placeholder, value in values.items():
        text = text.replace(f"{{{placeholder}}}", value)
    return text


def sql_text(file: str) -> str:
    """Return the text of a file of `integration/data`."""
    return (DATA / file).read_text()


def cases_of(file: str) -> list[Case]:
    """Return the cases of a file of `integration/data`."""
    return parse_cases(sql_text(file))


def groups_of(file: str) -> dict[str, list[Case]]:
    """Return the cases of a file by group."""
    groups: dict[str, list[Case]] = {}
    for case in cases_of(file):
        groups.setdefault(case.group, []).append(case)
    return groups


def parse_cases(text: str) -> list[Case]:
    """Return the cases of a text.

    Raises ValueError if a statement has no end or no beginning of a case before it, or if a note
    has a name that is not in `NOTES`.
    """
    cases: list[Case] = []
    group, number = "", 0
    notes: dict[str, str] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if not lines and line.startswith("--"):
            if (note := _note(line)) is None:
                continue
            if note[0] == "group":
                group, number = note[1], 0
            else:
                notes[note[0]] = note[1]
        elif lines or line.strip():
            lines.append(line)
            if not line.endswith(";"):
                continue
            statement = "\n".join(lines)[:-1]
            if statement[0].isspace():
                if not cases:
                    raise ValueError(f"an indented statement begins no case: {statement}")
                before = cases.pop()
                statements = (*before.statements, statement.strip())
                cases.append(Case(before.name, statements, before.group, before.notes))
            else:
                number += 1
                name = notes.pop("name", f"{_NO_WORD.sub('_', group)}_{number}")
                cases.append(Case(name, (statement,), group, notes))
                notes = {}
            lines = []
    if lines or notes:
        raise ValueError(f"without an end: {lines or notes}")
    return cases


def _note(line: str) -> tuple[str, str] | None:
    """Return the name and the value of a note, None if the comment is a remark."""
    match = _NOTE.fullmatch(line)
    if match is None:
        return None
    if match[1] not in NOTES:
        raise ValueError(f"no such note: {line}")
    return match[1], match[2]
