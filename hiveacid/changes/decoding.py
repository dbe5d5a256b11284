"""What decides how the rows of a source are shown, beside its files and its columns. Pure.

A target has the rows as they were shown to it. A state therefore keeps by what they were: rows that
come later would be shown otherwise, and those that are there would not be found again by a key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256

from hiveacid.metastore.models import Column, StorageDescriptor, Table
from hiveacid.reader.formats.text import READ_BY
from hiveacid.reader.properties import file_properties
from hiveacid.reader.timestamps import timestamps_in

_DEFAULTS = {"serialization.format": "1"}
"""What Hive writes for a partition of its own accord, and leaves out of one that it creates or
writes to after the table has become a transactional one: the same."""

_PARTITION_COLUMNS = "type of its partition columns"
_TIME_ZONE = "session's time zone"
_UTC = frozenset({"z", "utc", "uct", "gmt", "zulu", "universal", "greenwich", "+00:00", "-00:00"})


def decoding_settings(table: Table, time_zone: str) -> dict[str, str]:
    """What decides for all rows of a table, by the name that a user is told.

    `time_zone` is the session's: a `timestamp` of Hive's is a time on the clock, which Spark makes
    an instant of. It decides nothing for a table without such a type.
    """
    found = {}
    if table.partition_keys:
        keys = (f"{column.name} {column.type}" for column in table.partition_keys)
        found[_PARTITION_COLUMNS] = ", ".join(keys)
    columns = (*table.storage.columns, *table.partition_keys)
    if any(timestamps_in((column.type for column in columns), 0)):
        found[_TIME_ZONE] = "UTC" if _is_utc(time_zone) else time_zone
    return found


def changed_settings(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """What decides and has changed. A state from before there was such a thing does not have it."""
    for name, value in now.items():
        if before.get(name, value) != value:
            yield f"the {name} is {value}, before {before[name]}"


def decoding_fingerprint(table: Table, storage: StorageDescriptor) -> str:
    """By what a location's files are read: its SerDe, properties, and columns of its own, in short.

    It begins with the number of columns that it stands for. Those of a partition count where Hive
    reads by them (not in full ACID tables); those of the table itself a state has as a whole.
    """
    own = table.partition_keys and not table.is_full_acid
    return _fingerprint(table, storage, storage.columns if own else ())


def has_fingerprint(table: Table, storage: StorageDescriptor, mark: str) -> bool:
    """Whether files are read as when the mark was made. Columns added at the end do not count."""
    count = int(mark.partition(":")[0])
    return _fingerprint(table, storage, storage.columns[:count]) == mark


def _fingerprint(table: Table, storage: StorageDescriptor, columns: tuple[Column, ...]) -> str:
    properties = {**_DEFAULTS, **file_properties(table, storage)}
    known = sorted((name, properties[name]) for name in READ_BY if name in properties)
    types = [(column.name, column.type) for column in columns]
    text = repr((storage.serde, storage.input_format, known, types))
    return f"{len(columns)}:{sha256(text.encode()).hexdigest()[:8]}"


def _is_utc(time_zone: str) -> bool:
    return time_zone.lower().removeprefix("etc/") in _UTC
