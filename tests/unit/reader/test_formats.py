"""What the metastore says of a table's format: known, or refused by name."""

from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import MagicMock, patch

import pytest
from pyspark.errors import AnalysisException

from hiveacid.errors import UnreadableTableError
from hiveacid.metastore.models import StorageDescriptor, Table, TableName
from hiveacid.reader.formats import file_format
from hiveacid.reader.formats.avro import check_avro, check_avro_module
from hiveacid.reader.formats.base import TableRead
from hiveacid.reader.formats.hive_serde import HiveSerde
from hiveacid.reader.formats.text import line_format
from hiveacid.reader.insert_only import _by_format

NAME = TableName("shop", "events")
TEXT = "org.apache.hadoop.mapred.TextInputFormat"
SERDES = "org.apache.hadoop.hive.serde2"


def storage(input_format=TEXT, serde=f"{SERDES}.lazy.LazySimpleSerDe", **parameters):
    return StorageDescriptor("file:/t", (), input_format, serde, parameters)


def table(**parameters):
    return Table(NAME, "MANAGED_TABLE", storage(), (), parameters, create_time=0)


@pytest.mark.parametrize(
    ("input_format", "serde", "format"),
    [
        (TEXT, f"{SERDES}.lazy.LazySimpleSerDe", "text"),
        (TEXT, f"{SERDES}.JsonSerDe", "json"),
        ("org.apache.hadoop.hive.ql.io.avro.AvroContainerInputFormat", "any", "avro"),
        ("org.apache.hadoop.hive.ql.io.orc.OrcInputFormat", "any", "orc"),
        ("org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat", "any", "parquet"),
    ],
)
def test_a_known_format(input_format, serde, format):
    assert file_format(NAME, storage(input_format, serde)).name == format


@pytest.mark.parametrize(
    ("input_format", "serde"),
    [
        (TEXT, f"{SERDES}.OpenCSVSerde"),
        (TEXT, f"{SERDES}.MultiDelimitSerDe"),
        (TEXT, f"{SERDES}.RegexSerDe"),
        (TEXT, "org.apache.hive.hcatalog.data.JsonSerDe"),
        ("org.apache.hadoop.mapred.SequenceFileInputFormat", f"{SERDES}.lazy.LazySimpleSerDe"),
        (
            "org.apache.hadoop.hive.ql.io.RCFileInputFormat",
            f"{SERDES}.columnar.LazyBinaryColumnarSerDe",
        ),
    ],
)
def test_another_format_is_left_to_hives_own_classes(input_format, serde):
    assert isinstance(file_format(NAME, storage(input_format, serde)), HiveSerde)


@pytest.mark.parametrize(("input_format", "serde"), [(None, None), (TEXT, None), (None, "any")])
def test_a_format_without_a_class_is_refused_by_name(input_format, serde):
    with pytest.raises(UnreadableTableError) as error:
        file_format(NAME, storage(input_format, serde))
    assert f"(input format {input_format}, SerDe {serde})" in str(error.value)


@pytest.mark.parametrize(
    ("serde", "property", "value"),
    [
        ("OpenCSVSerde", "skip.header.line.count", "2"),
        ("OpenCSVSerde", "skip.footer.line.count", "1"),
        ("columnar.ColumnarSerDe", "escape.delim", "|"),
        ("columnar.ColumnarSerDe", "timestamp.formats", "yyyy"),
    ],
)
def test_a_property_that_hives_classes_in_spark_do_not_obey_is_refused(serde, property, value):
    stored = storage(TEXT, f"{SERDES}.{serde}", **{property: value})
    read = SimpleNamespace(table=replace(table(), storage=stored))
    with pytest.raises(UnreadableTableError, match=f"with {property} = '.*' cannot be read yet"):
        HiveSerde().check(read, stored)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("spark.sql.catalogImplementation", "in-memory"),
        ("spark.files.ignoreMissingFiles", "true"),
        ("spark.files.ignoreCorruptFiles", "true"),
        ("spark.sql.files.ignoreMissingFiles", "true"),
        ("spark.sql.files.ignoreCorruptFiles", "true"),
        ("spark.sql.hive.verifyPartitionPath", "true"),
    ],
)
def test_a_session_that_hives_classes_cannot_be_used_in_is_refused(setting, value):
    stored = storage(TEXT, f"{SERDES}.OpenCSVSerde")
    settings = {"spark.sql.catalogImplementation": "hive", setting: value}
    spark = SimpleNamespace(conf=settings)
    read = SimpleNamespace(
        spark=spark, table=replace(table(), storage=stored), columns=None, storages=[stored]
    )
    with pytest.raises(UnreadableTableError) as error:
        HiveSerde().layouts(read, [])
    assert setting in str(error.value)


