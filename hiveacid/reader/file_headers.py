"""Metadata of Parquet and Avro files, read by their Java libraries."""

from __future__ import annotations

import json
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any, TypeVar

from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.types import AtomicType, DataType, StructField, StructType

from hiveacid.acid.layout import ListedFile
from hiveacid.errors import UnreadableTableError
from hiveacid.jvm.errors import JAVA_ERRORS, java_exception
from hiveacid.jvm.filesystem import THREADS
from hiveacid.jvm.java_types import JavaObject
from hiveacid.jvm.py4j import java

Answer = TypeVar("Answer")
_KEPT_HEADERS = 100_000
"""Maximum number of cached headers, about 1 kB each: a process may outlive many snapshots."""

_NOT_HADOOPS_OWN = frozenset({".lzo", ".lzo_deflate"})
"""Suffixes of codecs that do not ship with Hadoop: a Hive may have them installed."""

_TOP_LEVEL = re.compile(r"^  (?=[a-z])", re.MULTILINE)
_UNSIGNED = re.compile(r"\(INTEGER\((?:32|64),false\)\)")
"""Unsigned integers, which other engines write, in the text of a Parquet schema."""

INT96 = "int96"
INT64 = "int64"
_SPARK_VERSION = "org.apache.spark.version"
_REBASED = {
    INT96: ("3.1.0", "org.apache.spark.legacyINT96"),
    INT64: ("3.0.0", "org.apache.spark.legacyDateTime"),
}
"""For each encoding of timestamps: the first Spark that writes it in the proleptic Gregorian
calendar, and the metadata key by which a later Spark states that it wrote the legacy calendar."""

_STAMP = re.compile(r"^ *(?:optional|required|repeated) (int96) |\(TIMESTAMP\((\w+,\w+)\)\)", re.M)
"""Timestamps in the text of a Parquet schema: `INT96`, or a unit and whether it is UTC."""

MICROS = "timestamp-micros"
_AVRO_STAMP = re.compile(r'"logicalType": "((?:local-)?timestamp-[a-z]+)"')
"""Timestamps in the text of a field of an Avro schema."""

_AVRO_PRIMITIVES = frozenset("null boolean int long float double bytes string".split())


def ask_file(
    spark: SparkSession, file: ListedFile, format: str, question: Callable[[JavaObject], Answer]
) -> Answer:
    """Return the result of `question` on a file's open reader.

    The reader is a `ParquetFileReader` for the format `parquet`, and a `DataFileReader` for `avro`.

    Raises:
        UnreadableTableError: the file is not there, or not of the format.
    """
    path = java(spark.sparkContext, "org.apache.hadoop.fs.Path")(file.path)
    try:
        reader = _READERS[format](spark.sparkContext, path, spark._jsc.hadoopConfiguration())
        try:
            return question(reader)
        finally:
            reader.close()
    except JAVA_ERRORS as error:
        raise UnreadableTableError(
            f"{file.path} ({file.length} bytes) cannot be read as {format}: "
            f"{java_exception(error).toString()}. If the file is gone, the snapshot lost its "
            "lock or somebody removed the file by hand. If the file is damaged, restore it.",
            code="HIVEACID_UNREADABLE_FILE",
        ) from error


def _open_parquet(context: SparkContext, path: JavaObject, configuration: JavaObject) -> JavaObject:
    package = "org.apache.parquet.hadoop"
    return java(context, f"{package}.ParquetFileReader").open(
        java(context, f"{package}.util.HadoopInputFile").fromPath(path, configuration)
    )


def _open_avro(context: SparkContext, path: JavaObject, configuration: JavaObject) -> JavaObject:
    package = "org.apache.avro"
    return java(context, f"{package}.file.DataFileReader")(
        java(context, f"{package}.mapred.FsInput")(path, configuration),
        java(context, f"{package}.generic.GenericDatumReader")(),
    )


_READERS: dict[str, Callable[[SparkContext, JavaObject, JavaObject], JavaObject]] = {
    "parquet": _open_parquet,
    "avro": _open_avro,
}


def check_codecs(spark: SparkSession, files: Iterable[ListedFile]) -> None:
    """Refuse compressed files whose codec is not installed: Spark would read them as plain lines.

    Raises:
        UnreadableTableError: naming the file.
    """
    compressed = [f for f in files if PurePosixPath(f.path).suffix in _NOT_HADOOPS_OWN]
    if not compressed:
        return
    factory = java(spark.sparkContext, "org.apache.hadoop.io.compress.CompressionCodecFactory")(
        spark._jsparkSession.sessionState().newHadoopConf()
    )
    for file in compressed:
        path = java(spark.sparkContext, "org.apache.hadoop.fs.Path")(file.path)
        if factory.getCodec(path) is None:
            raise UnreadableTableError(
                f"{file.path} cannot be read: it is compressed by a codec that Spark does not "
                "have. Add the codec's jar to `spark.jars`, and the codecs of Hive's "
                "`io.compression.codecs` to server_side_parameters "
                "(`spark.hadoop.io.compression.codecs`).",
                code="HIVEACID_UNKNOWN_COMPRESSION_CODEC",
            )


