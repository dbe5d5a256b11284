"""Freshness of ACID sources: the time of a table's last write, without reading the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
from hiveacid.errors import HiveAcidError, MetastoreError
from hiveacid.metastore.models import TableName
from hiveacid.reader.last_write import LOOKS, CompactedMeanwhileError, LastWrite
from hiveacid.snapshots.tables import UnlockedTable

logger = AdapterLogger("HiveAcid")

See = Callable[[], UnlockedTable]
"""Returns a table as it is now."""


class Freshness:
    """Freshness of ACID sources from metadata: without a lock, a transaction or a query."""

    def __init__(
        self,
        connections: HiveAcidConnectionManager,
        project: Project,
        see: Callable[[Iterable[TableName]], Mapping[TableName, UnlockedTable]],
        find_last_write: Callable[[SparkSession, See], LastWrite | None],
        respond: Callable[[datetime, datetime], FreshnessResponse],
    ) -> None:
        """Create the object.

        Args:
            connections: Spark sessions, which list files and read their footers.
            project: knows the sources that have a `loaded_at_query`.
            see: returns the transactional tables among some tables, as they are now.
            find_last_write: returns the newest write of a table; None if no write has data.
            respond: returns dbt's response for the time of the last write and the current time.
        """
        self._connections = connections
        self._project = project
        self._see = see
        self._find_last_write = find_last_write
        self._respond = respond

    def of_sources(
        self, sources: Iterable[HiveAcidRelation]
    ) -> dict[BaseRelation, FreshnessResponse]:
        """Return the freshness of the sources whose last write is known. Never raises.

        dbt then calls `of_source` for each missing source, and gets the reason. An error here would
        end the whole command.
        """
        # dbt passes sources with a query, too, but does not use their results.
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
            FreshnessError: the time of the last write is unknown; the message has the reason.
        """
        return self._answer(source, None)

    def in_utc(self, time: datetime | None) -> datetime | None:
        """Return a time in UTC. A time without a zone is in the session's time zone.

        Anything else, such as a string, is returned as it is, and dbt refuses it.
        """
        if not isinstance(time, datetime) or time.tzinfo is not None:
            return time
        return in_utc(self._connections.session(), time)

    def _answer(self, source: HiveAcidRelation, first: UnlockedTable | None) -> FreshnessResponse:
        """Find a source's last write; `first` is the table if it has just been looked up."""
        name = source.table_name()
        options = source.options or SourceOptions()
        looks = [] if first is None else [first]

        def see() -> UnlockedTable:
            seen = looks.pop() if looks else self._see([name]).get(name)
            if seen is None:
                raise FreshnessError(
                    f"{name} is not a transactional table of the metastore, and only a "
                    "transactional table records when it was last written to. Give the source "
                    "a loaded_at_field or a loaded_at_query."
                )
            return options.partitions.of_table(seen)

        try:
            last = self._find_last_write(self._connections.session(), see)
        except CompactedMeanwhileError as error:
            raise FreshnessError(
                f"{name} was compacted each of the {LOOKS} times that its files were listed "
                "for its freshness. Run dbt again, or give the source a loaded_at_field."
            ) from error
        if last is None:
            raise FreshnessError(
                f"{name} is empty: it has no files of a committed write with rows or deletes, "
                "so the time of its last write is unknown. Load it, or give the source a "
                "loaded_at_field or a loaded_at_query."
            )
        logger.info(f"{name} was last written to {last}")
        return self._respond(last.at, datetime.now(timezone.utc))
