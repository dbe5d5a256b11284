"""Files of any other format, read by Hive's own classes inside Spark.

Spark ships the input formats and SerDes of Hive 2.3, and a scan that runs them. The scan covers
exactly the planned files: each file is one partition of a table that exists in Spark's plan only.
No metastore is asked. Where the classes of Hive 2.3 show other values than Hive 4, the values are
converted here or refused (docs/decisions/values.md).
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from pyspark import SparkContext
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DataType,
    DateType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from hiveacid.acid.layout import ListedFile
from hiveacid.errors import UnreadableTableError
from hiveacid.jvm.bulk import bulk_of
from hiveacid.jvm.errors import JAVA_ERRORS, java_exception
from hiveacid.jvm.filesystem import PATH
from hiveacid.jvm.java_types import CatalogTable, JavaArray, JavaObject
from hiveacid.jvm.plans import dataframe_of
from hiveacid.jvm.py4j import java, scala_seq_of
from hiveacid.metastore.models import StorageDescriptor, Table, TableName
from hiveacid.reader.columns import TableColumns, refuse_unions, within_length
from hiveacid.reader.file_headers import check_codecs
from hiveacid.reader.formats.base import (
    FileFormat,
    Layout,
    ScannedFiles,
    TableRead,
    columns_of_partitions,
    group,
)
from hiveacid.reader.formats.text_values import text_value
from hiveacid.reader.partition_columns import partition_columns
from hiveacid.reader.plan import DataFile
from hiveacid.reader.projection import ColumnExpr, as_column, named
from hiveacid.reader.properties import (
    TEXT_INPUT_FORMAT,
    file_properties,
    header_lines,
    not_read_yet,
    refuse_others,
)
from hiveacid.reader.scan import FILE_PATH
from hiveacid.reader.timestamps import WallClock, change, has
from hiveacid.reader.types import TEXT_OF_LENGTH, depth, spark_type

_CATALYST = "org.apache.spark.sql.catalyst"
_CATALOG = f"{_CATALYST}.catalog"
_SERDE2 = "org.apache.hadoop.hive.serde2"
_OUTPUT_FORMAT = "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat"
"""Output format that Spark requires but never uses: nothing is written."""

_CELLS_OF_TEXT = frozenset({f"{_SERDE2}.lazy.LazySimpleSerDe", f"{_SERDE2}.columnar.ColumnarSerDe"})
"""SerDes whose cells are texts. The cells are read as strings and converted by `text_value`."""

_BINARY = frozenset(
    {
        f"{_SERDE2}.lazybinary.LazyBinarySerDe",
        f"{_SERDE2}.columnar.LazyBinaryColumnarSerDe",
    }
)
"""SerDes that store dates and timestamps as numbers."""

_TIMES = (DateType, TimestampType)
_FIRST_DAY = "1582-10-15"
_FIRST_INSTANT = "1900-01-01"
_GLOB = re.compile(r"[{}\[\]*?\\]")
_BYTES_PER_TASK = 32 << 20
_HEADER = "skip.header.line.count"
_IS_HEADER = "__hiveacid_is_header"
_LOSES_FILES = (
    ("spark.files.ignoreMissingFiles", "false"),
    ("spark.files.ignoreCorruptFiles", "false"),
    ("spark.sql.files.ignoreMissingFiles", "false"),
    ("spark.sql.files.ignoreCorruptFiles", "false"),
    ("spark.sql.hive.verifyPartitionPath", "false"),
)
"""Settings by which Spark's scan can skip files, and the values with which it skips none."""

_OF_TEXT = (
    ("serialization.encoding", "UTF-8"),
    ("hive.lazysimple.extended_boolean_literal", "false"),
    ("hive.serialization.extend.nesting.levels", "false"),
    ("hive.serialization.extend.additional.nesting.levels", "false"),
    ("timestamp.formats", ""),
    ("hive.serialization.decode.binary.as.base64", "true"),
)


@dataclass(frozen=True)
class SerdeLayout(Layout):
    """Layout of files that the same classes read with the same properties.

    `has_header`: the first line of each file is a header.
    """

    input_format: str
    serde: str
    properties: tuple[tuple[str, str], ...]
    has_header: bool


