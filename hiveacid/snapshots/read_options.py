"""Options of a read: an earlier instant, and the kind of read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from numbers import Integral
from typing import TypeGuard

from hiveacid.errors import InvalidSettingError


@dataclass(frozen=True)
class AsOf:
    """An earlier instant of a table: a write id, or a time. One of the two is set.

    `timestamp` is a text that Spark casts to a timestamp. Without a zone of its own it is in the
    time zone of the session.
    """

    version: int | None = None
    timestamp: str | None = None

    def __post_init__(self) -> None:
        if (self.version is None) == (self.timestamp is None):
            raise InvalidSettingError(
                "A read is as of a write id (`version_as_of`) or as of a time (`timestamp_as_of`), "
                f"not of both or none: {self.version!r}, {self.timestamp!r}. Give one of them.",
                code="HIVEACID_INVALID_AS_OF",
            )
        if self.version is not None and not _is_integer(self.version):
            raise InvalidSettingError(
                f"`version_as_of` must be a write id, a whole number, not {self.version!r}. Find "
                "write ids in the names of the table's directories, or in `_commit_version` of its "
                "changes.",
                code="HIVEACID_INVALID_AS_OF",
            )

    @classmethod
    def of(cls, version: int | None, timestamp: str | datetime | None) -> AsOf | None:
        """Return the instant of two arguments; None if both are None.

        Raises:
            InvalidSettingError: both are given, or one has a wrong type.
        """
        if version is None and timestamp is None:
            return None
        if isinstance(timestamp, datetime):
            timestamp = timestamp.isoformat(" ")
        if timestamp is not None and not isinstance(timestamp, str):
            raise InvalidSettingError(
                f"`timestamp_as_of` must be a text or a datetime, not {timestamp!r}. Write it as "
                "'2026-01-31 12:00:00'.",
                code="HIVEACID_INVALID_AS_OF",
            )
        # NumPy's and pandas' whole numbers are not of Python's type.
        return cls(int(version) if _is_integer(version) else version, timestamp)

    def __str__(self) -> str:
        if self.version is not None:
            return f"write id {self.version}"
        return f"timestamp {self.timestamp!r}"


class ReadKind(Enum):
    """Kind of a read: what a table shows of its newest writes."""

    SNAPSHOT = "snapshot"
    """All that is committed."""

    OPTIMIZED = "optimized"
    """Only bases and compacted deltas: faster, but without the newest writes."""

    @classmethod
    def parse(cls, text: str | None) -> ReadKind:
        """Return the kind that a text names; None stands for a snapshot.

        Raises:
            InvalidSettingError: the text names none.
        """
        for kind in cls:
            if text is None or kind.value == text:
                return kind
        allowed = ", ".join(f"'{kind.value}'" for kind in cls)
        raise InvalidSettingError(
            f"{text!r} is not a kind of read. Allowed kinds: {allowed}.",
            code="HIVEACID_INVALID_READ_KIND",
        )


def _is_integer(value: object) -> TypeGuard[Integral]:
    return isinstance(value, Integral) and not isinstance(value, bool)
