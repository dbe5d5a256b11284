"""Numbers as people read them, for logs."""

from __future__ import annotations

_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def human_bytes(length: int) -> str:
    """A number of bytes as people read it: `999 bytes`, `1.2 kB`, `34 MB`."""
    if length == 1:
        return "1 byte"
    number, unit = float(length), 0
    while round(number) >= 1000 and unit < len(_UNITS) - 1:
        number, unit = number / 1000, unit + 1
    digits = 1 if unit and number < 9.95 else 0
    return f"{number:.{digits}f} {_UNITS[unit]}"


def pluralize(number: int, what: str) -> str:
    """A number of things: `1 row`, `1,204 rows`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
