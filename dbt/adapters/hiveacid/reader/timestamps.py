"""Hive's `timestamp` is a wall clock without a zone; Spark's is an instant.

ORC's library gives the instant at which the clock of the *Java process* shows the stored time.
Spark shows an instant in the *session's* zone. Where the two zones differ, values are moved, so
that the session shows what Hive shows.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from dbt.adapters.hiveacid.exceptions import UnreadableTableError
from dbt.adapters.hiveacid.metastore.models import TableName

_HIVE_TIMESTAMP = "timestamp"


@dataclass(frozen=True)
class WallClock:
    """How to show the timestamps of ORC files in one session."""

    process_zone: str
    session_zone: str

    @classmethod
    def of(cls, spark: SparkSession) -> WallClock:
        """The zones of a session and of the Java process under it."""
        assert spark._jvm is not None
        process_zone = spark._jvm.java.time.ZoneId.systemDefault().getId()
        return cls(process_zone, str(spark.conf.get("spark.sql.session.timeZone")))

    def show(self, column: Column, hive_type: str, name: str, table: TableName) -> Column:
        """A column of an ORC file as the session has to show it.

        Raises:
            UnreadableTableError: the zones differ and the timestamp is inside a nested column.
        """
        if self.process_zone == self.session_zone or _HIVE_TIMESTAMP not in hive_type.lower():
            return column
        if hive_type.strip().lower() != _HIVE_TIMESTAMP:
            raise UnreadableTableError(
                f"{table}: column {name} ({hive_type}) has timestamps inside, which can be read "
                f"only where Spark's session has the time zone of its Java process. Set "
                f"spark.sql.session.timeZone to {self.process_zone} (it is {self.session_zone}), "
                "or start Java with -Duser.timezone."
            )
        # `from_utc_timestamp` moves an instant by its zone's offset, `to_utc_timestamp` back.
        as_if_utc = F.from_utc_timestamp(column, self.process_zone)
        return F.to_utc_timestamp(as_if_utc, self.session_zone)
