from dataclasses import replace

from dbt.adapters.hiveacid.metadata.statistics import entries as docs_entries
from hiveacid.acid.layout import ListedFile, Listing
from hiveacid.acid.selection import select
from hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from hiveacid.metastore.models import Column, Partition, StorageDescriptor, Table, TableName
from hiveacid.reader.statistics import TableStatistics
from hiveacid.snapshots.tables import UnlockedTable

ACCURATE = '{"BASIC_STATS":"true"}'
STORAGE = StorageDescriptor("/t", (Column("id", "int"),))
TXNS = ValidTxnList(100)


def kept(rows, size, accurate=ACCURATE):
    return {"numRows": str(rows), "totalSize": str(size), "COLUMN_STATS_ACCURATE": accurate}


def table(write_id, parameters, valid):
    found = Table(TableName("a", "t"), "MANAGED_TABLE", STORAGE, (), parameters, 0)
    return UnlockedTable(replace(found, write_id=write_id), (), valid, TXNS)


def states(*directories, valid):
    files = tuple(ListedFile(f"{d}/bucket_00000", f"/t/{d}/bucket_00000", 9) for d in directories)
    return [select(Listing("/t", files, directories), valid, TXNS)]


def test_the_numbers_are_hives_own():
    valid = ValidWriteIdList(5, aborted=frozenset({5}))
    seen = table(4, kept(3, 2749), valid)
    listed = states(
        "delta_1_1_0000", "delete_delta_3_3_0000", "delta_4_4_0001", "delta_5_5_0000", valid=valid
    )
    assert TableStatistics.of(seen, listed) == TableStatistics(None, 3, 2749, True, 3, 4)


def test_hive_does_not_vouch_for_them():
    valid = ValidWriteIdList(5, aborted=frozenset({5}))

    def exact(write_id, parameters, listed=None):
        return TableStatistics.of(table(write_id, parameters, valid), listed).are_exact

    assert exact(4, kept(3, 10))
    assert not exact(5, kept(3, 10))  # those of an aborted writer
    assert not exact(6, kept(3, 10))  # those of a writer that this snapshot does not see
    # Hive 4.0.1 adds to what an aborted writer has counted (seen), and marks the sum as accurate.
    later = table(6, kept(5, 10), ValidWriteIdList(6, aborted=frozenset({5})))
    assert not TableStatistics.of(later, None).are_exact
    assert not exact(None, kept(3, 10))  # Hive 3
    for marks in ("", "true", "{}", '{"BASIC_STATS":"false"}', "[]"):
        assert not exact(4, kept(3, 10, marks))
    assert not exact(3, kept(3, 10), states("delta_4_4_0000", valid=valid))
    assert not exact(3, {})
    assert exact(3, kept(3, 10), states("delta_3_3_0000", valid=valid))
    assert TableStatistics.of(table(4, {"numRows": "-1"}, valid), None).rows is None


def test_partitions_are_added_up():
    valid = ValidWriteIdList(3)
    parts = tuple(
        Partition((str(i),), STORAGE, parameters=kept(i, 10 * i), write_id=i) for i in (1, 2)
    )
    seen = table(3, {}, valid)
    seen = replace(seen, table=replace(seen.table, partition_keys=(Column("p", "int"),)))
    listed = [*states("delta_1_1_0000", valid=valid), *states("delta_2_2_0000", valid=valid)]
    both = replace(seen, partitions=parts)
    assert TableStatistics.of(both, listed) == TableStatistics(2, 3, 30, True, 2, 3)
    unknown = replace(parts[0], parameters={})
    some = TableStatistics.of(replace(seen, partitions=(unknown, parts[1])), None)
    assert some == TableStatistics(2, None, None, False, None, 3)
    assert TableStatistics.of(seen, []) == TableStatistics(0, 0, 0, True, 0, 3)


def test_the_entries_of_dbts_catalog_leave_out_what_is_not_known():
    entries = docs_entries(TableStatistics(None, 3, 2749, True, None, 4))
    assert {key: value for key, value in entries.items() if key.endswith(":value")} == {
        "stats:rows:value": 3,
        "stats:bytes:value": 2749,
        "stats:last_write_id:value": 4,
    }
    assert entries["stats:rows:label"] == "Rows"
    assert entries["stats:rows:include"] is True
    inexact = docs_entries(TableStatistics(None, 3, None, False, None, 4))
    assert inexact["stats:rows:label"] == "Rows (not exact)"
    assert "ANALYZE TABLE" in str(inexact["stats:rows:description"])
