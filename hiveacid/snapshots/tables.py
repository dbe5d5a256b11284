"""Tables at one moment: with a lock of a snapshot, or without any lock."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from enum import Enum

from hiveacid.acid.layout import Listing
from hiveacid.acid.write_ids import (
    ValidTxnList,
    ValidWriteIdList,
    WriteIdRanges,
    new_write_ids,
)
from hiveacid.errors import InvalidSettingError, UnreadableTableError
from hiveacid.jvm.scratch import Scratch
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import (
    Partition,
    ServerInfo,
    StorageDescriptor,
    Table,
    TableName,
    lists_files,
    partition_name,
)


class OrcColumns(Enum):
    """How Hive matches a table's columns with the columns of ORC files.

    `UNKNOWN` refuses files in which it makes a difference.
    """

    POSITION = "position"
    NAME = "name"
    UNKNOWN = "unknown"

    @classmethod
    def of(cls, setting: str | None, server: ServerInfo) -> OrcColumns:
        """Return the value of a setting; without it, the default of the metastore's Hive.

        Raises:
            InvalidSettingError: as `parse` does.
        """
        by_default = cls.POSITION if server.reads_orc_by_position else cls.UNKNOWN
        return cls.parse(setting) or by_default

    @classmethod
    def parse(cls, setting: str | None) -> OrcColumns | None:
        """Return the value of a setting; None without it.

        Raises:
            InvalidSettingError: the setting is neither `position` nor `name`.
        """
        if setting is None:
            return None
        if setting not in (cls.POSITION.value, cls.NAME.value):
            raise InvalidSettingError(
                f"orc_columns must be `position` or `name`, not {setting!r}: how Hive "
                "matches the columns of a table to those of ORC files.",
                code="HIVEACID_INVALID_ORC_COLUMNS",
            )
        return cls(setting)


class HiveListing(Enum):
    """What Hive lists to find the bases and deltas of a location.

    `FILES` has no directory without a visible file, and no file below a hidden directory, also if
    that is above the location. `UNKNOWN` refuses locations in which it makes a difference.
    """

    FILES = "files"
    DIRECTORIES = "directories"
    UNKNOWN = "unknown"

    @classmethod
    def of(cls, version: str) -> HiveListing:
        """Return the value for a metastore of the version."""
        by_files = lists_files(version)
        if by_files is None:
            return cls.UNKNOWN
        return cls.FILES if by_files else cls.DIRECTORIES


_CALENDARS = ("file", "gregorian")


@dataclass(frozen=True)
class FileSettings:
    """Settings for reading files that do not say themselves how to be read; None is not set.

    Attributes:
        orc_columns: how Hive matches the columns of ORC files, `position` or `name`; None goes by
            the metastore's version (`OrcColumns`).
        old_dates: the calendar of days before 1582-10-15 in files that do not name it:
            `gregorian`, as in Hive 3.1, or `file`, the Julian calendar of other versions; None goes
            by the metastore's version.
        parquet_time_zone: the time zone of the JVM that wrote Parquet files, the same as that of
            Hive's own JVM, for files that do not name it or hold instants; None refuses their
            timestamps.
        avro_time_zone: the time zone of Hive's own JVM, for Avro files that name no zone; None
            refuses their timestamps.

    Raises:
        InvalidSettingError: a setting has another value.
    """

    orc_columns: str | None = None
    old_dates: str | None = None
    parquet_time_zone: str | None = None
    avro_time_zone: str | None = None

    def __post_init__(self) -> None:
        OrcColumns.parse(self.orc_columns)
        if self.old_dates not in (None, *_CALENDARS):
            raise InvalidSettingError(
                f"old_dates must be one of {', '.join(_CALENDARS)}, not {self.old_dates!r}: the "
                "calendar in which Hive counts days before 1582-10-15.",
                code="HIVEACID_INVALID_OLD_DATES",
            )

    @classmethod
    def of(cls, options: object) -> FileSettings:
        """Return the settings that are attributes of an object, next to others."""
        return cls(**{it.name: getattr(options, it.name) for it in fields(cls)})

    def or_else(self, others: FileSettings) -> FileSettings:
        """Return these settings, with the values of `others` for settings that are None."""
        said = {f.name: getattr(self, f.name) for f in fields(self)}
        return replace(others, **{name: word for name, word in said.items() if word is not None})

    def counts_in_gregorian(self, server: ServerInfo) -> bool:
        """Whether days before 1582-10-15 are counted in the Gregorian calendar.

        Without the setting, the default of the metastore's Hive.
        """
        return (self.old_dates or ("file" if server.marks_calendars else "gregorian")) != "file"


@dataclass(frozen=True)
class UnlockedTable:
    """Metadata of a table, and the transaction and write ids that were committed at one moment.

    `partitions` is empty for an unpartitioned table. `hive_listing` holds for file systems other
    than HDFS (`listing_of`).
    """

    table: Table
    partitions: tuple[Partition, ...]
    write_ids: ValidWriteIdList
    valid_txns: ValidTxnList
    hive_listing: HiveListing = field(default=HiveListing.FILES, kw_only=True)

    @property
    def storages(self) -> list[StorageDescriptor]:
        """Storage of the table's files: one, or one for each partition."""
        if self.table.partition_keys:
            return [partition.storage for partition in self.partitions]
        return [self.table.storage]

    @property
    def location_names(self) -> list[str]:
        """Names of the partitions as Hive writes them; one empty name without partition keys."""
        keys = [column.name for column in self.table.partition_keys]
        if not keys:
            return [""]
        return [partition_name(keys, partition.values) for partition in self.partitions]

    def listing_of(self, listing: Listing) -> HiveListing:
        """Return what Hive lists in a location.

        On HDFS, every Hive lists the directories of full-ACID tables: Hive 4 to get the ids of
        files. It does not if a session sets `hive.orc.splits.include.fileid` to false.
        """
        if self.table.is_full_acid and listing.scheme == "hdfs":
            return HiveListing.DIRECTORIES
        return self.hive_listing


