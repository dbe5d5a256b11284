"""Texts that are values of a partition column's type, and others."""

import pytest

from hiveacid.errors import UnreadableTableError
from hiveacid.metastore.models import Column, Partition, StorageDescriptor, Table, TableName
from hiveacid.reader import columns as reader_columns
from hiveacid.reader.columns import NULL_PARTITION, partition_values, table_columns
from hiveacid.reader.types import is_shown_as_null, is_value, spark_type


@pytest.mark.parametrize(
    ("hive_type", "values", "others"),
    [
        ("tinyint", ["127", "-128", "+5", "007"], ["128", "300", "abc", "", "1.0", " 1", "٣"]),
        ("bigint", ["9223372036854775807"], ["9223372036854775808"]),
        ("decimal(6,2)", ["1.50", "-.5", "1e3"], ["abc", "NaN", ""]),
        ("double", ["1.5", "NaN", "-Infinity", "1.0E-5"], ["abc", "1.5d", ""]),
        ("boolean", ["true", "false", "TRUE"], ["abc", "yes", "0", ""]),
        ("date", ["2026-01-31", "0001-01-01", "2026-1-2"], ["2026-02-30", "20260101", "x"]),
        ("timestamp", ["2026-01-31 10:00:00.5", "2026-01-31"], ["2026-02-30 10:00:00", "10:00"]),
        ("string", ["", "anything"], []),
    ],
)
def test_what_is_a_value(hive_type, values, others):
    data_type = spark_type(hive_type)
    assert [value for value in values if not is_value(value, data_type)] == []
    assert [value for value in others if is_value(value, data_type)] == []


@pytest.mark.parametrize(
    ("hive_type", "nulls", "others"),
    [
        ("tinyint", ["__NADA__", "", "abc"], ["300", "1.0", "NaN", "٣"]),
        ("double", ["__NADA__"], ["NaN", "-Infinity", "1.5d"]),
        ("date", ["__NADA__", "-"], ["2026-02-30"]),
        ("boolean", [], ["__NADA__"]),
        ("string", [], ["__NADA__"]),
    ],
)
def test_what_is_null_since_it_cannot_be_read(hive_type, nulls, others):
    data_type = spark_type(hive_type)
    assert [text for text in nulls if not is_shown_as_null(text, data_type)] == []
    assert [text for text in others if is_shown_as_null(text, data_type)] == []


def test_the_partition_is_named(monkeypatch):
    monkeypatch.setattr(reader_columns, "_value", lambda *arguments: None)
    storage = StorageDescriptor("file:/t", (Column("c", "int"),), None, None, {})
    keys = (Column("a", "string"), Column("b", "tinyint"))
    columns = table_columns(
        Table(TableName("shop", "t"), "MANAGED_TABLE", storage, keys, {}, create_time=0)
    )
    values = [("x", "1"), ("y", NULL_PARTITION), ("z w", "300"), ("z", "400")]
    partitions = [Partition(value, storage, create_time=0) for value in values]
    assert len(partition_values(None, partitions[:2], columns)) == 2
    with pytest.raises(UnreadableTableError) as error:
        partition_values(None, partitions, columns)
    message = "shop.t: partition a=z w/b=300 cannot be read: its value is not a valid tinyint, the"
    assert message in str(error.value)
