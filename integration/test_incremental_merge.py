"""`incremental_predicates` and the columns of a MERGE: as dbt-spark's own strategy has them."""

from __future__ import annotations

from integration.support.incremental import LAKE, ORDERS, Incremental

_FORMATS = {"delta": "file_format='delta'", "iceberg": LAKE}

#: What both strategies are given. The first predicate passes over a row that is there.
_CONFIGS = {
    "there": (
        "incremental_predicates=['DBT_INTERNAL_DEST.id <> 2'], merge_update_columns=['status']"
    ),
    "same": (
        "incremental_predicates=['DBT_INTERNAL_DEST.status = DBT_INTERNAL_SOURCE.status'], "
        "merge_exclude_columns=['twice']"
    ),
}
_MODEL = """{{{{ config(materialized='incremental', incremental_strategy='{strategy}',
        {file_format}, {config}) }}}}
    select id, amount * 2 as twice, status{row_id}
    from {{{{ acid_changes(source('shop', 'orders')) }}}}"""
_INSERTED = " where _change_type = 'insert'"


#: Format and configuration of the models, of which there is one for each strategy.
_CASES = (("delta", "there"), ("delta", "same"), ("iceberg", "same"))


def _models() -> dict[str, str]:
    models = {}
    for file_format, case in _CASES:
        for strategy, condition in (("acid_changes", ""), ("merge", _INSERTED)):
            sql = _MODEL.format(
                strategy=strategy,
                file_format=_FORMATS[file_format],
                config=f"unique_key='id', {_CONFIGS[case]}",
                row_id="",
            )
            models[f"{file_format}_{case}_{strategy}"] = sql + condition
    models["delta_ids"] = _MODEL.format(
        strategy="acid_changes",
        file_format=_FORMATS["delta"],
        config=_CONFIGS["same"].split(", merge")[0],
        row_id=", _row_id",
    )
    return models


def test_predicates_and_columns_of_a_merge(incremental: Incremental) -> None:
    hive, project = incremental.hive, incremental.project
    hive.script(ORDERS.format(clause=""))
    hive.execute(
        "INSERT INTO orders VALUES (1, 10, 'new'), (2, 20, 'new'), (3, 30, 'new'), (4, 40, 'new')"
    )
    project.sources("orders")
    project.models(**_models())
    incremental.run()
    hive.execute("UPDATE orders SET amount = 11, status = 'paid' WHERE id = 1")
    hive.execute("UPDATE orders SET amount = 21 WHERE id = 2")
    hive.execute("INSERT INTO orders VALUES (5, 50, 'new')")
    incremental.run()
    rest = [("3", "60", "new"), ("4", "80", "new"), ("5", "100", "new")]
    after_update = {
        # The second row is not there for the MERGE; of the first one the status alone changes.
        "there": [("1", "20", "paid"), ("2", "40", "new"), ("2", "42", "new"), *rest],
        # The first row has another status now; of the second one all but `twice` changes.
        "same": [("1", "20", "new"), ("1", "22", "paid"), ("2", "40", "new"), *rest],
    }
    for file_format, case in _CASES:
        for strategy in ("merge", "acid_changes"):
            name = f"{file_format}_{case}_{strategy}"
            assert incremental.rows(name) == after_update[case], name
    assert incremental.rows("delta_ids") == incremental.hives_rows()

    # Deletes, which dbt-spark's MERGE does not know. A predicate on the target's rows holds for
    # them, too; a deleted row has no other columns than its key to compare.
    hive.execute("DELETE FROM orders WHERE id IN (2, 3)")
    by_merge = [name for name in _models() if name.endswith("_merge")]
    incremental.run("--exclude", *by_merge)
    deleted = {"there": {"3"}, "same": {"2", "3"}}
    for file_format, case in _CASES:
        expected = [row for row in after_update[case] if row[0] not in deleted[case]]
        assert incremental.rows(f"{file_format}_{case}_acid_changes") == expected, case
    assert incremental.rows("delta_ids") == incremental.hives_rows()