def look_up_unlocked(
    client: MetastoreClient, names: Iterable[TableName]
) -> dict[TableName, UnlockedTable]:
    """Look up those of `names` that are transactional tables, as they are now.

    For callers that need metadata and no row: it takes no lock and no transaction, so Hive may
    compact or drop the table the next moment. The list of transactions is taken first, so that a
    later listing has the files of every transaction that is committed in the list.

    Raises:
        MetastoreError: the metastore could not be asked.
    """
    hive_listing = HiveListing.of(client.version())
    valid_txns = client.get_valid_txns()
    tables = {n: t for n, t in client.get_tables(names).items() if t.is_transactional}
    write_ids = client.get_valid_write_ids(tables, valid_txns)
    return {
        name: UnlockedTable(
            table,
            client.get_partitions(name) if table.partition_keys else (),
            write_ids[name],
            valid_txns,
            hive_listing=hive_listing,
        )
        for name, table in tables.items()
    }


def unseen_writes(
    client: MetastoreClient, table: Table, valid_txns: ValidTxnList
) -> tuple[tuple[TableName, WriteIdRanges], ...]:
    """Return the valid write ids, by table, that a materialized view has not seen.

    Empty for a table of another kind, and if the view's tables are not transactional.

    Raises:
        MetastoreError: the metastore could not be asked.
    """
    seen = {TableName(*str(ids.table).split(".")[-2:]): ids for ids in table.seen}
    now = client.get_valid_write_ids(seen, valid_txns) if seen else {}
    new = ((name, new_write_ids(seen[name], ids)) for name, ids in sorted(now.items()))
    return tuple((name, write_ids) for name, write_ids in new if write_ids)


@dataclass(frozen=True)
class PinnedTable(UnlockedTable):
    """A table in a snapshot: its metadata and the ids that the snapshot may see of it.

    Attributes:
        transaction_id: the snapshot's transaction, which holds a shared lock on the table.
        orc_columns: how Hive matches the columns of ORC files.
        gregorian: whether days before 1582-10-15 are counted in the Gregorian calendar, as in Hive
            3.1, if a file does not name its calendar.
        parquet_time_zone: the zone of timestamps in Parquet files that name none.
        avro_time_zone: the zone of timestamps in Avro files that name none.
        is_hive_3: whether Hive is Apache's Hive 3; None for other vendors' releases of it.
        shows_originals: whether Hive shows files outside of bases and deltas in insert-only tables
            (`hive.mm.allow.originals`).
        merges_files: returns whether compactions of insert-only tables merge files
            (`hive.compaction.merge.enabled`). Asks the metastore once in a snapshot.
        deletes_by_number: whether delete events hit only data files of the same number: in bucketed
            tables, and since Hive 4.
        scratch: the snapshot's copies of files that are being written.
        unseen: the valid write ids, by table, that a materialized view has not seen.
    """

    transaction_id: int
    orc_columns: OrcColumns = OrcColumns.POSITION
    gregorian: bool = False
    parquet_time_zone: str | None = None
    avro_time_zone: str | None = None
    is_hive_3: bool | None = False
    shows_originals: bool = False
    merges_files: Callable[[], bool] = field(default=lambda: False, compare=False, repr=False)
    deletes_by_number: bool = True
    scratch: Scratch = field(compare=False, repr=False, kw_only=True)
    unseen: tuple[tuple[TableName, WriteIdRanges], ...] = ()

    def refusal(self, what: str) -> UnreadableTableError:
        """Return the error for something in the table that Hive would not have written."""
        return UnreadableTableError(
            f"{self.table.name} cannot be read: {what}. Find out who wrote it: it may hold rows. "
            "If it was Hive, report the case.",
            code="HIVEACID_UNEXPECTED_FILE",
        )
