"""State of a target: the write ids of one source that it has seen, and its files at that time.

A write id list alone is not enough. DROP PARTITION leaves no delete events behind, only a write id
without a directory. A table that was dropped and created again has the same name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from hiveacid.acid.layout import parse_directory
from hiveacid.acid.write_ids import ValidWriteIdList
from hiveacid.changes.decoding import Decoding, decoding_settings
from hiveacid.changes.write_id_directories import (
    OF_ORIGINALS,
    emptied_by_compaction,
    files_fingerprint,
    has_seen,
    last_write_id,
    originals_digest,
    unmergeable_write_ids,
)
from hiveacid.errors import InvalidStateError
from hiveacid.metastore.models import TableName
from hiveacid.reader.locations import Location
from hiveacid.reader.properties import ORC_INPUT_FORMAT
from hiveacid.snapshots.tables import PinnedTable

NO_ORIGINALS = ""
"""The digest of the original files of a location that has none."""


@dataclass(frozen=True)
class LocationState:
    """One location of a source: a partition, or the table itself where there are none.

    Attributes:
        values: the partition's values, as the metastore keeps them.
        path: the location, as the metastore keeps it.
        create_time: of the partition, in seconds by the metastore's clock; 0 for the table's own
            location.
        base: the name of the base directory.
        last_write_id: the highest write id of a delta with files; 0 if there are original files
            only, None without any file.
        emptied: the names of directories that `emptied_by_compaction` finds.
        rows_hive_will_drop: the names of empty directories that cover seen rows, which Hive's
            cleaner will remove.
        files_fingerprint: the name of one directory, with a digest of its files. It distinguishes
            this partition from another one that was given its name. None in states of earlier
            releases.
        decoding_fingerprint: a digest of how the files were decoded. None in states of earlier
            releases.
        other_originals: a digest of the original files, if `files_fingerprint` names a directory;
            see `originals`.
        unmergeable: the write ids whose rows a merging compaction loses
            (`unmergeable_write_ids`). Empty for formats that Hive does not merge.
    """

    values: tuple[str, ...]
    path: str
    create_time: int
    base: str | None = None
    last_write_id: int | None = None
    emptied: tuple[str, ...] = ()
    rows_hive_will_drop: tuple[str, ...] = ()
    files_fingerprint: tuple[str, str] | None = None
    decoding_fingerprint: str | None = None
    other_originals: str | None = None
    unmergeable: tuple[int, ...] = ()

    @classmethod
    def of(cls, pinned: PinnedTable, location: Location) -> LocationState:
        """Return the state of a target that has seen this location of the snapshot."""
        partition = pinned.partitions[location.partition] if pinned.table.partition_keys else None
        path, selected = location.storage.location, location.state
        fingerprint = files_fingerprint(selected)
        others = None
        if fingerprint is None or fingerprint[0] != OF_ORIGINALS:
            may_get_some = pinned.table.is_full_acid and selected.base is None
            others = originals_digest(selected) or (NO_ORIGINALS if may_get_some else None)
        return cls(
            values=() if partition is None else partition.values,
            path=path,
            create_time=0 if partition is None else partition.create_time,
            base=None if selected.base is None else selected.base.directory.name,
            last_write_id=last_write_id(selected),
            emptied=tuple(d.directory.name for d in emptied_by_compaction(selected, path)),
            rows_hive_will_drop=tuple(
                d.directory.name
                for d in selected.above_rows
                if has_seen(pinned.write_ids, *d.write_id_range)
            ),
            files_fingerprint=fingerprint,
            decoding_fingerprint=Decoding.of(pinned.table, location.storage).fingerprint,
            other_originals=others,
            unmergeable=_unmergeable(pinned, location),
        )

    @property
    def is_empty(self) -> bool:
        """Whether the location had neither a base nor any file."""
        return self.base is None and self.last_write_id is None

    @property
    def originals(self) -> str | None:
        """A digest of the original files.

        `NO_ORIGINALS` if a full-ACID table had none, and some could have been added. None if a base
        hides them, in other tables without any, and in states of earlier releases.
        """
        if self.files_fingerprint is not None and self.files_fingerprint[0] == OF_ORIGINALS:
            return self.files_fingerprint[1]
        return self.other_originals

    def to_json(self) -> list[object]:
        """Return a short list, since a source may have a hundred thousand partitions."""
        known = [list(self.values), self.path, self.create_time, self.base, self.last_write_id]
        fingerprints = {} if self.files_fingerprint is None else dict([self.files_fingerprint])
        if self.decoding_fingerprint is not None:
            fingerprints[_DECODING_KEY] = self.decoding_fingerprint
        if self.other_originals is not None:
            fingerprints[_ORIGINALS_KEY] = self.other_originals
        if self.unmergeable:
            fingerprints[_UNMERGEABLE_KEY] = ",".join(map(str, self.unmergeable))
        # Both are rare: the list of most locations ends here.
        rows_hive_will_drop = [list(self.rows_hive_will_drop)] if self.rows_hive_will_drop else []
        return [
            *known,
            *([fingerprints] if fingerprints else []),
            *self.emptied,
            *rows_hive_will_drop,
        ]

    @classmethod
    def from_json(cls, data: object) -> LocationState:
        """Read what `to_json` returned. Raises `ValueError` on anything else."""
        if not isinstance(data, list) or len(data) < 5 or not isinstance(data[0], list):
            raise ValueError(f"not the state of a location: {data!r}")
        values, path, create_time, base, last_write_id, *emptied = data
        _check("values", values, all(isinstance(value, str) for value in values))
        _check("path", path, isinstance(path, str))
        _check("create time", create_time, _is_int(create_time))
        _check("base", base, base is None or isinstance(base, str))
        _check("write id", last_write_id, last_write_id is None or _is_int(last_write_id))
        given = emptied.pop(0) if emptied and isinstance(emptied[0], dict) else None
        _check("fingerprint", given, given != {})
        of_files = dict(given or {})
        decoding = of_files.pop(_DECODING_KEY, None)
        _check("decoding", decoding, decoding is None or _is_decoding_fingerprint(decoding))
        originals = of_files.pop(_ORIGINALS_KEY, None)
        _check("original files", originals, originals is None or isinstance(originals, str))
        unmergeable = of_files.pop(_UNMERGEABLE_KEY, None)
        _check("write ids", unmergeable, unmergeable is None or _are_ids(unmergeable))
        _check("fingerprint", of_files, not of_files or _is_files_fingerprint(of_files))
        rows_hive_will_drop = emptied.pop() if emptied and isinstance(emptied[-1], list) else []
        names = [*emptied, *rows_hive_will_drop]
        _check("directories", names, all(isinstance(name, str) for name in names))
        known = (tuple(values), path, create_time, base, last_write_id)
        fingerprint = next(iter(of_files.items()), None)
        return cls(
            *known,
            tuple(emptied),
            tuple(rows_hive_will_drop),
            fingerprint,
            decoding,
            originals,
            tuple(map(int, unmergeable.split(","))) if unmergeable else (),
        )


@dataclass(frozen=True)
class SourceState:
    """State of a table: the part of it that has been seen, to find what has changed since.

    Store `to_text()` together with what was made of the changes, and give it as `since` next time.

    Attributes:
        table: the name of the table.
        table_id: the metastore's own key of the table; None before Hive 4.
        create_time: of the table, in seconds since the epoch by the metastore's clock.
        is_full_acid: whether the table was full ACID rather than insert-only.
        columns: names and Hive types of the columns in the files, in their order.
        write_ids: the write ids that have been seen.
        options: the text of the options that the table was read with.
        locations: the partitions, or the table's own location, as they were.
        backlog_since: the write ids that had been seen before the first of several bounded
            batches, while there are more batches; None if the whole snapshot has been seen.
        decoding_settings: settings that decide how rows are decoded. Empty in states of earlier
            releases.
    """

    table: TableName
    table_id: int | None
    create_time: int
    is_full_acid: bool
    columns: tuple[tuple[str, str], ...]
    write_ids: ValidWriteIdList
    options: str
    locations: tuple[LocationState, ...]
    backlog_since: ValidWriteIdList | None = None
    decoding_settings: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        pinned: PinnedTable,
        locations: Iterable[Location],
        options: str,
        time_zone: str,
    ) -> SourceState:
        """Return the state of a target that has seen this snapshot.

        Args:
            options: the text of the options that `pinned` was narrowed with.
            time_zone: the time zone of the session that reads the snapshot.
        """
        table = pinned.table
        return cls(
            table=table.name,
            table_id=table.id,
            create_time=table.create_time,
            is_full_acid=table.is_full_acid,
            columns=tuple((column.name, column.type) for column in table.storage.columns),
            write_ids=pinned.write_ids,
            options=options,
            locations=tuple(LocationState.of(pinned, location) for location in locations),
            decoding_settings=decoding_settings(pinned, time_zone),
        )

    @cached_property
    def by_values(self) -> Mapping[tuple[str, ...], LocationState]:
        """The locations by the values of their partitions."""
        return {location.values: location for location in self.locations}

    @cached_property
    def compacted_at(self) -> Mapping[str, str]:
        """The compacted directories that the state names, and the paths of their locations."""
        found = {}
        for location in self.locations:
            fingerprint = location.files_fingerprint
            for name in {location.base, fingerprint and fingerprint[0]}:
                directory = parse_directory(name) if name else None
                if directory is not None and directory.visibility_txn:
                    found[directory.name] = location.path
        return found

    def changed_columns(self, now: SourceState) -> list[str]:
        """Return a phrase for each column whose name, type or position has changed.

        Columns that were added at the end are ignored: they are NULL in the rows that have been
        seen. Names count because a query may depend on them (`select *`, `to_json(struct(*))`).
        """
        names = {name for name, _ in now.columns}
        before = {name: (position, type_) for position, (name, type_) in enumerate(self.columns)}
        found = []
        for position, (name, type_) in enumerate(now.columns):
            has_previous = position < len(self.columns)
            previous_name = self.columns[position][0] if has_previous else name
            if name not in before and previous_name not in names:
                found.append(f"its column {previous_name} is called {name} now")
            old_position, old_type = before.get(name, (position, type_))
            if old_type != type_:
                found.append(f"its column {name} is {type_}, before {old_type}")
            elif old_position != position:
                found.append(f"its column {name} is number {position}, before {old_position}")
        return found

    def to_json(self) -> dict[str, object]:
        """Return plain data that `json.dumps` takes."""
        backlog = {} if self.backlog_since is None else {_BACKLOG_KEY: str(self.backlog_since)}
        settings = dict(self.decoding_settings)
        decoding = {_SETTINGS_KEY: settings} if settings else {}
        return {
            "table": str(self.table),
            "table_id": self.table_id,
            "create_time": self.create_time,
            "is_full_acid": self.is_full_acid,
            "columns": [list(column) for column in self.columns],
            "write_ids": str(self.write_ids),
            "options": self.options,
            "locations": [location.to_json() for location in self.locations],
            **backlog,
            **decoding,
        }

    def to_text(self) -> str:
        """Return the state as text that can be stored; `parse` reads it."""
        return json.dumps(self.to_json(), separators=(",", ":"))

    @classmethod
    def parse(cls, text: str) -> SourceState:
        """Read what `to_text` returned.

        Raises:
            InvalidStateError: the text is anything else; a state is never guessed.
        """
        try:
            return cls.from_json(json.loads(text))
        except ValueError as error:
            raise InvalidStateError(
                f"A text of {len(text)} characters is not the state of a table: {error}. Give "
                "the complete text of `state.to_text()`, or no state to read the table from "
                "the start."
            ) from error

    @classmethod
    def from_json(cls, data: object) -> SourceState:
        """Read what `to_json` returned.

        Raises:
            ValueError: something is missing, unknown or of a wrong type; a state is never guessed.
        """
        if not isinstance(data, Mapping) or set(data) - {_BACKLOG_KEY, _SETTINGS_KEY} != _KEYS:
            keys = sorted(data) if isinstance(data, Mapping) else repr(data)
            raise ValueError(f"not the state of a source: {keys}")
        database, _, name = str(data["table"]).partition(".")
        table_id, create_time = data["table_id"], data["create_time"]
        _check("table", data["table"], isinstance(data["table"], str) and bool(database and name))
        _check("table id", table_id, table_id is None or _is_int(table_id))
        _check("create time", create_time, _is_int(create_time))
        _check("kind", data["is_full_acid"], isinstance(data["is_full_acid"], bool))
        columns = data["columns"]
        _check("columns", columns, isinstance(columns, list) and all(map(_is_column, columns)))
        _check("write ids", data["write_ids"], isinstance(data["write_ids"], str))
        _check("options", data["options"], isinstance(data["options"], str))
        _check("locations", data["locations"], isinstance(data["locations"], list))
        backlog = data.get(_BACKLOG_KEY)
        _check("backlog", backlog, backlog is None or isinstance(backlog, str))
        settings = data.get(_SETTINGS_KEY, {})
        _check("settings", settings, isinstance(settings, dict) and _are_texts(settings.values()))
        return cls(
            TableName(database, name),
            table_id,
            create_time,
            data["is_full_acid"],
            tuple((name, type_) for name, type_ in columns),
            ValidWriteIdList.parse(data["write_ids"]),
            data["options"],
            tuple(LocationState.from_json(location) for location in data["locations"]),
            None if backlog is None else ValidWriteIdList.parse(backlog),
            settings,
        )


_KEYS = {
    "table",
    "table_id",
    "create_time",
    "is_full_acid",
    "columns",
    "write_ids",
    "options",
    "locations",
}
_BACKLOG_KEY = "backlog_since"
_SETTINGS_KEY = "shown"
_DECODING_KEY = "read by"
_ORIGINALS_KEY = "originals"
_UNMERGEABLE_KEY = "unmergeable"
"""Keys next to a directory's name in `LocationState.to_json`; no directory is named like one."""


def _unmergeable(pinned: PinnedTable, location: Location) -> tuple[int, ...]:
    is_full_acid = pinned.table.is_full_acid
    if not is_full_acid and location.storage.input_format != ORC_INPUT_FORMAT:
        return ()
    return unmergeable_write_ids(location.state, is_full_acid=is_full_acid)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_decoding_fingerprint(value: object) -> bool:
    return isinstance(value, str) and value.partition(":")[0].isdecimal()


def _are_ids(value: object) -> bool:
    return isinstance(value, str) and all(part.isdecimal() for part in value.split(","))


def _is_files_fingerprint(value: Mapping[str, object]) -> bool:
    return len(value) == 1 and _are_texts(value.values())


def _are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)


def _is_column(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and _are_texts(value)


def _check(what: str, value: object, is_right: bool) -> None:
    if not is_right:
        raise ValueError(f"the {what} of a source's state cannot be {value!r}")
