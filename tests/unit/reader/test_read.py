"""Tables that are refused for what the metastore says of them."""

from dataclasses import replace

import pytest

from hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from hiveacid.errors import UnreadableTableError
from hiveacid.jvm.scratch import Scratch
from hiveacid.metastore.models import Column, StorageDescriptor, Table, TableName
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.reader.read import plan_read
from hiveacid.snapshots.tables import PinnedTable

TABLE = Table(
    name=TableName("shop", "orders"),
    table_type="MANAGED_TABLE",
    storage=StorageDescriptor(
        "file:/t",
        (Column("id", "int"),),
        input_format="org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
    ),
    partition_keys=(),
    parameters={"transactional": "true"},
    create_time=0,
)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            replace(TABLE, table_type="VIRTUAL_VIEW"),
            "shop.orders is a VIRTUAL_VIEW, whose rows are not in its own files. Name the "
            "tables behind it as sources instead.",
        ),
        (
            replace(
                TABLE,
                storage=replace(
                    TABLE.storage,
                    input_format="org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
                ),
            ),
            "shop.orders is full ACID but not stored as ORC (org.apache.hadoop.hive.ql.io.parquet."
            "MapredParquetInputFormat). Let Hive copy it to a table stored as ORC, and read the "
            "copy.",
        ),
        (
            replace(TABLE, parameters={"transactional": "true", "storage_handler": "a.b.Handler"}),
            "shop.orders is kept by the storage handler a.b.Handler, whose rows are not in Hive's "
            "ACID files. Read it with Spark's connector for that storage.",
        ),
    ],
)
def test_a_table_is_refused_before_anything_is_listed(table, message):
    pinned = PinnedTable(
        table, (), ValidWriteIdList(3), ValidTxnList(9), transaction_id=9, scratch=Scratch()
    )
    with pytest.raises(UnreadableTableError) as refused:
        plan_read(None, pinned, OrcFooters())
    assert refused.value.message == message
