"""dbt.tests.adapter.incremental, and basic.test_incremental."""

import re

import pytest
from dbt.tests.adapter.basic.test_incremental import (
    BaseIncremental,
    BaseIncrementalBadStrategy,
    BaseIncrementalNotSchemaChange,
)
from dbt.tests.adapter.incremental import test_incremental_unique_id as unique_id
from dbt.tests.adapter.incremental.test_incremental_merge_exclude_columns import (
    BaseMergeExcludeColumns,
)
from dbt.tests.adapter.incremental.test_incremental_microbatch import (
    BaseMicrobatch,
    _microbatch_model_sql,
)
from dbt.tests.adapter.incremental.test_incremental_on_schema_change import (
    BaseIncrementalOnSchemaChange,
)
from dbt.tests.adapter.incremental.test_incremental_predicates import BaseIncrementalPredicates
from dbt.tests.util import run_dbt

from tests.functional.conformance.formats import (
    DELTA,
    ICEBERG,
    Again,
    AgainOnIceberg,
    Delta,
    Iceberg,
)

MERGE = {"+incremental_strategy": "merge"}

# dbt's predicate, with the name that dbt-spark gives the target of a merge: Spark has no
# delete+insert.
NOT_2 = "dbt_internal_dest.id != 2"

# dbt-spark's microbatches overwrite partitions.
BY_DAY = _microbatch_model_sql.replace("unique_key='id'", "partition_by=['day']").replace(
    "select *", "select *, cast(event_time as date) as day"
)


def with_dates(sql):
    return re.sub(r"('\d{4}-\d{2}-\d{2}')", r"date \1", sql)


class MergeDelta(Delta):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": {**DELTA, **MERGE}, "seeds": DELTA}


class MergeIceberg(Iceberg):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": {**ICEBERG, **MERGE}, "seeds": ICEBERG}


class TestIncremental(BaseIncremental):
    pass


class TestIncrementalNotSchemaChange(BaseIncrementalNotSchemaChange):
    pass


class TestIncrementalBadStrategy(BaseIncrementalBadStrategy):
    pass


class TestIncrementalUniqueKeyDelta(MergeDelta, unique_id.BaseIncrementalUniqueKey):
    pass


class TestIncrementalUniqueKeyIceberg(
    AgainOnIceberg, MergeIceberg, unique_id.BaseIncrementalUniqueKey
):
    @pytest.fixture(scope="class")
    def seeds(self):
        # Spark writes no text into a column of Iceberg's for dates.
        return {
            "seed.csv": unique_id.seeds__seed_csv,
            "duplicate_insert.sql": with_dates(unique_id.seeds__duplicate_insert_sql),
            "add_new_rows.sql": with_dates(unique_id.seeds__add_new_rows_sql),
        }


class TestIncrementalOnSchemaChange(BaseIncrementalOnSchemaChange):
    def test_run_incremental_sync_all_columns(self, project):
        """Spark cannot drop a column of a Parquet table; the run says so."""
        select = "model_a incremental_sync_all_columns"
        run_dbt(["run", "--select", select])
        results = run_dbt(["run", "--select", select], expect_pass=False)
        assert "does not support DROP COLUMN" in results[1].message


class TestIncrementalOnSchemaChangeDelta(Again, BaseIncrementalOnSchemaChange):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        # Delta drops columns that it knows by name.
        by_name = {"+tblproperties": {"delta.columnMapping.mode": "name"}}
        return {"models": {**DELTA, **MERGE, **by_name}}


@pytest.mark.conformance("shown on Parquet; ours are in test_incremental_schema.py")
class TestIncrementalOnSchemaChangeIceberg(MergeIceberg, BaseIncrementalOnSchemaChange):
    pass


@pytest.mark.conformance("shown on Iceberg")
class TestMergeExcludeColumnsDelta(MergeDelta, BaseMergeExcludeColumns):
    pass


class TestMergeExcludeColumnsIceberg(MergeIceberg, BaseMergeExcludeColumns):
    pass


@pytest.mark.conformance("our own is in test_incremental_merge.py")
class TestIncrementalPredicatesDeleteInsertDelta(BaseIncrementalPredicates):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": {**DELTA, **MERGE, "+incremental_predicates": [NOT_2]}}


@pytest.mark.conformance("our own is in test_incremental_merge.py")
class TestPredicatesDeleteInsertDelta(BaseIncrementalPredicates):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": {**DELTA, **MERGE, "+predicates": [NOT_2]}}


@pytest.mark.conformance("our own is in test_incremental_merge.py")
class TestIncrementalPredicatesDeleteInsertIceberg(Iceberg, BaseIncrementalPredicates):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        models = {**ICEBERG, **MERGE, "+incremental_predicates": [NOT_2]}
        return {"models": models, "seeds": ICEBERG}


@pytest.mark.conformance("our own is in test_microbatch.py")
class TestMicrobatch(BaseMicrobatch):
    @pytest.fixture(scope="class")
    def microbatch_model_sql(self):
        return BY_DAY


class TestMicrobatchDelta(Again, Delta, BaseMicrobatch):
    @pytest.fixture(scope="class")
    def microbatch_model_sql(self):
        return BY_DAY


class TestMicrobatchIceberg(AgainOnIceberg, BaseMicrobatch):
    @pytest.fixture(scope="class")
    def microbatch_model_sql(self):
        return BY_DAY
