"""Hive types as Spark types, nested types, and texts as values of a type."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence

from pyspark.sql import types as spark_types
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    MapType,
    StructField,
    StructType,
    TimestampType,
    VarcharType,
)

_PRIMITIVES: dict[str, DataType] = {
    "tinyint": spark_types.ByteType(),
    "smallint": spark_types.ShortType(),
    "int": spark_types.IntegerType(),
    "integer": spark_types.IntegerType(),
    "bigint": spark_types.LongType(),
    "float": spark_types.FloatType(),
    "double": spark_types.DoubleType(),
    "boolean": spark_types.BooleanType(),
    "string": spark_types.StringType(),
    # Read as strings without padding: Spark pads a nested char, and then compares it unpadded.
    "char": spark_types.StringType(),
    "varchar": spark_types.StringType(),
    "binary": spark_types.BinaryType(),
    "date": spark_types.DateType(),
    "timestamp": spark_types.TimestampType(),
}
_WITH_LENGTH = {"char": CharType, "varchar": VarcharType}
INTEGERS = frozenset({"tinyint", "smallint", "int", "bigint"})
"""Hive's names of the integer types."""

TEXT_OF_LENGTH = "__CHAR_VARCHAR_TYPE_STRING"
"""Metadata key of a string field under which Spark stores its declared CHAR or VARCHAR type
(`CharVarcharUtils`)."""

INTEGER_BITS: dict[type[DataType], int] = {
    spark_types.ByteType: 8,
    spark_types.ShortType: 16,
    spark_types.IntegerType: 32,
    spark_types.LongType: 64,
}
"""Width in bits of Spark's integer types."""

_TOKEN = re.compile(r"timestamp with local time zone|`(?:[^`]|``)*`|[\w$ .\-]+|[<>(),:]")
_FIELD_TOKEN = re.compile(r"`(?:[^`]|``)*`|[<>(),:]|[^`<>(),:]+")
_NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
_FORMS: dict[type[DataType], str] = {
    BooleanType: "true|false",
    DecimalType: _NUMBER,
    FloatType: rf"{_NUMBER}|NaN|[+-]?Infinity",
    DoubleType: rf"{_NUMBER}|NaN|[+-]?Infinity",
    DateType: r"\d{4}-\d\d?-\d\d?",
    TimestampType: r"\d{4}-\d\d?-\d\d?([ T]\d\d?:\d\d?:\d\d?(\.\d+)?)?",
}


class UnionType(StructType):
    """Hive's `uniontype` as a struct, whose `tag` is the number of the member that is set.

    The members have the names of Spark's Avro reader: `member0`, `member1` and so on. All other
    members are NULL, and the member that is set may be NULL, too.
    """

    def __init__(self, members: Sequence[DataType]) -> None:
        super().__init__(
            [
                StructField("tag", spark_types.ByteType()),
                *(StructField(f"member{i}", member) for i, member in enumerate(members)),
            ]
        )

    @classmethod
    def typeName(cls) -> str:  # noqa: N802 (as PySpark's types)
        """Return the name of Spark's type: for Spark it is a struct."""
        return "struct"

    @property
    def members(self) -> list[StructField]:
        """The members, in the order of their tags."""
        return self.fields[1:]


def with_leaves(type_: DataType, leaf: Callable[[DataType], DataType]) -> DataType:
    """Replace each type in a type that is not an array, map or struct by `leaf` of it."""
    if isinstance(type_, ArrayType):
        return ArrayType(with_leaves(type_.elementType, leaf), type_.containsNull)
    if isinstance(type_, MapType):
        key, value = (with_leaves(inner, leaf) for inner in (type_.keyType, type_.valueType))
        return MapType(key, value, type_.valueContainsNull)
    if isinstance(type_, StructType):
        return StructType(
            [StructField(f.name, with_leaves(f.dataType, leaf), f.nullable) for f in type_]
        )
    return leaf(type_)


def with_lower_names(type_: DataType) -> DataType:
    """Return a type with the names of struct fields in lower case, at any depth."""
    if isinstance(type_, ArrayType):
        return ArrayType(with_lower_names(type_.elementType), type_.containsNull)
    if isinstance(type_, MapType):
        key, value = map(with_lower_names, (type_.keyType, type_.valueType))
        return MapType(key, value, type_.valueContainsNull)
    if isinstance(type_, StructType):
        return StructType(
            [StructField(f.name.lower(), with_lower_names(f.dataType), f.nullable) for f in type_]
        )
    return type_


def depth(type_: DataType, of_map: int = 1) -> int:
    """Return the nesting depth of arrays, maps and structs; each map counts `of_map`."""
    if isinstance(type_, ArrayType):
        return 1 + depth(type_.elementType, of_map)
    if isinstance(type_, MapType):
        return of_map + depth(type_.valueType, of_map)
    if isinstance(type_, StructType):
        return 1 + max(depth(field.dataType, of_map) for field in type_)
    return 0


def spark_type(hive_type: str, with_lengths: bool = False) -> DataType:
    """Return the Spark type that holds every value of a Hive type.

    Args:
        hive_type: a type as the metastore writes it, e.g. `map<string,array<decimal(10,2)>>`.
        with_lengths: return `char` and `varchar` as Spark's types of these names, not as strings.

    Raises:
        ValueError: Spark cannot read the type (`timestamp with local time zone`, intervals), or the
            text is not a type.
    """
    parser = _Parser(hive_type, with_lengths)
    parsed = parser.type()
    parser.end()
    return parsed


def has_length(hive_type: str) -> bool:
    """Return whether a type limits the length of its values."""
    return hive_type.startswith(("char(", "varchar("))


