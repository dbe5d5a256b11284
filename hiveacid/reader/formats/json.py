"""Lines of JSON as Hive's `JsonSerDe` reads them.

Hive converts some values of another type (`"abc"` to the int 0, 128 to the tinyint -128) and fails
on others. Here a value must have the form that Hive itself writes for the column's type; for any
other value the query fails with an error that shows the value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    MapType,
    StructField,
    StructType,
    TimestampType,
    VarcharType,
)

from hiveacid.metastore.models import StorageDescriptor
from hiveacid.reader.columns import TableColumns, refuse_unions, short, try_cast
from hiveacid.reader.file_headers import check_codecs
from hiveacid.reader.formats.base import (
    FileFormat,
    Layout,
    ScannedFiles,
    TableRead,
    columns_of_partitions,
    group,
)
from hiveacid.reader.partition_columns import partition_columns
from hiveacid.reader.plan import DataFile
from hiveacid.reader.projection import ColumnExpr
from hiveacid.reader.properties import file_properties, refuse_others
from hiveacid.reader.scan import scan
from hiveacid.reader.types import depth, spark_type

_MEMBERS = "__hiveacid_members"
_OUTLINE = "__hiveacid_outline"
_OPTIONS = {"allowSingleQuotes": "false", "allowNonNumericNumbers": "false"}
_MEMBER = "struct<key:string,value:string>"
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_FLAT = f'(?s)({_STRING})|[\\[{{](?:[^"\\[\\]{{}}]++|{_STRING})*+[\\]}}]'
"""String, or an array or object without nested arrays and objects."""

_NUMBER = r"\A-?\d+(\.\d+)?([eE][+-]?\d+)?\z"


_HARMLESS = (
    ("skip.header.line.count", "0"),
    ("skip.footer.line.count", "0"),
    ("json.binary.format", "base64"),
    ("timestamp.formats", ""),
    ("text.null.empty.line", "false"),
)
"""Properties that change what Hive shows, with the values that do not."""


class Json(FileFormat[Layout]):
    """Lines of JSON."""

    name = "json"

    def check(self, read: TableRead, storage: StorageDescriptor) -> None:
        """Refuse properties that are not understood, and a `uniontype`."""
        refuse_unions(read.columns, "Hive fails on a uniontype in JSON")
        properties = file_properties(read.table, storage)
        refuse_others(read.table.name, self.name, properties, _HARMLESS)

    def layouts(self, read: TableRead, files: Sequence[DataFile]) -> dict[Layout, list[DataFile]]:
        """Group files by the columns of their partitions."""
        check_codecs(read.spark, [file.file for file in files])
        own = columns_of_partitions(read, partition_columns)
        return group((Layout(own(file.partition)), file) for file in files)

    def scan(self, read: TableRead, layout: Layout, files: Sequence[DataFile]) -> ScannedFiles:
        """Read lines, and columns by the names of members."""
        frame, by_path = scan(read.spark, "text", [file.file for file in files], "value string")
        return ScannedFiles(
            with_members(frame, layout.columns), by_path, json_columns(layout.columns)
        )


def with_members(frame: DataFrame, columns: TableColumns) -> DataFrame:
    """Parse the lines in the column `value`, once for all `json_columns`."""
    line = F.col("value")
    members = _Reader(f"{columns.table}").members(line)
    outline = _outline(line, list(columns.data.fields))
    return frame.withColumns({_MEMBERS: members, _OUTLINE: outline})


def json_columns(columns: TableColumns) -> list[ColumnExpr]:
    """Return the table's columns, made of the columns that `with_members` adds."""
    types = [spark_type(hive_type, with_lengths=True) for hive_type in columns.data_types]
    reader = _Reader(f"{columns.table}")
    record = reader.record(F.col(_OUTLINE), F.col(_MEMBERS), columns.data.names, types)
    return list(zip(columns.data.names, record, strict=True))


