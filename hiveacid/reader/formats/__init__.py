"""File formats of insert-only tables: one module each, chosen by `file_format`."""

from __future__ import annotations

from typing import Any

from hiveacid.errors import UnreadableTableError
from hiveacid.metastore.models import StorageDescriptor, TableName
from hiveacid.reader.formats.avro import Avro
from hiveacid.reader.formats.base import FileFormat
from hiveacid.reader.formats.hive_serde import HiveSerde
from hiveacid.reader.formats.json import Json
from hiveacid.reader.formats.orc import Orc
from hiveacid.reader.formats.parquet import Parquet
from hiveacid.reader.formats.text import Text
from hiveacid.reader.properties import ORC_INPUT_FORMAT, TEXT_INPUT_FORMAT

ORC = Orc()

_BY_INPUT_FORMAT: dict[str, FileFormat[Any]] = {
    ORC_INPUT_FORMAT: ORC,
    "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat": Parquet(),
    "org.apache.hadoop.hive.ql.io.avro.AvroContainerInputFormat": Avro(),
}
_BY_SERDE: dict[str, FileFormat[Any]] = {
    "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe": Text(),
    "org.apache.hadoop.hive.serde2.JsonSerDe": Json(),
}
"""Formats of `TextInputFormat`, by SerDe."""

_ANY_OTHER = HiveSerde()


def file_format(table: TableName, storage: StorageDescriptor) -> FileFormat[Any]:
    """Return the format of a table's or partition's files.

    Raises:
        UnreadableTableError: the metastore names no class that reads the files.
    """
    if storage.input_format == TEXT_INPUT_FORMAT:
        found = _BY_SERDE.get(storage.serde or "")
    else:
        found = _BY_INPUT_FORMAT.get(storage.input_format or "")
    if found is not None:
        return found
    if not storage.input_format or not storage.serde:
        raise UnreadableTableError(
            f"{table} cannot be read: the metastore names no classes that read its files "
            f"(input format {storage.input_format}, SerDe {storage.serde}). Create the table "
            "again in Hive.",
            code="HIVEACID_UNKNOWN_FILE_FORMAT",
        )
    return _ANY_OTHER
