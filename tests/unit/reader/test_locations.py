"""Locations as the Hive of the metastore lists them."""

import pytest

from hiveacid.acid.layout import ListedFile, Listing
from hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from hiveacid.errors import UnreadableTableError
from hiveacid.jvm.scratch import Scratch
from hiveacid.metastore.models import Column, StorageDescriptor, Table, TableName
from hiveacid.reader.locations import locations
from hiveacid.snapshots.tables import HiveListing, PinnedTable

FULL_ACID = {"transactional": "true"}
INSERT_ONLY = {**FULL_ACID, "transactional_properties": "insert_only"}
HIVE_4, HIVE_3 = HiveListing.FILES, HiveListing.DIRECTORIES
VENDOR = HiveListing.UNKNOWN


def read(root, paths, lists, parameters=FULL_ACID, without_files=()):
    """The files that the snapshot of a table has, by their relative paths."""
    table = Table(
        name=TableName("shop", "orders"),
        table_type="MANAGED_TABLE",
        storage=StorageDescriptor(root, (Column("id", "int"),)),
        partition_keys=(),
        parameters=parameters,
        create_time=0,
    )
    pinned = PinnedTable(
        table,
        (),
        ValidWriteIdList(2),
        ValidTxnList(100),
        transaction_id=7,
        hive_listing=lists,
        scratch=Scratch(),
    )
    files = tuple(ListedFile(path, f"{root}/{path}", 9) for path in paths)
    directories = {path.partition("/")[0] for path in paths if "/" in path}.union(without_files)
    listing = Listing(
        root,
        files,
        tuple(sorted(directories)),
        without_files=frozenset(without_files),
        # A location without a scheme is in the default file system.
        scheme=root.partition(":")[0] if ":" in root else "hdfs",
    )
    (location,) = locations(pinned, [listing])
    return sorted(file.relative for file in location.orc_files())


@pytest.mark.parametrize(
    ("version", "lists"),
    [
        ("4.0.1", HIVE_4),
        ("4.1.0", HIVE_4),
        ("3.0", HIVE_3),
        ("3.1.3", HIVE_3),
        ("3.1.3000.7.1.9.0-387", VENDOR),
        ("3.1.0.3.1.5.0-152", VENDOR),
    ],
)
def test_what_each_release_lists(version, lists):
    assert HiveListing.of(version) is lists


class TestADirectoryWithoutFiles:
    PATHS = ("delta_1_1_0/b", "delta_2_2_0/b")

    @pytest.mark.parametrize(
        ("root", "parameters", "lists", "is_replaced"),
        [
            ("file:/t", FULL_ACID, HIVE_4, False),
            ("file:/t", FULL_ACID, HIVE_3, True),
            ("file:/t", INSERT_ONLY, HIVE_4, False),
            ("file:/t", INSERT_ONLY, HIVE_3, True),
            # Hive 4 lists the directories of full-ACID tables there.
            ("hdfs://n/t", FULL_ACID, HIVE_4, True),
            ("hdfs://n/t", INSERT_ONLY, HIVE_4, False),
            ("/t", FULL_ACID, HIVE_4, True),
        ],
    )
    def test_it_counts_for_a_hive_that_lists_directories(
        self, root, parameters, lists, is_replaced
    ):
        found = read(root, self.PATHS, lists, parameters, without_files=["base_2"])
        assert found == ([] if is_replaced else list(self.PATHS))

    @pytest.mark.parametrize("parameters", [FULL_ACID, INSERT_ONLY])
    def test_it_is_refused_where_nothing_tells_what_hive_lists(self, parameters):
        with pytest.raises(
            UnreadableTableError, match=r"file:/t without a visible file: base_2"
        ) as it:
            read("file:/t", self.PATHS, VENDOR, parameters, without_files=["base_2"])
        assert it.value.code == "HIVEACID_DIRECTORY_WITHOUT_FILES"
        # It makes no difference.
        assert read("file:/t", self.PATHS, VENDOR, without_files=["delta_2_2_1"]) == [*self.PATHS]
        assert read("file:/t", (), VENDOR, without_files=["base_2"]) == []


class TestAHiddenLocation:
    PATHS = ("delta_1_1_0/b",)

    @pytest.mark.parametrize(
        "root", ["file:/w/_priv/t", "file:/.d/t", "hdfs://n/w/_t", "s3a://b/.t"]
    )
    @pytest.mark.parametrize("lists", [HIVE_4, VENDOR])
    @pytest.mark.parametrize("parameters", [FULL_ACID, INSERT_ONLY])
    def test_its_rows_are_refused(self, root, lists, parameters):
        if root.startswith("hdfs:") and parameters is FULL_ACID:
            assert read(root, self.PATHS, lists, parameters) == ["delta_1_1_0/b"]
            return
        with pytest.raises(UnreadableTableError, match="Hive 4 shows none of them") as raised:
            read(root, self.PATHS, lists, parameters)
        assert raised.value.code == "HIVEACID_HIDDEN_LOCATION"
        assert root in raised.value.message and "Hive 3.1" in raised.value.message

    def test_hive_3_shows_its_rows(self):
        assert read("file:/w/_priv/t", self.PATHS, HIVE_3) == ["delta_1_1_0/b"]

    def test_a_location_without_rows_is_read(self):
        assert read("file:/w/_priv/t", (), HIVE_4) == []
        # Not in the snapshot.
        assert read("file:/w/_priv/t", ("delta_5_5_0/b",), HIVE_4) == []

    @pytest.mark.parametrize("root", ["file:/w/priv_/t.d", "file:/tmp/_tmp_space.db/t"])
    def test_other_names_are_not_hidden(self, root):
        assert read(root, self.PATHS, HIVE_4) == ["delta_1_1_0/b"]
