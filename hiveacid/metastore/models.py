"""Tables, partitions, transactions and locks, as the metastore describes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property

from hiveacid.acid.write_ids import ValidWriteIdList
from hiveacid.errors import InvalidSettingError

_ESCAPED = re.compile("[\x01-\x1f\"#%'*/:=?\\\\\x7f{\\[\\]^]")
_SHORT_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_LONG_UNITS = {
    "day": 86400.0,
    "hour": 3600.0,
    "min": 60.0,
    "sec": 1.0,
    "msec": 1e-3,
    "usec": 1e-6,
    "nsec": 1e-9,
}
_DURATION = re.compile(r"(\d+)\s*([a-z]*)", re.IGNORECASE)
_PART = re.compile(r"`[^`]+`|[^`.]+")
_NAME = re.compile(rf"({_PART.pattern})\.({_PART.pattern})")


@dataclass(frozen=True, order=True)
class TableName:
    """Database and name of a table, both in lower case as the metastore keeps them."""

    database: str
    table: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "database", self.database.lower())
        object.__setattr__(self, "table", self.table.lower())

    @classmethod
    def parse(cls, text: str) -> TableName:
        """Read a name such as `shop.orders`, whose parts may stand in backquotes as in SQL.

        Raises:
            InvalidSettingError: the text has another form.
        """
        if not _NAME.fullmatch(text):
            raise InvalidSettingError(
                f"{text!r} is not the name of a table. Write it as database.table.",
                code="HIVEACID_INVALID_TABLE_NAME",
            )
        return cls(*(part.strip("`") for part in _PART.findall(text)))

    def __str__(self) -> str:
        return f"{self.database}.{self.table}"


@dataclass(frozen=True)
class Column:
    """A column (thrift `FieldSchema`). `type` is Hive's type string, e.g. `decimal(10,2)`."""

    name: str
    type: str
    comment: str | None = None


@dataclass(frozen=True)
class StorageDescriptor:
    """Location and format of rows (thrift `StorageDescriptor` with its `SerDeInfo`)."""

    location: str
    columns: tuple[Column, ...]
    input_format: str | None = None
    serde: str | None = None
    serde_parameters: Mapping[str, str] = field(default_factory=dict)
    bucket_columns: tuple[str, ...] = ()
    num_buckets: int = -1

    @cached_property
    def column_types(self) -> tuple[str, ...]:
        """Types of the columns, by Hive's names."""
        return tuple(column.type for column in self.columns)


@dataclass(frozen=True)
class Table:
    """A table (thrift `Table`).

    Attributes:
        table_type: e.g. `MANAGED_TABLE`, `EXTERNAL_TABLE`, `VIRTUAL_VIEW`, `MATERIALIZED_VIEW`.
        create_time: in seconds since the epoch by the metastore's clock.
        id: the metastore's own key of the table; None before Hive 4.
        write_id: of the writer of the table's statistics, or of the last ALTER TABLE; None before
            Hive 4.
        seen: the valid write ids of the tables of a materialized view, as of its last rebuild.
        view_text: the query of a view, with all names written out (thrift `viewExpandedText`).
    """

    name: TableName
    table_type: str
    storage: StorageDescriptor
    partition_keys: tuple[Column, ...]
    parameters: Mapping[str, str]
    create_time: int
    owner: str | None = None
    id: int | None = None
    write_id: int | None = None
    seen: tuple[ValidWriteIdList, ...] = ()
    view_text: str | None = None

    @property
    def identity(self) -> tuple[int | None, int]:
        """What no other table of the name has, and a RENAME keeps: `id` and `create_time`."""
        return self.id, self.create_time

    @property
    def is_transactional(self) -> bool:
        """Whether the table is transactional: full ACID or insert-only."""
        return self.parameters.get("transactional", "").lower() == "true"

    @property
    def is_insert_only(self) -> bool:
        """Whether the table is insert-only (`transactional_properties`), without row ids."""
        properties = self.parameters.get("transactional_properties", "")
        return self.is_transactional and properties.lower() == "insert_only"

    @property
    def is_bucketed(self) -> bool:
        """Whether rows are spread over numbered files by their values (CLUSTERED BY)."""
        return self.storage.num_buckets > 0

    @property
    def is_full_acid(self) -> bool:
        """Whether the table's rows have row ids and can be updated and deleted."""
        return self.is_transactional and not self.is_insert_only


_MADE_BY_SPARK = "spark.sql.create.version"


@dataclass(frozen=True)
class HiveView:
    """A view whose query is written in Hive's SQL, with all names written out."""

    name: TableName
    text: str
    columns: tuple[Column, ...]

    @classmethod
    def of(cls, table: Table | None) -> HiveView | None:
        """Return a table as a Hive view; None for another kind of table, and for Spark's views."""
        if (
            table is None
            or table.table_type != "VIRTUAL_VIEW"
            or not table.view_text
            or _MADE_BY_SPARK in table.parameters
        ):
            return None
        return cls(table.name, table.view_text, table.storage.columns + table.partition_keys)


