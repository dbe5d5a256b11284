"""dbt.tests.adapter.basic.test_docs_generate and test_get_catalog_for_single_relation."""

from unittest.mock import ANY

import pytest
from dbt.tests.adapter.basic.expected_catalog import (
    base_expected_catalog,
    expected_references_catalog,
    no_stats,
)
from dbt.tests.adapter.basic.test_docs_generate import BaseDocsGenerate, BaseDocsGenReferences
from dbt.tests.adapter.basic.test_get_catalog_for_single_relation import (
    BaseGetCatalogForSingleRelation,
)
from dbt_common.contracts.metadata import CatalogTable, ColumnMetadata, TableMetadata

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


@pytest.mark.conformance("the references are dbt-core's alone")
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


class TestGetCatalogForSingleRelation(BaseGetCatalogForSingleRelation):
    @pytest.fixture(scope="class")
    def expected_catalog_my_seed(self, project):
        return expected_table(project.test_schema, "my_seed", "table", stats=ANY)

    @pytest.fixture(scope="class")
    def expected_catalog_my_view_model(self, project):
        return expected_table(project.test_schema, "my_view_model", "view", stats={})


def expected_table(schema, name, kind, stats):
    types = {
        "id": "bigint",
        "first_name": "string",
        "email": "string",
        "ip_address": "string",
        "updated_at": "timestamp",
    }
    columns = {
        column: ColumnMetadata(type=types[column], index=index, name=column)
        for index, column in enumerate(types)
    }
    return CatalogTable(TableMetadata(kind, schema, name, owner=ANY), columns, stats)
