"""Files that a transaction has written, for the notification log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hiveacid.metastore.models import TableName
from hiveacid.metastore.raw_structs import RawStruct


@dataclass(frozen=True)
class WrittenFiles:
    """Files of one directory of a table, such as `delta_0000001_0000001_0000`.

    `partition` has the values of the directory's partition. The files are paths and checksums.
    """

    partition: tuple[str, ...]
    directory: str
    files: Sequence[tuple[str, str]]


def notification_request(
    txn_id: int, write_id: int, name: TableName, written: WrittenFiles
) -> RawStruct:
    """Return the `WriteNotificationLogRequest` of Hive's own writes."""
    data = RawStruct()
    data.set_text_list(2, [path for path, _ in written.files])
    data.set_text_list(3, [checksum for _, checksum in written.files])
    data.set_text_list(4, [written.directory for _ in written.files])
    request = RawStruct()
    request.set_long(1, txn_id)
    request.set_long(2, write_id)
    request.set_text(3, name.database)
    request.set_text(4, name.table)
    request.set_struct(5, data)
    if written.partition:
        request.set_text_list(6, list(written.partition))
    return request
