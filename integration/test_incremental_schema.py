"""Models over `acid_changes` whose columns come and go, with each `on_schema_change`."""

from __future__ import annotations

import pytest

from integration.support.dbt_project import node_results
from integration.support.differential import NULL, canonical
from integration.support.incremental import LAKE, ORDERS, Incremental

_FORMATS = {
    "parquet": "file_format='parquet'",
    "orc": "file_format='orc'",
    # Delta drops columns of such tables only.
    "delta": "file_format='delta', tblproperties={'delta.columnMapping.mode': 'name'}",
    "iceberg": LAKE,
}

#: By name, which says format, key and `on_schema_change`.
MODELS = (
    *("parquet_key_ignore", "delta_ids_ignore", "orc_ids_fail", "delta_key_fail"),
    *("parquet_ids_append", "orc_key_append", "delta_key_append", "iceberg_key_append"),
    *("parquet_key_sync", "delta_ids_sync", "iceberg_ids_sync"),
)

_ON_SCHEMA_CHANGE = {"append": "append_new_columns", "sync": "sync_all_columns"}

_CONTRACT = """
models:
  - name: parquet_contract
    config: {{contract: {{enforced: true}}}}
    columns: [{{name: id, data_type: int}}, {{name: status, data_type: {type}}}{more}]
"""

FIRST = "id, amount, status"
MORE = f"{FIRST}, note, amount + 1 as plus"
LESS = "id, status, note, amount + 1 as plus"


def _sql(name: str) -> str:
    file_format, key, change = name.split("_")
    row_id = "_row_id as _hive_row_id" if file_format == "iceberg" else "_row_id"
    return f"""{{{{ config(materialized='incremental', incremental_strategy='acid_changes',
            on_schema_change='{_ON_SCHEMA_CHANGE.get(change, change)}', {_FORMATS[file_format]}
            {", unique_key='id'" if key == "key" else ""}) }}}}
        select {{{{ var('columns') }}}} {"" if key == "key" else f", {row_id}"}
        from {{{{ acid_changes(source('shop', 'orders')) }}}}"""


def _with(*parts: str) -> list[str]:
    """The models that have one of these parts in their names."""
    return [name for name in MODELS if set(parts) & set(name.split("_"))]


@pytest.mark.long("two minutes: runs dbt many times over one story")
def test_columns_come_and_go(incremental: Incremental) -> None:
    hive = incremental.hive
    hive.script(ORDERS.format(clause=""))
    hive.execute("INSERT INTO orders VALUES (1, 10, 'new'), (2, 20, 'new'), (3, 30, 'new')")
    incremental.project.sources("orders")
    incremental.project.models(**{name: _sql(name) for name in MODELS})

    def run(columns: str, *only: str) -> tuple[dict[str, str], dict[str, str]]:
        """The messages of the models that went well, and of those that failed."""
        arguments = ("--select", *only) if only else ()
        result = incremental.project.invoke("run", "--vars", f"columns: {columns}", *arguments)
        went: dict[str, str] = {}
        failed: dict[str, str] = {}
        for node in node_results(result):
            messages = went if str(node.status) == "success" else failed
            messages[node.node.name] = str(node.message)
        return went, failed

    def columns_of(name: str) -> list[str]:
        found = incremental.spark.newSession().table(incremental.table(name)).columns
        return [column for column in found if not column.endswith("_row_id")]

    assert run(FIRST)[1] == {}
    hive.execute("ALTER TABLE orders ADD COLUMNS (note string)")
    hive.execute("INSERT INTO orders VALUES (4, 40, 'new', 'four')")
    hive.execute("UPDATE orders SET note = 'one' WHERE id = 1")
    hive.execute("DELETE FROM orders WHERE id = 3")

    adding, strict = _with("append", "sync"), _with("fail")
    before = {name: incremental.rows(name, FIRST) for name in strict}
    _, failed = run(MORE)
    assert set(failed) == set(strict)
    for name, message in failed.items():
        assert "The source and target schemas on this incremental model are out of sync" in message
        assert incremental.rows(name, FIRST) == before[name], name
        assert columns_of(name) == ["id", "amount", "status"], name
    shown = canonical(hive.query("SELECT id, amount, status FROM orders"))
    for name in _with("ignore"):
        assert incremental.rows(name, FIRST) == shown, name
        assert columns_of(name) == ["id", "amount", "status"], name
    # Only rows that have changed since have the new columns.
    plus = "CASE WHEN id <> 2 THEN amount + 1 END"
    shown = canonical(hive.query(f"SELECT id, amount, status, note, {plus} FROM orders"))
    for name in adding:
        assert incremental.rows(name, "id, amount, status, note, plus") == shown, name
        assert columns_of(name) == ["id", "amount", "status", "note", "plus"], name

    with_commits = [name for name in _with("delta", "iceberg") if name not in strict]
    versions = list(map(incremental.version, with_commits))
    went, failed = run(MORE)
    assert set(failed) == set(strict)
    assert went == dict.fromkeys(set(MODELS) - set(strict), "OK, no changes")
    assert versions == list(map(incremental.version, with_commits))

    hive.execute("INSERT INTO orders VALUES (5, 50, 'new', 'five')")
    hive.execute("UPDATE orders SET note = 'two' WHERE id = 2")
    hive.execute("DELETE FROM orders WHERE id = 1")
    # Spark's own formats keep their columns, and without `on_schema_change` a target has all.
    stuck = [*strict, *_with("ignore"), "parquet_key_sync"]
    before = {name: incremental.rows(name, "*") for name in stuck}
    _, failed = run(LESS)
    assert set(failed) == set(stuck), failed
    for name in stuck:
        assert incremental.rows(name, "*") == before[name], name
    shown = canonical(hive.query("SELECT id, status, note, amount + 1 FROM orders"))
    moving = [name for name in adding if name not in stuck]
    for name in moving:
        assert incremental.rows(name, "id, status, note, plus") == shown, name
        kept = [] if name.endswith("_sync") else ["amount"]
        assert columns_of(name) == ["id", *kept, "status", "note", "plus"], name
    for name in _with("append"):
        # A row that is updated by key keeps what the model has no longer.
        two = "20" if "_key_" in name else NULL
        amounts = [("2", two), ("4", "40"), ("5", NULL)]
        assert incremental.rows(name, "id, amount") == amounts, name

    went, failed = run(LESS, *moving)
    assert went == dict.fromkeys(moving, "OK, no changes") and failed == {}

    # What was refused meanwhile is applied as soon as it can be.
    went, failed = run(FIRST, *strict, *_with("ignore"))
    assert failed == {} and "OK, no changes" not in went.values()
    shown = canonical(hive.query("SELECT id, amount, status FROM orders"))
    for name in went:
        assert incremental.rows(name, FIRST) == shown, name


