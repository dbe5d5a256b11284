"""Statements of Spark's own grammar with ACID names at every place where a relation can stand.

A group is a text. Each line that does not begin with a blank begins a case, and ` ;; ` stands
between the statements of a case. Placeholders:

    {d}             the database of the tables, in `{D}` in upper case
    {t}             a database of plain tables, which the statements may add to
    {v}             the database of the stored views and functions
    {n}             a name that the case has for itself
    {tmp}           a directory, as a URI; `{local_tmp}` is its path
    {warehouse}     the directory of all databases, as a URI
    {path:orders}   the location of a table, as a URI; `{local:orders}` is its path
    {b}             a backquote
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_SEPARATOR = re.compile(r"\s+;;\s+")


@dataclass(frozen=True)
class Case:
    """One or more statements that belong together, with placeholders."""

    name: str
    text: str

    def statements(self, values: Mapping[str, str]) -> list[str]:
        """Return the statements with the placeholders replaced by `values`."""
        text = self.text
        for placeholder, value in {**values, "n": self.name}.items():
            text = text.replace(f"{{{placeholder}}}", value)
        return _SEPARATOR.split(text)


def cases(group: str, text: str) -> list[Case]:
    """Return the cases of a group, each with a name of its own."""
    prefix = re.sub(r"\W+", "_", group)
    found: list[str] = []
    for line in text.strip("\n").split("\n"):
        if line[0].isspace():
            found[-1] += f"\n{line}"
        else:
            found.append(line)
    return [Case(f"{prefix}_{i}", text) for i, text in enumerate(found, start=1)]
