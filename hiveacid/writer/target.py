"""Table that a transaction writes into, and what makes it unwritable."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from hiveacid.acid.layout import hidden_part
from hiveacid.errors import UnwritableTableError
from hiveacid.metastore.models import (
    Column,
    Partition,
    ServerInfo,
    Table,
    TableName,
    partition_name,
)
from hiveacid.metastore.writing_client import WritingClient
from hiveacid.reader.columns import TableColumns, table_columns
from hiveacid.writer.buckets import is_hashed

_ORC, _PARQUET = "orc", "parquet"
FORMATS = {
    "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat": _ORC,
    "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat": _PARQUET,
}
_WRITTEN_TYPES = frozenset(
    "tinyint smallint int bigint float double boolean string binary date timestamp decimal array "
    "map struct char varchar".split()
)
"""Types whose values Hive reads from Spark's files as they are (compared in tests)."""

_NOT_IN_PARQUET = frozenset("timestamp date array map".split())
"""Types whose values Hive shows differently in Spark's Parquet files (docs/targets-in-hive.md)."""

_KEY_TYPES = frozenset(
    "tinyint smallint int bigint string date timestamp boolean char varchar".split()
)
"""Types of partition columns whose directories are named as by Hive (compared in tests). Hive's
vectorized reader shows other values of DECIMAL than those in the names."""

_KEY_TYPES_OF_HIVE_3 = frozenset("tinyint smallint int bigint string date".split())
_NOT_OF_HIVE_3 = frozenset({"char", "varchar"})
_NOT_IN_PARQUET_OF_HIVE_3 = _NOT_OF_HIVE_3 | frozenset("timestamp date array map decimal".split())
"""Types that have not been compared with Hive 3, or that it shows differently."""

_WORD = re.compile(r"[a-z][a-z ]*")
_FIELD_NAME = re.compile(r"(?:`(?:[^`]|``)*`|[^`<>(),:]+):")


@dataclass(frozen=True)
class Target:
    """A transactional table that is written to. `partitions` are the existing ones, by name."""

    table: Table
    columns: TableColumns
    partitions: Mapping[str, Partition]
    file_format: str
    server: ServerInfo

    @classmethod
    def of(cls, table: Table, partitions: Iterable[Partition], server: ServerInfo) -> Target:
        """Return a table as a target.

        Raises:
            UnwritableTableError: Hive would not read what is written, or differently.
        """
        reason = _reason_against(table, server)
        if reason is not None:
            raise UnwritableTableError(
                f"{table.name} cannot be written: {reason}. Write it with Hive.",
                code="HIVEACID_WRITE_NOT_SUPPORTED",
            )
        keys = [key.name for key in table.partition_keys]
        by_name = {partition_name(keys, it.values): it for it in partitions}
        file_format = FORMATS[table.storage.input_format or ""]
        return cls(table, table_columns(table), by_name, file_format, server)

    @property
    def location(self) -> str:
        """Directory of the table."""
        return self.table.storage.location.rstrip("/")

    @property
    def buckets(self) -> list[Column]:
        """The columns whose values make buckets (CLUSTERED BY)."""
        return _buckets(self.table)

    @property
    def keys(self) -> list[str]:
        """Names of the partition columns."""
        return self.columns.partition.names

    def check_partition(self, name: str) -> None:
        """Refuse an existing partition that is hidden, or that differs from the table.

        Raises:
            UnwritableTableError: it has.
        """
        existing, own = self.partitions.get(name), self.table.storage
        if existing is None:
            return
        found = existing.storage
        if hidden := _hidden_reason(found.location, self.server):
            raise UnwritableTableError(
                f"{self.table.name} cannot be written: of its partition {name}, {hidden}. Set "
                "another location (ALTER TABLE … SET LOCATION).",
                code="HIVEACID_WRITE_NOT_SUPPORTED",
            )
        if found.input_format != own.input_format:
            what = f"format ({found.input_format})"
        elif (found.num_buckets, found.bucket_columns) != (own.num_buckets, own.bucket_columns):
            what = f"number of buckets ({found.num_buckets})"
        else:
            return
        raise UnwritableTableError(
            f"{self.table.name} cannot be written: its partition {name} has another {what} than "
            "the table. Write it with Hive.",
            code="HIVEACID_WRITE_NOT_SUPPORTED",
        )

    def is_same(self, other: Target) -> bool:
        """Whether rows and row ids for this table fit another look at it: no DDL came between."""
        return _shape(self.table) == _shape(other.table)

    def fits(self, created: Target) -> bool:
        """Whether rows for this table, which was planned, fit the table that was created."""
        return _form(self.table) == _form(created.table)

    @property
    def is_of_hive_3(self) -> bool:
        """Whether Hive 3 reads what is written."""
        return bool(self.server.is_hive_3)

    def location_of(self, partition: str) -> str:
        """Return the directory of a partition, existing or new; the table's for an empty name."""
        if not partition:
            return self.location
        existing = self.partitions.get(partition)
        return existing.storage.location if existing else f"{self.location}/{partition}"


