"""Settings that decide how the rows of a source are decoded, next to its files and columns. Pure.

A target holds the rows as they were decoded. So a state keeps the settings: with other settings,
later rows would look different, and a key would no longer match the earlier rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256

from hiveacid.metastore.models import Column, StorageDescriptor, Table
from hiveacid.reader.formats.text import READ_BY
from hiveacid.reader.properties import file_properties
from hiveacid.reader.timestamps import timestamps_in
from hiveacid.snapshots.tables import OrcColumns, PinnedTable

_DEFAULTS = {"serialization.format": "1"}
"""Properties that mean the same whether they are set or not.

Hive sets them for a partition, but not for a partition that it creates or writes to after the table
was converted to a transactional one.
"""

_OLD_DATES = "setting old_dates"
_ORC_COLUMNS = "setting orc_columns"
_ORIGINALS = "setting hive.mm.allow.originals"
_PARTITION_COLUMNS = "type of its partition columns"
_TIME_ZONE = "session's time zone"
_UTC = frozenset({"z", "utc", "uct", "gmt", "zulu", "universal", "greenwich", "+00:00", "-00:00"})


def decoding_settings(pinned: PinnedTable, time_zone: str) -> dict[str, str]:
    """Return the settings that hold for all rows of a table, by the name that errors show.

    `time_zone` is the session's: Hive's `timestamp` is a local time, of which Spark makes an
    instant. A table without timestamps has no time zone among its settings, and a table without
    dates and timestamps no calendar. `OrcColumns.UNKNOWN` is left out: `NAME` and `POSITION` give
    the same rows for the files that it does not refuse.
    """
    table, found = pinned.table, {}
    if pinned.orc_columns is not OrcColumns.UNKNOWN:
        found[_ORC_COLUMNS] = pinned.orc_columns.value
    if table.partition_keys:
        keys = (f"{column.name} {column.type}" for column in table.partition_keys)
        found[_PARTITION_COLUMNS] = ", ".join(keys)
    types = [column.type for column in (*table.storage.columns, *table.partition_keys)]
    if any("date" in type_ or "timestamp" in type_ for type_ in types):
        found[_OLD_DATES] = "gregorian" if pinned.gregorian else "file"
    if any(timestamps_in(types, 0)):
        found[_TIME_ZONE] = "UTC" if _is_utc(time_zone) else time_zone
        zones = {"parquet": pinned.parquet_time_zone, "avro": pinned.avro_time_zone}
        for format, zone in zones.items():
            if zone is not None and _has_format(pinned, format):
                found[f"setting {format}_time_zone"] = zone
    if table.is_insert_only:
        found[_ORIGINALS] = str(pinned.shows_originals).lower()
    return found


def are_originals_shown(settings: Mapping[str, str]) -> bool:
    """Whether the original files of an insert-only table were shown."""
    return settings.get(_ORIGINALS) == "true"


def _has_format(pinned: PinnedTable, format: str) -> bool:
    storages = (pinned.table.storage, *pinned.storages)
    return any(format in (storage.input_format or "").lower() for storage in storages)


def changed_settings(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """Yield what has changed between two sets of settings.

    A setting that only one set has is treated as unchanged: states of earlier releases lack some.
    """
    for name, value in now.items():
        if before.get(name, value) != value:
            yield f"the {name} is {value}, before {before[name]}"


@dataclass(frozen=True)
class Decoding:
    """SerDe, input format, properties and columns by which the files of a location are decoded.

    `own_columns` is the number of columns that the fingerprint covers. It covers a partition's own
    columns where Hive reads by them (not in full ACID tables). The table's own columns are stored
    as a whole in the state.
    """

    serde: str | None
    input_format: str | None
    properties: tuple[tuple[str, str], ...]
    columns: tuple[Column, ...]
    own_columns: int

    @classmethod
    def of(cls, table: Table, storage: StorageDescriptor) -> Decoding:
        """Return the decoding of the files at `storage`, a location of the table."""
        properties = {**_DEFAULTS, **file_properties(table, storage)}
        known = sorted((name, properties[name]) for name in READ_BY if name in properties)
        has_own = table.partition_keys and not table.is_full_acid
        return cls(
            storage.serde,
            storage.input_format,
            tuple(known),
            storage.columns,
            len(storage.columns) if has_own else 0,
        )

    @property
    def fingerprint(self) -> str:
        """The number of columns that the fingerprint covers, and a digest."""
        return self._fingerprint(self.own_columns)

    def has_fingerprint(self, fingerprint: str) -> bool:
        """Whether files are decoded as before. Columns added at the end are ignored."""
        count = int(fingerprint.partition(":")[0])
        return self._fingerprint(min(count, len(self.columns))) == fingerprint

    def _fingerprint(self, count: int) -> str:
        types = [(column.name, column.type) for column in self.columns[:count]]
        text = repr((self.serde, self.input_format, list(self.properties), types))
        return f"{count}:{sha256(text.encode()).hexdigest()[:8]}"


def _is_utc(time_zone: str) -> bool:
    return time_zone.lower().removeprefix("etc/") in _UTC