class HiveSerde(FileFormat[SerdeLayout]):
    """Any Hive input format and SerDe on Spark's class path."""

    name = "Hive's own classes"

    def check(self, read: TableRead, storage: StorageDescriptor) -> None:
        """Refuse properties that are not understood, and a `uniontype`."""
        _check_properties(read.table, storage)
        refuse_unions(read.columns, "Spark's scan of Hive's formats does not support uniontype")

    def layouts(
        self, read: TableRead, files: Sequence[DataFile]
    ) -> dict[SerdeLayout, list[DataFile]]:
        """Group files by the classes, properties and columns of their partitions."""
        if any(storage.input_format == TEXT_INPUT_FORMAT for storage in read.storages):
            check_codecs(read.spark, [file.file for file in files])
        own = columns_of_partitions(read, partition_columns)
        of_partition = {
            number: _layout(read.table, read.storages[number], own(number))
            for number in {file.partition for file in files}
        }
        _check_session(read.spark, read.table)
        for layout in set(of_partition.values()):
            _check_types(layout)
            _check_classes(read.spark, layout)
        return group((of_partition[file.partition], file) for file in files)

    def scan(self, read: TableRead, layout: SerdeLayout, files: Sequence[DataFile]) -> ScannedFiles:
        """Read each file as one partition of a table that exists in Spark's plan only."""
        by_path = {file.file.path: file.file for file in files}
        frame = _rows(read.spark, layout, list(by_path.values()))
        return ScannedFiles(frame, by_path, _columns(read, layout))


def _check_properties(table: Table, storage: StorageDescriptor) -> None:
    properties = file_properties(table, storage)
    what = f"{storage.serde}"
    refuse_others(table.name, what, properties, (("skip.footer.line.count", "0"),))
    lines = header_lines(table)
    if lines > 1:
        # Only the first line is certain to be in the first split of its file.
        raise not_read_yet(table.name, what, _HEADER, str(lines))
    if storage.serde in _CELLS_OF_TEXT:
        # Hive 4 ignores the spelling of Hive 2 and 3.
        spelt = ("colelction.delim", properties.get("collection.delim", "\x02"))
        refuse_others(table.name, what, properties, (*_OF_TEXT, spelt))
        if "escape.delim" in properties:
            raise not_read_yet(table.name, what, "escape.delim", properties["escape.delim"])


def _check_session(spark: SparkSession, table: Table) -> None:
    """Refuse a session that cannot scan Hive's formats, or whose scans can skip files.

    Raises:
        UnreadableTableError: naming the setting.
    """
    if spark.conf.get("spark.sql.catalogImplementation") != "hive":
        raise UnreadableTableError(
            f"{table.name} is stored as {table.storage.input_format} with "
            f"{table.storage.serde}, which Spark reads with Hive's own classes, but this "
            "Spark session has no Hive support. Start Spark with "
            "`spark.sql.catalogImplementation: hive` (in a program: "
            "SparkSession.builder.enableHiveSupport()).",
            code="HIVEACID_HIVE_SUPPORT_MISSING",
        )
    for name, harmless in _LOSES_FILES:
        value = str(spark.conf.get(name, harmless))
        if value.lower() != harmless:
            raise UnreadableTableError(
                f"{table.name} is read with Hive's own classes, and {name} = {value} lets "
                f"Spark skip files that it cannot read, so rows could be missing. Set {name} "
                f"to {harmless}.",
                code="HIVEACID_SPARK_IGNORES_UNREADABLE_FILES",
            )


def _layout(table: Table, storage: StorageDescriptor, columns: TableColumns) -> SerdeLayout:
    properties = file_properties(table, storage)
    if "collection.delim" in properties:
        # Hive 2 spells it so.
        properties["colelction.delim"] = properties["collection.delim"]
    assert storage.input_format is not None
    assert storage.serde is not None
    return SerdeLayout(
        columns,
        storage.input_format,
        storage.serde,
        tuple(sorted(properties.items())),
        has_header=header_lines(table) > 0 and storage.input_format == TEXT_INPUT_FORMAT,
    )


def _check_types(layout: SerdeLayout) -> None:
    """Refuse types whose values differ between Hive 4 and Hive 2.3's classes inside Spark.

    Raises:
        UnreadableTableError: naming the column.
    """
    columns = layout.columns
    for field, hive_type in zip(columns.data, columns.data_types, strict=True):
        if not has(field.dataType, _TIMES) or layout.serde in _BINARY:
            continue
        if layout.serde in _CELLS_OF_TEXT and not depth(field.dataType):
            continue
        raise UnreadableTableError(
            f"{columns.table}: column {field.name} ({hive_type}) cannot be read: Spark's own "
            f"version of {layout.serde} shows other dates and times than Hive 4. Let Hive "
            "copy the table to one stored as ORC, or with the column as a string.",
            code="HIVEACID_UNSUPPORTED_COLUMN_TYPE",
        )


