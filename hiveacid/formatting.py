"""Text for people and for Spark's parser: numbers, lists and names."""

from __future__ import annotations

from collections.abc import Sequence

_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def human_bytes(length: int) -> str:
    """Return a number of bytes as people read it: `999 bytes`, `1.2 kB`, `34 MB`."""
    if length == 1:
        return "1 byte"
    number, unit = float(length), 0
    while round(number) >= 1000 and unit < len(_UNITS) - 1:
        number, unit = number / 1000, unit + 1
    digits = 1 if unit and number < 9.95 else 0
    return f"{number:.{digits}f} {_UNITS[unit]}"


def pluralize(number: int, what: str) -> str:
    """Return a number of things: `1 row`, `1,204 rows`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def first_few(items: Sequence[str], most: int, separator: str = ", ") -> str:
    """Return a list that stays short: `a, b, c and 4 more`."""
    rest = len(items) - most
    return separator.join(items[:most]) + (f" and {rest:,} more" if rest > 0 else "")


def quoted(*names: str) -> str:
    """Return a name in backticks for Spark's parser, its parts joined by dots: `` `shop`.`a` ``."""
    return ".".join("`" + name.replace("`", "``") + "`" for name in names)


def text_literal(value: str) -> str:
    """Return a text as a literal of Spark SQL, with its quotes."""
    # Spark substitutes `${…}` by its settings, in literals, too.
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("${", "\\u0024{")
    return f"'{escaped}'"
