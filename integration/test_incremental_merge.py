"""`incremental_predicates` and the columns of a MERGE: as dbt-spark's own strategy has them."""

from __future__ import annotations

from integration.incremental import LAKE, ORDERS, Incremental

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


def _models() -> dict[str, str]:
    models = {}
    for format_, file_format in _FORMATS.items():
        for case, config in _CONFIGS.items():
            by_key = f"unique_key='id', {config}"
            for strategy in ("acid_changes", "merge"):
                sql = _MODEL.format(
                    strategy=strategy, file_format=file_format, config=by_key, row_id=""
                )
                models[f"{format_}_{case}_{strategy}"] = sql + (
                    _INSERTED if strategy == "merge" else ""
                )
        row_id = ", _row_id as _hive_row_id" if format_ == "iceberg" else ", _row_id"
        models[f"{format_}_same_ids"] = _MODEL.format(
            strategy="acid_changes",
            file_format=file_format,
            config=_CONFIGS["same"].split(", merge")[0],
            row_id=row_id,
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
    for format_ in _FORMATS:
        for case, expected in after_update.items():
            for strategy in ("merge", "acid_changes"):
                name = f"{format_}_{case}_{strategy}"
                assert incremental.rows(name) == expected, name
    hive_rows = incremental.hives_rows()
    for format_ in _FORMATS:
        assert incremental.rows(f"{format_}_same_ids") == hive_rows, format_

    # Deletes, which dbt-spark's MERGE does not know. A predicate on the target's rows holds for
    # them, too; a deleted row has no other columns than its key to compare.
    hive.execute("DELETE FROM orders WHERE id IN (2, 3)")
    incremental.run("--exclude", *(name for name in _models() if name.endswith("_merge")))
    for format_ in _FORMATS:
        expected = [row for row in after_update["there"] if row[0] != "3"]
        assert incremental.rows(f"{format_}_there_acid_changes") == expected, format_
        expected = [row for row in after_update["same"] if row[0] not in ("2", "3")]
        assert incremental.rows(f"{format_}_same_acid_changes") == expected, format_
        assert incremental.rows(f"{format_}_same_ids") == incremental.hives_rows(), format_
