"""SQL on HiveServer2."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from impala.dbapi import connect
from impala.error import Error as ImpylaError
from thrift.Thrift import TException

Row = tuple[Any, ...]
#: A row of a SHOW statement by Hive's column names, in lower case.
Record = dict[str, Any]

#: States of a compaction whose new directories are there.
_COMPACTED = frozenset({"ready for cleaning", "succeeded"})
#: States of a compaction that is over without any.
_NOT_COMPACTED = frozenset({"failed", "refused", "did not initiate", "aborted"})

#: Hive 4.0.1 looks at all files of a table while it checks permissions and while it divides the
#: work of a query, and fails when its own cleaner has just removed one. No row has been written.
_CLEANED_MEANWHILE = re.compile(
    "while compiling statement.*(No such file or directory|FileNotFoundException"
    "|NoSuchFileException|AccessDeniedException|Invalid directory or I/O error)",
    re.DOTALL,
)
#: And where a directory disappears while it lists those of a partition, or of a table without any,
#: it answers as if that were empty, and says so in its log only
#: (FetchOperator.generateWrappedSplits).
_TAKEN_FOR_EMPTY = re.compile(rb"FetchOperator: Input path \S+ is empty")
_ATTEMPTS = 20

_LOST_COMPACTION = "No suitable compaction found"
"""What COMPACT … AND WAIT answers when it looks for its compaction while Hive's cleaner moves the
record to those that are done. The compaction has been asked for."""


class HiveSqlError(RuntimeError):
    """HiveServer2 refused or failed a statement; the message has both."""


class HiveClient:
    """One session on HiveServer2, as a context manager; several threads need several clients."""

    def __init__(
        self,
        port: int,
        database: str = "default",
        host: str = "127.0.0.1",
        log: Path | None = None,
    ) -> None:
        """Open the session. Raises HiveSqlError when nothing answers or the database is missing.

        With the `log` of the server, `query` notices answers that Hive knows to be short.
        """
        try:
            self._connection = connect(
                host=host, port=port, database=database, auth_mechanism="NOSASL", timeout=600
            )
            # impyla opens a session for each cursor: USE and SET must last, so there is one.
            self._cursor = self._connection.cursor()
        except (TException, ImpylaError) as error:
            raise HiveSqlError(f"No session on HiveServer2 at {host}:{port}: {error}") from error
        self._log = log
        self._closed = False

    def __enter__(self) -> HiveClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the session; harmless when repeated, or when the server has ended before."""
        if self._closed:
            return
        self._closed = True
        with suppress(OSError, TException):
            self._cursor.close()
        self._connection.close()

    def execute(self, sql: str) -> None:
        """Run one statement. Raises HiveSqlError."""
        try:
            with self._run(sql):
                pass
        except HiveSqlError as error:
            if _LOST_COMPACTION not in str(error):
                raise
            self._wait_for_compactions(sql)

    def query(self, sql: str) -> list[Row]:
        """Run one statement and return all its rows. Raises HiveSqlError."""
        for _ in range(_ATTEMPTS):
            logged = self._log.stat().st_size if self._log else 0
            with self._run(sql) as cursor:
                rows = [tuple(row) for row in cursor.fetchall()] if cursor.description else []
            if not self._has_taken_for_empty(logged):
                return rows
        raise HiveSqlError(f"Hive takes what it cannot list for empty.\nStatement: {sql}")

    def script(self, text: str) -> None:
        """Run what `split_statements` finds. Raises HiveSqlError at the first failure."""
        for statement in split_statements(text):
            self.execute(statement)

    def compact(
        self,
        table: str,
        kind: str,
        partition: str | None = None,
        *,
        wait: bool = True,
        cleaned: bool = False,
        timeout: float = 120,
    ) -> None:
        """Ask for a `minor` or `major` compaction of a table or of one partition.

        `partition` is a specification as in SQL, without parentheses: `day='2024-01-01'`. With
        `wait`, return when snapshots have the new directories; with `cleaned`, when the cleaner has
        removed the old ones, too. Raises HiveSqlError when Hive refuses or fails it, TimeoutError
        after `timeout` seconds.
        """
        database, _, name = table.rpartition(".")
        if not database:
            ((database,),) = self.query("SELECT current_database()")
        before = {row["compactionid"] for row in self._compactions_of(database, name)}
        clause = f" PARTITION ({partition})" if partition else ""
        sql = f"ALTER TABLE {table}{clause} COMPACT '{kind}'"
        self.execute(sql)
        done = _COMPACTED - {"ready for cleaning"} if cleaned else _COMPACTED
        deadline = time.monotonic() + timeout
        while wait or cleaned:
            requests = self._compactions_of(database, name)
            new = [row for row in requests if row["compactionid"] not in before]
            if not new:
                raise HiveSqlError(f"Hive did not enqueue the compaction.\nStatement: {sql}")
            state = new[0]["state"]
            # Hive says so just before it commits; until then no snapshot has the new directories.
            # Hive 3 has no transactions for compactions.
            if state in done and not self._is_open(new[0].get("txnid")):
                return
            if state in _NOT_COMPACTED:
                reason = new[0].get("errormessage", "Hive 3 does not say why")
                raise HiveSqlError(f"The compaction was {state}: {reason}\nStatement: {sql}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"After {timeout:.0f} s the compaction is {state!r}: {sql}")
            time.sleep(0.1)

    def _wait_for_compactions(self, sql: str, timeout: float = 120) -> None:
        """Wait until no compaction is under way. Raises TimeoutError."""
        deadline = time.monotonic() + timeout
        while any(
            row["state"] in ("initiated", "working") or self._is_open(row.get("txnid"))
            for row in self.show_compactions()
        ):
            if time.monotonic() > deadline:
                raise TimeoutError(f"After {timeout:.0f} s a compaction is under way: {sql}")
            time.sleep(0.1)

    def show_compactions(self, database: str | None = None) -> list[Record]:
        """SHOW COMPACTIONS, those of one database or all, the oldest first.

        Of a text with line breaks, such as the error of a deadlock in the metastore's database,
        only the first line is there, and columns after it are not: Hive takes each line for a row.
        """
        rows = self._show("SHOW COMPACTIONS")
        whole = [row for row in rows if str(row["compactionid"]).isdecimal()]
        wanted = [row for row in whole if database in (None, row["dbname"])]
        return sorted(wanted, key=lambda row: int(row["compactionid"]))

    def show_locks(self) -> list[Record]:
        """SHOW LOCKS of all tables."""
        return self._show("SHOW LOCKS")

    def show_transactions(self) -> list[Record]:
        """SHOW TRANSACTIONS: the open and the aborted ones."""
        return self._show("SHOW TRANSACTIONS")

    def _compactions_of(self, database: str, table: str) -> list[Record]:
        found = self.show_compactions(database.lower())
        return [row for row in found if row["tabname"] == table.lower()]

    def _is_open(self, transaction: str | None) -> bool:
        rows = self.show_transactions()
        return any(row["txnid"] == transaction and row["state"] == "OPEN" for row in rows)

    def _show(self, sql: str) -> list[Record]:
        with self._run(sql) as cursor:
            names = [column[0].lower() for column in cursor.description]
            rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        # The first row may have headings, such as "Lock ID". What follows has numbers there.
        return [row for row in rows if not str(row[names[0]]).lower().endswith("id")]

    @contextmanager
    def _run(self, sql: str) -> Iterator[Any]:
        try:
            self._execute(sql)
            yield self._cursor
        except ImpylaError as error:
            raise HiveSqlError(f"{error}\nStatement: {sql}") from error
        finally:
            # Hive holds the locks of a query until its operation is closed.
            self._cursor.close_operation()

    def _has_taken_for_empty(self, logged: int) -> bool:
        if self._log is None:
            return False
        with self._log.open("rb") as log:
            log.seek(logged)
            return _TAKEN_FOR_EMPTY.search(log.read()) is not None

    def _execute(self, sql: str) -> None:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._cursor.execute(sql)
            except ImpylaError as error:
                if attempt == _ATTEMPTS or not _CLEANED_MEANWHILE.search(str(error)):
                    raise


def split_statements(text: str) -> list[str]:
    """Statements of a script: a `;` at the end of a line ends one; lines with `--` are comments."""
    statements: list[str] = []
    lines: list[str] = []
    for line in text.splitlines():
        if line.strip().startswith("--"):
            continue
        ended = line.rstrip().endswith(";")
        lines.append(line.rstrip().removesuffix(";"))
        if ended:
            statements.append("\n".join(lines).strip())
            lines = []
    statements.append("\n".join(lines).strip())
    return [statement for statement in statements if statement]