class UnsignedType(DataType):
    """Type of a Parquet column with unsigned 32- or 64-bit integers at any depth.

    Hive reads large values as negative and shows NULL. Spark shows the values.
    """

    def simpleString(self) -> str:  # noqa: N802 (as PySpark's types)
        """Return the name of the type in messages."""
        return "unsigned integers"


@dataclass(frozen=True)
class FileHeader:
    """Schema and time metadata of a file.

    `columns` are the columns for which Spark has a type. `names` are the names of all columns of a
    Parquet file. `zone`, `proleptic` and `legacy` are the writer's metadata `writer.time.zone`,
    `writer.proleptic` (`writer.date.proleptic` in Parquet) and `writer.zone.conversion.legacy`.
    `stamps` maps a column name in lower case to the encodings of the timestamps in the column of a
    Parquet file: `int96`, or a unit and whether it is adjusted to UTC, as in `MICROS,true`; of an
    Avro file: the logical types, such as `timestamp-millis`.
    `created_by` names the writer of a Parquet file. `by_spark`: a Spark wrote the file in the
    proleptic Gregorian calendar (3.0 and later, by default). `rebased` are the encodings for which
    Spark's reader rebases the calendar, whatever its options: `INT96`, and `INT64`, which includes
    dates. An Avro file has `INT64` only. `byte_stream_split`: a column chunk of a Parquet file has
    this encoding.
    """

    columns: StructType
    zone: str | None = None
    proleptic: str | None = None
    legacy: str | None = None
    names: tuple[str, ...] = ()
    stamps: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    created_by: str = ""
    by_spark: bool = False
    rebased: tuple[str, ...] = ()
    byte_stream_split: bool = False


