from hiveacid.acid.layout import ListedFile


def test_a_files_name_is_the_last_part_of_its_path():
    assert ListedFile("delta_1_1/sub/000000_0", "file:/t/x", 1).name == "000000_0"
    assert ListedFile("000000_0", "file:/t/x", 1).name == "000000_0"
