"""Layout of an ACID table: the names of its files and directories, and what they mean. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from hiveacid.acid.write_ids import WriteIdRanges

HIDDEN = "_."
"""Hive and Spark ignore files and directories whose names begin with one of these."""


@dataclass(frozen=True)
class ListedFile:
    """A file below a location.

    `relative` is its path below the location, parts separated by `/`; `path` is the whole path as
    Hadoop's `Path.toString` gives it, unescaped; `length` is in bytes; `modification_time` in
    milliseconds since the epoch.
    """

    relative: str
    path: str
    length: int
    modification_time: int = 0

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.relative.rpartition("/")[2]


@dataclass(frozen=True)
class Listing:
    """All files and directories below a location, hidden ones left out.

    `directories` holds every directory by its relative path, so that an empty base is seen.
    `data_formats` maps a directory with a `_metadata_acid` file to the `dataFormat` that the file
    names (`compacted`, `truncated`, …). `without_files` names the bases and deltas in which Hive 4
    finds no file: neither one with a visible name nor one of `SEEN_HIDDEN_NAMES`. `is_missing` says
    that the location does not exist. `scheme` is that of the file system, which the text of the
    location may leave out.
    """

    location: str
    files: tuple[ListedFile, ...]
    directories: tuple[str, ...] = ()
    data_formats: Mapping[str, str] = field(default_factory=dict)
    without_files: frozenset[str] = frozenset()
    is_missing: bool = False
    scheme: str = ""


BASE_OF_ORIGINALS = -(2**63)
"""The write id in the name of a base made of original files only (`Long.MIN_VALUE`)."""

METADATA_FILE = "_metadata_acid"
"""A JSON file in a base, whose `dataFormat` says how the base came about (`AcidMetaDataFile`)."""

ACID_VERSION_FILE = "_orc_acid_version"
SEEN_HIDDEN_NAMES = rf"(?s)({ACID_VERSION_FILE}|{METADATA_FILE}).*"
"""Pattern of the names that Hive 4 sees although they are hidden (`acidHiddenFileFilter`)."""

_TEMPORARY_TABLES = "_tmp_space.db"
_BASE = re.compile(r"base_(-?\d+)(?:_v(\d+))?")
_DELTA = re.compile(r"(delete_)?delta_(\d+)_(\d+)(?:_(\d+))?(?:_v(\d+))?")
_ACID_PREFIXES = ("base_", "delta_", "delete_delta_")
SIDE_FILE_SUFFIX = "_flush_length"
_EXPORTED = "export_old_"
_BUCKET_FILE = re.compile(r"bucket_(\d+)(?:_\d+)?")
_SIDE_FILE = re.compile(r"bucket_\d+(?:_\d+)?_flush_length")
_ORIGINAL_FILE = re.compile(r"(\d+)_\d+(?:_copy_\d+)?")
_UNNUMBERED_FILE = re.compile(r"\d+_\d+")


@dataclass(frozen=True)
class BaseDir:
    """A base: all rows up to `write_id`. `visibility_txn` is 0 unless a compaction wrote it."""

    name: str
    write_id: int
    visibility_txn: int = 0

    @property
    def write_id_range(self) -> tuple[int, int]:
        """The lowest and the highest write id that can have written the rows in the base."""
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
        """The lowest and the highest write id that wrote into the directory."""
        return self.min_write_id, self.max_write_id


# A write leaves directories of one name in all the partitions that it touches.
@lru_cache(maxsize=1 << 14)
def parse_directory(name: str) -> BaseDir | DeltaDir | None:
    """Parse the name of an ACID directory. None for a directory of another kind.

    Raises:
        ValueError: the name begins like the name of an ACID directory, but is none.
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
    raise ValueError(f"{name!r} looks like the name of an ACID directory, but is not one")


def try_parse_directory(name: str) -> BaseDir | DeltaDir | None:
    """Parse a name as `parse_directory` does, but return None instead of raising.

    For callers that need not refuse an invalid name: reading the table refuses it.
    """
    try:
        return parse_directory(name)
    except ValueError:
        return None


def is_bucket_file(name: str) -> bool:
    """Whether a file is named as the ACID writer names it: `bucket_00000`, `bucket_00000_0`."""
    return _BUCKET_FILE.fullmatch(name) is not None


def is_mergeable(relative: str, *, is_full_acid: bool) -> bool:
    """Whether a compaction that merges files takes in a file of a base or delta.

    It leaves out files in directories inside, and files with names that Hive's own writers do not
    give (`MergeCompactor.getBucketFiles`).

    Args:
        relative: the path of the file, relative to the location.
        is_full_acid: whether the table is full ACID rather than insert-only.
    """
    directory, *inner, name = relative.split("/")
    pattern = _BUCKET_FILE if is_full_acid else _UNNUMBERED_FILE
    return not inner and pattern.fullmatch(name) is not None


