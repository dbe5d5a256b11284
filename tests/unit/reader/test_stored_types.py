"""Which columns of a file are converted, as Hive's readers do it, and which refused."""

import pytest
from pyspark.sql.types import StructType

from hiveacid.acid.layout import ListedFile
from hiveacid.errors import UnreadableTableError
from hiveacid.metastore.models import Column, StorageDescriptor, Table, TableName
from hiveacid.reader import stored_types as module
from hiveacid.reader.columns import table_columns
from hiveacid.reader.file_headers import UnsignedType
from hiveacid.reader.partition_columns import parquet_partition_columns
from hiveacid.reader.stored_types import avro_reads, stored_types, with_stored
from hiveacid.reader.types import spark_type


@pytest.fixture(autouse=True)
def spark_4(monkeypatch):
    """Test what Spark 4 reads, on whatever Spark."""
    monkeypatch.setattr(module, "_SPARK_WIDENS", True)


FILE = ListedFile("delta_0000001_0000001/000000_0", "file:/t/000000_0", 1, 1)


def storage(**columns):
    return StorageDescriptor("file:/t", tuple(Column(*c) for c in columns.items()), None, None, {})


def table(**columns):
    return Table(TableName("shop", "t"), "MANAGED_TABLE", storage(**columns), (), {}, 0)


def stored(format, old, new):
    # Only Parquet's names are found in any case.
    in_file = StructType().add("C" if format == "parquet" else "c", spark_type(old))
    return stored_types(table_columns(table(c=new)), format, FILE, in_file)


@pytest.mark.parametrize(
    ("format", "old", "new", "converted"),
    [
        ("parquet", "int", "double", True),
        ("parquet", "tinyint", "decimal(9,0)", True),
        ("parquet", "bigint", "varchar(3)", True),
        ("parquet", "decimal(10,2)", "decimal(20,4)", True),
        ("parquet", "double", "string", True),
        ("parquet", "int", "tinyint", True),
        ("parquet", "bigint", "int", True),
        ("parquet", "decimal(9,2)", "int", True),
        ("parquet", "decimal(9,2)", "string", True),
        ("parquet", "int", "int", False),
        ("parquet", "int", "bigint", False),
        ("parquet", "float", "double", False),
        ("parquet", "string", "varchar(3)", False),
        ("parquet", "timestamp", "string", False),
        ("parquet", "string", "int", False),
        ("avro", "int", "float", True),
        ("avro", "bigint", "double", True),
        ("avro", "binary", "string", True),
        ("avro", "string", "binary", True),
        ("avro", "decimal(10,2)", "decimal(6,1)", True),
        ("avro", "decimal(10,2)", "decimal(11,1)", True),
        ("avro", "decimal(10,2)", "decimal(20,4)", False),
        ("avro", "int", "double", False),
        ("avro", "int", "smallint", False),
        ("avro", "int", "date", False),
        ("avro", "bigint", "timestamp", False),
    ],
)
def test_what_is_converted(format, old, new, converted):
    found = stored(format, old, new)
    assert found == (((0, spark_type(old)),) if converted else ())
    data = table_columns(table(c=new)).data
    assert with_stored(data, found)["c"].dataType == spark_type(old if converted else new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("struct<a:int>", "struct<a:double>"),
        ("array<struct<a:smallint,b:int>>", "array<struct<a:double>>"),
        ("map<int,int>", "map<int,double>"),
        ("struct<a:int>", "struct<b:int>"),
        ("array<struct<a:int>>", "array<struct<b:string>>"),
        ("array<int>", "array<smallint>"),
        ("struct<a:decimal(9,2)>", "struct<a:bigint>"),
        ("map<string,decimal(9,2)>", "map<string,string>"),
    ],
)
def test_what_is_refused_inside_of_a_column(old, new):
    with pytest.raises(UnreadableTableError) as error:
        stored("parquet", old, new)
    assert f"shop.t: file:/t/000000_0 has {old} for column c, which is {new} now" in str(
        error.value
    )