class KnownHeaders:
    """LRU cache of file headers. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[ListedFile, FileHeader] = OrderedDict()

    def get(self, files: Iterable[ListedFile]) -> dict[ListedFile, FileHeader]:
        """Return the headers that are in the cache."""
        with self._lock:
            known = ((file, self._known.get(file)) for file in files)
            found = {file: header for file, header in known if header is not None}
            for file in found:
                self._known.move_to_end(file)
            return found

    def put(self, headers: Mapping[ListedFile, FileHeader], at_most: int) -> None:
        """Add headers, and remove the least recently used ones beyond `at_most`."""
        with self._lock:
            self._known.update(headers)
            while len(self._known) > at_most:
                self._known.popitem(last=False)


_KNOWN = KnownHeaders()


def file_headers(
    spark: SparkSession, format: str, files: Iterable[ListedFile]
) -> dict[ListedFile, FileHeader]:
    """Return the header of each file of `format` (`parquet` or `avro`).

    Raises:
        UnreadableTableError: a file cannot be read.
    """
    wanted = list(files)
    headers = _KNOWN.get(wanted)
    missing = [file for file in wanted if file not in headers]
    question = {"parquet": _parquet, "avro": _avro}[format]
    with ThreadPoolExecutor(THREADS) as pool:
        found = pool.map(
            lambda file: ask_file(spark, file, format, lambda reader: question(spark, reader)),
            missing,
        )
        new = dict(zip(missing, found, strict=True))
    if new:
        # All headers of one table stay, also if it has more files than the maximum.
        _KNOWN.put(new, at_most=max(_KEPT_HEADERS, len(wanted)))
        headers.update(new)
    return {file: headers[file] for file in wanted}


def _parquet(spark: SparkSession, reader: JavaObject) -> FileHeader:
    footer = reader.getFooter()
    metadata = footer.getFileMetaData()
    values, schema = metadata.getKeyValueMetaData(), metadata.getSchema()
    text = schema.toString()
    names, columns = _parquet_columns(spark, schema, text)
    rebased = tuple(way for way in (INT96, INT64) if _is_rebased(way, values.get))
    return FileHeader(
        columns,
        values.get("writer.time.zone"),
        values.get("writer.date.proleptic"),
        values.get("writer.zone.conversion.legacy"),
        names,
        _stamps(names, text),
        metadata.getCreatedBy() or "",
        values.get(_SPARK_VERSION) is not None and INT64 not in rebased,
        rebased,
        _has_byte_stream_split(spark, footer),
    )


def _has_byte_stream_split(spark: SparkSession, footer: JavaObject) -> bool:
    """Return whether a column chunk has the encoding BYTE_STREAM_SPLIT.

    Java searches the text of all row groups: a call for each chunk takes too long. A column of this
    name counts as well, which does no harm.
    """
    text = java(spark.sparkContext, "java.lang.StringBuilder")().append(footer.getBlocks())
    return bool(text.indexOf("BYTE_STREAM_SPLIT") >= 0)


def _is_rebased(way: str, value_of: Callable[[str], str | None]) -> bool:
    """Return whether Spark's reader rebases the calendar (`DataSourceUtils.getRebaseSpec`).

    `value_of` returns the file's metadata value of a key.
    """
    version, (since, legacy) = value_of(_SPARK_VERSION), _REBASED[way]
    return version is not None and (version < since or value_of(legacy) is not None)


def _stamps(names: Iterable[str], text: str) -> dict[str, tuple[str, ...]]:
    if not _STAMP.search(text):
        return {}
    found = {}
    for name, own in zip(names, _TOP_LEVEL.split(text)[1:], strict=True):
        kinds = {int96 or int64 for int96, int64 in _STAMP.findall(own)}
        if kinds:
            found[name.lower()] = tuple(sorted(kinds))
    return found


def _parquet_columns(
    spark: SparkSession, schema: JavaObject, text: str
) -> tuple[tuple[str, ...], StructType]:
    with suppress(*JAVA_ERRORS):
        columns = _converted(spark, schema, text)
        return tuple(columns.names), columns
    # Spark has no type for some column, perhaps a column that the table does not have.
    message = java(spark.sparkContext, "org.apache.parquet.schema.MessageType")
    known: list[StructField] = []
    for i in range(schema.getFieldCount()):
        one = message(schema.getName(), schema.getFields().subList(i, i + 1))
        try:
            known += _converted(spark, one, one.toString()).fields
        except JAVA_ERRORS:
            # The column may have nested nanoseconds. For any other column this fails again.
            with suppress(*JAVA_ERRORS):
                numbers = _converted(spark, one, one.toString(), nanos_as_long=True).fields
                known += [it for it in numbers if not isinstance(it.dataType, AtomicType)]
    names = tuple(str(schema.getFieldName(i)) for i in range(schema.getFieldCount()))
    return names, StructType(known)


def _converted(
    spark: SparkSession, schema: JavaObject, text: str, nanos_as_long: bool = False
) -> StructType:
    package = "org.apache.spark.sql.execution.datasources.parquet"
    converter = java(spark.sparkContext, f"{package}.ParquetToSparkSchemaConverter")
    conf = spark._jsparkSession.sessionState().conf()
    if nanos_as_long:
        conf = conf.clone()
        conf.setConfString("spark.sql.legacy.parquet.nanosAsLong", "true")
    columns = _from_java(converter(conf).convert(schema))
    if not _UNSIGNED.search(text):
        return columns
    return StructType(
        [
            StructField(field.name, UnsignedType()) if _UNSIGNED.search(own) else field
            for field, own in zip(columns, _TOP_LEVEL.split(text)[1:], strict=True)
        ]
    )


def _avro(spark: SparkSession, reader: JavaObject) -> FileHeader:
    converters = java(spark.sparkContext, "org.apache.spark.sql.avro.SchemaConverters")
    schema = reader.getSchema()
    return FileHeader(
        _from_java(converters.toSqlType(schema).dataType()),
        reader.getMetaString("writer.time.zone"),
        reader.getMetaString("writer.proleptic"),
        reader.getMetaString("writer.zone.conversion.legacy"),
        stamps=_avro_stamps(schema.toString()),
        rebased=(INT64,) if _is_rebased(INT64, reader.getMetaString) else (),
    )


def _avro_stamps(schema: str) -> dict[str, tuple[str, ...]]:
    """Return the logical types of the timestamps in each column.

    A column that refers to a named type, which may be that of another column, gets those of all.
    """
    of_all = tuple(sorted(set(_AVRO_STAMP.findall(json.dumps(json.loads(schema))))))
    if not of_all:
        return {}
    found = {}
    for column in json.loads(schema)["fields"]:
        own = set(_AVRO_STAMP.findall(json.dumps(column)))
        stamps = of_all if _has_reference(column["type"]) else tuple(sorted(own))
        found[column["name"].lower()] = stamps
    return found


def _has_reference(type_: Any) -> bool:
    """Return whether an Avro type, in JSON, refers to a type by its name."""
    if isinstance(type_, str):
        return type_ not in _AVRO_PRIMITIVES
    if isinstance(type_, list):
        return any(map(_has_reference, type_))
    inner = [it["type"] for it in type_.get("fields", ())]
    inner += [type_[key] for key in ("items", "values") if key in type_]
    return any(map(_has_reference, inner))


def _from_java(schema: JavaObject) -> StructType:
    return _from_json(schema.json())


@lru_cache(maxsize=1_000)
def _from_json(text: str) -> StructType:
    """Return the columns of a schema; cached, so that the files of a table share one object."""
    return StructType.fromJson(json.loads(text))
