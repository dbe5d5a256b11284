"""dbt's tests of single features, those that apply to Spark."""

import pytest
from dbt.tests.adapter.dbt_clone.test_dbt_clone import BaseClonePossible
from dbt.tests.adapter.dbt_show.test_dbt_show import (
    BaseShowDoesNotHandleDoubleLimit,
    BaseShowLimit,
)
from dbt.tests.adapter.empty.test_empty import BaseTestEmpty
from dbt.tests.adapter.incremental.test_incremental_merge_exclude_columns import (
    BaseMergeExcludeColumns,
)
from dbt.tests.adapter.incremental.test_incremental_microbatch import BaseMicrobatch
from dbt.tests.adapter.query_comment.test_query_comment import BaseQueryComments
from dbt.tests.adapter.relations.test_changing_relation_type import BaseChangeRelationTypeValidator
from dbt.tests.adapter.store_test_failures_tests.basic import (
    StoreTestFailuresAsGeneric,
    StoreTestFailuresAsInteractions,
)
from dbt.tests.adapter.unit_testing.test_case_insensitivity import BaseUnitTestCaseInsensivity
from dbt.tests.adapter.unit_testing.test_invalid_input import BaseUnitTestInvalidInput
from dbt.tests.adapter.unit_testing.test_types import BaseUnitTestingTypes


class Delta:
    """A project whose tables can be updated."""

    @pytest.fixture(scope="class")
    def project_config_update(self):
        delta = {"+file_format": "delta"}
        return {"models": delta, "seeds": delta, "snapshots": delta}


class TestClone(Delta, BaseClonePossible):
    pass


class TestShowLimit(BaseShowLimit):
    pass


class TestShowDoesNotHandleDoubleLimit(BaseShowDoesNotHandleDoubleLimit):
    DATABASE_ERROR_MESSAGE = "PARSE_SYNTAX_ERROR"


class TestEmpty(BaseTestEmpty):
    pass


class TestMergeExcludeColumns(Delta, BaseMergeExcludeColumns):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        models = {"+file_format": "delta", "+incremental_strategy": "merge"}
        return {"models": models, "seeds": {"+file_format": "delta"}}


class TestMicrobatch(BaseMicrobatch):
    @pytest.fixture(scope="class")
    def microbatch_model_sql(self):
        return """
            {{ config(materialized='incremental', incremental_strategy='microbatch',
                event_time='event_time', batch_size='day', partition_by=['day'],
                begin=modules.datetime.datetime(2020, 1, 1, 0, 0, 0)) }}
            select *, cast(event_time as date) as day from {{ ref('input_model') }}
        """


class TestQueryComments(BaseQueryComments):
    pass


class TestChangeRelationTypes(BaseChangeRelationTypeValidator):
    pass


class TestStoreTestFailuresAsInteractions(StoreTestFailuresAsInteractions):
    pass


class TestStoreTestFailuresAsGeneric(StoreTestFailuresAsGeneric):
    pass


class TestUnitTestCaseInsensitivity(BaseUnitTestCaseInsensivity):
    pass


class TestUnitTestInvalidInput(BaseUnitTestInvalidInput):
    pass


class TestUnitTestingTypes(BaseUnitTestingTypes):
    @pytest.fixture
    def data_types(self):
        return [
            ["1", "1"],
            ["2.0", "2.0"],
            ["'12345'", "12345"],
            ["'string'", "string"],
            ["true", "true"],
            ["date '2011-11-11'", "2011-11-11"],
            ["timestamp '2013-11-03 00:00:00-0'", "2013-11-03 00:00:00-0"],
            ["array(1, 2, 3)", "'array(1, 2, 3)'"],
            [
                "map('10', 't', '15', 'f', '20', NULL)",
                """'map("10", "t", "15", "f", "20", NULL)'""",
            ],
            ["named_struct('a', 1, 'b', 2)", """'named_struct("a", 1, "b", 2)'"""],
        ]
