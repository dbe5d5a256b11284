"""Entries of the notification log about written files, as Hive's own writes leave them."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from hiveacid.jvm.filesystem import list_locations
from hiveacid.metastore.write_notifications import WrittenFiles
from hiveacid.metastore.writing_client import WritingClient
from hiveacid.writer.files import Files
from hiveacid.writer.layout import partition_values
from hiveacid.writer.writes import TableWrites, place_of


def note_files(
    spark: SparkSession, client: WritingClient, txn_id: int, tables: Sequence[TableWrites]
) -> None:
    """Tell the metastore which files the transaction is about to move into tables.

    Hive's replication copies the files that stand in the entry of a commit. Nothing is told where
    Hive itself tells nothing (`hive.metastore.dml.events` is false, its default).
    """
    if not client.notes_files():
        return
    files = Files(spark)
    for table in tables:
        assert table.write_id is not None
        for staged in table.directories:
            (listing,) = list_locations(spark, [staged.path])
            place = place_of(table, staged)
            written = WrittenFiles(
                partition_values(staged.partition) if staged.partition else (),
                staged.name(table.write_id),
                [(f"{place}/{it.relative}", files.checksum(it.path)) for it in listing.files],
            )
            if listing.files:
                client.add_write_notification(txn_id, table.write_id, table.name, written)