@pytest.mark.parametrize(
    ("old", "new", "is_read"),
    [
        ("struct<a:int>", "struct<a:double,b:string>", True),
        ("array<struct<a:int>>", "array<struct<b:string>>", True),
        ("array<int>", "array<smallint>", True),
        ("map<string,int>", "map<string,uniontype<int,string>>", True),
        ("int", "string", False),
        ("int", "timestamp", False),
        ("date", "timestamp", False),
        ("struct<a:decimal(9,2)>", "struct<a:bigint>", False),
        ("array<decimal(9,2)>", "array<decimal(9,1)>", False),
        ("map<string,decimal(9,2)>", "map<string,string>", False),
        ("array<binary>", "array<string>", False),
        ("array<int>", "int", False),
    ],
)
def test_what_spark_reads_in_avro(old, new, is_read):
    assert avro_reads(spark_type(old), spark_type(new)) is is_read
    # A column that is not read has the file's type in the scan, and each value is an error.
    assert stored("avro", old, new) == (() if is_read else ((0, spark_type(old)),))


@pytest.mark.parametrize("new", ["struct<a:int,c:int>", "struct<a:bigint>", "struct<b:string>"])
def test_what_is_left_to_spark_inside_of_a_column(new):
    assert stored("parquet", "struct<a:int,b:string>", new) == ()


@pytest.mark.parametrize(
    ("format", "old", "new", "scanned"),
    [
        ("parquet", "int", "bigint", "int"),
        ("parquet", "float", "double", "float"),
        ("avro", "int", "double", "int"),
        # By the table's fields, so that a cast makes the table's type of it.
        ("avro", "struct<a:int,b:int>", "struct<b:bigint,c:int>", "struct<b:int,c:int>"),
        ("avro", "array<int>", "array<bigint>", "array<int>"),
        ("parquet", "map<int,float>", "map<bigint,double>", "map<int,float>"),
    ],
)
def test_what_spark_3_does_not_widen(monkeypatch, format, old, new, scanned):
    assert stored(format, old, new) == ()
    monkeypatch.setattr(module, "_SPARK_WIDENS", False)
    assert stored(format, old, new) == ((0, spark_type(scanned)),)
    assert stored(format, new, new) == ()


@pytest.mark.parametrize("new", ["bigint", "struct<a:bigint>", "decimal(20,0)"])
def test_unsigned_integers_are_refused(new):
    in_file = StructType().add("c", UnsignedType())
    with pytest.raises(UnreadableTableError, match="has unsigned integers for column c, which is "):
        stored_types(table_columns(table(c=new)), "parquet", FILE, in_file)
    assert stored_types(table_columns(table(d=new)), "parquet", FILE, in_file) == ()


def test_a_parquet_partition_keeps_its_decimals_and_lengths():
    columns = table_columns(table(a="decimal(20,4)", b="string", c="bigint", d="int"))
    own = parquet_partition_columns(columns, storage(a="decimal(10,2)", b="varchar(3)", c="int"))
    assert own.data_types == ("decimal(10,2)", "varchar(3)", "bigint")
    assert own.data == StructType(columns.data.fields[:3])


@pytest.mark.parametrize(
    ("in_file", "is_refused"),
    [
        ("c int", False),
        ("C int", True),
        ("D int", False),
        ("c array<struct<a:int>>", False),
        ("c array<struct<A:int>>", True),
        ("c map<string,struct<A:int>>", True),
        ("c struct<a:int,more:int>", False),
    ],
)
def test_avro_names_that_hive_does_not_find_are_refused(in_file, is_refused):
    name, data_type = in_file.split(" ", 1)
    types = StructType().add(name, spark_type(data_type))
    columns = table_columns(table(c=data_type.lower()))
    if is_refused:
        with pytest.raises(
            UnreadableTableError,
            match="names in .*/000000_0 differ in case from the table's in column c",
        ):
            stored_types(columns, "avro", FILE, types)
    else:
        assert stored_types(columns, "avro", FILE, types) == ()
