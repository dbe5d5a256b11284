"""Transactional tables among the relations of a statement, also behind stored views.

Spark treats the directory of a Hive ACID table as plain files: it shows no rows, or rows that are
deleted, without an error. So every relation that a statement names is looked up in Spark's catalog
before the statement runs, and stored views are followed to the tables behind them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from hiveacid.errors import AcidTargetError, InvalidSettingError, RawAcidReferenceError
from hiveacid.formatting import quoted
from hiveacid.jvm.plans import plan_of
from hiveacid.metastore.models import Column, HiveSql, HiveView, TableName
from hiveacid.sql.catalog import (
    SESSION_CATALOG,
    identifier,
    is_transactional,
    read_by_spark,
    session_catalog,
    table_metadata,
    tables_metadata,
    transactional_in,
)
from hiveacid.sql.clauses import refuse_ignored
from hiveacid.sql.functions import (
    called_in,
    is_named_by_expression,
    made_by,
    text_of_calls,
)
from hiveacid.sql.hive_views import HiveViews, tables_in
from hiveacid.sql.paths import NamedPath, is_path, paths_in, refuse_acid_directory
from hiveacid.sql.statement import (
    DESCRIBES,
    NameParts,
    Relation,
    Statement,
    TableFunction,
    of_plan,
    parse,
    parse_name,
)
from hiveacid.sql.stored_views import open_view

_TOGETHER = 3
"""Tables of one database that are worth a look-up together."""

_NOT_MADE_BY_SPARK = "2.2 or prior"
"""What Spark takes for the version that made a table or a view, where Hive made it."""

TABLE_CHANGES = "table_changes"
"""The table function that shows the changes between two write ids."""


class KnownTables(Protocol):
    """Transactional tables that are known without Spark's catalog."""

    def has(self, name: TableName, *, in_spark: bool) -> bool:
        """Return whether the metastore of the snapshot has `name` as a transactional table.

        `in_spark` tells whether Spark's catalog has another table of this name.
        """

    def hive_view(self, name: TableName, *, in_spark: bool) -> HiveView | None:
        """Return a view of Hive's in the metastore of the snapshot; None without one.

        `in_spark` as for `has`.
        """

    def hive_sql(self) -> HiveSql:
        """Return what the metastore of the snapshot knows of the SQL of its Hive."""


@dataclass(frozen=True)
class AcidRead:
    """A transactional table that a statement reads. `path` has the views on the way to it."""

    relation: Relation
    table: TableName
    path: tuple[str, ...] = ()


class OpenedView(Protocol):
    """A stored view that can be shown with a plan of its query."""

    def showing(self, session: SparkSession, query: Any) -> Any:
        """Return the analysed plan of the view with a plan of its query."""


@dataclass(frozen=True)
class ViewRead:
    """A stored view that a statement reads, and the transactional tables behind the view."""

    relation: Relation
    view: OpenedView = field(repr=False)
    statement: Statement = field(repr=False)
    reads: tuple[Read, ...]


Read = AcidRead | ViewRead


@dataclass(frozen=True)
class ChangesRead:
    """A call of `table_changes('db.table', since, until)` on a transactional table.

    `since` is a write id whose own changes are not shown; `until` is the last one whose changes
    are, None for the newest.
    """

    function: TableFunction
    table: TableName
    since: int
    until: int | None


def tables_of(reads: Iterable[Read]) -> Iterator[AcidRead]:
    """Yield the tables of some reads: also those behind views."""
    for read in reads:
        if isinstance(read, AcidRead):
            yield read
        else:
            yield from tables_of(read.reads)


def find_acid(session: SparkSession, statement: Statement, known: KnownTables) -> tuple[Read, ...]:
    """Return the transactional tables that a statement reads, and the stored views over them.

    Temporary views are not followed: a statement of this library that made one was looked at
    itself. A temporary view that Spark alone has made over a transactional table is refused.

    Raises:
        RawAcidReferenceError: the statement hides which tables it reads, a name is that of two
            tables, or a temporary view reads a table without the snapshot.
        AcidTargetError: the statement would change rows or files of a transactional table.
    """
    search = _Search(session, known)
    search.refuse_targets(statement)
    return search.find(statement, default_database=None, path=())