@pytest.mark.parametrize(
    ("property", "value"),
    [
        ("skip.footer.line.count", "1"),
        ("serialization.encoding", "ISO-8859-1"),
        ("hive.lazysimple.extended_boolean_literal", "true"),
        ("timestamp.formats", "yyyy"),
        ("hive.serialization.decode.binary.as.base64", "false"),
        ("field.delim", "-2"),
        ("mapkey.delim", "§"),
    ],
)
def test_a_property_of_text_that_is_not_understood_is_refused(property, value):
    with pytest.raises(UnreadableTableError, match=f"text with {property} = '{value}'"):
        line_format(table(), storage(**{property: value}))
    with pytest.raises(UnreadableTableError, match=f"text with {property} = '{value}'"):
        line_format(table(**{property: value}), storage())


def test_avro_with_a_schema_of_its_own_is_refused():
    check_avro(table(), storage())
    with pytest.raises(UnreadableTableError, match=r"a schema of its own \(avro.schema.literal\)"):
        check_avro(table(**{"avro.schema.literal": "{}"}), storage())


def test_the_missing_module_for_avro_is_named():
    spark = MagicMock(version="4.1.4")
    spark.read.format.return_value.schema.return_value.load.side_effect = AnalysisException("none")
    properties = SimpleNamespace(versionNumberString=lambda: "2.13.17")
    with (
        patch("hiveacid.reader.formats.avro.java", return_value=properties),
        pytest.raises(UnreadableTableError) as error,
    ):
        check_avro_module(spark, NAME)
    assert "spark.jars.packages: org.apache.spark:spark-avro_2.13:4.1.4" in str(error.value)


def test_the_tables_own_properties_go_before_those_of_its_serde_and_a_partitions_before_both():
    marker = "serialization.null.format"
    of_serde = replace(table(), storage=storage(**{marker: "serde", "field.delim": "|"}))
    of_table = replace(of_serde, parameters={marker: "table"})
    assert line_format(of_serde, of_serde.storage).null == "serde"
    assert line_format(of_table, of_table.storage).null == "table"
    partition = replace(storage(**{"serialization.format": "1"}), location="file:/t/p=1")
    found = line_format(of_table, partition)
    assert (found.null, found.separators[0]) == ("table", "|")
    partition = replace(partition, serde_parameters={marker: "partition", "field.delim": ";"})
    found = line_format(of_table, partition)
    assert (found.null, found.separators[0]) == ("partition", ";")


def test_an_empty_delimiter_is_the_default_and_not_a_missing_one():
    found = line_format(table(), storage(**{"field.delim": "", "serialization.format": "7"}))
    assert (found.separators[0], found.escape) == ("\x01", None)
    found = line_format(table(), storage(**{"escape.delim": "", "serialization.format": "7"}))
    assert (found.separators[0], found.escape) == ("\x07", "\\")
    found = line_format(table(), storage(**{"collection.delim": "", "mapkey.delim": ""}))
    assert found.separators[1:3] == ("\x02", "\x03")


def test_how_many_lines_are_no_rows_is_for_the_table_to_say():
    header = {"skip.header.line.count": "2"}
    assert line_format(table(**header), storage()).header == 2
    of_serde = replace(table(), storage=storage(**header))
    assert line_format(of_serde, replace(storage(), location="file:/t/p=1")).header == 2
    partition = replace(storage(**header), location="file:/t/p=1")
    assert line_format(table(), partition).header == 0
    with pytest.raises(UnreadableTableError, match="text with skip.header.line.count = 'two'"):
        line_format(table(**{"skip.header.line.count": "two"}), storage())
    of_orc = replace(table(**header), storage=storage("any"))
    assert line_format(of_orc, partition).header == 0


def test_spark_is_asked_once_a_read_for_its_module_for_avro():
    avro = storage("org.apache.hadoop.hive.ql.io.avro.AvroContainerInputFormat", "any")
    read = TableRead(MagicMock(), table(), (avro, avro, avro), MagicMock())
    with patch("hiveacid.reader.formats.avro.check_avro_module") as asked:
        assert _by_format(read, []) == {}
    assert asked.call_count == 1
