from typing import Any

import pytest

from hiveacid.reader.types import spark_type, struct_fields


@pytest.mark.parametrize(
    ("hive", "spark"),
    [
        ("int", "int"),
        ("decimal", "decimal(10,0)"),
        ("decimal(38,18)", "decimal(38,18)"),
        ("char(5)", "string"),
        ("varchar(20)", "string"),
        ("timestamp", "timestamp"),
        ("array<int>", "array<int>"),
        ("map<string,array<decimal(4,2)>>", "map<string,array<decimal(4,2)>>"),
        ("struct<a:int,b:struct<c:string,`d e`:date>>", None),
        (
            "array<uniontype<int,uniontype<char(2)>>>",
            "array<struct<tag:tinyint,member0:int,member1:struct<tag:tinyint,member0:string>>>",
        ),
    ],
)
def test_a_hive_type_becomes_the_spark_type(hive, spark):
    parsed = spark_type(hive)
    assert spark is None or parsed.simpleString() == spark


def test_a_struct_keeps_its_field_names():
    parsed: Any = spark_type("struct<A:int,`d e`:map<int,struct<x:double>>>")
    assert [field.name for field in parsed.fields] == ["A", "d e"]
    assert parsed["d e"].dataType.valueType.names == ["x"]


@pytest.mark.parametrize("name", ["d e", "a$b", "a-b", "ü", "a.b", "1a", "select"])
def test_a_field_needs_no_quotes_whatever_its_name(name):
    parsed: Any = spark_type(f"struct<{name}:int>")
    assert parsed.names == [name]


@pytest.mark.parametrize(
    "hive",
    [
        "uniontype<int,interval_day_time>",
        "uniontype<>",
        "uniontype<int",
        "interval_day_time",
        "array<timestamp with local time zone>",
        "void",
        "",
    ],
)
def test_a_type_that_spark_has_not_is_refused_by_name(hive):
    with pytest.raises(ValueError, match="Spark's readers do not support |is not a Hive type"):
        spark_type(hive)


@pytest.mark.parametrize("hive", ["array<int", "struct<a int>", "decimal(a)", "int int"])
def test_what_is_no_type_is_refused(hive):
    with pytest.raises(ValueError, match="is not a Hive type|do not support int int"):
        spark_type(hive)


@pytest.mark.parametrize(
    ("struct", "fields"),
    [
        ("struct<>", []),
        ("struct<a:int,B:decimal(10,2)>", [("a", "int"), ("B", "decimal(10,2)")]),
        (
            "struct<row:struct<a:int,b:map<int,string>>,c:uniontype<int,string>>",
            [("row", "struct<a:int,b:map<int,string>>"), ("c", "uniontype<int,string>")],
        ),
        (
            'struct<`x"y`:int,`a``b`:char(3),`d:e<f`:struct<`g,h`:int>>',
            [('x"y', "int"), ("a`b", "char(3)"), ("d:e<f", "struct<`g,h`:int>")],
        ),
        ("struct<t:timestamp with local time zone>", [("t", "timestamp with local time zone")]),
    ],
)
def test_the_fields_of_a_struct_by_name(struct, fields):
    assert struct_fields(struct) == fields


@pytest.mark.parametrize("text", ["int", "struct<a>", "array<int>"])
def test_what_is_no_struct_has_no_fields(text):
    with pytest.raises(ValueError, match="is not a struct"):
        struct_fields(text)