def struct_fields(struct: str) -> list[tuple[str, str]]:
    """Return the names and types of a struct's fields, as Hive and ORC write them.

    Hive and ORC write a struct as `struct<a:int,...>`. The types stay texts, since a file may have
    a type that Spark does not have.

    Raises:
        ValueError: the text is not a struct.
    """
    inside = re.fullmatch(r"struct<(.*)>", struct, re.DOTALL)
    if inside is None:
        raise ValueError(f"{struct!r} is not a struct")
    parts = [""]
    depth = 0
    for token in _FIELD_TOKEN.findall(inside[1]):
        depth += (token in "<(") - (token in ">)")
        if depth == 0 and token in ",:":
            parts.append("")
        else:
            parts[-1] += token
    if parts == [""]:
        return []
    if len(parts) % 2:
        raise ValueError(f"{struct!r} is not a struct")
    names = [_unquoted(name) for name in parts[::2]]
    return list(zip(names, parts[1::2], strict=True))


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


class _Parser:
    """Recursive-descent parser of Hive's type strings (Hive's `TypeInfoUtils.TypeInfoParser`).

    Spark's own parser refuses names that Hive writes without quotes, and accepts types that Hive
    does not have (`docs/decisions/house.md`).
    """

    def __init__(self, text: str, with_lengths: bool) -> None:
        self._text = text
        self._with_lengths = with_lengths
        self._tokens = [token.strip() for token in _TOKEN.findall(text) if token.strip()]
        self._position = 0

    def type(self) -> DataType:
        name = self._next().lower()
        if name == "array":
            self._expect("<")
            element = self.type()
            self._expect(">")
            return ArrayType(element)
        if name == "map":
            self._expect("<")
            key = self.type()
            self._expect(",")
            value = self.type()
            self._expect(">")
            return MapType(key, value)
        if name == "struct":
            return self._struct()
        if name == "uniontype":
            return self._union()
        parameters = self._parameters()
        if name == "decimal":
            return DecimalType(*(parameters or (10, 0)))
        if name in _WITH_LENGTH and self._with_lengths:
            return _WITH_LENGTH[name](*parameters)
        if name in _PRIMITIVES:
            return _PRIMITIVES[name]
        raise ValueError(f"Spark's readers do not support {name}")

    def _struct(self) -> StructType:
        self._expect("<")
        fields = []
        while True:
            name = _unquoted(self._next())
            self._expect(":")
            fields.append(StructField(name, self.type()))
            separator = self._next()
            if separator == ">":
                return StructType(fields)
            if separator != ",":
                self._fail()

    def _union(self) -> UnionType:
        self._expect("<")
        members = []
        while True:
            members.append(self.type())
            separator = self._next()
            if separator == ">":
                return UnionType(members)
            if separator != ",":
                self._fail()

    def _parameters(self) -> tuple[int, ...]:
        if self._peek() != "(":
            return ()
        self._next()
        numbers = []
        while True:
            number = self._next()
            if not number.isdigit():
                self._fail()
            numbers.append(int(number))
            separator = self._next()
            if separator == ")":
                return tuple(numbers)
            if separator != ",":
                self._fail()

    def end(self) -> None:
        if self._peek():
            self._fail()

    def _peek(self) -> str:
        return self._tokens[self._position] if self._position < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        if not token:
            self._fail()
        self._position += 1
        return token

    def _expect(self, token: str) -> None:
        if self._next() != token:
            self._fail()

    def _fail(self) -> None:
        raise ValueError(f"{self._text!r} is not a Hive type")


def differ_in_case(one: str, other: str) -> bool:
    """Return whether two types have field names at any depth that differ only in case."""
    names, others = (set(re.findall(r"([^<>,:]+):", text)) for text in (one, other))
    alike = {name.lower() for name in names - others} & {name.lower() for name in others - names}
    return bool(alike)


def is_value(text: str, data_type: DataType) -> bool:
    """Return whether the text of a partition value is a valid value of a type.

    ALTER TABLE … PARTITION COLUMN accepts values that are too large for the new type, and other
    programs write any text. Depending on the type, Hive converts an invalid text to NULL, to
    another number (`300` to the tinyint 44) or to TRUE (`ObjectInspectorConverters`). Spark fails
    without naming the partition.
    """
    bits = INTEGER_BITS.get(type(data_type))
    if bits is not None:
        is_number = re.fullmatch(r"[+-]?\d+", text, re.ASCII) is not None
        return is_number and -(2 ** (bits - 1)) <= int(text) < 2 ** (bits - 1)
    form = _FORMS.get(type(data_type))
    if form is None:
        return True
    if re.fullmatch(form, text, re.ASCII | re.IGNORECASE) is None:
        return False
    return not isinstance(data_type, DateType | TimestampType) or _is_day(text)


def is_shown_as_null(text: str, data_type: DataType) -> bool:
    """Return whether Hive shows NULL for an invalid partition value of a type.

    This is known for texts without digits, such as the names that other programs, and Hive's
    `hive.exec.default.partition.name`, give to partitions of NULL (`__NADA__`).
    """
    numeric = type(data_type) in INTEGER_BITS or isinstance(
        data_type, DecimalType | FloatType | DoubleType | DateType | TimestampType
    )
    is_word = re.search(r"\d|^[+-]?(nan|infinity)$", text, re.IGNORECASE) is None
    return numeric and is_word


def _is_day(text: str) -> bool:
    year, month, day = (int(part) for part in re.split("[ T]", text)[0].split("-"))
    try:
        dt.date(year, month, day)
    except ValueError:
        return False
    return True
