import pytest

from dbt.adapters.hiveacid.errors import AdapterError
from dbt.adapters.hiveacid.targets.acid_config import AcidTargetConfig


def test_the_defaults_are_a_full_acid_table_of_orc():
    config = AcidTargetConfig.of("m", {"materialized": "table", "file_format": "acid"})
    assert (config.kind, config.storage, config.strategy) == ("full", "orc", None)
    assert config.update_columns is None


def test_names_may_be_one_text_or_several():
    config = AcidTargetConfig.of(
        "m",
        {
            "materialized": "incremental",
            "incremental_strategy": "merge",
            "unique_key": "`id`",
            "partition_by": ["day", "hour"],
            "merge_update_columns": [],
            "incremental_predicates": "DBT_INTERNAL_DEST.day > '2026-01-01'",
            "persist_docs": {"relation": True, "columns": False},
        },
    )
    assert (config.unique_key, config.partition_by) == (("id",), ("day", "hour"))
    assert config.update_columns == ()
    assert config.predicates == ("DBT_INTERNAL_DEST.day > '2026-01-01'",)
    assert config.persists == {"relation"}


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"acid_kind": "half"}, "`acid_kind` must be one of full, insert_only"),
        ({"acid_storage": "parquet"}, "`acid_storage: parquet` needs `acid_kind: insert_only`"),
        ({"location_root": "/x"}, "`location_root` is not for Hive ACID tables"),
        ({"incremental_strategy": "acid_changes"}, "`incremental_strategy` must be one of append"),
        ({"incremental_strategy": "delete+insert"}, "needs `unique_key`"),
        ({"incremental_strategy": "microbatch"}, "needs `partition_by`"),
        ({"clustered_by": "id", "buckets": 2}, "`clustered_by` needs `acid_kind: insert_only`"),
        (
            {
                "incremental_strategy": "delete+insert",
                "unique_key": "id",
                "incremental_predicates": ["a"],
            },
            "takes no `incremental_predicates`",
        ),
        (
            {"merge_update_columns": ["a"], "merge_exclude_columns": ["b"]},
            "exclude each other",
        ),
        (
            {"incremental_strategy": "merge", "acid_kind": "insert_only"},
            "`incremental_strategy: merge` needs `acid_kind: full`",
        ),
    ],
)
def test_what_is_impossible_is_refused(config, problem):
    with pytest.raises(AdapterError, match="m cannot be built as a Hive ACID table") as error:
        AcidTargetConfig.of("m", {"materialized": "incremental", **config})
    assert problem in str(error.value)


def test_all_problems_are_listed_at_once():
    config = {"materialized": "snapshot", "acid_kind": "insert_only", "options": {"a": "b"}}
    with pytest.raises(AdapterError) as error:
        AcidTargetConfig.of("m", config)
    assert "a snapshot needs" in str(error.value)
    assert "`options` is not for" in str(error.value)
