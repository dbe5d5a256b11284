import pytest

from hiveacid.acid.layout import (
    BASE_OF_ORIGINALS,
    BaseDir,
    DeltaDir,
    bucket_of_file,
    is_bucket_file,
    parse_directory,
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("base_0000006", BaseDir("base_0000006", 6)),
        ("base_0000006_v0000029", BaseDir("base_0000006_v0000029", 6, 29)),
        (
            "base_-9223372036854775808_v0000101",
            BaseDir("base_-9223372036854775808_v0000101", BASE_OF_ORIGINALS, 101),
        ),
        ("delta_0000001_0000001_0000", DeltaDir("delta_0000001_0000001_0000", 1, 1, 0)),
        ("delta_0000001_0000004", DeltaDir("delta_0000001_0000004", 1, 4)),
        (
            "delta_0000001_0000004_v0000091",
            DeltaDir("delta_0000001_0000004_v0000091", 1, 4, None, 91),
        ),
        (
            "delete_delta_0000003_0000003_0002",
            DeltaDir("delete_delta_0000003_0000003_0002", 3, 3, 2, 0, True),
        ),
        (
            "delete_delta_10000001_10000002_0001_v0000007",
            DeltaDir(
                "delete_delta_10000001_10000002_0001_v0000007", 10000001, 10000002, 1, 7, True
            ),
        ),
        ("HIVE_UNION_SUBDIR_1", None),
        ("000000_0", None),
        ("deltas", None),
    ],
)
def test_parse_directory(name, expected):
    assert parse_directory(name) == expected


@pytest.mark.parametrize("name", ["base_x", "delta_1", "delta_1_2_3_4", "delete_delta_1_2_v"])
def test_a_name_that_only_begins_like_an_acid_directory_is_refused(name):
    with pytest.raises(ValueError, match=name):
        parse_directory(name)


@pytest.mark.parametrize(
    ("name", "bucket"),
    [
        ("bucket_00002", 2),
        ("bucket_00002_0", 2),
        ("000001_0", 1),
        ("000001_0_copy_12", 1),
        ("part-00000.orc", None),
        ("bucket_00000_flush_length", None),
    ],
)
def test_bucket_of_file(name, bucket):
    assert bucket_of_file(name) == bucket


def test_only_the_acid_writer_names_files_bucket():
    assert is_bucket_file("bucket_00000_1")
    assert not is_bucket_file("000000_0")
    assert not is_bucket_file("bucket_00000_flush_length")