def _check_classes(spark: SparkSession, layout: SerdeLayout) -> None:
    """Create the SerDe as Spark will, and compare its columns with the metastore's columns.

    Raises:
        UnreadableTableError: a class is missing, the SerDe refuses its properties, or the SerDe
            has other columns.
    """
    context = spark.sparkContext
    table = layout.columns.table
    if re.search("orc|parquet", layout.serde, re.IGNORECASE):
        raise UnreadableTableError(
            f"{table} is stored as {layout.input_format} with {layout.serde}. Spark would use "
            "its own format in place of a SerDe with such a name. Let Hive copy the table to "
            "one stored as ORC.",
            code="HIVEACID_UNSUPPORTED_SERDE",
        )
    loader = spark._jsparkSession.sharedState().jarClassLoader()
    for name in (layout.input_format, layout.serde):
        try:
            found = java(context, "java.lang.Class").forName(name, True, loader)
        except JAVA_ERRORS as error:
            raise UnreadableTableError(
                f"{table} is stored as {layout.input_format} with {layout.serde}, and the class "
                f"{name} is not on Spark's class path. Add its jar to `spark.jars`, or let Hive "
                "copy the table to one stored as ORC.",
                code="HIVEACID_SERDE_CLASS_MISSING",
            ) from error
    fields = _fields(layout)
    client = java(context, "org.apache.spark.sql.hive.client.HiveClientImpl$")
    meta = _catalog_table(spark, layout, fields, StructType(), 0, "")
    hive_table = client.__getattr__("MODULE$").toHiveTable(meta, _none(context))
    try:
        serde = found.getConstructor(_no_classes(context)).newInstance(_no_objects(context))
        conf = spark._jsparkSession.sessionState().newHadoopConf()
        serde.initialize(conf, hive_table.getMetadata())
        inspector = serde.getObjectInspector()
        type_infos = java(context, f"{_SERDE2}.typeinfo.TypeInfoUtils")
        shown = type_infos.getTypeInfoFromObjectInspector(inspector).getTypeName()
    except JAVA_ERRORS as error:
        raise UnreadableTableError(
            f"{table} cannot be read: {layout.serde} does not take the table's columns and "
            f"properties: {java_exception(error).toString()}. Correct the properties in Hive "
            "(ALTER TABLE … SET SERDEPROPERTIES).",
            code="HIVEACID_SERDE_REFUSES_TABLE",
        ) from error
    types = ",".join(
        f"{field.name}:{_scanned_type(layout, hive_type)}"
        for field, hive_type in zip(layout.columns.data, layout.columns.data_types, strict=True)
    )
    if shown.lower() != f"struct<{types}>".lower():
        raise UnreadableTableError(
            f"{table} has the columns struct<{types}> in the metastore, but {layout.serde} "
            f"reads {shown}. Hive 4 describes the table with the types of the metastore, and "
            "shows rows with the types of the SerDe. Give the table's columns the types of "
            "the SerDe, or let Hive copy the table to one stored as ORC.",
            code="HIVEACID_SERDE_COLUMNS_DIFFER",
        )


def _is_cell(layout: SerdeLayout, hive_type: str) -> bool:
    """Return whether a column is read as the text of its cell."""
    return layout.serde in _CELLS_OF_TEXT and not depth(spark_type(hive_type))


def _scanned_type(layout: SerdeLayout, hive_type: str) -> str:
    return "string" if _is_cell(layout, hive_type) else hive_type


def _fields(layout: SerdeLayout) -> StructType:
    """Return the columns of Spark's scan: strings for cells that are converted here."""
    fields = []
    for field, hive_type in zip(layout.columns.data, layout.columns.data_types, strict=True):
        scanned = _scanned_type(layout, hive_type)
        metadata = {TEXT_OF_LENGTH: scanned} if "char(" in scanned else {}
        fields.append(StructField(field.name, spark_type(scanned), True, metadata))
    return StructType(fields)