def test_names_in_another_case_contracts_and_empty_runs(incremental: Incremental) -> None:
    hive, project = incremental.hive, incremental.project
    hive.script(ORDERS.format(clause=""))
    hive.execute("INSERT INTO orders VALUES (1, 10, 'new'), (2, 20, 'new'), (3, 30, 'new')")
    project.sources("orders")
    synced = ["delta_key_sync", "iceberg_key_sync"]
    own = "{{ config(materialized='incremental') }} select id from {{ acid_changes(SOURCE) }}"
    project.models(
        **{name: _sql(name) for name in synced},
        parquet_contract=_sql("parquet_key_append").replace("var('columns')", "var('promised')"),
        without_strategy=own.replace("SOURCE", "source('shop', 'orders')"),
    )

    def contract(type_: str = "string", more: str = "") -> None:
        project.write("models/contract.yml", _CONTRACT.format(type=type_, more=more))

    def run(columns: str, promised: str, *arguments: str) -> dict[str, str]:
        """The messages of the models that failed."""
        names = f"{{columns: '{columns}', promised: '{promised}'}}"
        result = project.invoke("run", "--vars", names, *arguments)
        nodes = node_results(result)
        return {n.node.name: str(n.message) for n in nodes if str(n.status) != "success"}

    contract(more=", {name: amount, data_type: 'decimal(10,2)'}")
    failed = run("id as ID, amount as Amount, status", "id, status, amount")
    assert failed.keys() == {"without_strategy"}
    assert "and has no `incremental_strategy`. Set acid_changes" in failed["without_strategy"]
    project.models(without_strategy="select 1 as one")
    hive.execute("UPDATE orders SET amount = 11, status = 'paid' WHERE id = 1")
    hive.execute("DELETE FROM orders WHERE id = 3")

    # Nothing of a target changes, its columns neither.
    contract()
    assert run("id, 1 as one", "id, status", "--empty") == {}
    before = canonical([(1, "10", "new"), (2, "20", "new"), (3, "30", "new")])
    for name in (*synced, "parquet_contract"):
        assert incremental.rows(name, "id, amount, status") == before, name
        assert len(incremental.spark.newSession().table(incremental.table(name)).columns) == 3

    contract(type_="int")
    for flags in (["--empty"], []):
        failed = run("id, amount, status", "id, status", *flags)
        assert failed.keys() == {"parquet_contract"}
        assert "enforced contract that failed" in failed["parquet_contract"]
    shown = canonical(hive.query("SELECT id, amount, status FROM orders"))
    for name in synced:
        assert incremental.rows(name, "id, amount, status") == shown, name
    assert incremental.rows("parquet_contract", "id, amount, status") == before

    # An updated row keeps what the model, and its contract, have no longer.
    contract()
    assert run("id, amount, status", "id, status") == {}
    assert incremental.rows("parquet_contract", "id, amount, status") == canonical(
        [(1, "10", "paid"), (2, "20", "new")]
    )
