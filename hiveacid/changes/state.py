"""What a target has seen of one source: the write ids, and where the source's files lay.

A write id list alone would not do. DROP PARTITION leaves no delete events behind, only a write id
without a directory, and a table of the same name may be another table.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hiveacid.acid.write_ids import ValidWriteIdList
from hiveacid.errors import InvalidStateError
from hiveacid.metastore.models import Column, TableName


@dataclass(frozen=True)
class LocationState:
    """One location of a source: a partition, or the table itself where there are none.

    `values` are the partition's, as the metastore keeps them; `path` as the metastore has it;
    `create_time` in seconds by the metastore's clock (0 for the table's own location). `base` is
    the name of the base directory. `last_write_id` is the highest write id that a directory with
    files stands for, the base left out: 0 if there are original files only, None without any file.
    `emptied` are the names of directories that `emptied_by_compaction` finds; `to_be_lost` of those
    that cover rows that have been seen and that Hive's cleaner is going to remove. `witness` is one
    of the directories and a digest of its files (`traces.witness`), by which another partition
    that was given this one's name is told from it; None in states from before there was one.
    `mark` is by what its files were read (`shown.reading_mark`), with the same exception.
    """

    values: tuple[str, ...]
    path: str
    create_time: int
    base: str | None = None
    last_write_id: int | None = None
    emptied: tuple[str, ...] = ()
    to_be_lost: tuple[str, ...] = ()
    witness: tuple[str, str] | None = None
    mark: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the location had neither a base nor any file."""
        return self.base is None and self.last_write_id is None

    def to_json(self) -> list[Any]:
        """A list, since a source may have a hundred thousand partitions."""
        known = [list(self.values), self.path, self.create_time, self.base, self.last_write_id]
        told = {} if self.witness is None else dict([self.witness])
        if self.mark is not None:
            told[_MARK] = self.mark
        # Both are rare: a usual location ends here.
        to_be_lost = [list(self.to_be_lost)] if self.to_be_lost else []
        return [*known, *([told] if told else []), *self.emptied, *to_be_lost]

    @classmethod
    def from_json(cls, data: Any) -> LocationState:
        """Read what `to_json` gave. Raises `ValueError` on anything else."""
        if not isinstance(data, list) or len(data) < 5 or not isinstance(data[0], list):
            raise ValueError(f"not the state of a location: {data!r}")
        values, path, create_time, base, last_write_id, *emptied = data
        _check("values", values, all(isinstance(value, str) for value in values))
        _check("path", path, isinstance(path, str))
        _check("create time", create_time, _is_int(create_time))
        _check("base", base, base is None or isinstance(base, str))
        _check("write id", last_write_id, last_write_id is None or _is_int(last_write_id))
        given = emptied.pop(0) if emptied and isinstance(emptied[0], dict) else None
        _check("witness", given, given != {})
        told = dict(given or {})
        mark = told.pop(_MARK, None)
        _check("mark", mark, mark is None or _is_mark(mark))
        _check("witness", told, not told or _is_witness(told))
        to_be_lost = emptied.pop() if emptied and isinstance(emptied[-1], list) else []
        names = [*emptied, *to_be_lost]
        _check("directories", names, all(isinstance(name, str) for name in names))
        known = (tuple(values), path, create_time, base, last_write_id)
        witness = next(iter(told.items()), None)
        return cls(*known, tuple(emptied), tuple(to_be_lost), witness, mark)


@dataclass(frozen=True)
class SourceState:
    """What has been seen of one source.

    `table_id` is the metastore's own key of the table (None before Hive 4), `create_time` in
    seconds by its clock. `columns` are the names and types of the columns in the files, in their
    order. `options` is the text of the options that the source was read with. `backlog_since` are
    the write ids that had been seen when the first of several bounded batches was taken, of which
    more are to come; None where the state is that of a run's whole snapshot. `shown` is what else
    decided how rows were shown (`shown.shown_by`), empty in states from before it was kept.
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
    shown: Mapping[str, str] = field(default_factory=dict)

    def changed_columns(self, columns: Iterable[Column]) -> list[str]:
        """The columns that had another name, type or place: what changed of each.

        Columns that were added at the end are NULL in the rows that were seen. A model may show a
        column's name in its rows, or follow it (`select *`, `to_json(struct(*))`).
        """
        columns = list(columns)
        names = {column.name for column in columns}
        before = {name: (place, type_) for place, (name, type_) in enumerate(self.columns)}
        found = []
        for place, column in enumerate(columns):
            former, _ = self.columns[place] if place < len(self.columns) else (column.name, "")
            if column.name not in before and former not in names:
                found.append(f"its column {former} is called {column.name} now")
            old_place, old_type = before.get(column.name, (place, column.type))
            if old_type != column.type:
                found.append(f"its column {column.name} is {column.type}, before {old_type}")
            elif old_place != place:
                found.append(f"its column {column.name} is number {place}, before {old_place}")
        return found

    def to_json(self) -> dict[str, Any]:
        """As plain data that `json.dumps` takes."""
        backlog = {} if self.backlog_since is None else {_BACKLOG: str(self.backlog_since)}
        shown = {_SHOWN: dict(self.shown)} if self.shown else {}
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
            **shown,
        }

    def to_text(self) -> str:
        """Return the state as text that can be stored; `parse` reads it."""
        return json.dumps(self.to_json(), separators=(",", ":"))

    @classmethod
    def parse(cls, text: str) -> SourceState:
        """Read what `to_text` gave.

        Raises:
            InvalidStateError: the text is anything else; a state is never guessed.
        """
        try:
            return cls.from_json(json.loads(text))
        except ValueError as error:
            raise InvalidStateError(
                f"A text of {len(text)} characters is not the state of a table: {error}. Give the "
                "whole text that `state.to_text()` made, or none to read the table from the start."
            ) from error

    @classmethod
    def from_json(cls, data: Any) -> SourceState:
        """Read what `to_json` gave.

        Raises:
            ValueError: something is missing, unknown or of another kind; a state is never guessed.
        """
        if not isinstance(data, Mapping) or set(data) - {_BACKLOG, _SHOWN} != _KEYS:
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
        backlog = data.get(_BACKLOG)
        _check("backlog", backlog, backlog is None or isinstance(backlog, str))
        shown = data.get(_SHOWN, {})
        _check("shown", shown, isinstance(shown, dict) and _are_texts(shown.values()))
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
            shown,
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
_BACKLOG = "backlog_since"
_SHOWN = "shown"
_MARK = "read by"
"""It stands beside the name of a directory, which none has."""


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_mark(value: Any) -> bool:
    return isinstance(value, str) and value.partition(":")[0].isdecimal()


def _is_witness(value: Mapping[str, Any]) -> bool:
    return len(value) == 1 and _are_texts(value.values())


def _are_texts(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _is_column(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and _are_texts(value)


def _check(what: str, value: Any, is_right: bool) -> None:
    if not is_right:
        raise ValueError(f"the {what} of a source's state cannot be {value!r}")
