"""Which partitions of a source are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from dbt.adapters.hiveacid.exceptions import InvalidSettingError
from dbt.adapters.hiveacid.metastore.models import TableName
from dbt.adapters.hiveacid.reader.columns import NULL_PARTITION
from dbt.adapters.hiveacid.snapshot.seen import SeenTable

Seen = TypeVar("Seen", bound=SeenTable)

_KINDS = {
    "number": ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal"),
    "boolean": ("boolean",),
}
"""What YAML may take a text for, and the types of the partition keys whose values are that."""


@dataclass(frozen=True)
class PartitionChoice:
    """For some partition keys the values to read, sorted; without any, all partitions.

    A value is as the metastore keeps it, None stands for NULL. `kinds` has a key, one of `_KINDS`
    and a text for each value that YAML did not take for a text.
    """

    values: tuple[tuple[str, tuple[str | None, ...]], ...] = ()
    kinds: tuple[tuple[str, str, str], ...] = field(default=(), repr=False)

    @classmethod
    def of(
        cls,
        values: Mapping[str, frozenset[str | None]],
        kinds: Iterable[tuple[str, str, str]] = (),
    ) -> PartitionChoice:
        """From the values of each key."""
        return cls(
            tuple(
                (key, tuple(sorted(values[key], key=lambda value: (value is not None, value))))
                for key in sorted(values)
            ),
            tuple(sorted(kinds)),
        )

    def __bool__(self) -> bool:
        return bool(self.values)

    def of_table(self, pinned: Seen) -> Seen:
        """The table with no other partitions than the chosen ones.

        Raises:
            InvalidSettingError: the table has no such partition keys, or YAML has made numbers or
                booleans of values of others; all are named.
        """
        if not self:
            return pinned
        types = {column.name.lower(): column.type for column in pinned.table.partition_keys}
        self._check(pinned.table.name, types)
        keys = list(types)
        wanted = [
            (
                keys.index(key),
                {NULL_PARTITION if value is None else value for value in values},
                types[key].startswith("char"),
            )
            for key, values in self.values
        ]
        chosen = tuple(
            partition
            for partition in pinned.partitions
            # The metastore keeps a char value padded.
            if all(
                (partition.values[i].rstrip(" ") if padded else partition.values[i]) in values
                for i, values, padded in wanted
            )
        )
        return replace(pinned, partitions=chosen)

    def _check(self, table: TableName, types: Mapping[str, str]) -> None:
        """Refuse a choice that is none of a table with partition keys of these types."""
        unknown = [key for key, _ in self.values if key not in types]
        if unknown:
            raise InvalidSettingError(
                f"The option `partitions` of the source {table} names "
                f"{', '.join(unknown)}, by which the table is not partitioned. Its partition keys: "
                f"{', '.join(types) or 'none'}."
            )
        altered = [
            f"the {kind} {text} for {key}, which is a {types[key]}"
            for key, kind, text in self.kinds
            if types[key].partition("(")[0] not in _KINDS[kind]
        ]
        if altered:
            raise InvalidSettingError(
                f"The option `partitions` of the source {table} has "
                f"{', '.join(altered)}. YAML makes numbers and booleans of values without quotes, "
                "and the text is another one then: 01 becomes 1, 1.10 becomes 1.1, NO becomes "
                "false. Put such values into quotes, as in month: '01'."
            )