def _columns(read: TableRead, layout: SerdeLayout) -> list[ColumnExpr]:
    """Return the table's columns, made of the columns of the scan."""
    clock = WallClock.of(read.spark, "UTC")
    shown: list[ColumnExpr] = []
    for field, hive_type in zip(layout.columns.data, layout.columns.data_types, strict=True):
        value = as_column(named(field.name))
        own = spark_type(hive_type, with_lengths=True)
        if _is_cell(layout, hive_type):
            value = text_value(value, own, None, read.is_hive_3)
        else:
            late = partial(_checked, table=layout.columns.table, name=field.name)
            value = change(value, field.dataType, _TIMES, late)
            value = within_length(clock.show(value, field.dataType), hive_type)
        shown.append((field.name, value))
    return shown


def _checked(time: Column, data_type: DataType, table: TableName, name: str) -> Column:
    """Return a date or time; an error where Spark reads the number in another calendar."""
    is_day = isinstance(data_type, DateType)
    first = _FIRST_DAY if is_day else _FIRST_INSTANT
    limit = F.lit(first).cast("date") if is_day else F.timestamp_seconds(F.lit(-2208988800))
    message = F.concat(
        F.lit(
            f"[HIVEACID_AMBIGUOUS_OLD_TIME] {table} has in column {name} a time before "
            f"{first}, which Spark shows differently from Hive. Let Hive copy the table to "
            "one stored as ORC. The time: "
        ),
        time.cast("string"),
    )
    return F.when(time < limit, F.raise_error(message)).otherwise(time)


def _rows(spark: SparkSession, layout: SerdeLayout, files: Sequence[ListedFile]) -> DataFrame:
    """Return Spark's scan of the files, with the column `FILE_PATH`."""
    context = spark.sparkContext
    table = layout.columns.table
    for file in files:
        if _GLOB.search(file.path):
            raise UnreadableTableError(
                f"{table} cannot be read: Hive's classes treat the path {file.path} as a glob "
                "pattern. Move the table or partition to a directory without any of {}[]*?\\ "
                "in its path.",
                code="HIVEACID_PATTERN_IN_PATH",
            )
    data, path = _fields(layout), StructType([StructField(FILE_PATH, StringType())])
    # Spark compares scans by the names of their tables, among other things.
    seen = hashlib.sha256(repr((layout, files)).encode()).hexdigest()[:16]
    size = sum(file.length for file in files)
    meta = _catalog_table(spark, layout, data, path, size, seen)
    attributes = java(context, f"{_CATALYST}.types.DataTypeUtils").toAttributes
    relation = java(context, f"{_CATALOG}.HiveTableRelation")(
        meta,
        attributes(_java_type(context, data)),
        attributes(_java_type(context, path)),
        _none(context),
        _some(context, _partitions(spark, layout, files)),
    )
    frame = dataframe_of(spark, relation)
    if layout.has_header:
        frame = _without_first_lines(frame)
    # Spark drops a filter on partition columns only where the plan lists the partitions: it assumes
    # that the filter has pruned them. So the path must depend on a column of the files.
    first = as_column(named(layout.columns.data.names[0]))
    located = F.coalesce(F.col(FILE_PATH), F.when(first.isNull(), F.lit("")))
    return _in_few_tasks(frame, files).withColumn(FILE_PATH, located)


def _without_first_lines(frame: DataFrame) -> DataFrame:
    """Leave out the first row of each file.

    A partition of the scan is a split of a file, and each line is a row. The position and the start
    of the split are computed in the scan's own partitions, before `_in_few_tasks` merges them, and
    before any filter: Spark pushes no filter below a nondeterministic expression.
    """
    place = F.monotonically_increasing_id().bitwiseAND(F.lit((1 << 33) - 1))
    is_header = (place == 0) & (F.input_file_block_start() == 0)
    rows = frame.select("*", is_header.alias(_IS_HEADER))
    return rows.where(~F.col(_IS_HEADER)).drop(_IS_HEADER)


def _in_few_tasks(frame: DataFrame, files: Sequence[ListedFile]) -> DataFrame:
    """Merge the tasks of many small files.

    The scan has a task for each file, and each task receives the description of all files.
    """
    tasks = 2 * frame.sparkSession.sparkContext.defaultParallelism
    tasks = max(tasks, math.ceil(sum(file.length for file in files) / _BYTES_PER_TASK))
    return frame.coalesce(tasks) if len(files) > tasks else frame