def find_changes(
    session: SparkSession, statement: Statement, known: KnownTables
) -> tuple[ChangesRead, ...]:
    """Return the calls of `table_changes` on transactional tables.

    A call with the name of another table is left to Delta, which has a function of this name.

    Raises:
        InvalidSettingError: the write ids of a call are not whole numbers.
    """
    calls = [it for it in statement.functions if it.name == TABLE_CHANGES and it.arguments]
    if not calls:
        return ()
    search = _Search(session, known)
    found = [(call, search.acid_table(str(call.arguments[0]))) for call in calls]
    return tuple(_changes_read(call, table) for call, table in found if table is not None)


def _changes_read(call: TableFunction, table: TableName) -> ChangesRead:
    try:
        since, *rest = (None if it is None else int(it) for it in call.arguments[1:])
        (until,) = rest or (None,)
        if since is not None:
            return ChangesRead(call, table, since, until)
    except ValueError:
        pass
    raise InvalidSettingError(
        f"table_changes('{table}', …) takes the write id after which the changes begin, and, if "
        f"need be, the last one of them: table_changes('{table}', 2, 5). They must be whole "
        f"numbers, not {', '.join(map(str, call.arguments[1:])) or 'left out'}."
    )


def described_elsewhere(
    session: SparkSession, statement: Statement, known: KnownTables
) -> TableName | None:
    """Return the transactional table that DESCRIBE or SHOW COLUMNS is about, if Spark has none."""
    if statement.kind not in DESCRIBES or len(statement.mentions) != 1:
        return None
    (parts,) = statement.mentions
    return _Search(session, known).elsewhere(parts)


