"""dbt.tests.adapter.python_model."""

import pytest
from dbt.parser.models import dbt_function_key_words
from dbt.tests.adapter.python_model.test_python_model import (
    BasePythonEmptyTests,
    BasePythonIncrementalTests,
    BasePythonMetaGetTests,
    BasePythonModelTests,
    BasePythonSampleTests,
)
from dbt.tests.adapter.python_model.test_spark import (
    PANDAS_MODEL,
    PANDAS_ON_SPARK_MODEL,
    PYSPARK_MODEL,
    BasePySparkTests,
)
from dbt.tests.util import run_dbt


class TestPythonModel(BasePythonModelTests):
    pass


@pytest.mark.conformance("dbt-core's configuration alone")
@pytest.mark.skipif(
    "meta_get" not in dbt_function_key_words,
    reason="this dbt-core's Python models have no meta_get",
)
class TestPythonMetaGet(BasePythonMetaGetTests):
    pass


class TestPythonEmpty(BasePythonEmptyTests):
    pass


class TestPythonSample(BasePythonSampleTests):
    pass


class TestPythonIncremental(BasePythonIncrementalTests):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": {"+incremental_strategy": "merge", "+file_format": "delta"}}


class TestPySpark(BasePySparkTests):
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "pandas_df.py": PANDAS_MODEL,
            "pyspark_df.py": PYSPARK_MODEL,
            "pandas_on_spark_df.py": PANDAS_ON_SPARK_MODEL,
        }

    def test_different_dataframes(self, project, monkeypatch):  # type: ignore[override]
        """Koalas, the fourth kind, is a part of Spark since 3.2. The rows are looked at, too."""
        # pandas-on-Spark sets it, too, and warns that it was not.
        monkeypatch.setenv("PYARROW_IGNORE_TIMEZONE", "1")
        assert len(run_dbt(["run"])) == 3
        for name in ("pandas_df", "pyspark_df", "pandas_on_spark_df"):
            query = f"select city, latitude from {project.test_schema}.{name} order by city"
            rows = project.run_sql(query, fetch="all")
            assert [tuple(row) for row in rows] == [
                ("Bogota", 4.6),
                ("Brasilia", -15.78),
                ("Buenos Aires", -34.58),
                ("Caracas", 10.48),
                ("Santiago", -33.45),
            ], name
