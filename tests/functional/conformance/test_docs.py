"""dbt.tests.adapter.basic.test_docs_generate."""

from unittest.mock import ANY

import pytest
from dbt.tests.adapter.basic.expected_catalog import (
    base_expected_catalog,
    expected_references_catalog,
    no_stats,
)
from dbt.tests.adapter.basic.test_docs_generate import BaseDocsGenerate, BaseDocsGenReferences

SPARK = {
    "role": ANY,
    "id_type": "bigint",
    "text_type": "string",
    "time_type": "timestamp",
    "view_type": "view",
    "table_type": "table",
    "seed_stats": ANY,
}


class TestDocsGenerate(BaseDocsGenerate):
    @pytest.fixture(scope="class")
    def expected_catalog(self, project):
        return base_expected_catalog(project, **SPARK, model_stats=no_stats())


class TestDocsGenReferences(BaseDocsGenReferences):
    @pytest.fixture(scope="class")
    def expected_catalog(self, project):
        catalog = expected_references_catalog(
            project,
            **SPARK,
            bigint_type="bigint",
            model_stats=ANY,
            view_summary_stats=no_stats(),
        )
        for table in [*catalog["nodes"].values(), *catalog["sources"].values()]:
            # dbt-spark counts columns from 0.
            table["columns"] = {
                name: {**column, "index": column["index"] - 1}
                for name, column in table["columns"].items()
            }
        return catalog
