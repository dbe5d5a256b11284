"""Python models: their code runs in dbt's process, and what it returns becomes a query.

After that they are built as SQL models are. `dbt.source()` and `dbt.ref()` return Spark's
DataFrames; the DataFrame of an ACID source shows the run's snapshot.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from dbt_common.exceptions import DbtRuntimeError
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from dbt.adapters.hiveacid.connections import HiveAcidConnectionManager
from dbt.adapters.hiveacid.errors import PythonModelError
from dbt.adapters.hiveacid.incremental.config import STRATEGY
from dbt.adapters.hiveacid.node_context import NodeContext
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.targets.model_session import ModelSession
from hiveacid.errors import HiveAcidError
from hiveacid.jvm.plans import dataframe_of, plan_of
from hiveacid.reader.pushdown import for_every_session
from hiveacid.sql.parameters import Parameters


class PrepareStatement(Protocol):
    """Preparation of a statement: its ACID tables show the run's snapshot."""

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
        """Make queries with what these do.

        Args:
            connections: the session of the thread that runs a model.
            prepare: make a statement ready to run.
            reads_acid: tell whether a statement reads ACID tables.
        """
        self._connections = connections
        self._prepare = prepare
        self._reads_acid = reads_acid

    def query(self, model: Mapping[str, Any], code: str, target: HiveAcidRelation) -> str:
        """Run the model's code; return the query of a temporary view of what it has returned.

        Raises:
            PythonModelError: the code fails, or returns what is not a table.
        """
        if model["config"].get("incremental_strategy") == STRATEGY:
            raise PythonModelError(
                f"Python model {model['name']} has `incremental_strategy: {STRATEGY}`, which takes "
                "SQL that reads {{ acid_changes(source(…)) }}. Use another strategy, or write the "
                "model in SQL."
            )
        handle: NodeContext = self._connections.get_thread_connection().handle
        handle.reads = frozenset()

        def run(sql: str, values: Parameters | None = None) -> DataFrame:
            before = handle.reads
            # pandas-on-Spark may run what it makes of the rows in another session.
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


def _run(
    model: Mapping[str, Any], code: str, load: Callable[[str], DataFrame], session: SparkSession
) -> Any:
    """Run the model's function, in a module of its own, which has the name `spark` as Databricks.

    Nobody can import the module, so that its functions go to Spark's workers as they are.
    """
    module: dict[str, Any] = {"__name__": f"dbt_python_model_{model['name']}", "spark": session}
    path = str(model["original_file_path"])
    try:
        exec(compile(code, path, "exec", dont_inherit=True), module)
        return module["model"](module["dbtObj"](load), session)
    except (DbtRuntimeError, HiveAcidError, PySparkException, Py4JError):
        raise
    except (Exception, SystemExit) as error:
        # dbt puts its own code behind the model's, whose lines keep their numbers.
        lines = len(str(model["raw_code"]).splitlines())
        frames = traceback.extract_tb(error.__traceback__)
        own = [f.lineno for f in frames if f.filename == path and (f.lineno or 0) <= lines]
        where = f"{path}, line {own[-1]}" if own else path
        raise PythonModelError(
            f"Python model {model['name']} failed in {where}: {type(error).__name__}: {error}\n"
            "The target has not been changed. Remove the cause, and run the model again."
        ) from error


def _as_dataframe(found: Any, name: str, session: SparkSession) -> DataFrame:
    """Return what a model has returned, as a DataFrame of `session`."""
    if isinstance(found, DataFrame):
        return _in_session(found, session)
    package = type(found).__module__
    if type(found).__name__ == "DataFrame" and package.startswith("pyspark.pandas."):
        # As `to_spark`, but without its warning that the index stays behind.
        return _in_session(found.spark.frame(), session)
    if type(found).__name__ == "DataFrame" and package.partition(".")[0] == "pandas":
        return session.createDataFrame(found)
    raise PythonModelError(
        f"Python model {name} returned {package}.{type(found).__qualname__}. It must return a "
        "DataFrame of Spark, of pandas-on-Spark or of pandas."
    )


def _in_session(frame: DataFrame, session: SparkSession) -> DataFrame:
    """Return the same rows for temporary views of `session`.

    pandas-on-Spark uses the session that Python thinks is active, the same on all threads.
    """
    if frame.sparkSession._jsparkSession.equals(session._jsparkSession):
        return frame
    return dataframe_of(session, plan_of(frame))
