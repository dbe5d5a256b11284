"""Freshness of ACID sources: the time of a table's last write, without reading the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone

from dbt.adapters.base.impl import FreshnessResponse
from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.connections import HiveAcidConnectionManager
from dbt.adapters.hiveacid.errors import FreshnessError
from dbt.adapters.hiveacid.metadata.project import Project
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.sources.options import SourceOptions
from dbt.adapters.hiveacid.spark.sql import in_utc
from hiveacid.acid.last_write import LocationWrites, Write, compactions, location_writes
from hiveacid.acid.layout import Listing
from hiveacid.acid.write_ids import ValidTxnList
from hiveacid.errors import HiveAcidError, MetastoreError, UnreadableTableError
from hiveacid.jvm.filesystem import list_locations
from hiveacid.metastore.models import TableName
from hiveacid.reader.locations import check_there
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.reader.read import has_rows
from hiveacid.snapshots.tables import UnlockedTable

logger = AdapterLogger("HiveAcid")
_ATTEMPTS = 3
"""Looks at a table that is compacted or cleaned while it is looked at."""


class Freshness:
    """Freshness of ACID sources from metadata: without a lock, a transaction or a query."""

    def __init__(
        self,
        connections: HiveAcidConnectionManager,
        project: Project,
        see: Callable[[Iterable[TableName]], Mapping[TableName, UnlockedTable]],
        valid_txns: Callable[[], ValidTxnList],
        footers: OrcFooters,
        respond: Callable[[datetime, datetime], FreshnessResponse],
    ) -> None:
        """Make answers from what these find.

        Args:
            connections: the Spark that lists files and reads their footers.
            project: the sources that have a query for their freshness.
            see: those of some tables that are transactional, as they are now.
            valid_txns: the transactions that are committed now.
            footers: what is known of ORC files.
            respond: dbt's response, from the time of the last write and the time of the look.
        """
        self._connections = connections
        self._project = project
        self._see = see
        self._valid_txns = valid_txns
        self._footers = footers
        self._respond = respond

    def of_sources(
        self, sources: Iterable[HiveAcidRelation]
    ) -> dict[BaseRelation, FreshnessResponse]:
        """Return the freshness of those sources whose last write can be found. Never raises.

        dbt asks again for each source that is missing, and gets the reason. An error here would
        end the whole command.
        """
        # dbt asks for sources with a query, too, and does not use the answer.
        asked = [it for it in sources if not self._project.has_freshness_query(it.table_name())]
        try:
            seen = self._see({source.table_name() for source in asked})
        except MetastoreError as error:
            logger.debug(f"No freshness from metadata in batch: {error.message}")
            return {}
        found: dict[BaseRelation, FreshnessResponse] = {}
        for source in asked:
            table = seen.get(source.table_name())
            if table is None:
                continue
            try:
                found[source] = self._answer(source, table)
            except (DbtRuntimeError, HiveAcidError) as error:
                logger.debug(f"No freshness from metadata for {source}: {error}")
        return found

    def of_source(self, source: HiveAcidRelation) -> FreshnessResponse:
        """Return the freshness of one source.

        Raises:
            FreshnessError: the time of the last write cannot be found; with the reason.
        """
        return self._answer(source, None)

    def in_utc(self, time: datetime | None) -> datetime | None:
        """Return a time in UTC; without a zone it is one that the session's clock shows.

        dbt refuses what is no time, such as a text.
        """
        if not isinstance(time, datetime) or time.tzinfo is not None:
            return time
        return in_utc(self._connections.session(), time)

    def _answer(self, source: HiveAcidRelation, first: UnlockedTable | None) -> FreshnessResponse:
        """Find a source's last write; `first` is the table if it has just been looked at."""
        name = source.table_name()
        options = source.options or SourceOptions()
        looks = [] if first is None else [first]

        def see() -> UnlockedTable:
            seen = looks.pop() if looks else self._see([name]).get(name)
            if seen is None:
                raise FreshnessError(
                    f"{name} is no transactional table of the metastore, and only a transactional "
                    "table records when it was last written to. Give the source a loaded_at_field "
                    "or a loaded_at_query."
                )
            return options.partitions.of_table(seen)

        last = find_last_write(self._connections.session(), see, self._valid_txns, self._footers)
        if last is None:
            raise FreshnessError(
                f"{name} is empty: it has no files of a committed write with rows or deletes, so "
                "no file tells when it was last written to. Load it, or give the source a "
                "loaded_at_field or a loaded_at_query."
            )
        logger.info(f"{name} was last written to {last}")
        return self._respond(last.at, datetime.now(timezone.utc))


