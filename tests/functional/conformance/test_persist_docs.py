"""dbt.tests.adapter.persist_docs, in Delta: dbt-spark comments no columns of Parquet tables."""

import pytest
from dbt.tests.adapter.persist_docs.test_persist_docs import (
    BasePersistDocs,
    BasePersistDocsAllColumnsMissing,
    BasePersistDocsColumnMissing,
    BasePersistDocsCommentOnQuotedColumn,
    BasePersistDocsQuotedColumnCaseSensitive,
    BasePersistDocsQuotedDescriptionNotAppliedOnMismatch,
)

from tests.functional.conformance.formats import DELTA

DOCUMENTED = {**DELTA, "+persist_docs": {"relation": True, "columns": True}}


class Documented:
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": DOCUMENTED}


class TestPersistDocsDelta(Documented, BasePersistDocs):
    pass


class TestPersistDocsColumnMissingDelta(Documented, BasePersistDocsColumnMissing):
    pass


class TestPersistDocsAllColumnsMissingDelta(Documented, BasePersistDocsAllColumnsMissing):
    pass


class TestPersistDocsQuotedColumnCaseSensitiveDelta(
    Documented, BasePersistDocsQuotedColumnCaseSensitive
):
    pass


class TestPersistDocsQuotedDescriptionNotAppliedOnMismatchDelta(
    Documented, BasePersistDocsQuotedDescriptionNotAppliedOnMismatch
):
    pass


class TestPersistDocsCommentOnQuotedColumnDelta(BasePersistDocsCommentOnQuotedColumn):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": {**DOCUMENTED, "+materialized": "table"}}
