"""Recovery of tables from transactions of ours that ended without their process.

Each stage has an *owner*: a transaction that is open for as long as a process uses the stage.
Before the first rename a record is written into the stage. It names the transaction that writes,
its write id and the directories that it is about to move. The stage is deleted last. So a directory
is removed only if a record names it and the metastore has aborted the transaction. The stage is
renamed before that: a process that is late finds nothing more to move.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import Enum

from pyspark.sql import SparkSession

from hiveacid.acid.layout import BaseDir, try_parse_directory
from hiveacid.acid.write_ids import ValidTxnList
from hiveacid.errors import PublicationError
from hiveacid.metastore.models import Table
from hiveacid.metastore.writing_client import WritingClient
from hiveacid.writer.files import Files
from hiveacid.writer.layout import STAGE_NAMES, is_ended, stage_owner
from hiveacid.writer.table_writes import TableWrites

logger = logging.getLogger("hiveacid")
_RECORD = "publication.json"
_VERSION = 1


@dataclass(frozen=True)
class Record:
    """What a transaction is about to move into a table.

    Attributes:
        table_id: the metastore's key of the table, which outlives a RENAME.
        create_time: of the table.
        transaction: the transaction that writes.
        write_id: its write id in the table.
        inside: the directories, relative to the table's location.
        outside: directories in partitions with locations elsewhere.
    """

    table_id: int | None
    create_time: int
    transaction: int
    write_id: int
    inside: tuple[str, ...]
    outside: tuple[str, ...]
    version: int = _VERSION

    @classmethod
    def of(cls, table: TableWrites, transaction: int, directories: Sequence[str]) -> Record:
        """Return the record of a table's writes."""
        assert table.write_id is not None
        target, root = table.target, f"{table.target.location}/"
        inside = tuple(it.removeprefix(root) for it in directories if it.startswith(root))
        outside = tuple(it for it in directories if not it.startswith(root))
        return cls(
            *target.table.identity,
            transaction,
            table.write_id,
            inside,
            outside,
        )

    def write(self, files: Files, stage: str) -> None:
        """Write the record into a stage: whole, or not at all."""
        path = f"{stage}/{_RECORD}"
        files.write(f"{path}.new", json.dumps(asdict(self)).encode())
        files.rename(f"{path}.new", path)

    @classmethod
    def read(cls, files: Files, stage: str) -> Record | None:
        """Return the record in a stage; None if nothing was moved out of the stage.

        Raises:
            PublicationError: the record cannot be read.
        """
        path = f"{stage}/{_RECORD}"
        content = files.read(path)
        if content is None:
            return None
        try:
            values = json.loads(content)
            inside, outside = tuple(values.pop("inside")), tuple(values.pop("outside"))
            record = cls(**values, inside=inside, outside=outside)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise PublicationError(f"{path} is not a record of a write: {error}.") from error
        if record.version != _VERSION:
            raise PublicationError(f"{path} was written by another version ({record.version}).")
        return record

    def is_of(self, table: Table) -> bool:
        """Whether the record is about this table, and not about one that it was copied from."""
        return (self.table_id, self.create_time) == table.identity

    def directories(self, location: str) -> list[str]:
        """Return the paths of the directories, bases first: Hive may show an aborted base."""
        paths = [*(f"{location}/{it}" for it in self.inside), *self.outside]
        named = {it: try_parse_directory(it.rpartition("/")[2]) for it in paths}
        own = [
            path
            for path, it in named.items()
            # The range of a base begins with 0.
            if it is not None
            and it.write_id_range in ((self.write_id,) * 2, (0, self.write_id))
            and not it.visibility_txn
        ]
        return sorted(own, key=lambda path: not isinstance(named[path], BaseDir))


class _Finding(Enum):
    """What is known about the process of a stage."""

    MAY_LIVE = "may live"
    COMMITTED = "has committed or moved nothing, and is dead"
    ABORTED = "has lost its transaction"
    STRANGE = "has a record that does not fit the table"


def recover(spark: SparkSession, client: WritingClient, tables: Sequence[TableWrites]) -> None:
    """Remove from tables what transactions of ours have left whose process is dead.

    What cannot be removed is named in a warning. Several processes may recover at once, and one may
    be killed: whatever is left is found again.
    """
    files = Files(spark)
    stages = [(table, path) for table in tables for path in _stages(files, table)]
    if not stages:
        return
    now = client.get_valid_txns()
    for table, path in stages:
        try:
            _recover(files, client, now, table, path)
        except PublicationError as error:
            logger.warning(
                f"[HIVEACID_WARN_FILES_LEFT] A write into {table.name} has died and left {path}, "
                f"and what it has moved into the table. They could not be removed. {error.message}"
            )


def _stages(files: Files, table: TableWrites) -> list[str]:
    own = table.stage.rpartition("/")[2]
    names = files.names(table.target.location, STAGE_NAMES)
    return [f"{table.target.location}/{name}" for name in names if name != own]


def _recover(
    files: Files, client: WritingClient, now: ValidTxnList, table: TableWrites, stage: str
) -> None:
    record = Record.read(files, stage)
    finding = _find(client, now, table, stage, record)
    if finding in (_Finding.MAY_LIVE, _Finding.STRANGE):
        return
    if not is_ended(stage):
        # From here on a process that is late can move nothing. It may just have begun to.
        ended = _end(files, stage)
        if ended is not None:
            _recover(files, client, now, table, ended)
        return
    if finding is _Finding.ABORTED:
        assert record is not None
        for path in record.directories(table.target.location):
            files.delete(path)
        logger.info(
            f"Removed what the aborted transaction {record.transaction} left in {table.name} "
            f"(write id {record.write_id})."
        )
    files.delete(stage)


def _find(
    client: WritingClient, now: ValidTxnList, table: TableWrites, stage: str, record: Record | None
) -> _Finding:
    is_owned = _is_open(now, stage_owner(stage))
    if record is None:
        return _Finding.MAY_LIVE if is_owned else _Finding.COMMITTED
    if not record.is_of(table.target.table):
        return _Finding.STRANGE
    if _is_open(now, record.transaction):
        return _Finding.MAY_LIVE
    if record.transaction not in now.aborted:
        # Also one that was aborted and is forgotten: by then Hive's cleaner has removed its files.
        return _Finding.MAY_LIVE if is_owned else _Finding.COMMITTED
    # Not if the metastore was restored and has given the numbers to others since.
    write_ids = client.get_valid_write_ids([table.name], now)[table.name]
    is_valid = write_ids.is_valid(record.write_id) or record.write_id in write_ids.open
    return _Finding.STRANGE if is_valid else _Finding.ABORTED


def _is_open(now: ValidTxnList, transaction: int) -> bool:
    return transaction in now.open or transaction > now.high_watermark


def _end(files: Files, stage: str) -> str | None:
    """Take a stage away from its process; return its new path, or None if others have it."""
    ended = f"{stage}_ended_{uuid.uuid4().hex[:8]}"
    try:
        files.rename(stage, ended)
    except PublicationError:
        if files.exists(stage):
            raise
        return None
    return ended