class _Search:
    """Search through a statement and the views that it reads."""

    def __init__(self, session: SparkSession, known: KnownTables) -> None:
        self._session = session
        self._known = known
        self._catalog = session_catalog(session)
        self._manager = session._jsparkSession.sessionState().catalogManager()
        self._metadata: dict[tuple[str, str], Any] = {}
        self._hive_views = HiveViews(session, known.hive_sql)
        self._is_in_hive_view = False

    def find(
        self, statement: Statement, default_database: str | None, path: tuple[str, ...]
    ) -> tuple[Read, ...]:
        """Return what a statement reads; `path` has the views that led to it."""
        opaque, calls = statement.opaque, ""
        if opaque is None and statement.plan is not None:
            calls = text_of_calls(self._session.sparkContext, statement.plan)
        if is_named_by_expression(calls):
            opaque = "IDENTIFIER(…)"
        if opaque is not None:
            raise RawAcidReferenceError(
                f"{opaque}{through(path)} hides which tables the statement reads, and "
                "Spark reads transactional Hive tables wrong. So the statement was not run. Write "
                "the statements and names out; dbt's Jinja can compute them."
            )
        self._refuse_functions(statement, calls, default_database, path)
        for relation in statement.ignored:
            refuse_ignored(relation, "defined by a `with` clause")
        self._learn_of(statement.relations, default_database)
        found = (
            self._look_up(relation, default_database, path) for relation in statement.relations
        )
        return tuple(read for read in found if read is not None)

    def acid_table(self, text: str) -> TableName | None:
        """Return the transactional table that a name in a text means; None for any other."""
        name = self._qualify(parse_name(self._session, text), None)
        return name if name is not None and self._is_acid(name) else None

    def _refuse_functions(
        self,
        statement: Statement,
        calls: str,
        default_database: str | None,
        path: tuple[str, ...],
    ) -> None:
        """Refuse to call or to make a SQL function that reads transactional tables."""
        if statement.plan is None:
            return
        made = made_by(statement.plan)
        called = called_in(self._session, calls)
        for function in called if made is None else (made,):
            body = parse(self._session, function.query)
            within = (*path, function.name)
            if function.name in path:
                continue
            for relation in body.relations if function.is_temporary else ():
                if self._is_temporary(relation.parts):
                    self._refuse_raw_view(relation)
            tables = tables_of(self.find(body, function.database or default_database, within))
            names = sorted({str(read.table) for read in tables})
            if names:
                raise RawAcidReferenceError(
                    f"{function.name}{through(path)} reads {', '.join(names)} in its body. A "
                    "function reads tables without the snapshot, and Spark reads transactional "
                    "Hive tables wrong. So the statement was not run. Write the query into the "
                    "statement, or make a view of it."
                )

    def elsewhere(self, parts: NameParts) -> TableName | None:
        """Return a transactional table that Spark's catalog does not have."""
        name = self._qualify(parts, None)
        if name is None or self._table(name) is not None or not self._is_acid(name):
            return None
        return name

    def refuse_targets(self, statement: Statement) -> None:
        """Refuse to change the rows or the files of transactional tables, or to drop them."""
        schema = statement.changed_schema or ()
        if len(schema) == 1 or schema[:1] == (SESSION_CATALOG,):
            refuse_acid_in_schema(self._session, schema[-1].lower())
        if statement.plan is not None:
            for path in paths_in(statement.plan):
                refuse_acid_directory(self._session, path)
        for parts in sorted(statement.targets | statement.changes):
            if is_path(parts):
                refuse_acid_directory(self._session, NamedPath(parts[1], is_read=False))
            name = self._qualify(parts, None)
            if name is not None and self._is_acid(name):
                raise AcidTargetError(
                    f"{name} is a transactional Hive table. Spark would change its files, or what "
                    "the metastore has of it, without Hive's locks and write ids. What others have "
                    "written since the snapshot may be lost. Run the statement in Hive."
                )

    def _look_up(
        self, relation: Relation, default_database: str | None, path: tuple[str, ...]
    ) -> Read | None:
        name = self._qualify(relation.parts, default_database)
        if name is None:
            if self._is_temporary(relation.parts):
                refuse_ignored(relation, "a temporary view")
                self._refuse_raw_view(relation)
            elif self._is_catalog(relation.parts):
                self._refuse_in_catalog(relation, path)
            return None
        metadata = self._table(name)
        if metadata is not None and metadata.viewText().isDefined():
            hives = _view_of_hive(name, metadata)
            if hives is not None:
                return self._follow_hives(relation, hives, path)
            return self._follow(relation, name, metadata, path)
        if self._is_acid(name, metadata):
            return AcidRead(relation, name, path)
        if self._is_in_hive_view and metadata is not None:
            table = self._hive_views.open_char_table(name, metadata)
            return None if table is None else ViewRead(relation, table, table.statement, ())
        if metadata is None and is_path(relation.parts):
            refuse_acid_directory(self._session, NamedPath(relation.parts[1], is_read=True))
        elif metadata is None:
            hives = self._known.hive_view(name, in_spark=False)
            if hives is not None:
                return self._follow_hives(relation, hives, path)
        return None

    def _is_acid(self, name: TableName, metadata: Any = None) -> bool:
        metadata = metadata or self._table(name)
        if metadata is None:
            return self._known.has(name, in_spark=False)
        if is_transactional(metadata):
            return True
        if self._known.has(name, in_spark=True):
            raise RawAcidReferenceError(
                f"{name} is a transactional table in the metastore of the ACID tables, and another "
                "table in Spark's catalog. So the statement was not run: it would be unclear which "
                "of the two it reads. Rename one of them, or point Spark at the same metastore "
                "(`spark.hadoop.hive.metastore.uris`)."
            )
        return False

    def _follow(
        self, relation: Relation, name: TableName, metadata: Any, path: tuple[str, ...]
    ) -> ViewRead | None:
        if str(name) in path:
            return None  # Spark has an error for a view that reads itself.
        view = open_view(self._session, metadata)
        statement = of_plan(self._session, view.text, view.query)
        database = view.database or name.database
        reads = self.find(statement, database, (*path, str(name)))
        if reads:
            _refuse_clauses(relation, name)
        return ViewRead(relation, view, statement, reads) if reads else None

    def _follow_hives(
        self, relation: Relation, view: HiveView, path: tuple[str, ...]
    ) -> ViewRead | None:
        """Follow a view of Hive's. One over no transactional table is left to Spark.

        Raises:
            UnreadableTableError: Spark cannot show what Hive shows of the view.
        """
        if str(view.name) in path:
            return None  # Spark has an error for a view that reads itself.
        opened = self._hive_views.open(view)
        path = (*path, str(view.name))
        if opened.statement.plan is None:
            names = tables_in(view)
            below = [Relation((SESSION_CATALOG, it.database, it.table)) for it in sorted(names)]
            if not names or any(self._look_up(it, None, path) for it in below):
                opened.refuse()
            return None  # Spark has an error for its text.
        is_outermost, self._is_in_hive_view = not self._is_in_hive_view, True
        try:
            reads = self.find(opened.statement, view.name.database, path)
        finally:
            self._is_in_hive_view = not is_outermost
        found = ViewRead(relation, opened, opened.statement, reads)
        if not is_outermost:
            return found
        if not any(True for _ in tables_of(reads)):
            return None
        _refuse_clauses(relation, view.name)
        _check_hives(found)
        return found

    def _learn_of(self, relations: Iterable[Relation], default_database: str | None) -> None:
        """Look up the tables of a database together where a statement reads several of them."""
        wanted: dict[str, set[str]] = {}
        for relation in relations:
            name = None
            if not is_path(relation.parts):
                name = self._qualify(relation.parts, default_database)
            if name is not None and (name.database, name.table) not in self._metadata:
                wanted.setdefault(name.database, set()).add(name.table)
        for database, tables in wanted.items():
            if len(tables) < _TOGETHER:
                continue
            try:
                found = tables_metadata(self._session, database, sorted(tables))
            except (PySparkException, Py4JJavaError):
                continue  # One of them cannot be described. They are looked up one by one.
            self._metadata |= {(database, table): found.get(table) for table in tables}

    def _table(self, name: TableName) -> Any:
        key = (name.database, name.table)
        if key not in self._metadata:
            try:
                self._metadata[key] = table_metadata(self._session, *key)
            except (PySparkException, Py4JJavaError):
                # Spark describes no materialized view of Hive's, for example. Who reads it is told.
                known = self._known
                view = known.hive_view(name, in_spark=False)
                if view is None and not known.has(name, in_spark=False):
                    raise
                self._metadata[key] = None
        return self._metadata[key]

    def _qualify(self, parts: NameParts, default_database: str | None) -> TableName | None:
        """Return the table of Spark's own catalog that a name means; None for other catalogs."""
        if len(parts) > 2 and parts[0].lower() == SESSION_CATALOG:
            parts = parts[1:]
        elif len(parts) > 2 or self._is_catalog(parts):
            return None
        if len(parts) == 2:
            if parts[0].lower() == self._global_temporary:
                return None
            return TableName(parts[0].lower(), parts[1].lower())
        if default_database is None:
            if self._manager.currentCatalog().name() != SESSION_CATALOG:
                return None
            if self._is_temporary(parts):
                return None
            default_database = self._catalog.getCurrentDatabase()
        return TableName(default_database.lower(), parts[0].lower())

    def _is_temporary(self, parts: NameParts) -> bool:
        *database, view = parts
        if database and [it.lower() for it in database] != [self._global_temporary]:
            return False
        name = identifier(self._session, database[0] if database else None, view)
        return bool(self._catalog.isTempView(name))

    @cached_property
    def _global_temporary(self) -> str:
        """The database of temporary views that sessions share."""
        return str(self._session.conf.get("spark.sql.globalTempDatabase")).lower()

    def _refuse_raw_view(self, relation: Relation) -> None:
        """Refuse a temporary view that shows transactional tables as Spark itself reads them."""
        view = ".".join(map(quoted, relation.parts))
        try:
            shown = plan_of(self._session.table(view))
        except PySparkException:
            return  # Running the statement tells it.
        tables = read_by_spark(shown)
        if tables:
            raise RawAcidReferenceError(
                f"The temporary view {'.'.join(relation.parts)} reads {', '.join(tables)}, and was "
                "made without the snapshot. Spark reads transactional Hive tables wrong. So the "
                "statement was not run. Make the view with snapshot.sql('create temporary view "
                "…'), or of a DataFrame of the snapshot."
            )

    def _refuse_in_catalog(self, relation: Relation, path: tuple[str, ...]) -> None:
        """Refuse the name of known transactional rows that Spark looks up in a catalog."""
        name = TableName(*(part.lower() for part in relation.parts))
        if self._known.has(name, in_spark=True):
            kind = "transactional table"
        else:
            view = self._known.hive_view(name, in_spark=True)
            if view is None or self._follow_hives(relation, view, path) is None:
                return
            kind = "view of Hive's over transactional tables"
        catalog = relation.parts[0]
        raise RawAcidReferenceError(
            f"{name} is a {kind} in the metastore of the ACID tables, and Spark "
            f"has a catalog `{catalog}` (`spark.sql.catalog.{catalog}`), in which it would "
            "look for the name. So the statement was not run. Give the catalog another name, "
            f"or write {SESSION_CATALOG}.{name}."
        )

    def _is_catalog(self, parts: NameParts) -> bool:
        return len(parts) == 2 and self._manager.isCatalogRegistered(parts[0])


