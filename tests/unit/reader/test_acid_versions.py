"""Which files of full-ACID tables may be read without a version of the ACID format."""

from dataclasses import replace

import pytest

from hiveacid.acid.layout import ListedFile, Listing
from hiveacid.errors import UnreadableTableError
from hiveacid.metastore.models import TableName
from hiveacid.reader import acid_versions
from hiveacid.reader.acid_versions import check_versions
from hiveacid.reader.locations import locations
from hiveacid.reader.orc_footers import OrcFooters
from tests.unit.reader.test_plan import ACID, RAW, pinned_table, valid

UNMARKED = replace(ACID, operations=(0, 0))
CHANGED = replace(ACID, operations=(0, 2))
UNKNOWN = replace(ACID, operations=None)
MARKED = replace(UNKNOWN, acid_version=2)


@pytest.fixture
def check(monkeypatch):
    """Checks one file; `asked` are the directories and the files that were looked into."""

    def check(footer, directory="delta_1_1_0", version=None, operations=(0, 0)):
        asked = []

        def versions(spark, directories):
            asked.extend(sorted(directories))
            return dict.fromkeys(directories, version)

        def read(spark, files):
            asked.extend(file.relative for file in files)
            return dict.fromkeys(files, operations)

        monkeypatch.setattr(acid_versions, "_versions", versions)
        monkeypatch.setattr(acid_versions, "_operations", read)
        name = f"{directory}/bucket_00000"
        file = ListedFile(name, f"file:/t/{name}", 9)
        pinned = pinned_table(valid(9))
        found = locations(pinned, [Listing("file:/t", (file,), (directory,))])
        footers = OrcFooters()
        footers._known[file] = footer
        check_versions(None, TableName("shop", "orders"), found, {file: footer}, footers)
        return asked, footers._known[file].operations

    return check


@pytest.mark.parametrize(
    ("footer", "directory"),
    [
        (MARKED, "delta_1_1_0"),
        (UNMARKED, "delta_1_1_0"),
        (RAW, "delta_1_1_0"),
        (replace(CHANGED, rows=0), "delta_1_1_0"),
        (CHANGED, "base_1"),
        (UNKNOWN, "base_1"),
        (UNKNOWN, "delete_delta_1_1_0"),
    ],
)
def test_nobody_is_asked_about_what_reads_the_same_in_all_versions(check, footer, directory):
    assert check(footer, directory) == ([], footer.operations)


def test_a_file_next_to_the_data_may_state_the_version(check):
    assert check(CHANGED, version=2)[0] == ["file:/t/delta_1_1_0"]


def test_updates_and_deletes_among_inserts_are_refused(check):
    for version in (None, 1):
        with pytest.raises(UnreadableTableError, match="delta_1_1_0/bucket_00000 has updates or"):
            check(CHANGED, version=version)


def test_files_without_statistics_are_read_once(check):
    asked = ["file:/t/delta_1_1_0", "delta_1_1_0/bucket_00000"]
    assert check(UNKNOWN) == (asked, (0, 0))
    with pytest.raises(
        UnreadableTableError, match="has updates or deletes in the format of Hive 2"
    ):
        check(UNKNOWN, operations=(0, 1))
