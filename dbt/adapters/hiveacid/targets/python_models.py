"""Python models: their code runs in dbt's process, and its result becomes a query.

From there on they are built like SQL models. `dbt.source()` and `dbt.ref()` return Spark
DataFrames; the DataFrame of an ACID source reads the run's snapshot.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any, Protocol

from dbt_common.exceptions import DbtRuntimeError
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.sql_formatter import SQLStringFormatter

from dbt.adapters.hiveacid.connections import HiveAcidConnectionManager
from dbt.adapters.hiveacid.errors import PythonModelError
from dbt.adapters.hiveacid.node_context import NodeContext
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.selected_nodes import ModelNode
from hiveacid.errors import HiveAcidError
from hiveacid.jvm.plans import in_session
from hiveacid.reader.pushdown import for_every_session
from hiveacid.sql.clauses import render_read
from hiveacid.sql.parameters import Parameters


class PrepareStatement(Protocol):
    """Function that prepares a statement, so that its ACID tables are read from the snapshot."""

    def __call__(self, node: NodeContext, sql: str, *, values: Parameters | None) -> None:
        """Prepare a statement of a node, with the values of its parameters."""


class PythonModels:
    """Python models as queries of their rows."""

    def __init__(
        self,
        connections: HiveAcidConnectionManager,
        prepare: PrepareStatement,
        reads_acid: Callable[[NodeContext, str], bool],
    ) -> None:
        """Create the object.

        Args:
            connections: the connections; a model runs in the session of its thread's.
            prepare: prepares a statement for execution.
            reads_acid: returns whether a statement reads ACID tables.
        """
        self._connections = connections
        self._prepare = prepare
        self._reads_acid = reads_acid

    def query(self, model: ModelNode, code: str, target: HiveAcidRelation) -> str:
        """Run the model's code, and return a query of its result through a temporary view.

        Raises:
            PythonModelError: the code fails, or does not return a table.
        """
        handle: NodeContext = self._connections.get_thread_connection().handle
        handle.reads = frozenset()

        def run(sql: str, values: Parameters | None = None) -> DataFrame:
            before = handle.reads
            # pandas-on-Spark may run queries over the rows in another session.
            with for_every_session():
                self._prepare(handle, sql, values=values)
                frame = handle.run_sql(sql)
            handle.reads |= before
            return frame

        session = ModelSession(handle.session, run, lambda sql: self._reads_acid(handle, sql))
        with self._connections.exception_handler(code):
            found = handle.cursor().run(lambda: _run(model, code, session.table, session))
            frame = _as_dataframe(found, model["name"], handle.session)
            view = handle.make_temporary_view(target, "python", frame)
        return f"select * from {view}"


class RunStatement(Protocol):
    """Function that runs a statement, which reads ACID tables from the run's snapshot."""

    def __call__(self, sql: str, values: Parameters | None = None) -> DataFrame:
        """Run a statement with the values of its parameters."""


class ModelSession(SparkSession):
    """Session of a model's connection, whose SQL reads ACID tables from the run's snapshot.

    Settings, temporary views and jobs are the connection's own.
    """

    def __init__(
        self,
        session: SparkSession,
        run: RunStatement,
        reads_acid: Callable[[str], bool],
    ) -> None:
        """Wrap `session`.

        Args:
            session: the session of the connection.
            run: runs a statement with the values of its parameters, if it has any.
            reads_acid: returns whether a statement reads ACID tables.
        """
        # Not `SparkSession.__init__`, which would register a new session with Spark.
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
        """See `SparkSession.newSession`. The new session does not read ACID tables."""
        return self._own.newSession()

    def reads_acid(self, sql: str) -> bool:
        """Return whether a statement reads an ACID table."""
        return self._reads_acid(sql)

    def _with_this_session(self, frame: DataFrame) -> DataFrame:
        return DataFrame(frame._jdf, self)


class _Reader(DataFrameReader):
    """Reader of a model's session. For an ACID table, its options are the ones of `with (…)`."""

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


def _run(
    model: ModelNode, code: str, load: Callable[[str], DataFrame], session: SparkSession
) -> Any:
    """Run the model's function in its own module, in which `spark` is defined as on Databricks.

    The module cannot be imported, so that its functions are pickled by value for Spark's workers.
    """
    module: dict[str, Any] = {"__name__": f"dbt_python_model_{model['name']}", "spark": session}
    path = str(model["original_file_path"])
    try:
        exec(compile(code, path, "exec", dont_inherit=True), module)
        return module["model"](module["dbtObj"](load), session)
    except (DbtRuntimeError, HiveAcidError, PySparkException, Py4JError):
        raise
    except (Exception, SystemExit) as error:
        # dbt appends its own code to the model's, whose lines keep their numbers.
        lines = len(str(model["raw_code"]).splitlines())
        frames = traceback.extract_tb(error.__traceback__)
        own = [f.lineno for f in frames if f.filename == path and (f.lineno or 0) <= lines]
        where = f"{path}, line {own[-1]}" if own else path
        raise PythonModelError(
            f"Python model {model['name']} failed in {where}: {type(error).__name__}: "
            f"{error}\nThe target has not been changed. Correct the model, and run it again.",
            code="HIVEACID_PYTHON_MODEL_FAILED",
        ) from error


def _as_dataframe(found: Any, name: str, session: SparkSession) -> DataFrame:
    """Return a model's result as a DataFrame of `session`."""
    if isinstance(found, DataFrame):
        return in_session(found, session)
    package = type(found).__module__
    if type(found).__name__ == "DataFrame" and package.startswith("pyspark.pandas."):
        # Like `to_spark`, but without its warning that the index is lost.
        return in_session(found.spark.frame(), session)
    if type(found).__name__ == "DataFrame" and package.partition(".")[0] == "pandas":
        return session.createDataFrame(found)
    raise PythonModelError(
        f"Python model {name} returned {package}.{type(found).__qualname__}. It must return a "
        "DataFrame of Spark, of pandas-on-Spark or of pandas.",
        code="HIVEACID_PYTHON_MODEL_RESULT",
    )
