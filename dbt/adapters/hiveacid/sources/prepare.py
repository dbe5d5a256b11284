"""Preparation of a statement: its ACID tables are swapped for the run's snapshot of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from dbt_common.events.contextvars import get_node_info
from pyspark.sql import SparkSession

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
from hiveacid.jvm.plans import execution_of, plan_of
from hiveacid.sql.clauses import ReadClauses
from hiveacid.sql.describe import describe_table
from hiveacid.sql.parameters import Parameters, parse_with
from hiveacid.sql.relations import (
    AcidRead,
    ChangesRead,
    Read,
    described_elsewhere,
    find_acid,
    find_changes,
    tables_of,
)
from hiveacid.sql.statement import Statement, TableFunction, parse
from hiveacid.sql.swap import SwappedStatement, swap


def look_at(node: NodeContext, sql: str, sources: AcidSources) -> tuple[AcidNames, AcidNames]:
    """Return the ACID sources that a statement names, and those behind its temporary views.

    Takes no lock, and runs nothing.

    Raises:
        HiveAcidError: the statement cannot be run as it is.
    """
    statement = parse(node.session, sql)
    reads = find_acid(node.session, statement, sources) if statement.plan is not None else ()
    return _names(node, reads, _changes_in(statement)), node.sources_behind(statement.reads)


def prepare_statement(
    node: NodeContext,
    sql: str,
    sources: AcidSources,
    makers: RowMakers,
    reads: ReadLog,
    values: Parameters | None = None,
) -> None:
    """Make a statement ready to run: its ACID tables are swapped, `node.reads` names their files.

    The reads are logged for the node that runs on this thread, else for `node.name`.

    Args:
        node: the node whose statement it is.
        sql: the statement.
        sources: the rows of ACID sources.
        makers: the makers of the rows of changes.
        reads: where the reads are logged.
        values: the values of the statement's parameters.

    Raises:
        HiveAcidError: a source cannot be read, or the statement cannot be run as it is.
    """
    session = node.session
    statement = parse_with(session, sql, values)
    node.named, node.reads, node.swapped = statement.names, frozenset(), None
    if statement.plan is None:
        return
    found = find_acid(session, statement, sources)
    changes = _changes_in(statement)
    feeds = find_changes(session, statement, sources)
    if statement.is_rewritten:
        node.swapped = SwappedStatement(statement, statement.plan)
    described = described_elsewhere(session, statement, sources)
    if described is not None:
        node.swapped = describe_table(session, statement, sources.metadata(described))
    if found or changes or feeds:
        work = _Preparation(node, sources, makers, reads)
        node.swapped = work.swapped(statement, found, changes, feeds)
    for parts in statement.reads:
        node.reads |= node.temporary_views.get(parts[-1].lower(), frozenset())
    node.has_read |= node.reads
    if statement.temporary_view is not None:
        node.temporary_views[statement.temporary_view] = node.reads
        names = _names(node, found, changes).joined(node.sources_behind(statement.reads))
        node.temporary_sources[statement.temporary_view] = names


def check_view(node: NodeContext, sql: str, sources: AcidSources) -> None:
    """Refuse the query of a stored view if it reads ACID tables, and the view cannot be made.

    Nothing is stored.

    Raises:
        HiveAcidError: a table cannot be read, or its text cannot be stored.
        PySparkException: Spark cannot analyse the query.
    """
    session = node.session
    statement = parse(session, f"create view hiveacid_check as\n{sql}")
    if statement.plan is None:
        return
    found = find_acid(session, statement, sources)
    changes, feeds = _changes_in(statement), find_changes(session, statement, sources)
    if found or changes or feeds:
        work = _Preparation(node, sources, {}, ReadLog())
        plan = work.swapped(statement, found, changes, feeds).plan
        execution_of(session.sparkContext, session._jsparkSession, plan).analyzed()


class _Preparation:
    """Rows that are put into one statement of a node."""

    def __init__(
        self, node: NodeContext, sources: AcidSources, makers: RowMakers, log: ReadLog
    ) -> None:
        self._node = node
        self._sources = sources
        self._makers = makers
        self._log = log

    def swapped(
        self,
        statement: Statement,
        reads: tuple[Read, ...],
        changes: Mapping[ChangesOf, TableFunction],
        feeds: tuple[ChangesRead, ...],
    ) -> SwappedStatement:
        """Return the statement with rows of the snapshot in place of its ACID tables.

        Args:
            statement: the statement.
            reads: the tables that it reads.
            changes: the calls of `acid_changes`.
            feeds: the calls of `table_changes`.
        """
        rows = self._columns
        if not statement.is_permanent_view:
            rows = self._rows
            tables = {read.table for read in tables_of(reads)} | {feed.table for feed in feeds}
            self._sources.pin(tables)
        functions = [
            *((call, partial(self._changes, key)) for key, call in changes.items()),
            *((feed.function, partial(self._feed, feed)) for feed in feeds),
        ]
        return swap(self._node.session, statement, reads, rows, functions)

    def _rows(self, read: AcidRead) -> Any:
        source = _source(self._node, read)
        return self._seen(*self._sources.rows(self._node.session, source))

    def _changes(self, changes: ChangesOf) -> Any:
        maker = self._makers.get(changes)
        if maker is None:
            raise not_of_a_model()
        frame, files = maker.rows(self._node.session)
        return self._seen(plan_of(frame), files)

    def _feed(self, read: ChangesRead) -> Any:
        return self._seen(*self._sources.feed(self._node.session, read))

    def _columns(self, read: AcidRead) -> Any:
        _source(self._node, read)
        return self._sources.columns(self._node.session, read.table)

    def _seen(self, plan: Any, files: FilesRead) -> Any:
        node = self._node
        node.reads |= {files}
        self._log.add(get_node_info().get("unique_id") or node.name, files)
        return plan


def refuse_function(session: SparkSession, sql: str, sources: AcidSources) -> None:
    """Refuse a permanent function whose body reads an ACID table.

    Raises:
        ViewOverAcidError: naming the function, the sources and what to do instead.
    """
    statement = parse(session, f"select ({sql}\n)")
    if statement.plan is None:
        return
    tables = sorted({str(it.table) for it in tables_of(find_acid(session, statement, sources))})
    if tables:
        name = f"function {get_node_info().get('node_name', '')}".strip()
        raise ViewOverAcidError(
            f"{name[0].upper()}{name[1:]} would be a permanent function over the ACID table "
            f"{', '.join(tables)}, read directly or through ephemeral models. A permanent function "
            "cannot hold a run's snapshot. Read the source in the models that call the function."
        )


def _source(node: NodeContext, read: AcidRead) -> Source:
    clauses = ReadClauses.of(node.session, read.table, read.relation)
    options = SourceOptions.of_clauses(clauses)
    default = node.default_options.get(read.table)
    if default is not None and not read.path and not read.relation.options:
        options = default
    return Source(read.table, options, clauses.as_of, clauses.read)


def _names(node: NodeContext, reads: Iterable[Read], changes: Iterable[ChangesOf]) -> AcidNames:
    return AcidNames(
        frozenset(_source(node, read) for read in tables_of(reads)), frozenset(changes)
    )


def _changes_in(statement: Statement) -> dict[ChangesOf, TableFunction]:
    return {ChangesOf.of(it): it for it in statement.functions if it.name == ACID_CHANGES}
