"""Entries of the notification log about written files, as Hive's own writes leave them."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from hiveacid.jvm.filesystem import list_locations
from hiveacid.metastore.write_notifications import WrittenFiles
from hiveacid.metastore.writing_client import WritingClient
from hiveacid.writer.files import Files
from hiveacid.writer.layout import partition_values
from hiveacid.writer.writes import TableWrites


def note_files(
    spark: SparkSession, client: WritingClient, txn_id: int, tables: Sequence[TableWrites]
) -> None:
    """Tell the metastore which files the transaction has moved into tables.

    Hive's replication copies the files that stand in the entry of a commit. Nothing is told where
    Hive itself tells nothing (`hive.metastore.dml.events` is false, its default).
    """
    if not client.notes_files():
        return
    files = Files(spark)
    for table in tables:
        assert table.write_id is not None
        for staged in table.directories:
            name = staged.name(table.write_id)
            location = f"{table.target.location_of(staged.partition)}/{name}"
            (listing,) = list_locations(spark, [location])
            paths = [file.path for file in listing.files]
            written = WrittenFiles(
                partition_values(staged.partition) if staged.partition else (),
                name,
                [(path, files.checksum(path)) for path in paths],
            )
            if paths:
                client.add_write_notification(txn_id, table.write_id, table.name, written)
