"""dbt.tests.adapter.empty."""

import pytest
from dbt.cli.main import seed
from dbt.tests.adapter.empty import _models
from dbt.tests.adapter.empty.test_empty import (
    BaseTestEmpty,
    BaseTestEmptyInlineSourceRef,
    BaseTestEmptySeedFlag,
    MetadataWithEmptyFlag,
)

from tests.functional.conformance.formats import Iceberg
from tests.functional.conformance.spark_sql import with_strings


class TestEmpty(BaseTestEmpty):
    pass


class TestEmptyInlineSourceRef(BaseTestEmptyInlineSourceRef):
    pass


needs_empty_seeds = pytest.mark.skipif(
    all(option.name != "empty" for option in seed.params),
    reason="This dbt-core has no `dbt seed --empty`, and its `dbt build --empty` fills seeds.",
)


@pytest.mark.conformance("seeds are dbt-core's but for what test_seeds.py shows")
class TestEmptySeedFlag(BaseTestEmptySeedFlag):
    @needs_empty_seeds
    def test_seed_empty_creates_table_with_zero_rows(self, project):
        super().test_seed_empty_creates_table_with_zero_rows(project)

    @needs_empty_seeds
    def test_seed_empty_preserves_column_types(self, project):
        super().test_seed_empty_preserves_column_types(project)

    @needs_empty_seeds
    def test_build_empty_with_seed(self, project):
        super().test_build_empty_with_seed(project)


@pytest.mark.conformance("dbt-core decides before our macros are called")
class TestMetadataWithEmptyFlagIceberg(Iceberg, MetadataWithEmptyFlag):
    """In Iceberg, which drops columns of any table; its catalog here has no views."""

    @pytest.fixture(scope="class")
    def models(self):
        models = {
            "schema.yml": _models.SCHEMA,
            "control.sql": "{{ config(materialized='table') }}" + _models.CONTROL,
            "get_columns_in_relation.sql": _models.GET_COLUMNS_IN_RELATION,
            "alter_column_type.sql": _models.ALTER_COLUMN_TYPE,
            "alter_relation_comment.sql": _models.ALTER_RELATION_COMMENT,
            "alter_column_comment.sql": _models.ALTER_COLUMN_COMMENT,
            "alter_relation_add_remove_columns.sql": _models.ALTER_RELATION_ADD_REMOVE_COLUMNS,
            "truncate_relation.sql": _models.TRUNCATE_RELATION,
        }
        return {name: with_strings(text) for name, text in models.items()}
