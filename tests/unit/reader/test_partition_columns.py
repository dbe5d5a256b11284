"""Partition columns that Hive does not show as the metastore has them, or converts not at all."""

import pytest

from hiveacid.errors import UnreadableTableError
from hiveacid.metastore.models import Column, StorageDescriptor, Table, TableName
from hiveacid.reader.columns import NULL_PARTITION, kept_value, table_columns
from hiveacid.reader.partition_columns import as_in_table, partition_columns


@pytest.mark.parametrize(
    ("value", "hive_type", "shown"),
    [
        ("abcdef", "varchar(3)", "abc"),
        ("äöüß", "varchar(3)", "äöü"),
        ("ab c", "varchar(3)", "ab "),
        ("ab c", "char(3)", "ab"),
        ("ab", "char(3)", "ab"),
        ("abcdef", "string", "abcdef"),
        ("12", "int", "12"),
        (NULL_PARTITION, "varchar(3)", None),
    ],
)
def test_a_partition_value_is_as_long_as_its_type(value, hive_type, shown):
    assert kept_value(value, hive_type) == shown


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("timestamp", "string", "Hive's text has nanoseconds"),
        ("struct<at:timestamp>", "struct<at:varchar(9)>", "Hive's text has nanoseconds"),
        ("array<int>", "string", "Hive converts no array, map or struct to another"),
        *(
            (old, new, "Hive converts such values differently from Spark")
            for old, new in (
                ("string", "int"),
                ("varchar(9)", "bigint"),
                ("string", "double"),
                ("string", "date"),
                ("string", "boolean"),
                ("double", "int"),
                ("double", "float"),
                ("decimal(10,2)", "int"),
                ("int", "boolean"),
                ("binary", "varchar(9)"),
                ("date", "timestamp"),
            )
        ),
    ],
)
def test_what_is_not_converted_is_refused_by_name(converted, old, new, reason):
    with pytest.raises(UnreadableTableError) as error:
        converted(old, new)
    message = f"shop.t: partition p=1 has column c as {old}, and the table as {new}: {reason}"
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tinyint", "smallint"),
        ("int", "bigint"),
        ("bigint", "int"),
        ("int", "tinyint"),
        ("bigint", "double"),
        ("bigint", "decimal(20,0)"),
        ("float", "double"),
        ("decimal(20,4)", "decimal(9,0)"),
        ("decimal(10,2)", "float"),
        ("decimal(10,2)", "double"),
        ("decimal(20,2)", "bigint"),
        ("binary", "string"),
        ("boolean", "int"),
        ("boolean", "string"),
        ("double", "string"),
        ("date", "varchar(10)"),
        ("varchar(6)", "char(3)"),
        ("struct<a:int>", "struct<b:bigint,c:string>"),
    ],
)
def test_what_spark_converts_as_hive_does(converted, old, new):
    assert len(converted(old, new)) == 1


@pytest.fixture
def converted(monkeypatch):
    """A text table's column of a type, from a partition's of another, without a JVM."""
    module = "hiveacid.reader.partition_columns"
    for name in ("as_column", "F", "try_cast", "short"):
        monkeypatch.setattr(f"{module}.{name}", _Column())

    def storage(hive_type):
        return StorageDescriptor("file:/t", (Column("c", hive_type),), None, None, {})

    def convert(old, new):
        columns = table_columns(
            Table(TableName("shop", "t"), "MANAGED_TABLE", storage(new), (), {}, create_time=0)
        )
        own = partition_columns(columns, storage(old))
        return as_in_table([("c", "c")], own, columns, "p=1")

    return convert


class _Column:
    """Whatever is done with it, it is one again."""

    def __getattr__(self, name):
        return self

    def __call__(self, *arguments):
        return self