def is_side_file(name: str) -> bool:
    """Whether a file says how much of an ACID file its writer has flushed.

    A writer with several transactions for one file keeps it until it closes the file
    (`OrcAcidUtils.getSideFile`).
    """
    return name.endswith(SIDE_FILE_SUFFIX) and _SIDE_FILE.fullmatch(name) is not None


def hidden_part(path: str) -> str | None:
    """Return the first hidden name in the path of a directory; None without one.

    Hive 4 shows no file below such a name, also where the name is above the table's location
    (`AcidUtils.acidTempDirFilter`). It makes an exception for the directory of its temporary
    tables.
    """
    if _TEMPORARY_TABLES in path:
        return None
    names = path.split("/")[1:]
    return next((name for name in names if name.startswith(("_", "."))), None)


def is_union_directory(name: str) -> bool:
    """Whether Hive has made a directory for a branch of UNION ALL.

    Hive's constant for the prefix is `AbstractFileMergeOperator.UNION_SUDBIR_PREFIX`.
    """
    return name.startswith("HIVE_UNION_SUBDIR_")


def is_export_directory(name: str) -> bool:
    """Whether Hive has made a directory in an EXPORT of an insert-only table.

    It is named after a base or delta of the exported table. IMPORT keeps it inside of a delta
    (`CopyTask`).
    """
    return name.startswith(_EXPORTED) and (
        try_parse_directory(name.removeprefix(_EXPORTED)) is not None
    )


def bucket_of_file(name: str) -> int | None:
    """Return the bucket number in a data file's name, or None if the name has none.

    `bucket_00002_0` and, for files without ACID columns, `000002_0` or `000002_0_copy_1`: bucket 2.
    """
    match = _BUCKET_FILE.fullmatch(name) or _ORIGINAL_FILE.fullmatch(name)
    return int(match[1]) if match else None


_VERSION_SHIFT = 29
_BUCKET_SHIFT = 16
_TWELVE_BITS = 0xFFF


@dataclass(frozen=True)
class BucketProperty:
    """Parts of a value of the ACID column `bucket`."""

    bucket: int
    statement_id: int
    version: int = 1

    def encode(self) -> int:
        """Return the column's value in version 1. Raises `ValueError` for a part out of range."""
        for part in (self.bucket, self.statement_id):
            if not 0 <= part <= _TWELVE_BITS:
                raise ValueError(
                    f"{self} is outside the range of the bucket column, 0 to {_TWELVE_BITS}"
                )
        return (1 << _VERSION_SHIFT) | (self.bucket << _BUCKET_SHIFT) | self.statement_id


def decode_bucket(value: int) -> BucketProperty:
    """Unpack a value of the ACID column `bucket`. Raises `ValueError` for an unknown version."""
    version = (value & 0xFFFFFFFF) >> _VERSION_SHIFT
    if version == 0:
        return BucketProperty(bucket=value, statement_id=0, version=0)
    if version == 1:
        return BucketProperty(bucket_of(value), value & _TWELVE_BITS)
    raise ValueError(f"bucket value {value} has the unknown version {version}")


def bucket_of(value: int) -> int:
    """Return the bucket alone in a value of the ACID column `bucket`."""
    return (value >> _BUCKET_SHIFT) & _TWELVE_BITS if value >> _VERSION_SHIFT else value


def without_directory(write_ids: Iterable[int], listings: Iterable[Listing]) -> frozenset[int]:
    """Return the write ids that no base, delta or delete delta in the listings is named after.

    A directory that Hive 4's compaction made covers none of its write ids: its range may include a
    write id that left nothing behind, such as the write id of a dropped partition. A directory of a
    streaming batch covers all write ids in its range. Hive 3's compaction gives its directories
    names of the same form, but Hive 3 drops partitions and truncates tables without a write id.
    """
    named: set[int] = set()
    ranges: list[tuple[int, int]] = []
    for listing in listings:
        for name in listing.directories:
            directory = None if "/" in name else try_parse_directory(name)
            if directory is None or directory.visibility_txn:
                continue
            if isinstance(directory, BaseDir):
                named.add(directory.write_id)
            else:
                ranges.append((directory.min_write_id - 1, directory.max_write_id))
    explained = WriteIdRanges.of(ranges)
    return frozenset(i for i in write_ids if i not in named and i not in explained)
