"""The Spark session that the code of a Python model gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.sql_formatter import SQLStringFormatter

from hiveacid.sql.clauses import render_read


class RunStatement(Protocol):
    """Runner of statements, whose ACID tables show the run's snapshot."""

    def __call__(self, sql: str, values: Any = None) -> DataFrame:
        """Run a statement with the values of its parameters."""


class ModelSession(SparkSession):
    """Session of a model's connection, whose SQL reads ACID tables from the run's snapshot.

    It is the same session of Spark's in all else: settings, temporary views, jobs.
    """

    def __init__(
        self,
        session: SparkSession,
        run: RunStatement,
        reads_acid: Callable[[str], bool],
    ) -> None:
        """Stand for `session`.

        Args:
            session: the session of the connection.
            run: runs a statement with the values of its parameters, if it has any.
            reads_acid: tells whether a statement reads any.
        """
        # Not SparkSession's own: it would register a new session with Spark.
        self.__dict__.update(session.__dict__)
        self._own = session
        self._run = run
        self._reads_acid = reads_acid

    def sql(self, sqlQuery: str, args: Any = None, **kwargs: Any) -> DataFrame:  # noqa: N803
        """Run a statement: see `SparkSession.sql`."""
        formatter = SQLStringFormatter(self)
        text = formatter.format(sqlQuery, **kwargs) if kwargs else sqlQuery
        try:
            return self._with_this_session(self._run(text, args))
        finally:
            if kwargs:
                formatter.clear()

    def table(self, tableName: str) -> DataFrame:  # noqa: N803
        """Return the rows of a table or view: see `SparkSession.table`."""
        return self._with_this_session(self._run(f"select * from {tableName}"))

    @property
    def read(self) -> DataFrameReader:
        """See `SparkSession.read`."""
        return _Reader(self)

    def newSession(self) -> SparkSession:  # noqa: N802
        """See `SparkSession.newSession`. Statements of the new session are Spark's own."""
        return self._own.newSession()

    def reads_acid(self, sql: str) -> bool:
        """Return whether a statement reads an ACID table."""
        return self._reads_acid(sql)

    def _with_this_session(self, frame: DataFrame) -> DataFrame:
        return DataFrame(frame._jdf, self)


class _Reader(DataFrameReader):
    """Reader of a model's session. Its options are those of `with (…)` for an ACID table."""

    def __init__(self, session: ModelSession) -> None:
        super().__init__(session)
        self._session = session
        self._options: dict[str, str] = {}

    def option(self, key: str, value: Any) -> DataFrameReader:
        """See `DataFrameReader.option`."""
        self._options[key.lower()] = str(value)
        return super().option(key, value)

    def options(self, **options: Any) -> DataFrameReader:
        """See `DataFrameReader.options`."""
        self._options |= {key.lower(): str(value) for key, value in options.items()}
        return super().options(**options)

    def table(self, tableName: str) -> DataFrame:  # noqa: N803
        """See `DataFrameReader.table`."""
        if not self._session.reads_acid(f"select * from {tableName}"):
            return super().table(tableName)
        return self._session.table(render_read(tableName, self._options))
