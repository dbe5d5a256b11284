"""Hive as a reader of tables that Spark writes: settings of the writer, and warnings before it.

docs/targets-in-hive.md has what Hive shows. Delta and Iceberg tables are read by Spark alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession, types
from pyspark.sql.types import DataType, StructType

from dbt.adapters.hiveacid.node_context import NodeContext
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.spark.driver import has_its_tables_in
from dbt.adapters.hiveacid.spark.time_zones import TimeZones, is_set
from dbt.adapters.hiveacid.targets.staging import CHANGES
from hiveacid.errors import MetastoreError
from hiveacid.formatting import first_few
from hiveacid.jvm.java_types import CatalogTable, JavaObject
from hiveacid.jvm.py4j import each, java
from hiveacid.reader.types import with_leaves
from hiveacid.sql.catalog import table_metadata

logger = AdapterLogger("HiveAcid")

_CREATE, _INSERT, _SET = "CreateTableAsSelect", "InsertIntoStatement", "SetCommand"
"""Kinds of statements, as Spark parses them: two that write the rows of a query, and SET."""

_FORMATS = frozenset({"hive", "orc", "parquet"})
"""Formats in which Hive reads Spark's tables. `hive` is text here."""

_HIVE_FORMAT = "hive.default.fileformat"
"""Setting of the session, or of a hive-site.xml."""

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
        """Create the object. The metastore is called when the first table is about to be written.

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
        """Set `node.writer_settings` for a statement that writes a table in Hive's metastore.

        Args:
            node: the node that is about to run the statement.
            plan: Spark's plan of the statement, not analysed; None if Spark cannot parse it.
        """
        node.writer_settings = {}
        if plan is None:
            return
        kind = _kind(plan)
        if kind == _SET:
            # Its value may be the adapter's own default.
            node.set_by_user |= _set_keys(plan)
        if not (kind == _INSERT or (kind == _CREATE and _may_be_for_hive(plan))):
            return
        session = node.session
        if not has_its_tables_in(session.sparkContext, self._metastore_uri):
            return
        try:
            if kind == _INSERT and not _may_be_into_hive(session, plan):
                return
            written = _written(session, plan)
        except (PySparkException, Py4JError):
            return  # The statement itself will raise the error.
        if written is None or written.format not in _FORMATS:
            return
        stages = {_name(it.relation).lower(): (role, it) for role, it in node.stages.items()}
        role, stage = stages.get(written.table.lower(), ("", None))
        if role == CHANGES:
            return  # Rows on their way into the target.
        node.writer_settings = self._choose(node, written.format)
        self._warn(session, written, written.table if stage is None else _name(stage.target))

    @cached_property
    def _settings(self) -> Mapping[str, Mapping[str, str]]:
        return _FOR_HIVE_3 if self._metastore_version().startswith("3.") else _FOR_HIVE_4

    def _choose(self, node: NodeContext, format: str) -> Mapping[str, str]:
        """Return the settings for files that Hive can read, without those that the user has set."""
        try:
            settings = self._settings.get(format, {})
        except MetastoreError as error:
            logger.debug(f"No settings for Hive: its version is not known. {error}")
            return {}
        session = node.session
        return {
            key: value
            for key, value in settings.items()
            if key not in node.set_by_user
            and (not is_set(session, key) or session.conf.get(key) == self._defaults.get(key))
        }

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
                    f"of this machine, {zones.session}. They agree only in one time zone. Set "
                    "hive_time_zone in the profile to that of Hive, or spark.sql.session.timeZone "
                    "if Hive does not read the tables. Other targets of the run may be affected, "
                    "too."
                )
        elif written.format != "parquet" and not zones.is_same and self._is_first("java"):
            logger.warning(
                "[HIVEACID_WARN_JAVA_TIME_ZONE] Hive shows the timestamps of "
                f"{table} ({_named(times)}) by the clock of the Java that writes them, "
                f"{zones.java}, the model by that of the session, {zones.session}. Set "
                f"-Duser.timezone={zones.for_java} in spark.driver.extraJavaOptions and "
                "spark.executor.extraJavaOptions, and build ORC and text targets again. Other "
                "targets of the run may be affected, too."
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
    if kind == _CREATE:
        # Delta's catalog stands before Spark's own, by the same name.
        resolved = command.name()
        if str(resolved.catalog().name()) != _own_catalog(session):
            return None
        parts = [*resolved.identifier().namespace(), resolved.identifier().name()]
        format = str(_if_any(command.tableSpec().provider())).lower()
    else:
        table = _TABLES.get(kind, lambda it: None)(command)
        if table is None:
            return None
        parts = [table.identifier().database().get(), table.identifier().table()]
        format = _format(table)
    columns = StructType.fromJson(json.loads(command.query().schema().json()))
    return Written(".".join(parts), format, columns)


def _own_catalog(session: SparkSession) -> str:
    """Return the name of Spark's own catalog."""
    manager = java(session.sparkContext, "org.apache.spark.sql.connector.catalog.CatalogManager")
    return str(manager.SESSION_CATALOG_NAME())


def _kind(plan: JavaObject) -> str:
    return str(plan.getClass().getSimpleName())


def _set_keys(plan: JavaObject) -> frozenset[str]:
    """Return the key that a SET command sets or shows."""
    pair = _if_any(plan.kv())
    return frozenset() if pair is None else frozenset({str(pair._1())})


def _may_be_for_hive(plan: JavaObject) -> bool:
    """Return whether a CREATE TABLE AS names a format that Hive reads, or none by `using`.

    Its query is not analysed, which takes long.
    """
    provider = _if_any(plan.tableSpec().provider())
    return provider is None or str(provider).lower() in _FORMATS


def _may_be_into_hive(session: SparkSession, plan: JavaObject) -> bool:
    """Return whether an INSERT may name a table in Spark's own catalog that Hive reads.

    Its query is not analysed.
    """
    target = plan.table()
    if _kind(target) != "UnresolvedRelation":
        return True
    *schema, table = [str(part) for part in each(target.multipartIdentifier())]
    if len(schema) == 2 and schema[0].lower() != _own_catalog(session):
        return False
    found = table_metadata(session, schema[-1], table) if schema else None
    return found is None or _format(found) in _FORMATS


def _format(table: CatalogTable) -> str:
    """Return the format of the files in a table."""
    provider = str(_if_any(table.provider())).lower()
    if provider != "hive":
        return provider
    serde = str(_if_any(table.storage().serde())).lower()
    return next((it for it in ("orc", "parquet") if it in serde), provider)


def hive_tables_are_text(session: SparkSession) -> bool:
    """Return whether Spark makes tables `using hive` as text."""
    hadoop = session.sparkContext._jsc.hadoopConfiguration()
    found = session.conf.get(_HIVE_FORMAT, None) or hadoop.get(_HIVE_FORMAT) or "textfile"
    return str(found).lower() == "textfile"


def _name(relation: HiveAcidRelation) -> str:
    return f"{relation.schema}.{relation.identifier}"


def _if_any(option: JavaObject) -> Any:
    """Return the value of a Scala `Option`; None without one."""
    return option.get() if option.isDefined() else None


_TABLES: Mapping[str, Callable[[JavaObject], CatalogTable | None]] = {
    "CreateDataSourceTableAsSelectCommand": lambda it: it.table(),
    "CreateHiveTableAsSelectCommand": lambda it: it.tableDesc(),
    "InsertIntoHadoopFsRelationCommand": lambda it: _if_any(it.catalogTable()),
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
