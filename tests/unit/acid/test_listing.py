import pytest

from dbt.adapters.hiveacid.acid.listing import ListedFile, is_hidden


@pytest.mark.parametrize("name", ["_orc_acid_version", "_metadata_acid", ".hive-staging_1", "_tmp"])
def test_names_that_hive_and_spark_pass_over(name):
    assert is_hidden(name)


@pytest.mark.parametrize("name", ["bucket_00000", "000000_0_copy_1", "a_b.c", "base_1"])
def test_names_that_they_read(name):
    assert not is_hidden(name)


def test_a_files_name_is_the_last_part_of_its_path():
    assert ListedFile("delta_1_1/sub/000000_0", "file:/t/x", 1).name == "000000_0"
    assert ListedFile("000000_0", "file:/t/x", 1).name == "000000_0"