def _view_of_hive(name: TableName, metadata: Any) -> HiveView | None:
    """Return a view of Spark's catalog as one of Hive's; None if Spark has made it."""
    if not str(metadata.createVersion()).startswith(_NOT_MADE_BY_SPARK):
        return None
    schema = StructType.fromJson(json.loads(metadata.schema().json()))
    columns = tuple(Column(it.name, it.dataType.simpleString()) for it in schema)
    return HiveView(name, str(metadata.viewText().get()), columns)


def _refuse_clauses(relation: Relation, view: TableName) -> None:
    if relation.options or relation.version or relation.timestamp:
        raise InvalidSettingError(
            f"{view} is a view over transactional Hive tables. It has no options in `with (…)` "
            "and no earlier versions of its own. Give them to the tables in the view's text."
        )


def _check_hives(read: ViewRead) -> None:
    """Refuse a view of Hive's that Spark would show otherwise, or one behind it."""
    check = getattr(read.view, "check", None)
    if check is not None:
        check()
    for inner in read.reads:
        if isinstance(inner, ViewRead):
            _check_hives(inner)


def refuse_acid_in_schema(session: SparkSession, database: str) -> None:
    """Refuse to drop a database that has a transactional table.

    Raises:
        AcidTargetError: naming the first of its transactional tables.
    """
    table = min(transactional_in(session, database), default=None)
    if table is not None:
        raise AcidTargetError(about_target(database, table))


def about_target(database: str, table: str) -> str:
    """Return the message for a transactional table that would be dropped or renamed."""
    return (
        f"{database}.{table} is a transactional Hive table. Spark would drop or rename it without "
        "Hive's locks, and its rows would be lost to Hive. Give the model, seed or snapshot of "
        "this name another `alias` or `schema`. To remove the table itself, drop it in Hive."
    )


def through(path: tuple[str, ...]) -> str:
    """Return a remark on the views that lead to a table; empty without any."""
    return f" (through the view {' > '.join(path)})" if path else ""