@dataclass(frozen=True)
class LastWrite:
    """Newest committed write with data, in milliseconds since the epoch.

    With `is_bound` the write lies in a compaction: it is not after `time`, and it is after `known`
    if the time of an earlier write is known.
    """

    time: int
    is_bound: bool = False
    known: int | None = None

    @property
    def at(self) -> datetime:
        """`time` in UTC."""
        return _utc(self.time)

    def __str__(self) -> str:
        if not self.is_bound:
            return f"at {self.at:%Y-%m-%d %H:%M:%S} UTC"
        after = "" if self.known is None else f"after {_utc(self.known):%Y-%m-%d %H:%M:%S} and "
        return f"{after}not after {self.at:%Y-%m-%d %H:%M:%S} UTC, when it was compacted"


def last_write(
    writes: Iterable[LocationWrites], has_data: Callable[[int, Write], bool]
) -> LastWrite | None:
    """Return the newest write of a table; None if no write has data.

    `has_data` is asked about a write of a location, counted from 0, the newest write first.
    """
    locations = list(writes)
    candidates = [(write.time, i, write) for i, w in enumerate(locations) for write in w.known]
    candidates.sort(key=lambda candidate: candidate[:2], reverse=True)
    newest = next((time for time, i, write in candidates if has_data(i, write)), None)
    bound = max(
        (
            compacted.time
            for i, w in enumerate(locations)
            for compacted in w.compacted
            if (newest is None or compacted.time > newest)
            # The time of the last write that a compaction has read is known while it is there.
            and not any(
                write.write_id == compacted.write_id and has_data(i, write) for write in w.known
            )
        ),
        default=None,
    )
    if bound is not None:
        return LastWrite(bound, is_bound=True, known=newest)
    return None if newest is None else LastWrite(newest)


def find_last_write(
    spark: SparkSession,
    see: Callable[[], UnlockedTable],
    valid_txns: Callable[[], ValidTxnList],
    footers: OrcFooters,
) -> LastWrite | None:
    """Return the newest write of a table as `see` shows it now; None if no write has data.

    Nothing is locked, so Hive's cleaner may be faster than the listing: then the table is looked
    at again.

    Raises:
        FreshnessError: the table changes faster than it can be listed.
        UnreadableTableError: a location cannot be listed, or what is there cannot be understood.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        seen = see()
        try:
            listings = list_locations(spark, [storage.location for storage in seen.storages])
            check_there(seen, listings)
            writes = [location_writes(it, seen.write_ids, seen.valid_txns) for it in listings]
            if not _has_compacted(listings, seen.valid_txns, valid_txns()):
                return last_write(writes, _data_in(spark, seen, footers))
        except UnreadableTableError:
            if attempt == _ATTEMPTS:
                raise
    raise FreshnessError(
        f"{seen.table.name} was compacted each of the {_ATTEMPTS} times that its files were listed "
        "for its freshness. Run again, or give the source a loaded_at_field."
    )


def _data_in(
    spark: SparkSession, seen: UnlockedTable, footers: OrcFooters
) -> Callable[[int, Write], bool]:
    storages = seen.storages
    return lambda i, write: has_rows(spark, seen.table.name, storages[i], write.files, footers)


def _has_compacted(listings: Iterable[Listing], before: ValidTxnList, after: ValidTxnList) -> bool:
    """Return whether a compaction has been committed since the table was seen.

    What the compaction has replaced may be missing from the listing.
    """
    found = {txn for listing in listings for txn in compactions(listing)}
    return any(after.is_valid(txn) and not before.is_valid(txn) for txn in found)


def _utc(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, tz=timezone.utc)
