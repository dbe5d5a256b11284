"""The Hive that random histories take place in, and what they leave out on an older one.

A Hive 3.1.3 lacks some of what histories do, and fails in some of it itself. docs/hive-quirks.md
tells what is left out, too.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from integration.support.histories.shape import Shape
from integration.support.hive import hive_3
from integration.support.hive.jars import HIVE_VERSION

_COMPACTIONS = ("minor compaction", "major compaction")


def histories_hive() -> str:
    """Return the version of Hive that HISTORIES_HIVE chooses; without it the tests' own."""
    return os.environ.get("HISTORIES_HIVE") or HIVE_VERSION


def left_out(version: str) -> list[str]:
    """Return what histories in a Hive of this version leave out, since it fails there."""
    if version != hive_3.VERSION:
        return []
    return [
        "compactions of insert-only tables",
        "compactions of partitions whose value is not ASCII",
        "STORED AS JSONFILE and `hive.acid.direct.insert.enabled`, which it does not have",
        "aborted overwrites without an older base",
    ]


def has_shape(version: str, shape: Shape) -> bool:
    """Return whether a Hive of this version can make a table of this shape."""
    # Hive 3.1.3 has no STORED AS JSONFILE.
    return version != hive_3.VERSION or shape.file_format != "JSONFILE"


def has_operation(version: str, shape: Shape, operation: str) -> bool:
    """Return whether a Hive of this version can do an operation to a table of this shape."""
    if version != hive_3.VERSION:
        return True
    # Its worker fails each of them: "Non-local session path expected to be non-null".
    return shape.full_acid or operation not in _COMPACTIONS


def compacts_partition(version: str, values: Sequence[str]) -> bool:
    """Return whether a Hive of this version can compact the partition of these values."""
    # Hive 3.1.3 hands the names of directories to the job with one byte a character
    # (`CompactorMR.CompactorInputSplit.write`): "File … does not exist" where one is not ASCII.
    return version != hive_3.VERSION or all(value.isascii() for value in values)


def has_direct_insert(version: str) -> bool:
    """Return whether a Hive of this version knows `hive.acid.direct.insert.enabled`."""
    return version != hive_3.VERSION


def reads_aborted_bases(version: str) -> bool:
    """Return whether a Hive of this version reads a table whose oldest base was aborted.

    Hive 3.1.3 fails each SELECT: "Not enough history available".
    """
    return version != hive_3.VERSION
