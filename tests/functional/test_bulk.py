"""Functions of Java's arrays: what they give, and that a call to the JVM serves a whole array."""

from __future__ import annotations

import doctest
from pathlib import Path

import pyorc
import pytest
from pyspark.sql import SparkSession

from hiveacid.acid.layout import ListedFile
from hiveacid.jvm import bulk as bulk_module
from hiveacid.jvm.bulk import Bulk, bulk_of
from hiveacid.jvm.errors import JAVA_ERRORS, java_exception
from hiveacid.jvm.filesystem import list_locations
from hiveacid.reader.orc_footers import OrcFooters
from tests.functional.jvm_calls import count

PATHS = ["file:/a b/c", "hdfs://host:8020/ü%20=é/\n'", "file:/"]


@pytest.fixture
def bulk(spark: SparkSession) -> Bulk:
    return bulk_of(spark)


def test_one_for_a_jvm(spark: SparkSession, bulk: Bulk) -> None:
    assert bulk_of(spark.newSession()) is bulk


def test_the_worked_example(spark: SparkSession) -> None:
    text = bulk_module.__doc__
    assert text is not None
    names = {"spark": spark, "bulk_of": bulk_of}
    example = doctest.DocTestParser().get_doctest(text, names, "bulk", None, None)
    assert len(example.examples) == 8
    assert doctest.DocTestRunner().run(example).failed == 0


def test_paths_and_texts(bulk: Bulk) -> None:
    assert bulk.texts(bulk.paths(PATHS)) == PATHS


def test_empty_texts(bulk: Bulk) -> None:
    assert bulk.texts(bulk.objects([])) == []
    assert bulk.texts(bulk.objects([""])) == [""]
    assert bulk.texts(bulk.objects(["", ""])) == ["", ""]


def test_what_a_method_gives(bulk: Bulk) -> None:
    words = bulk.objects(["", "a", "ab"])
    length = bulk.method("String", "length", "int")
    assert bulk.integers(length)(words) == [0, 1, 2]
    assert bulk.integers(length)(bulk.objects([])) == []
    assert bulk.booleans(bulk.method("String", "isEmpty", "boolean"))(words) == [True, False, False]
    upper = bulk.map(bulk.method("String", "toUpperCase", "String"))(words)
    assert bulk.texts(upper) == ["", "A", "AB"]


def test_functions_of_several_arrays(bulk: Bulk) -> None:
    """What comes before the elements is the same for all."""
    substring = bulk.method("String", "substring", "String", ["int", "int"])
    to_int = bulk.static("Math", "toIntExact", "int", ["long"])
    of_longs = bulk.on(bulk.on(substring, 2, to_int), 1, to_int)
    cut = bulk.zipped(of_longs, "long", "long")
    assert bulk.texts(cut(3, "abcdef", bulk.longs([0, 2, 6]), bulk.longs([1, 6, 6]))) == [
        "a",
        "cdef",
        "",
    ]


def test_permuted_arguments(bulk: Bulk) -> None:
    replace = bulk.method("String", "replace", "String", ["CharSequence", "CharSequence"])
    swapped = bulk.permuted(replace, 0, 2, 1)
    bound = bulk.with_constants(swapped, 1, "new", "a")
    assert bulk.strings(bound)(bulk.objects(["banana", "x"])) == ["bnewnnewnnew", "x"]
    # One object in the place of two.
    concat = bulk.permuted(bulk.method("String", "concat", "String", ["String"]), 0, 0)
    assert bulk.strings(concat)(bulk.objects(["ab", ""])) == ["abab", ""]


def test_some_elements(bulk: Bulk) -> None:
    words = bulk.objects(["a", "b", "c"])
    assert bulk.texts(bulk.some(words, [2, 0])) == ["c", "a"]
    assert bulk.texts(bulk.some(words, [])) == []


def test_what_java_throws(bulk: Bulk) -> None:
    parse = bulk.static("Long", "parseLong", "long", ["String"])
    with pytest.raises(JAVA_ERRORS) as raised:
        bulk.integers(parse)(bulk.objects(["1", "one"]))
    assert java_exception(raised.value).toString().startswith("java.lang.NumberFormatException: ")


# How many calls


def orc_files(directory: Path, number: int) -> list[ListedFile]:
    directory.mkdir()
    files = []
    for i in range(number):
        path = directory / f"bucket_{i:05}"
        with path.open("wb") as stream, pyorc.Writer(stream, "struct<id:int>") as writer:
            writer.write((i,))
        files.append(ListedFile(path.name, f"file:{path}", path.stat().st_size, 1))
    return files


def test_calls_do_not_grow_with_the_files(spark: SparkSession, tmp_path: Path) -> None:
    """Eight batches at once, each of a handful of calls, whatever is in them."""
    few, many = orc_files(tmp_path / "few", 8), orc_files(tmp_path / "many", 400)

    def read(files: list[ListedFile]) -> None:
        OrcFooters().read(spark, files)

    read(few)
    assert count(lambda: read(many)) == count(lambda: read(few)) <= 8 * 35
    assert count(lambda: read(few[:1])) <= 40


def test_calls_of_a_listing(spark: SparkSession, tmp_path: Path) -> None:
    for i in range(400):
        orc_files(tmp_path / f"{i}", 1)
    few = [f"file:{tmp_path}/{i}" for i in range(8)]
    many = [f"file:{tmp_path}/{i}" for i in range(400)]
    list_locations(spark, few)
    assert count(lambda: list_locations(spark, many)) == count(lambda: list_locations(spark, few))
    assert count(lambda: list_locations(spark, few[:1])) <= 30