@dataclass(frozen=True)
class Partition:
    """A partition (thrift `Partition`): its values in the order of the table's partition keys.

    A value is the string that the metastore keeps; `__HIVE_DEFAULT_PARTITION__` stands for NULL.
    `write_id` is like `Table.write_id`.
    """

    values: tuple[str, ...]
    storage: StorageDescriptor
    create_time: int = 0
    parameters: Mapping[str, str] = field(default_factory=dict)
    write_id: int | None = None


def partition_name(keys: Iterable[str], values: Iterable[str]) -> str:
    """Return `day=2026-01-01/region=a%2Fb`; empty without keys (`Warehouse.makePartName`)."""
    parts = zip(keys, values, strict=True)
    return "/".join(f"{_escape(key.lower())}={_escape(value)}" for key, value in parts)


def _escape(text: str) -> str:
    """Escape a part of a partition's name (`FileUtils.escapePathName`)."""
    return _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", text)


class LockState(Enum):
    """State of a lock request (thrift `LockState`)."""

    ACQUIRED = 1
    WAITING = 2
    ABORT = 3
    NOT_ACQUIRED = 4


class LockType(Enum):
    """Type of a lock (thrift `LockType`); `EXCL_WRITE` since Hive 4."""

    SHARED_READ = 1
    SHARED_WRITE = 2
    EXCLUSIVE = 3
    EXCL_WRITE = 4


class TransactionState(Enum):
    """State of a transaction, as a heartbeat returns it.

    `UNKNOWN`: committed, or never opened in this metastore.
    """

    OPEN = "open"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class LockResponse:
    """Answer to a lock request: its state, and the id with which to ask again."""

    lock_id: int
    state: LockState


@dataclass(frozen=True)
class LockInfo:
    """A lock as `show_locks` lists it (thrift `ShowLocksResponseElement`).

    `acquired_at` is in milliseconds since the epoch by the clock of the metastore's database, None
    while the lock waits; `blocked_by` is the id of the lock for which it waits, where known.
    `transaction_id` is 0 for a lock outside a transaction; `table` is None for a database's lock.
    """

    lock_id: int
    state: LockState
    type: LockType
    database: str
    table: str | None
    partition: str | None
    transaction_id: int
    user: str
    host: str
    agent_info: str | None
    acquired_at: int | None
    blocked_by: int | None

    def is_on(self, name: TableName) -> bool:
        """Whether the lock is on a table, on a partition of it or on its whole database."""
        return self.database.lower() == name.database and (
            self.table is None or self.table.lower() == name.table
        )


class CompactionState(Enum):
    """State of a compaction, as SHOW COMPACTIONS names it."""

    INITIATED = "initiated"
    WORKING = "working"
    READY_FOR_CLEANING = "ready for cleaning"
    FAILED = "failed"
    SUCCEEDED = "succeeded"
    DID_NOT_INITIATE = "did not initiate"
    REFUSED = "refused"
    ABORTED = "aborted"
    OTHER = "other"

    @classmethod
    def _missing_(cls, value: object) -> CompactionState:
        return cls.OTHER


@dataclass(frozen=True)
class Compaction:
    """A compaction that the metastore remembers (thrift `ShowCompactResponseElement`).

    `partition` is the partition's name, empty for an unpartitioned table. `transaction_id` is in
    the names of the compaction's directories; None before Hive 4. `cleaning_began` says whether the
    cleaner has begun to remove what was compacted, and `error` why it failed, where known.
    `renumbers` says that the compaction gives rows new row ids (REBALANCE).
    """

    id: int
    partition: str
    state: CompactionState
    transaction_id: int | None
    cleaning_began: bool
    error: str
    renumbers: bool = False


@dataclass(frozen=True)
class NotificationEvent:
    """An entry of the metastore's notification log (thrift `NotificationEvent`).

    `time` is in seconds since the epoch by the metastore's clock. `message` is the text that the
    listener wrote, in the form that `message_format` names. `database` and `table` are empty for an
    event of no table.
    """

    id: int
    time: int
    type: str
    database: str
    table: str
    message: str
    message_format: str


_APACHE_HIVE_3 = re.compile(r"3\.\d(\.\d)?")
_CLOUDERA_HIVE_3 = re.compile(r"3\.1\.3\d{3}(\..*)?")
"""Versions that Cloudera Runtime 7 reports, such as 3.1.3000.7.1.9.0-387."""


