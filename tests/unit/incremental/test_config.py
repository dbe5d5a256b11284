import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.hiveacid.incremental.config import IncrementalConfig, Mode


def of(**config):
    return IncrementalConfig.of("orders", config)


def test_defaults():
    config = of()
    assert (config.on_history_loss, config.on_multi_source) == ("full_refresh", "error")
    assert config.max_write_ids is None
    assert config.acid_changes_row_wise == "check"
    assert config.is_plain
    assert config.mode(has_row_id=True) is Mode.OWN


@pytest.mark.parametrize(
    ("config", "has_row_id", "mode"),
    [
        ({"unique_key": "id"}, False, Mode.UNIQUE_KEY),
        ({"unique_key": ["id", "day"]}, True, Mode.UNIQUE_KEY),
        ({}, True, Mode.ROW_ID),
        ({}, False, Mode.APPEND),
        ({"unique_key": []}, True, Mode.ROW_ID),
    ],
)
def test_the_mode_follows_from_the_key_and_the_columns(config, has_row_id, mode):
    assert of(incremental_strategy="acid_changes", **config).mode(has_row_id=has_row_id) is mode


def test_a_key_of_several_columns_stays_in_order():
    assert of(unique_key="id").unique_key == ("id",)
    assert of(unique_key=["day", "id"]).unique_key == ("day", "id")


def test_all_that_is_wrong_is_told_at_once():
    with pytest.raises(DbtRuntimeError) as error:
        of(
            on_history_loss="ignore",
            on_multi_source="merge",
            max_write_ids=0,
            acid_changes_row_wise=True,
            file_format="csv",
            incremental_strategy="microbatch",
        )
    assert error.value.msg == (
        "[HIVEACID_INVALID_MODEL_CONFIG] Model orders cannot be built from acid_changes:\n"
        "  - `on_history_loss` must be one of reconcile, full_refresh, error, not 'ignore'\n"
        "  - `on_multi_source` must be one of error, full_refresh, not 'merge'\n"
        "  - `max_write_ids` must be a whole number from 1 up, not 0\n"
        "  - `acid_changes_row_wise` must be one of check, assume, not True\n"
        "  - `file_format` must be one of delta, iceberg, parquet, orc, which can keep the state "
        "of the sources with the rows, not 'csv'\n"
        "  - `incremental_strategy: microbatch` divides a run by time, acid_changes by write ids; "
        "use one of them"
    )


def test_keys_of_dbt_are_left_to_dbt():
    assert of(materialized="incremental", tags=["daily"]) == of()


@pytest.mark.parametrize("limit", [True, "3", -1, 1.5])
def test_max_write_ids_is_a_count(limit):
    with pytest.raises(DbtRuntimeError, match="`max_write_ids` must be a whole number"):
        of(max_write_ids=limit)


def test_what_needs_a_merge_is_refused_on_plain_formats():
    merge = {"merge_update_columns": ["a"], "incremental_predicates": ["b > 1"]}
    of(incremental_strategy="acid_changes", file_format="delta", **merge)
    with pytest.raises(DbtRuntimeError) as error:
        of(incremental_strategy="acid_changes", file_format="orc", **merge)
    assert "`merge_update_columns` needs the file format delta or iceberg, not" in error.value.msg
    assert "`incremental_predicates` needs the file format delta or iceberg, not" in error.value.msg
    for strategy in ("insert_overwrite", "merge", "of_my_own"):
        of(incremental_strategy=strategy, file_format="delta")
        with pytest.raises(DbtRuntimeError, match=f"{strategy}` cannot keep the state in a parq"):
            of(incremental_strategy=strategy)


def test_the_key_that_is_kept_with_a_target():
    keyed = of(incremental_strategy="acid_changes", unique_key=["`Id`", "day", "id"])
    assert keyed.checked_key == ("day", "id")
    assert of(incremental_strategy="acid_changes").checked_key == ()
    # Another strategy's merge is the author's.
    merged = of(incremental_strategy="merge", file_format="delta", unique_key="id")
    assert merged.checked_key == ()
