"""The names of the directories and files in an ACID table.

Hive's `AcidUtils` (`ParsedBaseLight`, `ParsedDeltaLight`, `parseBaseOrDeltaBucketFilename`) is the
model::

    base_0000006                       everything up to write id 6 (INSERT OVERWRITE, TRUNCATE)
    base_0000006_v0000029              the same, made by a compaction that was transaction 29
    delta_0000003_0000003_0001         write id 3, its second statement
    delta_0000001_0000004_v0000091     write ids 1 to 4, made by a minor compaction
    delete_delta_0000003_0000003_0000  delete events of write id 3
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

BASE_OF_ORIGINALS = -(2**63)
"""The write id in the name of a base made of original files only (`Long.MIN_VALUE`)."""

METADATA_FILE = "_metadata_acid"
"""A JSON file in a base, whose `dataFormat` says how the base came about (`AcidMetaDataFile`)."""

ACID_VERSION_FILE = "_orc_acid_version"

_BASE = re.compile(r"base_(-?\d+)(?:_v(\d+))?")
_DELTA = re.compile(r"(delete_)?delta_(\d+)_(\d+)(?:_(\d+))?(?:_v(\d+))?")
_ACID_PREFIXES = ("base_", "delta_", "delete_delta_")

_BUCKET_FILE = re.compile(r"bucket_(\d+)(?:_\d+)?")
_SIDE_FILE = re.compile(r"bucket_\d+(?:_\d+)?_flush_length")
_ORIGINAL_FILE = re.compile(r"(\d+)_\d+(?:_copy_\d+)?")


@dataclass(frozen=True)
class BaseDir:
    """A base: all rows up to `write_id`. `visibility_txn` is 0 unless a compaction wrote it."""

    name: str
    write_id: int
    visibility_txn: int = 0

    @property
    def write_id_range(self) -> tuple[int, int]:
        """The lowest and the highest write id that rows in here can have been written by."""
        return 0, self.write_id


@dataclass(frozen=True)
class DeltaDir:
    """The inserts, or (`is_delete`) the delete events, of write ids `min_write_id`..`max_write_id`.

    `statement_id` is None where the name has none (compactions, streaming ingest).
    """

    name: str
    min_write_id: int
    max_write_id: int
    statement_id: int | None = None
    visibility_txn: int = 0
    is_delete: bool = False

    @property
    def write_id_range(self) -> tuple[int, int]:
        """The lowest and the highest write id that wrote what is in here."""
        return self.min_write_id, self.max_write_id


# A write leaves directories of one name in all the partitions that it touches.
@lru_cache(maxsize=1 << 14)
def parse_directory(name: str) -> BaseDir | DeltaDir | None:
    """What an ACID directory's name says; None if the name is not that of an ACID directory.

    Raises:
        ValueError: the name begins like an ACID directory's and goes on otherwise.
    """
    if not name.startswith(_ACID_PREFIXES):
        return None
    if match := _BASE.fullmatch(name):
        return BaseDir(name, int(match[1]), int(match[2] or 0))
    if match := _DELTA.fullmatch(name):
        return DeltaDir(
            name,
            min_write_id=int(match[2]),
            max_write_id=int(match[3]),
            statement_id=None if match[4] is None else int(match[4]),
            visibility_txn=int(match[5] or 0),
            is_delete=match[1] is not None,
        )
    raise ValueError(f"{name!r} begins like an ACID directory's name but is none")


def try_parse_directory(name: str) -> BaseDir | DeltaDir | None:
    """As `parse_directory`, for where a name that only begins like a directory's means nothing.

    It is refused when the table is read.
    """
    try:
        return parse_directory(name)
    except ValueError:
        return None


def is_bucket_file(name: str) -> bool:
    """Whether a file is named as the ACID writer names it: `bucket_00000`, `bucket_00000_0`."""
    return _BUCKET_FILE.fullmatch(name) is not None


def is_side_file(name: str) -> bool:
    """Whether a file tells how much of an ACID file its writer has flushed.

    A writer with several transactions for one file keeps it until it closes the file
    (`OrcAcidUtils.getSideFile`).
    """
    return name.endswith("_flush_length") and _SIDE_FILE.fullmatch(name) is not None


def is_union_directory(name: str) -> bool:
    """Whether Hive makes such a directory for a branch of UNION ALL.

    `AbstractFileMergeOperator.UNION_SUDBIR_PREFIX` is the model.
    """
    return name.startswith("HIVE_UNION_SUBDIR_")


def bucket_of_file(name: str) -> int | None:
    """The bucket number in a data file's name, or None if the name has none.

    `bucket_00002_0` and, for files without ACID columns, `000002_0` or `000002_0_copy_1`: bucket 2.
    """
    match = _BUCKET_FILE.fullmatch(name) or _ORIGINAL_FILE.fullmatch(name)
    return int(match[1]) if match else None
