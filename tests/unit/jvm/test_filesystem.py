import re
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JJavaError

from hiveacid.acid import layout
from hiveacid.acid.layout import Listing
from hiveacid.errors import UnreadableTableError
from hiveacid.jvm import filesystem


class JavaError(Py4JJavaError):
    def __init__(self, text):
        self.java_exception = SimpleNamespace(toString=lambda: text)

    def __str__(self):
        return self.java_exception.toString()


def lister(errors):
    """A stand-in for `_Lister` that answers with each of `errors` in turn, then lists nothing."""
    remaining = list(errors)

    class Lister:
        def __init__(self, spark, pool, names=filesystem.HIVE_NAMES):
            pass

        def run(self, locations, may_be_missing=False):
            if remaining:
                error = JavaError(remaining.pop(0))
                return [error for _ in locations]
            return [Listing(location, ()) for location in locations]

    return Lister


def test_a_directory_that_the_cleaner_removes_meanwhile_is_looked_for_again(monkeypatch):
    monkeypatch.setattr(
        filesystem, "_Lister", lister(["java.io.FileNotFoundException: delta_1"] * 3)
    )
    assert filesystem.list_location(None, "file:/t") == Listing("file:/t", ())


def test_a_location_that_never_stands_still_is_an_error(monkeypatch):
    monkeypatch.setattr(
        filesystem, "_Lister", lister(["java.io.FileNotFoundException: delta_1"] * 99)
    )
    with pytest.raises(UnreadableTableError, match="file:/t cannot be listed: .*delta_1"):
        filesystem.list_location(None, "file:/t")


def test_other_failures_are_not_repeated(monkeypatch):
    monkeypatch.setattr(filesystem, "_Lister", lister(["AccessControlException: no"]))
    with pytest.raises(UnreadableTableError, match="Check that Spark may read it"):
        filesystem.list_location(None, "file:/t")


def test_a_location_that_fails_among_others_is_looked_at_by_itself(monkeypatch):
    monkeypatch.setattr(filesystem, "_Lister", lister(["java.io.FileNotFoundException: file:/t"]))
    assert filesystem.list_locations(None, ["file:/t", "file:/u"]) == [
        Listing("file:/t", ()),
        Listing("file:/u", ()),
    ]


@pytest.mark.parametrize(
    ("name", "is_seen"),
    [
        ("_orc_acid_version", True),
        ("_orc_acid_version.crc", True),
        ("_metadata_acid", True),
        ("_empty", False),
        ("_SUCCESS", False),
        (".x", False),
        ("._orc_acid_version", False),
    ],
)
def test_hidden_names_that_hive_4_sees(name, is_seen):
    assert bool(re.fullmatch(layout.SEEN_HIDDEN_NAMES, name)) == is_seen


@pytest.mark.parametrize("name", ["_orc_acid_version", "_metadata_acid_2", ".hive-staging_1"])
def test_names_that_hive_and_spark_pass_over(name):
    assert not re.fullmatch(filesystem.HIVE_NAMES, name)


@pytest.mark.parametrize(
    "name", ["bucket_00000", "000000_0_copy_1", "a_b.c", "base_1", "a\nb", "b", "_metadata_acid"]
)
def test_names_that_are_looked_at(name):
    assert re.fullmatch(filesystem.HIVE_NAMES, name)


def test_items_are_grouped_by_scheme_and_authority():
    paths = ["file:/a", "/b", "s3a://x/a", "s3a://y/a", "file:/c", "hdfs://n:1/a", "s3a://x/b"]
    assert filesystem.by_file_system(paths, str) == [
        ["file:/a", "file:/c"],
        ["/b"],
        ["s3a://x/a", "s3a://x/b"],
        ["s3a://y/a"],
        ["hdfs://n:1/a"],
    ]


@pytest.mark.parametrize(
    ("count", "sizes"), [(0, []), (3, [1, 1, 1]), (16, [2] * 8), (90, [10] * 9)]
)
def test_batches_keep_all_threads_at_work(count, sizes):
    assert [len(batch) for batch in filesystem.batches(range(count), 10)] == sizes


@pytest.mark.parametrize("name", ["part-0.parquet", "day=1", "_day=1", "a\nb"])
def test_names_that_spark_looks_at(name):
    assert re.fullmatch(filesystem.SPARK_NAMES, name)


@pytest.mark.parametrize("name", ["_SUCCESS", "_temporary", ".part-0.crc", ".day=1"])
def test_names_that_spark_passes_over(name):
    assert not re.fullmatch(filesystem.SPARK_NAMES, name)