def look_up(client: WritingClient, name: TableName, server: ServerInfo) -> Target:
    """Return a table as it is now.

    Raises:
        UnwritableTableError: Hive would not read what is written, or differently.
        TableNotFoundError: there is no such table.
    """
    found = client.get_table(name)
    partitions = client.get_partitions(name) if found.partition_keys else ()
    return Target.of(found, partitions, server)


def _shape(table: Table) -> tuple[object, ...]:
    return (table.identity, table.storage.location, *_form(table))


def _form(table: Table) -> tuple[object, ...]:
    storage = table.storage
    return (
        table.table_type,
        [(it.name, it.type) for it in storage.columns],
        [(it.name, it.type) for it in table.partition_keys],
        storage.input_format,
        storage.serde,
        storage.num_buckets,
        storage.bucket_columns,
        table.is_transactional,
        table.is_full_acid,
    )


def _reason_against(table: Table, server: ServerInfo) -> str | None:
    if not table.is_transactional or table.table_type != "MANAGED_TABLE":
        return "it is not a transactional table"
    if server.is_hive_3 is None:
        return (
            "writes have been compared with Hive 4 and Apache Hive 3 only, and the metastore is "
            f"{server.version}"
        )
    if hidden := _hidden_reason(table.storage.location, server):
        return hidden
    if table.is_bucketed and server.is_hive_3:
        return "it is bucketed (CLUSTERED BY), which has been compared with Hive 4 only"
    file_format = FORMATS.get(table.storage.input_format or "")
    if file_format is None or (table.is_full_acid and file_format is not _ORC):
        return f"its format ({table.storage.input_format}) is not written"
    for column in table.storage.columns:
        others = _words(column.type) - _WRITTEN_TYPES
        if file_format is _PARQUET:
            others |= _words(column.type) & _NOT_IN_PARQUET
        if server.is_hive_3:
            others |= _words(column.type) & (
                _NOT_IN_PARQUET_OF_HIVE_3 if file_format is _PARQUET else _NOT_OF_HIVE_3
            )
        if others:
            return f"column {column.name} has the type {column.type}"
    if table.is_bucketed and table.is_full_acid:
        # Hive's compactor wants a file of each bucket in each delta without ACID columns.
        return "it is bucketed (CLUSTERED BY), and Hive could not compact what is written"
    if table.is_bucketed and table.parameters.get("bucketing_version") != "2":
        return "its buckets are those of Hive 2 (`bucketing_version`)"
    for column in _buckets(table):
        if not is_hashed(column.type):
            return f"it is bucketed by {column.name}, of the type {column.type}"
    key_types = _KEY_TYPES_OF_HIVE_3 if server.is_hive_3 else _KEY_TYPES
    for key in table.partition_keys:
        if key.type.partition("(")[0] not in key_types:
            return f"partition column {key.name} has the type {key.type}"
    return None


def _buckets(table: Table) -> list[Column]:
    by_name = {it.name.lower(): it for it in table.storage.columns}
    names = table.storage.bucket_columns if table.is_bucketed else ()
    return [by_name[name.lower()] for name in names]


def _hidden_reason(location: str, server: ServerInfo) -> str | None:
    hidden = None if server.is_hive_3 else hidden_part(urlsplit(location).path)
    return hidden and f"Hive shows no row in {location}, because the name {hidden} is hidden"


def _words(hive_type: str) -> set[str]:
    """Return the names of the types in a type: `map<string,int>` has map, string and int."""
    return set(_WORD.findall(_FIELD_NAME.sub("", hive_type.lower())))
