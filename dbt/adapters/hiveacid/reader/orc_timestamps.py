"""What the schema and the statistics of an ORC file, as text, tell of its timestamps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_FIELD_NAME = re.compile(r"(?:`(?:[^`]|``)*`|[^`<>(),:]+):")
_TYPE = re.compile(r"[a-z][a-z ]*")
_FRACTION = re.compile(r"\.(\d{7,9})(?!\d)")


def timestamps_in(types: Iterable[str], number: int) -> Iterator[tuple[int, int]]:
    """The timestamps in columns of these types, also inside of them.

    Yields for each the position of the column, and the number that ORC gives to the timestamp's
    statistics: it numbers the types as they stand in the text, here from `number` on.
    """
    for position, type_ in enumerate(types):
        for name in _TYPE.findall(_FIELD_NAME.sub("", type_)):
            if name == "timestamp":
                yield position, number
            number += 1


def shows_nanoseconds(statistics: str) -> bool:
    """Whether the least or the greatest timestamp of some ORC statistics, as text, needs more than
    microseconds.

    Writers before ORC 1.6 say nothing below the millisecond, which ORC's library shows as a
    greatest value that ends in 999999: it tells nothing.
    """
    return any(
        fraction[6:].strip("0") and fraction[3:] != "999999"
        for fraction in _FRACTION.findall(statistics)
    )
