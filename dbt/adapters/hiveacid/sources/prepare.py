"""Preparation of a node's statements: ACID tables are swapped for their snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from dbt_common.events.contextvars import get_node_info
from pyspark.sql import DataFrame, SparkSession

from dbt.adapters.hiveacid.errors import ViewOverAcidError
from dbt.adapters.hiveacid.node_context import AcidNames, NodeContext, RowMakers
from dbt.adapters.hiveacid.sources.acid_sources import (
    ACID_CHANGES,
    AcidSources,
    ChangesOf,
    Source,
    not_of_a_model,
)
from dbt.adapters.hiveacid.sources.options import SourceOptions
from dbt.adapters.hiveacid.sources.read_log import FilesRead, ReadLog
from hiveacid.jvm.java_types import JavaObject
from hiveacid.metastore.models import TableName
from hiveacid.sql.clauses import ReadClauses
from hiveacid.sql.parameters import Parameters, parse_with
from hiveacid.sql.prepare import StatementReads, look_at, prepare
from hiveacid.sql.reads import AcidRead, ChangesRead
from hiveacid.sql.statement import TableFunction

_CHANGED_ROWS = "__hiveacid_changes"
"""Alias of `acid_changes` in a plan that is analysed and not run."""


def names_in(node: NodeContext, sql: str, sources: AcidSources) -> tuple[AcidNames, AcidNames]:
    """Return the ACID sources that a statement names, and the ones behind its temporary views.

    Takes no lock and runs nothing.

    Raises:
        HiveAcidError: the statement cannot be run as it is.
    """
    statement = parse_with(node.session, sql)
    found = look_at(node.session, statement, sources.known)
    return _names(node, found, sources), node.sources_behind(statement.reads)


def prepare_statement(
    node: NodeContext,
    sql: str,
    sources: AcidSources,
    makers: RowMakers,
    reads: ReadLog,
    values: Parameters | None = None,
) -> JavaObject | None:
    """Prepare a statement for execution: swap its ACID tables, and set `node.reads` to their files.

    The reads are logged for the node that runs on this thread, or for `node.name` outside of nodes.

    Args:
        node: the node that runs the statement.
        sql: the statement.
        sources: the rows of ACID sources.
        makers: the makers of the rows of changes.
        reads: the log to add the reads to.
        values: the values of the statement's parameters.

    Returns:
        The plan to run, not analysed; None if Spark cannot parse the statement.

    Raises:
        HiveAcidError: a source cannot be read, or the statement cannot be run as it is.
    """
    statement = parse_with(node.session, sql, values)
    # Set first: the names serve to explain errors, including errors of the preparation.
    node.named, node.reads, node.swapped = statement.names, frozenset(), None
    prepared = prepare(node.session, statement, _NodeRows(node, sources, makers, reads))
    node.swapped = prepared.swapped
    for parts in statement.reads:
        node.reads |= node.temporary_views.get(parts[-1].lower(), frozenset())
    node.has_read |= node.reads
    if statement.temporary_view is not None:
        node.temporary_views[statement.temporary_view] = node.reads
        names = _names(node, prepared, sources).joined(node.sources_behind(statement.reads))
        node.temporary_sources[statement.temporary_view] = names
    return statement.plan if prepared.swapped is None else prepared.swapped.plan


def check_view(node: NodeContext, sql: str, sources: AcidSources) -> None:
    """Refuse the query of a stored view over ACID tables if the view cannot be created.

    Stores nothing.

    Raises:
        HiveAcidError: a table cannot be read, or the view's text cannot be stored.
        PySparkException: Spark cannot analyse the query.
    """
    session, rows = node.session, _NodeRows(node, sources, {}, ReadLog())
    statement = parse_with(session, f"create view hiveacid_check as\n{sql}")
    prepared = prepare(session, statement, rows)
    if prepared.reads_snapshot:
        prepared.analyse(session)


def find_cross_row(
    node: NodeContext, sql: str, changes: ChangesOf, sources: AcidSources, *, is_keyed: bool
) -> str | None:
    """Return the first operator that is not row-wise over `acid_changes`, and its place.

    The statement is analysed over the columns of its tables, and not run.

    Args:
        node: the node that runs the statement.
        sql: the statement.
        changes: the changes that it reads.
        sources: the columns of ACID sources.
        is_keyed: see `Prepared.find_cross_row`.

    Raises:
        HiveAcidError: a source cannot be read, or the statement cannot be run as it is.
        PySparkException: Spark cannot analyse the statement.
    """
    statement = parse_with(node.session, sql)
    node.named, node.reads, node.swapped = statement.names, frozenset(), None
    prepared = prepare(node.session, statement, _NodeColumns(node, sources, {}, ReadLog()))
    table = changes.source.table
    found = prepared.find_cross_row(node.session, _CHANGED_ROWS, table, is_keyed=is_keyed)
    return None if found is None else str(found)


def refuse_function(session: SparkSession, sql: str, sources: AcidSources) -> None:
    """Refuse a permanent function whose body reads an ACID table.

    Raises:
        ViewOverAcidError: the body reads an ACID table.
    """
    statement = parse_with(session, f"select ({sql}\n)")
    found = look_at(session, statement, sources.known)
    tables = sorted({str(read.table) for read in found.tables})
    if tables:
        name = f"function {get_node_info().get('node_name', '')}".strip()
        raise ViewOverAcidError(
            f"{name[0].upper()}{name[1:]} would be a permanent function over the ACID table "
            f"{', '.join(tables)}, read directly or through ephemeral models. A permanent function "
            "cannot hold a run's snapshot. Read the source in the models that call the function."
        )


class _NodeRows:
    """Rows for a statement of a node (`RowSource`); logs what the statement reads."""

    def __init__(
        self, node: NodeContext, sources: AcidSources, makers: RowMakers, log: ReadLog
    ) -> None:
        self.known = sources.known
        self._node = node
        self._sources = sources
        self._makers = makers
        self._log = log

    def pin(self, names: Iterable[TableName]) -> None:
        """See `RowSource.pin`."""
        self._sources.pin(names)

    def rows(self, session: SparkSession, read: AcidRead) -> DataFrame:
        """See `RowSource.rows`."""
        return self._seen(*self._sources.rows(session, _source(self._node, read)))

    def columns(self, session: SparkSession, read: AcidRead) -> DataFrame:
        """See `RowSource.columns`."""
        _source(self._node, read)
        return self._sources.columns(session, read.table)

    def feed(self, session: SparkSession, read: ChangesRead) -> DataFrame:
        """See `RowSource.feed`."""
        return self._seen(*self._sources.feed(session, read))

    def function(self, call: TableFunction) -> Callable[[SparkSession], DataFrame] | None:
        """Return the function that makes the rows of `acid_changes`; None for any other call."""
        if call.name != ACID_CHANGES:
            return None
        return partial(self._changes, ChangesOf.of(call))

    def _changes(self, changes: ChangesOf, session: SparkSession) -> DataFrame:
        maker = self._makers.get(changes)
        if maker is None:
            raise not_of_a_model()
        return self._seen(*maker.rows(session))

    def _seen(self, frame: DataFrame, files: FilesRead) -> DataFrame:
        node = self._node
        node.reads |= {files}
        self._log.add(get_node_info().get("unique_id") or node.name, files)
        return frame


class _NodeColumns(_NodeRows):
    """Columns for a statement of a node, in place of rows. `acid_changes` has an alias."""

    def pin(self, names: Iterable[TableName]) -> None:
        """Pin nothing: columns take no lock."""

    def rows(self, session: SparkSession, read: AcidRead) -> DataFrame:
        """Return the columns of a table."""
        return self.columns(session, read)

    def feed(self, session: SparkSession, read: ChangesRead) -> DataFrame:
        """Return the columns of a table's changes."""
        return self._sources.feed_columns(session, read.table)

    def _changes(self, changes: ChangesOf, session: SparkSession) -> DataFrame:
        return self._sources.change_columns(session, changes.source.table).alias(_CHANGED_ROWS)


def _source(node: NodeContext, read: AcidRead) -> Source:
    clauses = ReadClauses.of(node.session, read.table, read.relation)
    options = SourceOptions.of_clauses(clauses)
    default = node.default_options.get(read.table)
    if default is not None and not read.path and not read.relation.options:
        options = default
    return Source(read.table, options, clauses.as_of, clauses.read)


def _names(node: NodeContext, found: StatementReads, sources: AcidSources) -> AcidNames:
    functions = found.statement.functions
    # The changes up to a given write id stay what they are.
    growing = {feed.table for feed in found.feeds if feed.until is None}
    feeds = (Source(it, SourceOptions(static=sources.is_static(it))) for it in growing)
    return AcidNames(
        frozenset((*feeds, *(_source(node, read) for read in found.tables))),
        frozenset(ChangesOf.of(it) for it in functions if it.name == ACID_CHANGES),
    )