@dataclass(frozen=True)
class ServerInfo:
    """Abilities and settings of a metastore.

    `transaction_timeout` is in seconds (`metastore.txn.timeout`). With `min_history_write_ids`
    (`metastore.txn.use.minhistorywriteid`) the cleaner respects only readers that have registered
    their write ids.
    """

    version: str
    supports_write_ids: bool
    transaction_timeout: float
    min_history_write_ids: bool

    @property
    def shown_version(self) -> str:
        """The version for people: a metastore of Hive 3.1.3 answers 3.0, too."""
        return "3.0 or 3.1" if self.version == "3.0" else self.version

    @property
    def traces_dropped_partitions(self) -> bool:
        """Whether DROP PARTITION leaves a write id, as it does since Hive 4."""
        return self._is_hive_4

    @property
    def reads_orc_by_position(self) -> bool:
        """Whether Hive finds columns in ORC files by their positions, as it does since Hive 4."""
        return self._is_hive_4

    @property
    def sorts_nulls_last(self) -> bool:
        """Whether Hive sorts NULL last in ascending order by default.

        It does since Hive 4, and Cloudera's Hive 3.1.3000 does, too.
        """
        return self._is_hive_4 or _CLOUDERA_HIVE_3.fullmatch(self.version) is not None

    @property
    def lists_compaction_transactions(self) -> bool:
        """Whether a compaction that has a transaction is listed with it, as in Hive 4.

        Apache Hive 3 compacts without transactions; other vendors' releases of it may not.
        """
        return self._is_hive_4

    @property
    def finds_deletes_by_number(self) -> bool:
        """Whether delete events of an unbucketed table hit files of their own number only.

        This holds for Hive 4. Hive 3 reads all delete files (`OrcRawRecordMerger.getDeltaFiles`).
        """
        return self._is_hive_4

    @property
    def marks_calendars(self) -> bool:
        """Whether Hive writes the calendar of dates before 1582-10-15 into a file, and reads it.

        Apache Hive 3 does not. Other vendors' releases of it (3.1.3000…) may.
        """
        return not _APACHE_HIVE_3.fullmatch(self.version)

    @property
    def is_hive_3(self) -> bool | None:
        """Whether it is Apache Hive 3, and not Hive 4.

        None for other vendors' releases of Hive 3, which may have taken over more of Hive 4.
        """
        if self._is_hive_4:
            return False
        return True if _APACHE_HIVE_3.fullmatch(self.version) else None

    @property
    def _is_hive_4(self) -> bool:
        return _is_hive_4(self.version)


def lists_files(version: str) -> bool | None:
    """Whether a Hive of the version lists files to find bases and deltas, as Hive 4 does.

    Apache Hive 3 lists directories. None for other vendors' releases of it, which may have taken
    over Hive 4's listing.
    """
    if _is_hive_4(version):
        return True
    return False if _APACHE_HIVE_3.fullmatch(version) else None


def _is_hive_4(version: str) -> bool:
    major = version.partition(".")[0]
    return major.isdecimal() and int(major) >= 4


HIVE_4_0, HIVE_3_1 = "4.0", "3.1"
"""Hive releases whose views were compared with Spark's rows in tests: 4.0.1 and 3.1.3."""

REFUSE = "refuse"
HIVE_VIEWS = (HIVE_4_0, HIVE_3_1, REFUSE)
"""Values of the setting `hive_views`."""


@dataclass(frozen=True)
class HiveSql:
    """Version and settings that Hive's SQL depends on, as the metastore knows them.

    Attributes:
        version: the version that the metastore reports: `4.0.1`; each Apache Hive 3 reports `3.0`.
        nulls_last: whether Hive sorts NULL last in ascending order. A session of HiveServer2 may
            have another setting, which the metastore does not know.
        hive_views: the release that the user has chosen for views, or `refuse`, which refuses views
            of an untested Hive; None takes the nearest tested release of the same line.
    """

    version: str
    nulls_last: bool
    hive_views: str | None = None

    @property
    def release(self) -> str | None:
        """The tested release by which views are evaluated; None if they are refused."""
        if self.hive_views in (HIVE_4_0, HIVE_3_1):
            return self.hive_views
        return None if self.hive_views == REFUSE and not self._is_tried else self._nearest

    @property
    def is_guessed(self) -> bool:
        """Whether this Hive is untested, and the user has not chosen a release."""
        return self.hive_views is None and self.release is not None and not self._is_tried

    @property
    def is_hive_3(self) -> bool:
        """Whether views are evaluated as in Hive 3.1."""
        return self.release == HIVE_3_1

    def with_chosen_order(self) -> HiveSql:
        """Return these settings with the chosen release's order of NULL, if its line differs."""
        if self.release in (None, self._nearest):
            return self
        return replace(self, nulls_last=self.release == HIVE_4_0)

    @property
    def _is_tried(self) -> bool:
        is_hive_3 = _APACHE_HIVE_3.fullmatch(self.version) is not None
        return is_hive_3 or self.version.startswith(f"{HIVE_4_0}.")

    @property
    def _nearest(self) -> str | None:
        return {"4": HIVE_4_0, "3": HIVE_3_1}.get(self.version.partition(".")[0])


def parse_seconds(text: str, default_unit: str = "s") -> float:
    """Parse a duration of Hive's configuration, in seconds (`MetastoreConf.unitFor`).

    A long unit may have any ending (`min`, `minutes`). A number without a unit is in
    `default_unit`. Raises `ValueError` on anything else.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"not a duration: {text!r}")
    unit = (match[2] or default_unit).lower()
    seconds = _SHORT_UNITS.get(unit)
    if seconds is None:
        long_units = (factor for prefix, factor in _LONG_UNITS.items() if unit.startswith(prefix))
        seconds = next(long_units, None)
    if seconds is None:
        raise ValueError(f"not a duration: {text!r} (unknown unit {unit!r})")
    return int(match[1]) * seconds
