"""Tables of the snapshot's metastore, looked up without Spark's catalog."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager
from copy import copy
from functools import cache

from hiveacid.errors import InvalidSettingError, TableNotFoundError
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import HIVE_VIEWS, HiveSql, HiveView, Table, TableName
from hiveacid.sql.hive_views import tables_in


class KnownTables:
    """Metadata of tables, from one request to the metastore for all expected tables.

    No transaction is opened and no lock is taken: the snapshot reads the metadata again under its
    locks. All methods are thread-safe.
    """

    def __init__(
        self,
        client: Callable[[], AbstractContextManager[MetastoreClient]],
        expected: Callable[[], Iterable[TableName]],
        declared: Callable[[], Collection[TableName]],
        hive_views: str | None = None,
    ) -> None:
        """Ask nothing yet.

        Args:
            client: opens a client for one request.
            expected: returns the tables whose metadata will be needed.
            declared: returns the names that mean the metastore's table even if Spark's catalog has
                another table of the same name.
            hive_views: the release of Hive that Hive views are read as (`HiveSql`).

        Raises:
            InvalidSettingError: `hive_views` is not a known release.
        """
        if hive_views not in (None, *HIVE_VIEWS):
            raise InvalidSettingError(
                f"hive_views must be one of {', '.join(HIVE_VIEWS)}, not {hive_views!r}: the "
                "release of Hive that views are read as.",
                code="HIVEACID_INVALID_HIVE_VIEWS",
            )
        self._client = client
        self._expected = expected
        self._declared = declared
        self._lock = threading.Lock()
        self._known: dict[TableName, Table | None] = {}

        @cache
        def hive_sql() -> HiveSql:
            with client() as opened:
                return opened.hive_sql(hive_views)

        self.hive_sql = hive_sql
        """Returns the version and the SQL settings of the metastore's Hive. Asks once."""

    def get(self, name: TableName) -> Table | None:
        """Return a table's metadata; None if the metastore has no such table.

        Raises:
            MetastoreError: the metastore could not be asked.
        """
        with self._lock:
            if name not in self._known:
                self._look_up({name, *self._expected()} - self._known.keys())
            return self._known[name]

    def missing(self, names: Iterable[TableName]) -> list[TableName]:
        """Return those of `names` that the metastore does not have, sorted.

        Raises:
            MetastoreError: the metastore could not be asked.
        """
        wanted = sorted(names)
        with self._lock:
            if not self._known.keys() >= set(wanted):
                self._look_up(set(wanted) - self._known.keys())
            return [name for name in wanted if self._known[name] is None]

    def metadata(self, name: TableName) -> Table:
        """Return a table's metadata.

        Raises:
            TableNotFoundError: the table has been dropped.
        """
        table = self.get(name)
        if table is None:
            raise TableNotFoundError(
                f"The metastore has no table {name}. Check the names of the database and the "
                "table; it may just have been dropped."
            )
        return table

    def forget(self, name: TableName | None = None) -> None:
        """Forget the metadata of a table, or all: the metastore is asked again."""
        with self._lock:
            if name is None:
                self._known.clear()
            else:
                self._known.pop(name, None)

    def for_statement(self) -> KnownTables:
        """Return the same without tables: tables come and go in Hive between two statements.

        Statements of several threads ask next to each other.
        """
        found = copy(self)
        found._lock, found._known = threading.Lock(), {}
        return found

    def asked_for(self) -> dict[TableName, Table | None]:
        """Return the metadata of all tables that were looked up; None for missing tables."""
        with self._lock:
            return dict(self._known)

    def is_declared(self, name: TableName) -> bool:
        """Return whether a name means the metastore's table, whatever Spark's catalogs have."""
        return name in self._declared()

    def has(self, name: TableName, *, in_spark: bool) -> bool:
        """Return whether the metastore has `name` as a transactional table.

        `in_spark`: whether Spark's catalog has another table of this name.
        """
        if in_spark and not self.is_declared(name):
            return False
        return bool(self.transactional([name]))

    def hive_view(self, name: TableName, *, in_spark: bool) -> HiveView | None:
        """Return a Hive view of the metastore; None without one. `in_spark` as for `has`."""
        if in_spark and not self.is_declared(name):
            return None
        return HiveView.of(self.get(name))

    def transactional(self, names: Iterable[TableName]) -> set[TableName]:
        """Return the transactional tables among `names`."""
        tables = ((name, self.get(name)) for name in names)
        return {name for name, table in tables if table is not None and table.is_transactional}

    def behind(self, names: Iterable[TableName]) -> set[TableName]:
        """Return the transactional tables among `names`, and those behind Hive views."""
        found: set[TableName] = set()
        seen: set[TableName] = set()
        pending = list(names)
        while pending:
            name = pending.pop()
            if name in seen:
                continue
            seen.add(name)
            table = self.get(name)
            view = HiveView.of(table)
            if view is not None:
                pending += tables_in(view)
            elif table is not None and table.is_transactional:
                found.add(name)
        return found

    def read_in_snapshot(self, names: Iterable[TableName]) -> set[TableName]:
        """Return the transactional tables, and the Hive views over them, among `names`."""
        return {name for name in names if self.behind([name])}

    def _look_up(self, names: set[TableName]) -> None:
        with self._client() as client:
            found = client.get_tables(names)
        self._known.update({name: found.get(name) for name in names})
