"""What was found below a table's or a partition's location, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

HIDDEN = "_."
"""Hive and Spark pass over files and directories whose names begin with one of these."""


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
    names (`compacted`, `truncated`, …). `without_files` names the directories of compactions in
    which there is no file at all, not even a hidden one of Hive's. `is_missing` says that the
    location does not exist.
    """

    location: str
    files: tuple[ListedFile, ...]
    directories: tuple[str, ...] = ()
    data_formats: Mapping[str, str] = field(default_factory=dict)
    without_files: frozenset[str] = frozenset()
    is_missing: bool = False
