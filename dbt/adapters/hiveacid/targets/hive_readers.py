"""Hive as a reader of tables that Spark writes: settings of the writer, and warnings before it.

docs/targets-in-hive.md has what Hive shows. Delta and Iceberg tables are read by Spark alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

from dbt.adapters.events.logging import AdapterLogger
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession, types
from pyspark.sql.types import DataType, StructType

from dbt.adapters.hiveacid.node_context import NodeContext
from dbt.adapters.hiveacid.spark.driver import has_its_tables_in
from dbt.adapters.hiveacid.spark.time_zones import TimeZones, is_set
from dbt.adapters.hiveacid.targets.staging import CHANGES
from hiveacid.formatting import first_few
from hiveacid.jvm.java_types import CatalogTable, JavaObject
from hiveacid.jvm.py4j import java
from hiveacid.reader.types import with_leaves

logger = AdapterLogger("HiveAcid")

_WRITES = frozenset({"CreateTableAsSelect", "InsertIntoStatement", "ReplaceTableAsSelect"})
"""Kinds of statements, as Spark parses them, that write the rows of a query into a table."""

_FORMATS = frozenset({"hive", "orc", "parquet"})
"""Formats in which Hive reads Spark's tables. `hive` is text."""

_FOR_HIVE_3 = {
    # Its ORC knows no zstd, Spark 4's default, and cannot open such a file.
    "orc": {"spark.sql.orc.compression.codec": "snappy"},
    # It cannot read decimals of up to 18 digits as integers.
    "parquet": {"spark.sql.parquet.writeLegacyFormat": "true"},
}
_FOR_HIVE_4 = {
    # It takes days before 1582-10-15 for days of the Julian calendar, and writes them so. Spark
    # notes the calendar in the file. Hive 3.1 takes them for Gregorian days.
    "parquet": {
        "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
        "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY",
    },
}

_OF_HIVE = (
    types.BinaryType,
    types.BooleanType,
    types.ByteType,
    types.DateType,
    types.DecimalType,
    types.DoubleType,
    types.FloatType,
    types.IntegerType,
    types.LongType,
    types.ShortType,
    types.StringType,
    types.TimestampType,
)
"""Types of columns that Hive has, too. Spark stores CHAR and VARCHAR as strings with a note."""

_SHOWN = 3


@dataclass(frozen=True)
class Written:
    """The table that a statement writes, its format, and the columns of the rows."""

    table: str
    format: str
    columns: StructType

    def columns_with(self, is_meant: Callable[[DataType], bool]) -> list[str]:
        """Return the names of the columns in which a type occurs, at any depth."""
        return [it.name for it in self.columns if any(map(is_meant, _leaves(it.dataType)))]


