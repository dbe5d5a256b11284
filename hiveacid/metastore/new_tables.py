"""Tables to be created, as thrift structs."""

from __future__ import annotations

from collections.abc import Iterable

from hiveacid.metastore.models import Column, StorageDescriptor, Table
from hiveacid.metastore.raw_structs import RawStruct

_USER = 1
"""`PrincipalType.USER`."""

_OUTPUT_FORMATS = {
    "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat": (
        "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat"
    ),
    "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat": (
        "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat"
    ),
}
"""By the class that reads the format."""


def table_struct(table: Table) -> RawStruct:
    """Return the `Table` that `create_table_req` wants, without a location."""
    result = RawStruct()
    result.set_text(1, table.name.table)
    result.set_text(2, table.name.database)
    result.set_text(3, table.owner or "")
    result.set_int(4, table.create_time)
    result.set_int(5, 0)
    result.set_int(6, 0)
    result.set_struct(7, _storage(table.storage))
    result.set_structs(8, _columns(table.partition_keys))
    result.set_texts(9, table.parameters)
    result.set_text(12, table.table_type)
    result.set_flag(14, False)
    result.set_text(17, "hive")
    result.set_int(18, _USER)
    return result


def _storage(storage: StorageDescriptor) -> RawStruct:
    assert storage.input_format is not None and storage.serde is not None
    serde = RawStruct()
    serde.set_text(2, storage.serde)
    serde.set_texts(3, storage.serde_parameters)
    result = RawStruct()
    result.set_structs(1, _columns(storage.columns))
    result.set_text(3, storage.input_format)
    result.set_text(4, _OUTPUT_FORMATS[storage.input_format])
    result.set_flag(5, False)
    result.set_int(6, storage.num_buckets)
    result.set_struct(7, serde)
    result.set_text_list(8, list(storage.bucket_columns))
    result.set_structs(9, [])
    result.set_texts(10, {})
    result.set_flag(12, False)
    return result


def _columns(columns: Iterable[Column]) -> list[RawStruct]:
    return [column_struct(column) for column in columns]


def column_struct(column: Column) -> RawStruct:
    """Return the `FieldSchema` of a column."""
    result = RawStruct()
    result.set_text(1, column.name)
    result.set_text(2, column.type)
    if column.comment is not None:
        result.set_text(3, column.comment)
    return result
