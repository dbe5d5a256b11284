"""By what the columns of a table are found in ORC files."""

from dataclasses import replace

import pytest

from hiveacid.acid.layout import ListedFile
from hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from hiveacid.errors import InvalidSettingError, UnreadableTableError
from hiveacid.jvm.scratch import Scratch
from hiveacid.metastore.models import Column, ServerInfo, StorageDescriptor, Table, TableName
from hiveacid.reader.orc_columns import in_table_order
from hiveacid.reader.orc_footers import OrcFooter
from hiveacid.snapshots.tables import OrcColumns, PinnedTable

FILE = ListedFile("delta_1_1/bucket_00000", "file:/t/delta_1_1/bucket_00000", 100)


def pinned(orc_columns, *names):
    columns = tuple(Column(name, "int") for name in names)
    storage = StorageDescriptor("file:/t", columns)
    table = Table(TableName("shop", "t"), "MANAGED_TABLE", storage, (), {}, 0)
    return PinnedTable(
        table,
        (),
        ValidWriteIdList(1),
        ValidTxnList(1),
        7,
        orc_columns=orc_columns,
        scratch=Scratch(),
    )


def footer(*names, **more):
    return OrcFooter(1, names, is_acid=True, types=tuple(f"type {it}" for it in names), **more)


@pytest.mark.parametrize("mode", OrcColumns)
@pytest.mark.parametrize(
    ("names", "in_file"),
    [(["a", "b"], ["a", "b"]), (["a", "b"], ["a"]), (["a", "b"], ["_col0", "_col1"]), (["a"], [])],
)
def test_the_same_names_and_none_are_read_by_position(mode, names, in_file):
    own = footer(*in_file)
    assert in_table_order(pinned(mode, *names), FILE, own) == own


def test_by_position_a_renamed_column_keeps_its_values():
    own = footer("a", "b")
    assert in_table_order(pinned(OrcColumns.POSITION, "a", "c"), FILE, own) == own


def test_by_name_columns_are_found_anywhere_and_a_renamed_one_is_missing():
    found = in_table_order(
        pinned(OrcColumns.NAME, "c", "x", "a"), FILE, footer("a", "b", "c", nanoseconds=(0, 1))
    )
    assert found.columns == ("c", None, "a")
    assert found.types == ("type c", "", "type a")
    assert found.nanoseconds == (2,)


def test_without_a_word_other_names_are_refused():
    with pytest.raises(UnreadableTableError) as error:
        in_table_order(pinned(OrcColumns.UNKNOWN, "a", "c"), FILE, footer("a", "b"))
    assert "delta_1_1/bucket_00000 has a column b where the table has c" in error.value.message
    assert "`name`" in error.value.message and "`position`" in error.value.message


def test_hive_4_goes_by_position_and_hive_3_must_be_told():
    hive_3 = ServerInfo("3.0", True, 300, False)
    hive_4 = replace(hive_3, version="4.0.1")
    assert OrcColumns.of(None, hive_3) is OrcColumns.UNKNOWN
    assert OrcColumns.of(None, hive_4) is OrcColumns.POSITION
    assert OrcColumns.of("name", hive_4) is OrcColumns.NAME
    assert (hive_3.marks_calendars, hive_4.marks_calendars) == (False, True)
    assert replace(hive_3, version="3.1.3000.7.1.9").marks_calendars
    with pytest.raises(InvalidSettingError, match="`position` or `name`, not 'names'"):
        OrcColumns.of("names", hive_4)