def _partitions(
    spark: SparkSession, layout: SerdeLayout, files: Sequence[ListedFile]
) -> JavaObject:
    """Return a Scala `Seq` with one `CatalogTablePartition` for each file."""
    context = spark.sparkContext
    partition = java(context, f"{_CATALOG}.CatalogTablePartition")
    defaults = [partition.__getattr__(f"apply$default${i}")() for i in range(3, 7)]
    path = java(context, PATH)
    of_storage = _storage_format(spark, layout)

    def of_file(file: ListedFile) -> JavaObject:
        location = _some(context, path(file.path).toUri())
        values = _map(context, {FILE_PATH: file.path})
        return partition(values, of_storage(location), *defaults)

    return scala_seq_of(context, map(of_file, files))


def _catalog_table(
    spark: SparkSession,
    layout: SerdeLayout,
    data: StructType,
    partition: StructType,
    size: int,
    suffix: str,
) -> CatalogTable:
    """Return a `CatalogTable` with the columns and the storage of a layout."""
    context = spark.sparkContext
    table = layout.columns.table
    maker = java(context, f"{_CATALOG}.CatalogTable")
    known = {
        1: java(context, f"{_CATALYST}.TableIdentifier")(
            "_".join(filter(None, (table.table, suffix))), _some(context, table.database)
        ),
        2: java(context, f"{_CATALOG}.CatalogTableType").EXTERNAL(),
        3: _storage_format(spark, layout)(_none(context)),
        4: _java_type(context, StructType([*data.fields, *partition.fields])),
        5: _some(context, "hive"),
        6: scala_seq_of(context, partition.names),
        13: _some(context, _statistics(spark, size)),
    }
    found = bulk_of(spark).class_(f"{_CATALOG}.CatalogTable")
    count = found.getConstructors()[0].getParameterCount()
    defaults = {i: f"apply$default${i}" for i in range(1, count + 1) if i not in known}
    values = {i: maker.__getattr__(name)() for i, name in defaults.items()} | known
    return maker(*(values[i] for i in range(1, count + 1)))


def _storage_format(spark: SparkSession, layout: SerdeLayout) -> Callable[[JavaObject], JavaObject]:
    """Return the function from a location to a `CatalogStorageFormat` with a layout's classes."""
    context = spark.sparkContext
    name = f"{_CATALOG}.CatalogStorageFormat"
    maker = java(context, name)
    classes = [_some(context, name) for name in (layout.input_format, _OUTPUT_FORMAT, layout.serde)]
    properties = _map(context, dict(layout.properties))
    # Later versions of Spark ask for the name of the SerDe as well.
    count = bulk_of(spark).class_(name).getConstructors()[0].getParameterCount()
    others = [_none(context)] * (count - 6)
    return lambda location: maker(location, *classes, False, properties, *others)


def _java_type(context: SparkContext, schema: StructType) -> JavaObject:
    return java(context, "org.apache.spark.sql.types.DataType").fromJson(schema.json())


def _statistics(spark: SparkSession, size: int) -> JavaObject:
    """Return a `CatalogStatistics` of `size` bytes.

    py4j would convert a `BigInt` to a Python number.
    """
    bulk = bulk_of(spark)
    big, name = "scala.math.BigInt", f"{_CATALOG}.CatalogStatistics"
    new = bulk.constructor(name, [big, "scala.Option", "scala.collection.immutable.Map"])
    of_long = bulk.on(new, 0, bulk.static(big, "apply", big, ["long"]))
    context = spark.sparkContext
    arguments = java(context, "java.util.ArrayList")()
    for argument in (size, _none(context), _map(context, {})):
        arguments.add(argument)
    return of_long.invokeWithArguments(arguments)


def _no_classes(context: SparkContext) -> JavaArray:
    assert context._gateway is not None
    return context._gateway.new_array(java(context, "java.lang.Class"), 0)


def _no_objects(context: SparkContext) -> JavaArray:
    assert context._gateway is not None
    return context._gateway.new_array(java(context, "java.lang.Object"), 0)


def _some(context: SparkContext, value: object) -> JavaObject:
    return java(context, "scala.Some")(value)


def _none(context: SparkContext) -> JavaObject:
    return java(context, "scala.Option").empty()


def _map(context: SparkContext, entries: Mapping[str, str]) -> JavaObject:
    """Return an immutable Scala `Map`."""
    found = java(context, "java.util.LinkedHashMap")()
    for key, value in entries.items():
        found.put(key, value)
    return java(context, "org.apache.spark.api.python.PythonUtils").toScalaMap(found)
