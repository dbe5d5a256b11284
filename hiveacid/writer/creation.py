"""New transactional tables: planned with their rows, created when these are published."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from pyspark.errors import PySparkException
from pyspark.sql.types import StructField, StructType, _parse_datatype_string

from hiveacid.errors import (
    HiveAcidError,
    InvalidSettingError,
    MetastoreError,
    UnwritableTableError,
    WriteAbortedError,
)
from hiveacid.metastore.models import Column, ServerInfo, StorageDescriptor, Table, TableName
from hiveacid.metastore.writing_client import WritingClient
from hiveacid.writer.hive_types import hive_type
from hiveacid.writer.layout import MOST_FILES
from hiveacid.writer.target import FORMATS, Target

logger = logging.getLogger("hiveacid")

_SERDES = {
    "orc": "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
    "parquet": "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
}
_KINDS = {"full": "default", "insert_only": "insert_only"}
"""Values of `transactional_properties`."""

_DECIDED = frozenset(
    {"transactional", "transactional_properties", "external", "bucketing_version", "comment"}
)
"""Table properties that arguments of `create` decide, in lower case."""


@dataclass(frozen=True)
class TableLayout:
    """What `Transaction.create` is told about a table, its columns apart."""

    partitioned_by: str | Iterable[str] = ()
    clustered_by: str | Iterable[str] = ()
    buckets: int | None = None
    kind: str = "full"
    file_format: str = "orc"
    comment: str | None = None
    properties: Mapping[str, str] | None = None


def new_table(name: TableName, schema: StructType, layout: TableLayout, owner: str) -> Table:
    """Return a table as it is to be created. It has no location yet.

    Raises:
        InvalidSettingError: the arguments contradict each other.
        UnwritableTableError: Hive has no type for a column.
    """
    columns = {field.name.lower(): column_of(name, field) for field in schema}
    if len(columns) < len(schema.fields):
        raise _invalid(name, "`schema` names a column twice; Hive does not tell cases apart")
    keys = _names(name, "partitioned_by", layout.partitioned_by, columns)
    data = [column for key, column in columns.items() if key not in keys]
    buckets = _names(name, "clustered_by", layout.clustered_by, columns)
    if not data:
        raise _invalid(name, "`schema` must have a column that is not in `partitioned_by`")
    if set(keys) & set(buckets):
        raise _invalid(name, "a column is in both `partitioned_by` and `clustered_by`")
    count = layout.buckets
    if (count is None) is bool(buckets):
        raise _invalid(name, "`clustered_by` and `buckets` must be given together")
    if count is not None and not 1 <= count <= MOST_FILES:
        raise _invalid(name, f"`buckets` must be 1 to {MOST_FILES}, not {count}")
    return Table(
        name,
        "MANAGED_TABLE",
        StorageDescriptor(
            "",
            tuple(data),
            _input_format(name, layout),
            _SERDES[layout.file_format],
            {"serialization.format": "1"},
            tuple(buckets),
            -1 if count is None else count,
        ),
        tuple(columns[key] for key in keys),
        _properties(name, layout),
        int(time.time()),
        owner=owner,
    )


def column_of(table: TableName, field: StructField) -> Column:
    """Return a column of Hive for a field; its comment is in the metadata.

    Raises:
        UnwritableTableError: Hive has no type for it.
    """
    comment = field.metadata.get("comment")
    return Column(field.name.lower(), hive_type(table, field), comment)


def _names(
    table: TableName, argument: str, given: str | Iterable[str], columns: Mapping[str, Column]
) -> list[str]:
    names = [name.lower() for name in as_names(given)]
    if len(set(names)) < len(names) or set(names) - columns.keys():
        raise _invalid(table, f"`{argument}` must name columns of `schema`, each once, not {names}")
    return names


def _input_format(table: TableName, layout: TableLayout) -> str:
    allowed = {"full": ("orc",), "insert_only": ("orc", "parquet")}.get(layout.kind)
    if allowed is None:
        raise _invalid(table, f'`kind` must be "full" or "insert_only", not {layout.kind!r}')
    if layout.file_format not in allowed:
        raise _invalid(
            table,
            f"`file_format` of a table of kind {layout.kind!r} must be {' or '.join(allowed)}, "
            f"not {layout.file_format!r}",
        )
    return next(key for key, value in FORMATS.items() if value == layout.file_format)


def _properties(table: TableName, layout: TableLayout) -> dict[str, str]:
    own = {
        "transactional": "true",
        "transactional_properties": _KINDS[layout.kind],
        "bucketing_version": "2",
    }
    if layout.comment is not None:
        own["comment"] = layout.comment
    given = dict(layout.properties or {})
    for key, value in given.items():
        if key.lower() in _DECIDED or not isinstance(value, str):
            raise _invalid(
                table,
                f"`properties` must be texts, and cannot have {key}: {', '.join(sorted(_DECIDED))} "
                "follow from the other arguments",
            )
    return given | own


def _invalid(table: TableName, what: str) -> InvalidSettingError:
    return InvalidSettingError(
        f"{table} cannot be created: {what}.", code="HIVEACID_INVALID_ARGUMENT"
    )


def already_exists(name: TableName) -> UnwritableTableError:
    """Return the error for a table to create that exists."""
    return UnwritableTableError(
        f"{name} cannot be created: there is such a table. Write into it without `create`, drop "
        "it, or pass if_not_exists=True.",
        code="HIVEACID_TABLE_EXISTS",
    )


def refuse_ddl_of_hive_3(server: ServerInfo, name: TableName) -> None:
    """Refuse to create or alter a table in a metastore of Hive 3.

    Raises:
        UnwritableTableError: the metastore is not one of Hive 4.
    """
    if server.is_hive_3:
        raise UnwritableTableError(
            f"{name} cannot be created or altered: the metastore is {server.version}, and this "
            "needs Hive 4. Create or alter the table in Hive.",
            code="HIVEACID_WRITE_NOT_SUPPORTED",
        )


class Created:
    """Tables that a publication has created, until it is known whether it succeeds."""

    def __init__(self, client: WritingClient) -> None:
        """Begin with no table."""
        self._client = client
        self._tables: list[Table] = []

    def create(self, planned: Target) -> Target:
        """Create a table, and return it as the metastore keeps it.

        Raises:
            WriteAbortedError: another program has created such a table meanwhile.
            MetastoreError: the metastore refused it.
            UnwritableTableError: the metastore made another table of it.
        """
        name = planned.table.name
        # Also finds a connection that was cut while Spark worked: this call may be repeated.
        if self._client.find_table(name) is not None:
            raise _created_meanwhile(name)
        try:
            self._client.create_table(planned.table)
        except MetastoreError as error:
            if self._client.find_table(name) is not None:
                raise _created_meanwhile(name) from error
            raise
        found = self._client.get_table(name)
        self._tables.append(found)
        created = replace(planned, table=found)
        if not planned.fits(created):
            raise UnwritableTableError(
                f"{name} cannot be created: the metastore made another table of it than was asked "
                f"for ({found.table_type}, {found.storage.input_format}). See whether it "
                "translates tables (metastore.metadata.transformer.class).",
                code="HIVEACID_WRITE_NOT_SUPPORTED",
            )
        return created

    def drop(self) -> None:
        """Drop the tables that nobody has written into. What stays is named in a warning."""
        for table in self._tables:
            try:
                self._drop(table)
            except HiveAcidError as error:
                _warn_left(table.name, error.message)

    def _drop(self, table: Table) -> None:
        """Drop a table that is still the one that was created, and whose writes were aborted."""
        now = self._client.find_table(table.name)
        ids = self._client.get_valid_write_ids([table.name], self._client.get_valid_txns())
        writes = ids[table.name]
        if now is None or now.identity != table.identity:
            return
        if len(writes.aborted) < writes.high_watermark:
            _warn_left(table.name, "It has write ids that are not aborted.")
        else:
            self._client.drop_table(table.name)


def _warn_left(name: TableName, why: str) -> None:
    logger.warning(
        f"[HIVEACID_WARN_TABLE_LEFT] {name} was created by a transaction that failed, and was not "
        f"dropped. If it is empty, drop it. {why}"
    )


def _created_meanwhile(name: TableName) -> WriteAbortedError:
    return WriteAbortedError(
        f"{name} was created by another program while its rows were computed. Nothing was "
        "written. Look at the table, and write into it without `create`.",
        code="HIVEACID_WRITE_CONFLICT",
    )


def schema_of(given: object) -> StructType:
    """Return the columns of a table, which may be given as Spark's DDL.

    Raises:
        InvalidSettingError: it is neither.
    """
    schema = given
    if isinstance(given, str):
        try:
            schema = _parse_datatype_string(given)
        except PySparkException as error:
            raise InvalidSettingError(
                f"`schema` is not Spark's DDL, such as 'id int, day date': {error}",
                code="HIVEACID_INVALID_ARGUMENT",
            ) from error
    if not isinstance(schema, StructType):
        raise InvalidSettingError(
            "`schema` must be a StructType or Spark's DDL, such as 'id int, day date', not "
            f"{given!r}.",
            code="HIVEACID_INVALID_ARGUMENT",
        )
    return schema


def as_names(given: str | Iterable[str]) -> tuple[str, ...]:
    """Return names of columns; one name may be given alone."""
    return (given,) if isinstance(given, str) else tuple(given)
