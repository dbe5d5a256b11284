"""Names of what a write leaves in a table, and of what it stages. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from hiveacid.errors import UnwritableTableError

STAGE_PREFIX = ".hiveacid_stage_"
"""Prefix of the directories in a table's location that writes are staged in. Hive and Spark ignore
hidden directories."""

STAGE_NAMES = rf"\{STAGE_PREFIX}\d+(_ended_\w+)?"
"""Pattern of the names of stages, by the transaction that owns them. A stage that was taken away
from its owner has another name."""

MOST_FILES = 4096
"""Maximum number of files in a directory: a bucket number has twelve bits (`BucketCodec`)."""

_PART = re.compile(r"part-(\d+)-.*")
_ESCAPED = re.compile(r"((?:%[0-9A-Fa-f]{2})+)")


class Kind(Enum):
    """Kind of a directory that a write leaves."""

    BASE = "base"
    DELTA = "delta"
    DELETE_DELTA = "delete_delta"


@dataclass(frozen=True)
class StagedDirectory:
    """Files of one write in one partition, staged in `path`.

    `partition` is the partition's name, empty for an unpartitioned table.
    """

    path: str
    partition: str
    kind: Kind
    statement: int = 0

    def name(self, write_id: int) -> str:
        """Return the name that the directory gets in the table."""
        if self.kind is Kind.BASE:
            return f"base_{write_id:07d}"
        return f"{self.kind.value}_{write_id:07d}_{write_id:07d}_{self.statement:04d}"


def stage_owner(path: str) -> int:
    """Return the transaction that owns a stage, or has owned it."""
    return int(path.rpartition(STAGE_PREFIX)[2].partition("_")[0])


def is_ended(path: str) -> bool:
    """Whether a stage was taken away from its owner."""
    return "_" in path.rpartition(STAGE_PREFIX)[2]


def task_of(name: str) -> int | None:
    """Return the number of the task that wrote a file of Spark's; None for another file."""
    match = _PART.fullmatch(name)
    return int(match[1]) if match else None


def raw_name(number: int, is_full_acid: bool) -> str:
    """Return the name of a file without ACID columns.

    In a full-ACID table Hive makes row ids of it. In an insert-only one, compactions that merge
    files (`hive.compaction.merge.enabled`) lose files with other names.
    """
    return f"{_checked(number) if is_full_acid else number:06d}_0"


def bucket_name(number: int) -> str:
    """Return the name of a file with ACID columns."""
    return f"bucket_{_checked(number):05d}"


def _checked(number: int) -> int:
    if number >= MOST_FILES:
        raise UnwritableTableError(
            f"The rows to write are in more than {MOST_FILES} partitions of Spark, each of which "
            "writes a file, and Hive numbers no more files in a directory. Nothing was written. "
            "Repartition the DataFrame first.",
            code="HIVEACID_TOO_MANY_FILES",
        )
    return number


def partition_values(name: str) -> tuple[str, ...]:
    """Return the values in a partition's name, e.g. `a/b` for `day=a%2Fb` (`unescapePathName`)."""
    return tuple(_unescape(part.partition("=")[2]) for part in name.split("/"))


def _unescape(text: str) -> str:
    return _ESCAPED.sub(
        lambda match: bytes.fromhex(match[1].replace("%", "")).decode("latin-1"), text
    )
