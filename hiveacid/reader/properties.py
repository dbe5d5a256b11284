"""Properties by which Hive reads the files of a table or partition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hiveacid.errors import UnreadableTableError
from hiveacid.metastore.models import StorageDescriptor, Table, TableName

ORC_INPUT_FORMAT = "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat"
TEXT_INPUT_FORMAT = "org.apache.hadoop.mapred.TextInputFormat"


def file_properties(table: Table, storage: StorageDescriptor) -> dict[str, str]:
    """Return the properties by which Hive reads the files of a table or partition.

    The table's own properties take precedence over its SerDe's
    (`MetaStoreUtils.getSchemaWithoutCols`), and a partition's properties over both. For a property
    that the partition lacks, the table's present value counts (`AbstractSerDe.initialize`).
    """
    of_table = {**table.storage.serde_parameters, **table.parameters}
    return of_table if storage == table.storage else {**of_table, **storage.serde_parameters}


def refuse_others(
    table: TableName,
    kind: str,
    properties: Mapping[str, str],
    harmless: Iterable[tuple[str, str]],
) -> None:
    """Refuse a table with a property of `harmless` that has another value.

    Raises:
        UnreadableTableError: naming the property and its value.
    """
    for name, value in harmless:
        if properties.get(name, value).lower() != value.lower():
            raise not_read_yet(table, kind, name, properties[name])


def not_read_yet(table: TableName, kind: str, name: str, value: str) -> UnreadableTableError:
    """Return the error for a property that is not supported."""
    return UnreadableTableError(
        f"{table}: {kind} with {name} = {value!r} cannot be read yet. Let Hive copy the table to "
        "one without the property, or stored as ORC.",
        code="HIVEACID_UNSUPPORTED_TABLE_PROPERTY",
    )


def header_lines(table: Table) -> int:
    """Return the number of lines, or of rows in other formats, that Hive skips in each file.

    Hive reads the property of the table, and ignores the partition's. A table that is not text has
    no header lines (`Utilities.getHeaderCount`, `SkippingTextInputFormat`).

    Raises:
        UnreadableTableError: the property is not a number.
    """
    if table.storage.input_format != TEXT_INPUT_FORMAT:
        return 0
    name = "skip.header.line.count"
    value = file_properties(table, table.storage).get(name, "0")
    if not value.isdecimal():
        raise not_read_yet(table.name, "text", name, value)
    return int(value)
