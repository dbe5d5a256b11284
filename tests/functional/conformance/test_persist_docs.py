"""dbt.tests.adapter.persist_docs."""

import pytest
from dbt.tests.adapter.persist_docs import fixtures
from dbt.tests.adapter.persist_docs.test_persist_docs import (
    BasePersistDocs,
    BasePersistDocsAllColumnsMissing,
    BasePersistDocsColumnMissing,
    BasePersistDocsCommentOnQuotedColumn,
    BasePersistDocsQuotedColumnCaseSensitive,
    BasePersistDocsQuotedDescriptionNotAppliedOnMismatch,
)

from tests.functional.conformance.formats import Again, AgainOnIceberg, Delta, Iceberg


class AgainOnDelta(Again, Delta):
    pass


class TestPersistDocs(BasePersistDocs):
    @pytest.fixture(scope="class")
    def properties(self):
        # Hive's metastore keeps 256 characters of a column's comment.
        statistics = "80% of statistics are made up on the spot\n"
        return {
            "my_fun_docs.md": fixtures._DOCS__MY_FUN_DOCS.replace(statistics, ""),
            "schema.yml": fixtures._PROPERTIES__SCHEMA_YML,
        }


class TestPersistDocsDelta(Delta, BasePersistDocs):
    pass


class TestPersistDocsIceberg(Iceberg, BasePersistDocs):
    @pytest.fixture(scope="class")
    def models(self):
        # The catalog here has no views.
        return {
            "no_docs_model.sql": fixtures._MODELS__NO_DOCS_MODEL,
            "table_model.sql": fixtures._MODELS__TABLE,
            "view_model.sql": fixtures._MODELS__VIEW.replace("'view'", "'table'"),
        }

    @pytest.fixture(scope="class")
    def project_config_update(self):
        documented = {
            "+materialized": "table",
            "+persist_docs": {"relation": True, "columns": True},
        }
        return {"models": documented}


@pytest.mark.conformance("comments differ in dbt-core's part alone")
class TestPersistDocsColumnMissing(BasePersistDocsColumnMissing):
    pass


class TestPersistDocsColumnMissingDelta(AgainOnDelta, BasePersistDocsColumnMissing):
    pass


class TestPersistDocsColumnMissingIceberg(AgainOnIceberg, BasePersistDocsColumnMissing):
    pass


@pytest.mark.conformance("comments differ in dbt-core's part alone")
class TestPersistDocsAllColumnsMissing(BasePersistDocsAllColumnsMissing):
    pass


class TestPersistDocsAllColumnsMissingDelta(AgainOnDelta, BasePersistDocsAllColumnsMissing):
    pass


class TestPersistDocsAllColumnsMissingIceberg(AgainOnIceberg, BasePersistDocsAllColumnsMissing):
    pass


@pytest.mark.conformance("comments differ in dbt-core's part alone")
class TestPersistDocsQuotedColumnCaseSensitive(BasePersistDocsQuotedColumnCaseSensitive):
    pass


class TestPersistDocsQuotedColumnCaseSensitiveDelta(
    AgainOnDelta, BasePersistDocsQuotedColumnCaseSensitive
):
    pass


class TestPersistDocsQuotedColumnCaseSensitiveIceberg(
    AgainOnIceberg, BasePersistDocsQuotedColumnCaseSensitive
):
    pass


class TestPersistDocsQuotedDescriptionNotAppliedOnMismatch(
    BasePersistDocsQuotedDescriptionNotAppliedOnMismatch
):
    pass


class TestPersistDocsQuotedDescriptionNotAppliedOnMismatchDelta(
    AgainOnDelta, BasePersistDocsQuotedDescriptionNotAppliedOnMismatch
):
    pass


class TestPersistDocsQuotedDescriptionNotAppliedOnMismatchIceberg(
    AgainOnIceberg, BasePersistDocsQuotedDescriptionNotAppliedOnMismatch
):
    pass


@pytest.mark.conformance("comments differ in dbt-core's part alone")
class TestPersistDocsCommentOnQuotedColumn(BasePersistDocsCommentOnQuotedColumn):
    pass


class TestPersistDocsCommentOnQuotedColumnDelta(AgainOnDelta, BasePersistDocsCommentOnQuotedColumn):
    pass


class TestPersistDocsCommentOnQuotedColumnIceberg(
    AgainOnIceberg, BasePersistDocsCommentOnQuotedColumn
):
    pass
