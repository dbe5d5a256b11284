from hiveacid.acid.layout import Listing, without_directory


def listing(*directories):
    return Listing("file:/t", (), directories)


def test_a_directory_of_its_own_is_evidence_of_a_write_id():
    listings = [
        listing("delta_1_1_0000", "delete_delta_2_2_0000", "base_3"),
        listing("delta_4_4_0000", "delta_4_4_0000/subdirectory"),
    ]
    assert without_directory(range(1, 7), listings) == {5, 6}


def test_a_compacted_directory_is_evidence_of_no_write_id():
    listings = [listing("base_5_v0000010", "delta_6_8_v0000011", "delta_9_9_v0000012")]
    assert without_directory([5, 7, 9], listings) == {5, 7, 9}


def test_the_write_ids_of_a_streaming_batch_are_its_own():
    """A table may be locked late while a batch goes on."""
    listings = [listing("delta_2_6", "delta_8_8"), listing("delete_delta_9_10")]
    assert without_directory([1, 2, 5, 6, 7, 8, 10, 11], listings) == {1, 7, 11}


def test_other_directories_are_evidence_of_none():
    assert without_directory([1], [listing("HIVE_UNION_SUBDIR_1", "delta_x")]) == {1}