class _Reader:
    """Expressions for the columns of one table; `_table` is for messages."""

    def __init__(self, table: str) -> None:
        self._table = table

    def members(self, text: Column) -> Column:
        """Return the members of a JSON object, with their values as JSON."""
        return F.map_entries(self._parsed(text, "map<string,string>"))

    def record(
        self, outline: Column, members: Column, names: list[str], types: list[DataType]
    ) -> list[Column]:
        """Return the fields of a JSON object, by name in any case; missing fields are NULL.

        If several members have the same name, the last one counts. `_col2` is the third field.
        `outline` (`_outline`) shows which members are strings.
        """
        return [
            self._field(outline, members, i, name, data_type)
            for i, (name, data_type) in enumerate(zip(names, types, strict=True))
        ]

    def _field(
        self, outline: Column, members: Column, i: int, name: str, data_type: DataType
    ) -> Column:
        known = [F.lit(name.lower()), F.lit(f"_col{i}")]
        same = F.filter(members, lambda member: F.lower(member["key"]).isin(*known))
        last = F.element_at(F.concat(F.array(F.lit(None).cast(_MEMBER)), same), -1)["value"]
        if not _is_text(data_type):
            return _let(last, lambda value: self._value(value, data_type))
        other = outline.rlike(f'(?is)"(\\Q{name}\\E|_col{i})"\\s*:\\s*[^"\\sn]')
        return _let(
            last, lambda value: self._value(self._checked(value, ~other, data_type), data_type)
        )

    def _value(self, text: Column, data_type: DataType) -> Column:
        """Return a value from its JSON, which for a string is the string itself."""
        if isinstance(data_type, StructType):
            return F.when(text.isNotNull(), self._struct(text, data_type))
        if isinstance(data_type, ArrayType):
            elements = self._parsed(text, "array<string>")
            if _is_text(data_type.elementType):
                elements = F.when(self._strings(text, data_type), elements)
            return F.transform(elements, lambda e: self._value(e, data_type.elementType))
        if isinstance(data_type, MapType):
            entries = self.members(text)
            if _is_text(data_type.valueType):
                entries = F.when(self._strings(text, data_type), entries)
            typed = F.transform(
                entries,
                lambda entry: F.struct(
                    self._value(entry["key"], data_type.keyType).alias("key"),
                    self._value(entry["value"], data_type.valueType).alias("value"),
                ),
            )
            return _let(typed, _map)
        return self._primitive(text, data_type)

    def _struct(self, text: Column, data_type: StructType) -> Column:
        types = [field.dataType for field in data_type.fields]

        def struct(known: Column) -> Column:
            fields = self.record(known["outline"], known["members"], data_type.names, types)
            named = (f.alias(name) for f, name in zip(fields, data_type.names, strict=True))
            return F.struct(*named)

        outline = _outline(text, data_type.fields).alias("outline")
        return _let(F.struct(self.members(text).alias("members"), outline), struct)

    def _strings(self, text: Column, data_type: DataType) -> Column:
        """Return true if the outermost values of an array or object are strings, else fail."""
        bare = F.regexp_replace(text, f"(?s){_STRING}", "")
        valid = bare.rlike(r"\A\s*[\[{][^\[\]{}0-9tf]*[\]}]\s*\z")
        return self._checked(F.lit(True), valid, data_type, text)

    def _primitive(self, text: Column, data_type: DataType) -> Column:
        if isinstance(data_type, IntegralType):
            return self._cast(text, r"\A-?\d+\z", data_type)
        if isinstance(data_type, BooleanType):
            return self._cast(text, r"\A(true|false)\z", data_type)
        if isinstance(data_type, DoubleType | FloatType):
            special = r"|\A(NaN|-?Infinity)\z"
            return self._cast(text, _NUMBER + special, DoubleType()).cast(data_type)
        if isinstance(data_type, DecimalType):
            # Hive shows NULL for a number with too many digits before the point.
            return try_cast(self._checked(text, text.rlike(_NUMBER), data_type), data_type)
        if isinstance(data_type, DateType):
            return self._cast(text, r"\A\d{4}-\d\d-\d\d\z", data_type)
        if isinstance(data_type, TimestampType):
            return self._cast(text, r"\A\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,9})?\z", data_type)
        if isinstance(data_type, BinaryType):
            base64 = r"\A([A-Za-z0-9+/]{4})*+([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\z"
            return F.unbase64(self._checked(text, text.rlike(base64), data_type))
        return short(text, data_type) if isinstance(data_type, CharType | VarcharType) else text

    def _parsed(self, text: Column, schema: str) -> Column:
        checked = _let(
            F.from_json(text, schema, _OPTIONS),
            lambda parsed: self._checked(parsed, parsed.isNotNull(), schema, text),
        )
        return F.when(text.isNotNull(), checked)

    def _cast(self, text: Column, form: str, data_type: DataType) -> Column:
        value = try_cast(text, data_type)
        valid = text.rlike(form) & value.isNotNull()
        return self._checked(value, valid | text.isNull(), data_type, text)

    def _checked(
        self, value: Column, valid: Column, expected: DataType | str, shown: Column | None = None
    ) -> Column:
        """Return the value, or an error with `shown` if `valid` is false; NULL counts as true."""
        what = expected if isinstance(expected, str) else expected.simpleString()
        message = F.concat(
            F.lit(
                f"[HIVEACID_UNEXPECTED_JSON] {self._table} has JSON that is not what Hive "
                f"writes for {what}. Correct the file, or let Hive copy the table to one "
                "stored as ORC. The value: "
            ),
            F.coalesce((value if shown is None else shown).cast("string"), F.lit("null")),
        )
        is_wrong = ~F.coalesce(valid, F.lit(True))
        return F.when(is_wrong, F.raise_error(message)).otherwise(value)


def _is_text(data_type: DataType) -> bool:
    """Return whether JSON writes the type as a string, so that other values could look like it."""
    return data_type.typeName() in ("string", "char", "varchar", "binary")


def _map(entries: Column) -> Column:
    """Return a map in which the last value of a repeated key stands at the key's first position.

    `"1"` and `"01"` are the same int. Hive puts the entries into a `LinkedHashMap` in their order.
    """
    keys = F.transform(entries, lambda entry: entry["key"])

    def last(key: Column) -> Column:
        same = F.filter(entries, lambda entry: entry["key"] == key)
        return F.element_at(same, -1)["value"]

    distinct = F.array_distinct(keys)
    merged = F.map_from_arrays(distinct, F.transform(distinct, last))
    return F.when(F.size(distinct) < F.size(keys), merged).otherwise(F.map_from_entries(entries))


def _outline(text: Column, fields: Sequence[StructField]) -> Column:
    """Return a JSON object without its first brace and without the contents of nested values.

    Nested values are the arrays and objects of its members. Values that are nested deeper than any
    of the `fields` stay: they belong to a member that the table does not have.
    """
    outline = F.regexp_replace(text, r"\A\s*\{", "")
    for _ in range(max([1, *(depth(field.dataType) for field in fields)])):
        outline = F.regexp_replace(outline, _FLAT, "$1")
    return outline


def _let(value: Column, use: Callable[[Column], Column]) -> Column:
    """Return `use` of a value; the value is computed once, however often `use` refers to it."""
    return F.element_at(F.transform(F.array(value), use), 1)