class HiveReaders:
    """Prepares sessions to write what Hive reads, and warns of what Hive will show otherwise.

    One object for a run. All methods are thread-safe.
    """

    def __init__(
        self,
        metastore_uri: str,
        metastore_version: Callable[[], str],
        defaults: Mapping[str, str],
    ) -> None:
        """Call the metastore later.

        Args:
            metastore_uri: the metastore that Hive shares with Spark.
            metastore_version: returns its version.
            defaults: settings of the sessions that the adapter has chosen, not the user.
        """
        self._metastore_uri = metastore_uri
        self._metastore_version = metastore_version
        self._defaults = defaults
        self._lock = Lock()
        self._warned: set[str] = set()

    def prepare(self, node: NodeContext, plan: JavaObject | None) -> None:
        """Prepare the session of a node for a statement that writes a table in Hive's metastore.

        Args:
            node: the node that is about to run the statement.
            plan: Spark's plan of the statement, not analysed; None if Spark cannot parse it.
        """
        if plan is None or _kind(plan) not in _WRITES:
            return
        session = node.session
        if not has_its_tables_in(session.sparkContext, self._metastore_uri):
            return
        try:
            written = _written(session, plan)
        except (PySparkException, Py4JError):
            return  # The statement itself will raise the error.
        if written is None or written.format not in _FORMATS:
            return
        stages = {str(it.relation).lower(): (role, it) for role, it in node.stages.items()}
        role, stage = stages.get(written.table.lower(), ("", None))
        if role == CHANGES:
            return  # Rows on their way into the target.
        self._choose(session, written.format)
        self._warn(session, written, written.table if stage is None else str(stage.target))

    @cached_property
    def _settings(self) -> Mapping[str, Mapping[str, str]]:
        return _FOR_HIVE_3 if self._metastore_version().startswith("3.") else _FOR_HIVE_4

    def _choose(self, session: SparkSession, format: str) -> None:
        """Have files written so that Hive can read them, unless the user has chosen."""
        for key, value in self._settings.get(format, {}).items():
            if not is_set(session, key) or session.conf.get(key) == self._defaults.get(key):
                session.conf.set(key, value)

    def _warn(self, session: SparkSession, written: Written, table: str) -> None:
        hidden = written.columns_with(lambda type_: not isinstance(type_, _OF_HIVE))
        if hidden and written.format != "hive":
            if self._is_first(table):
                logger.warning(
                    f"[HIVEACID_WARN_HIDDEN_FROM_HIVE] Hive cannot read {table}: it has no type "
                    f"for {_named(hidden)}, and Spark stores no column of such a table for Hive. "
                    "If Hive is to read the table, cast in the model: timestamp_ntz to timestamp, "
                    "other types to string."
                )
            return
        times = written.columns_with(lambda type_: isinstance(type_, types.TimestampType))
        zones = TimeZones.of(session) if times else None
        if zones is None:
            return
        if not zones.is_chosen:
            if self._is_first("session"):
                logger.warning(
                    "[HIVEACID_WARN_TIME_ZONE_NOT_KNOWN] Hive shows the timestamps of "
                    f"{table} ({_named(times)}) by the clock of its own Java, the model by that "
                    f"of this machine, {zones.session}. They are the same only if both are in one "
                    "time zone. Set hive_time_zone in the profile to that of Hive. Other targets "
                    "of the run may be concerned, too."
                )
        elif written.format != "parquet" and not zones.is_same and self._is_first("java"):
            logger.warning(
                "[HIVEACID_WARN_JAVA_TIME_ZONE] Hive shows the timestamps of "
                f"{table} ({_named(times)}) by the clock of the Java that writes them, "
                f"{zones.java}, the model by that of the session, {zones.session}. Set "
                f"-Duser.timezone={zones.session} in spark.driver.extraJavaOptions and "
                "spark.executor.extraJavaOptions. Other targets of the run may be concerned, too."
            )

    def _is_first(self, what: str) -> bool:
        with self._lock:
            is_first = what not in self._warned
            self._warned.add(what)
        return is_first


def _written(session: SparkSession, plan: JavaObject) -> Written | None:
    """Return what a statement writes; None for a table in another catalog than Spark's own.

    Raises:
        PySparkException, Py4JError: Spark cannot analyse the statement.
    """
    context = session.sparkContext
    modes = java(context, "org.apache.spark.sql.execution.CommandExecutionMode")
    execution = session._jsparkSession.sessionState().executePlan(plan, modes.SKIP())
    command = execution.analyzed()
    kind = _kind(command)
    if kind in _WRITES:
        # Delta's catalog stands before Spark's own, by the same name.
        own = java(context, "org.apache.spark.sql.connector.catalog.CatalogManager")
        resolved = command.name()
        if str(resolved.catalog().name()) != str(own.SESSION_CATALOG_NAME()):
            return None
        parts = [*resolved.identifier().namespace(), resolved.identifier().name()]
        provider = command.tableSpec().provider().getOrElse(None)
    else:
        table = _TABLES.get(kind, lambda it: None)(command)
        if table is None:
            return None
        parts = [table.identifier().database().get(), table.identifier().table()]
        provider = table.provider().getOrElse(None)
    columns = StructType.fromJson(json.loads(command.query().schema().json()))
    return Written(".".join(parts), str(provider).lower(), columns)


def _kind(plan: JavaObject) -> str:
    return str(plan.getClass().getSimpleName())


def _table_if_any(command: JavaObject) -> CatalogTable | None:
    found: CatalogTable | None = command.catalogTable().getOrElse(None)
    return found


_TABLES: Mapping[str, Callable[[JavaObject], CatalogTable | None]] = {
    "CreateDataSourceTableAsSelectCommand": lambda it: it.table(),
    "CreateHiveTableAsSelectCommand": lambda it: it.tableDesc(),
    "InsertIntoHadoopFsRelationCommand": _table_if_any,
    "InsertIntoHiveTable": lambda it: it.table(),
}
"""The tables of Spark's commands that write rows, by the commands' kinds."""


def _leaves(type_: DataType) -> list[DataType]:
    """Return the types in a type that are not arrays, maps or structs."""
    found: list[DataType] = []

    def keep(leaf: DataType) -> DataType:
        found.append(leaf)
        return leaf

    with_leaves(type_, keep)
    return found


def _named(columns: list[str]) -> str:
    return first_few(columns, _SHOWN)
