"""Which partitions of a source are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from dbt.adapters.hiveacid.exceptions import InvalidSettingError
from dbt.adapters.hiveacid.reader.columns import NULL_PARTITION
from dbt.adapters.hiveacid.snapshot.seen import SeenTable

Seen = TypeVar("Seen", bound=SeenTable)


@dataclass(frozen=True)
class PartitionChoice:
    """For some partition keys the values to read, sorted; without any, all partitions.

    A value is as the metastore keeps it, None stands for NULL.
    """

    values: tuple[tuple[str, tuple[str | None, ...]], ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, frozenset[str | None]]) -> PartitionChoice:
        """From the values of each key."""
        return cls(
            tuple(
                (key, tuple(sorted(values[key], key=lambda value: (value is not None, value))))
                for key in sorted(values)
            )
        )

    def __bool__(self) -> bool:
        return bool(self.values)

    def of_table(self, pinned: Seen) -> Seen:
        """The table with no other partitions than the chosen ones.

        Raises:
            InvalidSettingError: the table has no such partition keys; all are named.
        """
        if not self:
            return pinned
        keys = [column.name.lower() for column in pinned.table.partition_keys]
        unknown = [key for key, _ in self.values if key not in keys]
        if unknown:
            raise InvalidSettingError(
                f"The option `partitions` of the source {pinned.table.name} names "
                f"{', '.join(unknown)}, by which the table is not partitioned. Its partition keys: "
                f"{', '.join(keys) or 'none'}."
            )
        wanted = [
            (
                keys.index(key),
                {NULL_PARTITION if value is None else value for value in values},
                pinned.table.partition_keys[keys.index(key)].type.startswith("char"),
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
