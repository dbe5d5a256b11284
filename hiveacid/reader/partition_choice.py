"""Choice of the partitions to read, by values of partition keys."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import TypeVar

from hiveacid.errors import InvalidSettingError
from hiveacid.metastore.models import TableName
from hiveacid.reader.columns import NULL_PARTITION
from hiveacid.snapshots.tables import UnlockedTable

AnyTable = TypeVar("AnyTable", bound=UnlockedTable)
_KINDS = {
    "number": ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal"),
    "boolean": ("boolean",),
}
"""Types of values that YAML may make of an unquoted text, and the Hive types of partition keys for
which each is valid."""


@dataclass(frozen=True)
class PartitionChoice:
    """Values to read for some partition keys, sorted. Without keys: all partitions.

    A value is a text as in the metastore; None is NULL. `kinds` has, for each value that was given
    as a number or a boolean, its key, one of `_KINDS` and its text.
    """

    values: tuple[tuple[str, tuple[str | None, ...]], ...] = ()
    kinds: tuple[tuple[str, str, str], ...] = field(default=(), repr=False)

    @classmethod
    def of(
        cls,
        values: Mapping[str, frozenset[str | None]],
        kinds: Iterable[tuple[str, str, str]] = (),
    ) -> PartitionChoice:
        """Make a choice from the values of each key."""
        return cls(
            tuple(
                (key, tuple(sorted(values[key], key=lambda value: (value is not None, value))))
                for key in sorted(values)
            ),
            tuple(sorted(kinds)),
        )

    @classmethod
    def parse(cls, given: object) -> PartitionChoice:
        """Make a choice from a user's setting: for each key a value or a list of values.

        Raises:
            ValueError: the setting has another form; the message shows it.
        """
        if not isinstance(given, Mapping):
            raise ValueError(f"it is {given!r}")
        values, kinds = {}, []
        for name, wanted in given.items():
            several = wanted if isinstance(wanted, list | tuple) else [wanted]
            if not several:
                raise ValueError(f"{name} has no value")
            key = str(name).lower()
            texts = [_as_text(name, value) for value in several]
            values[key] = frozenset(texts)
            for value, text in zip(several, texts, strict=True):
                if text is not None and isinstance(value, int | float):
                    kinds.append((key, "boolean" if isinstance(value, bool) else "number", text))
        return cls.of(values, kinds)

    @classmethod
    def from_json(cls, text: str) -> PartitionChoice:
        """Make a choice from the text that `to_json` returns.

        Raises:
            ValueError: the text has another form; the message shows it.
        """
        return cls.parse(json.loads(text))

    def to_json(self) -> str:
        """Return the choice as a JSON object: for each key a list of values."""
        kinds = {(key, text) for key, _, text in self.kinds}

        def as_json(key: str, text: str | None) -> str:
            return text if text is not None and (key, text) in kinds else json.dumps(text)

        values = (
            f"{json.dumps(key)}: [{', '.join(as_json(key, text) for text in texts)}]"
            for key, texts in self.values
        )
        return f"{{{', '.join(values)}}}"

    def __bool__(self) -> bool:
        return bool(self.values)

    def __str__(self) -> str:
        """Describe the part of the table that is read; empty for the whole table."""
        return f"partitions={self!r}" if self else ""

    def of_table(self, pinned: AnyTable) -> AnyTable:
        """Return the table with only the chosen partitions.

        Raises:
            InvalidSettingError: the table is not partitioned by some of the chosen keys, or a
                number or boolean is given for a key of another type. All such keys are named.
        """
        if not self:
            return pinned
        types = _key_types(pinned)
        self._check(pinned.table.name, types)
        wanted = [
            (i, type_, {_comparable(value, type_) for value in values})
            for _, i, type_, values in self._placed(types)
        ]
        chosen = tuple(
            partition
            for partition in pinned.partitions
            if all(_comparable(partition.values[i], type_) in values for i, type_, values in wanted)
        )
        return replace(pinned, partitions=chosen)

    def unknown_in(self, pinned: UnlockedTable) -> list[str]:
        """Return the chosen values that no partition of the table has, as `key=value`."""
        unknown = []
        for key, i, type_, values in self._placed(_key_types(pinned)):
            known = {_comparable(partition.values[i], type_) for partition in pinned.partitions}
            unknown += [
                f"{key}={'NULL' if value is None else value}"
                for value in values
                if _comparable(value, type_) not in known
            ]
        return unknown

    def _placed(
        self, types: Mapping[str, str]
    ) -> list[tuple[str, int, str, tuple[str | None, ...]]]:
        """Return each chosen key, its position among the table's keys, its type and its values."""
        positions = {key: i for i, key in enumerate(types)}
        return [(key, positions[key], types[key], values) for key, values in self.values]

    def _check(self, table: TableName, types: Mapping[str, str]) -> None:
        """Refuse a choice that does not fit a table with partition keys of these types."""
        unknown = [key for key, _ in self.values if key not in types]
        if unknown:
            raise InvalidSettingError(
                f"The option `partitions` of the source {table} names {', '.join(unknown)}, but "
                f"the table's partition keys are: {', '.join(types) or 'none'}.",
                code="HIVEACID_INVALID_PARTITIONS",
            )
        altered = [
            f"the {kind} {text} for {key}, which is a {types[key]}"
            for key, kind, text in self.kinds
            if types[key].partition("(")[0] not in _KINDS[kind]
        ]
        if altered:
            raise InvalidSettingError(
                f"The option `partitions` of the source {table} has {', '.join(altered)}. "
                "YAML reads values without quotes as numbers and booleans, and changes their "
                "text: 01 becomes 1, 1.10 becomes 1.1, NO becomes false. Quote such values, "
                "as in month: '01'.",
                code="HIVEACID_INVALID_PARTITIONS",
            )


def _key_types(pinned: UnlockedTable) -> dict[str, str]:
    return {column.name.lower(): column.type for column in pinned.table.partition_keys}


def _as_text(key: object, value: object) -> str | None:
    """Return a partition's value as Hive writes it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime) and (value.microsecond or value.tzinfo):
        raise ValueError(f"{key} has a time that YAML has changed to {value}; quote it")
    if isinstance(value, int | float | date):
        return str(value)
    raise ValueError(f"{key} has {value!r}")


def _comparable(value: str | None, type_: str) -> Hashable:
    """Return a partition value in a normal form: values that Hive compares as equal are equal."""
    if value is None or value == NULL_PARTITION:
        return None
    if type_.startswith("char"):
        # The metastore stores the value padded.
        return value.rstrip(" ")
    if type_.partition("(")[0] in _KINDS["number"]:
        try:
            number = Decimal(value)
        except InvalidOperation:
            return value
        return value.lower() if number.is_nan() else number
    return value
