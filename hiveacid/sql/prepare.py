"""Preparation of every SQL statement: its tables are found, pinned, and swapped for their rows.

`parse_with` parses a text and binds its parameters. `look_at` finds the tables that the statement
reads, and `prepare` makes the statement ready to run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from hiveacid.jvm.java_types import LogicalPlan
from hiveacid.jvm.plans import execution_of
from hiveacid.metastore.models import TableName
from hiveacid.sql.gate import raw_tables_refused
from hiveacid.sql.known_tables import KnownTables
from hiveacid.sql.reads import AcidRead, ChangesRead, Read, tables_of
from hiveacid.sql.relations import described_elsewhere, find_acid, find_changes, guarded_view
from hiveacid.sql.row_wise import CrossRowOperator, find_cross_row
from hiveacid.sql.statement import METADATA_ONLY, Statement, TableFunction
from hiveacid.sql.swap import (
    SwappedStatement,
    ViewCommand,
    describe_table,
    metadata_column_refused,
    swap,
)


class RowSource(Protocol):
    """Supplier of what a statement may name: tables of a snapshot, and functions of its host."""

    @property
    def known(self) -> KnownTables:
        """The tables that are known without Spark's catalog."""

    def pin(self, names: Iterable[TableName]) -> None:
        """Lock some tables and pin them, before any of their rows is asked for."""

    def rows(self, session: SparkSession, read: AcidRead) -> DataFrame:
        """Return the rows of a table that was pinned, lazily."""

    def columns(self, session: SparkSession, read: AcidRead) -> DataFrame:
        """Return the columns of a table, without rows. Takes no lock."""

    def feed(self, session: SparkSession, read: ChangesRead) -> DataFrame:
        """Return the changes of a table that was pinned, lazily."""

    def function(self, call: TableFunction) -> Callable[[SparkSession], DataFrame] | None:
        """Return a maker of the rows of one of the host's table functions; None for others."""


@dataclass(frozen=True)
class StatementReads:
    """A statement and the tables that it reads. Nothing is pinned, and nothing has run.

    `feeds` are its calls of `table_changes`.
    """

    statement: Statement
    reads: tuple[Read, ...] = ()
    feeds: tuple[ChangesRead, ...] = ()

    @property
    def tables(self) -> tuple[AcidRead, ...]:
        """Transactional tables that the statement reads, also behind stored views."""
        return tuple(tables_of(self.reads))


@dataclass(frozen=True)
class Prepared(StatementReads):
    """A statement that is ready to run.

    Attributes:
        functions: the calls of table functions whose rows are the snapshot's.
        swapped: the statement to run; None if Spark runs the text as it is.
    """

    functions: tuple[TableFunction, ...] = ()
    swapped: SwappedStatement | None = None

    @property
    def reads_snapshot(self) -> bool:
        """Whether anything in the statement is swapped for rows of the snapshot."""
        return bool(self.reads or self.functions)

    def run(self, session: SparkSession) -> DataFrame:
        """Run the statement, as `session.sql` runs a text: a command at once, a query lazily.

        Raises:
            RawAcidReferenceError: the gate refuses what Spark has made of the statement.
        """
        with raw_tables_refused():
            if self.swapped is None:
                return session.sql(self.statement.sql)
            return self.swapped.run(session)

    def analyse(self, session: SparkSession) -> LogicalPlan | None:
        """Return Spark's analysed plan of what was swapped, and run nothing; None without any.

        Raises:
            PySparkException: Spark cannot analyse it.
        """
        if self.swapped is None:
            return None
        execution = execution_of(session.sparkContext, session._jsparkSession, self.swapped.plan)
        with metadata_column_refused(self.swapped.tables):
            return LogicalPlan(execution.analyzed())

    def find_cross_row(
        self, session: SparkSession, rows: str, table: TableName, *, is_keyed: bool
    ) -> CrossRowOperator | None:
        """Return the first operator that is not row-wise over a relation, and run nothing.

        For the arguments see `row_wise.find_cross_row`.

        Raises:
            PySparkException: Spark cannot analyse the statement.
        """
        plan = self.analyse(session)
        if plan is None:
            return None
        return find_cross_row(session, plan, rows, table, is_keyed=is_keyed)


def look_at(session: SparkSession, statement: Statement, known: KnownTables) -> StatementReads:
    """Return the transactional tables that a statement reads. Takes no lock.

    A text that Spark cannot parse reads nothing: running it raises Spark's error.

    Raises:
        RawAcidReferenceError, AcidTargetError: as for `find_acid`.
    """
    if statement.plan is None:
        return StatementReads(statement)
    reads = find_acid(session, statement, known)
    return StatementReads(statement, reads, find_changes(session, statement, known))


@raw_tables_refused()
def prepare(session: SparkSession, statement: Statement, rows: RowSource) -> Prepared:
    """Make a statement ready to run: its transactional tables are swapped for their rows.

    If the statement creates a stored view, tables are swapped for their columns without rows, and
    are not pinned.

    Args:
        session: the session that runs the statement.
        statement: as `parse_with` returns it.
        rows: supplies the tables and their rows.

    Raises:
        HiveAcidError: a table cannot be read, or the statement cannot be run as it is.
    """
    if statement.plan is None:
        return Prepared(statement)
    found = look_at(session, statement, rows.known)
    made = ((call, rows.function(call)) for call in dict.fromkeys(statement.functions))
    calls = [(call, partial(make, session)) for call, make in made if make is not None]
    calls += [(feed.function, partial(rows.feed, session, feed)) for feed in found.feeds]
    if not found.reads and not calls:
        return Prepared(statement, swapped=_without_rows(session, statement, rows.known))
    show = rows.columns
    if not statement.is_permanent_view:
        show = rows.rows
        rows.pin({read.table for read in found.tables} | {feed.table for feed in found.feeds})
    swapped = swap(session, statement, found.reads, partial(show, session), calls)
    functions = tuple(call for call, _ in calls)
    return Prepared(statement, found.reads, found.feeds, functions, swapped)


def _without_rows(
    session: SparkSession, statement: Statement, known: KnownTables
) -> SwappedStatement | None:
    """Return what to run for a text that reads no rows of the snapshot; None to run the text."""
    described = described_elsewhere(session, statement, known)
    if described is not None:
        return describe_table(session, statement, known.metadata(described))
    view = guarded_view(session, statement, known)
    if view is not None:
        return ViewCommand(statement, statement.plan, view=view)
    if statement.is_rewritten or statement.kind in METADATA_ONLY:
        return SwappedStatement(statement, statement.plan)
    return None
