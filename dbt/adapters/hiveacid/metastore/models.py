"""What the metastore says about tables, as plain immutable data.

The classes mirror the thrift structs of Hive's `hive_metastore.thrift` (named in each docstring)
and hold only what this adapter uses. Nothing here does I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True, order=True)
class TableName:
    """A table's database and name, both in lower case as the metastore keeps them."""

    database: str
    table: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "database", self.database.lower())
        object.__setattr__(self, "table", self.table.lower())

    def __str__(self) -> str:
        return f"{self.database}.{self.table}"


@dataclass(frozen=True)
class Column:
    """A column (thrift `FieldSchema`). `type` is Hive's type string, e.g. `decimal(10,2)`."""

    name: str
    type: str
    comment: str | None = None


@dataclass(frozen=True)
class StorageDescriptor:
    """Where and how rows are stored (thrift `StorageDescriptor` with its `SerDeInfo`)."""

    location: str
    columns: tuple[Column, ...]
    input_format: str | None = None
    serde: str | None = None
    serde_parameters: Mapping[str, str] = field(default_factory=dict)
    bucket_columns: tuple[str, ...] = ()
    num_buckets: int = -1

    @cached_property
    def column_types(self) -> tuple[str, ...]:
        """Hive's names of the columns' types."""
        return tuple(column.type for column in self.columns)


@dataclass(frozen=True)
class Table:
    """A table (thrift `Table`).

    `id` is the metastore's own key of the table (None before Hive 4); `create_time` is in seconds
    since the epoch by the metastore's clock. `table_type` is e.g. `MANAGED_TABLE`,
    `EXTERNAL_TABLE`, `VIRTUAL_VIEW` or `MATERIALIZED_VIEW`. `write_id` is that of the writer of the
    table's statistics, or of whoever last altered the table; None before Hive 4.
    """

    name: TableName
    table_type: str
    storage: StorageDescriptor
    partition_keys: tuple[Column, ...]
    parameters: Mapping[str, str]
    create_time: int
    owner: str | None = None
    id: int | None = None
    write_id: int | None = None
    view_text: str | None = None

    @property
    def is_transactional(self) -> bool:
        """Whether Hive keeps this table with transactions (full ACID or insert-only)."""
        return self.parameters.get("transactional", "").lower() == "true"

    @property
    def is_insert_only(self) -> bool:
        """Whether the table is insert-only (`transactional_properties`), without row ids."""
        properties = self.parameters.get("transactional_properties", "")
        return self.is_transactional and properties.lower() == "insert_only"

    @property
    def is_full_acid(self) -> bool:
        """Whether the table's rows carry ids and can be updated and deleted."""
        return self.is_transactional and not self.is_insert_only


@dataclass(frozen=True)
class Partition:
    """A partition (thrift `Partition`): its values in the order of the table's partition keys.

    A value is the string that the metastore keeps; `__HIVE_DEFAULT_PARTITION__` stands for NULL.
    `write_id` is as `Table.write_id`.
    """

    values: tuple[str, ...]
    storage: StorageDescriptor
    create_time: int = 0
    parameters: Mapping[str, str] = field(default_factory=dict)
    write_id: int | None = None
