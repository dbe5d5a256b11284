"""Python models: their code runs in dbt's process, and what it returns becomes a query.

From there on they are built as SQL models are. `dbt.source()` and `dbt.ref()` give DataFrames of
Spark's, `dbt.source()` of an ACID source one over the run's snapshot.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dbt.adapters.base.meta import AdapterMeta
from dbt_common.exceptions import DbtRuntimeError
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from dbt.adapters.hiveacid.errors import PythonModelError, available
from dbt.adapters.hiveacid.incremental.config import STRATEGY
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.spark.session import SessionHandle
from hiveacid.errors import HiveAcidError
from hiveacid.jvm.py4j import java
from hiveacid.reader.pushdown import for_every_session

if TYPE_CHECKING:
    from dbt.adapters.hiveacid.invocation import Invocation


class PythonModelMethods(metaclass=AdapterMeta):
    """What the materializations ask of the adapter for a Python model."""

    run: Invocation
    connections: Any
    _handle: Callable[[], SessionHandle]
    _temporary_view: Callable[[HiveAcidRelation, str, DataFrame], HiveAcidRelation]

    @available
    def hiveacid_model_query(
        self, model: Mapping[str, Any], compiled_code: str, target: HiveAcidRelation
    ) -> str:
        """The query of a model's rows: for a Python model one of a temporary view, once it has run.

        Raises:
            PythonModelError: the code fails, or returns what is not a table.
        """
        if model["language"] != "python":
            return compiled_code
        if model["config"].get("incremental_strategy") == STRATEGY:
            raise PythonModelError(
                f"Python model {model['name']} has `incremental_strategy: {STRATEGY}`, which takes "
                "SQL that reads {{ acid_changes(source(…)) }}. Use another strategy, or write the "
                "model in SQL."
            )
        handle = self._handle()
        handle.reads = frozenset()

        def load(relation: str) -> DataFrame:
            sql, before = f"select * from {relation}", handle.reads
            # pandas-on-Spark may run what it makes of it in another session.
            with for_every_session():
                self.run.prepare(handle, sql)
            handle.reads |= before
            return handle.session.sql(sql)

        with self.connections.exception_handler(compiled_code):
            found = handle.cursor().run(lambda: _run(model, compiled_code, load, handle.session))
            frame = _as_dataframe(found, model["name"], handle.session)
            view = self._temporary_view(target, "python", frame)
        return f"select * from {view}"


def _run(
    model: Mapping[str, Any], code: str, load: Callable[[str], DataFrame], session: SparkSession
) -> Any:
    """Run the model's function, in a module of its own.

    The name `spark` is there as on Databricks.
    """
    # Not to be found by its name, so that its functions go to Spark's workers as they are.
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
    """What a model has returned, as a DataFrame of `session`."""
    if isinstance(found, DataFrame):
        return _in_session(found, session)
    package = type(found).__module__
    if type(found).__name__ == "DataFrame" and package.startswith("pyspark.pandas."):
        # As `to_spark`, which also warns that the index stays behind, as that of pandas does.
        return _in_session(found.spark.frame(), session)
    if type(found).__name__ == "DataFrame" and package.partition(".")[0] == "pandas":
        return session.createDataFrame(found)
    raise PythonModelError(
        f"Python model {name} returned {package}.{type(found).__qualname__}. It must return a "
        "DataFrame of Spark, of pandas-on-Spark or of pandas."
    )


def _in_session(frame: DataFrame, session: SparkSession) -> DataFrame:
    """The same rows, for temporary views of `session`.

    pandas-on-Spark takes the session that Python thinks is active, the same on all threads.
    """
    if frame.sparkSession._jsparkSession.equals(session._jsparkSession):
        return frame
    plan = frame._jdf.queryExecution().analyzed()
    datasets = java(session.sparkContext, "org.apache.spark.sql.classic.Dataset")
    dataset = datasets.ofRows(session._jsparkSession, plan)
    return DataFrame(dataset, session)
