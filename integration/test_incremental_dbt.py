"""Incremental models over `acid_changes` with dbt's other features."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml
from dbt.tests.util import patch_microbatch_end_time

from integration.support.dbt_project import node_results
from integration.support.differential import canonical
from integration.support.hive import HiveClient
from integration.support.incremental import BY_KEY, LAKE, MODELS, ORDERS, Incremental

PARTITIONED = BY_KEY.replace("unique_key='id'", "unique_key='id', partition_by='status'")
LOG = """{{ config(materialized='incremental', incremental_strategy='acid_changes') }}
select id, amount * 2 as twice, status from {{ acid_changes(source('shop', 'log')) }}"""


def failed(incremental: Incremental, *arguments: str) -> dict[str, str]:
    """The messages of the models that fail in a command."""
    results = node_results(incremental.project.invoke(*arguments))
    return {r.node.name: str(r.message) for r in results if str(r.status) == "error"}


CONTRACT = """
models:
  - name: delta_key
    config: {contract: {enforced: true}}
    constraints: [{type: check, expression: id > 0}]
    columns:
      - {name: id, data_type: int}
      - {name: twice, data_type: "decimal(12,2)"}
      - {name: status, data_type: string}
"""


@pytest.mark.long("a minute: runs dbt many times over one story")
def test_other_places_and_insert_only_sources(incremental: Incremental, tmp_path: Path) -> None:
    hive = incremental.hive
    hive.script(ORDERS.format(clause=""))
    hive.execute(
        "CREATE TABLE log (id int, amount decimal(10,2), status string) STORED AS JSONFILE "
        "TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only')"
    )
    hive.execute("INSERT INTO orders VALUES (1, 10, 'new'), (2, 20, 'b c/d=1'), (3, 30, NULL)")
    hive.execute("INSERT INTO log VALUES (1, 10, 'new'), (2, 20, 'b c/d=1')")
    root = f"location_root='{tmp_path}/targets'"
    by_key = {
        "partitioned": PARTITIONED,
        "placed": BY_KEY.replace("unique_key", f"{root}, unique_key"),
        "placed_delta": MODELS["delta_key"].replace("unique_key", f"{root}, unique_key"),
        "predicates": MODELS["delta_key"].replace(
            "unique_key", "incremental_predicates=['DBT_INTERNAL_DEST.id < 100'], unique_key"
        ),
    }
    logs = {
        "entries": LOG,
        "entries_partitioned": LOG.replace(") }}", ", partition_by=['status']) }}", 1),
        "entries_clustered": LOG.replace(") }}", ", clustered_by='id', buckets=4) }}", 1),
        "entries_placed": LOG.replace(") }}", f", {root}) }}}}", 1),
        "entries_delta": LOG.replace(") }}", ", file_format='delta') }}", 1),
    }
    incremental.project.sources("orders", "log")
    incremental.project.models(**by_key, **logs)

    def step(*statements: str) -> None:
        for statement in statements:
            hive.execute(statement)
        incremental.run()
        incremental.assert_like_hive(by_key)
        expected = canonical(hive.query("select id, amount * 2, status from log"))
        for model in logs:
            assert incremental.rows(model) == expected, model

    step()
    step("INSERT INTO orders VALUES (4, 40, 'other')", "INSERT INTO log VALUES (4, 40, 'other')")
    step(
        "UPDATE orders SET status = 'moved' WHERE id = 1",
        "DELETE FROM orders WHERE id = 2",
        "INSERT INTO log VALUES (5, 50, NULL)",
    )
    assert incremental.warnings == []
    hive.execute("INSERT INTO log VALUES (6, 60, 'new')")
    hive.compact(f"{incremental.database}.log", "major")
    step()
    lost = [warning for warning in incremental.warnings if "is rebuilt" in warning]
    assert len(lost) == len(logs), incremental.warnings

    # Files of another format, or in other directories, cannot be taken over.
    incremental.project.models(
        entries=LOG.replace(") }}", ", file_format='orc') }}", 1),
        entries_partitioned=LOG,
        entries_clustered=LOG.replace(") }}", ", clustered_by='id', buckets=8) }}", 1),
    )
    hive.execute("INSERT INTO log VALUES (7, 70, 'new')")
    stored = {
        "entries": "parquet, and",
        "entries_partitioned": "parquet partitioned by status, and",
        "entries_clustered": "parquet clustered by id into 4 buckets, and",
    }
    result = incremental.project.invoke("run", "--select", *stored)
    for node in node_results(result):
        assert f"is stored as {stored[node.node.name]}" in str(node.message)
        assert len(incremental.rows(node.node.name)) == 5


@pytest.mark.long("a minute: runs dbt many times over one story")
def test_rows_of_another_strategy_are_not_brought_again(incremental: Incremental) -> None:
    hive, project = incremental.hive, incremental.project
    hive.execute(
        "CREATE TABLE log (id int, amount decimal(10,2), status string) STORED AS ORC "
        "TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only')"
    )
    hive.execute("INSERT INTO log VALUES (1, 10, 'new')")
    project.sources("log")
    models = {
        "in_parquet": LOG,
        "in_delta": LOG.replace(") }}", ", file_format='delta') }}", 1),
        "iceberg_log": LOG.replace(") }}", f", {LAKE}) }}}}", 1),
    }
    project.models(**models)
    incremental.run()
    hive.execute("INSERT INTO log VALUES (2, 20, 'new')")
    newer = "{% if is_incremental() %} where id > (select max(id) from {{ this }}) {% endif %}"
    project.models(
        **{
            name: sql.replace(
                "acid_changes(source('shop', 'log'))", "source('shop', 'log')"
            ).replace("incremental_strategy='acid_changes'", "incremental_strategy='append'")
            + newer
            for name, sql in models.items()
        }
    )
    incremental.run()
    incremental.run()
    project.models(**models)
    incremental.run()
    assert len(incremental.warnings) == len(models), incremental.warnings
    for name in models:
        assert incremental.rows(name, "id") == [("1",), ("2",)], name


@pytest.mark.long("a minute: runs dbt many times over one story")
def test_constraints_stay_when_a_target_is_built_anew(incremental: Incremental) -> None:
    hive, project = incremental.hive, incremental.project
    hive.script(ORDERS.format(clause=""))
    hive.execute("INSERT INTO orders VALUES (1, 10, 'new')")
    project.sources("orders")
    strict = MODELS["delta_key"].replace("unique_key", "on_schema_change='fail', unique_key")
    project.models(delta_key=strict)
    project.write("models/contract.yml", CONTRACT)
    for lost in (0, 1):
        incremental.run()
        assert len(incremental.warnings) == lost
        incremental.assert_like_hive(["delta_key"])
        properties = incremental.spark.newSession().sql(
            f"show tblproperties {incremental.table('delta_key')}"
        )
        constraints = [row for row in properties.collect() if "delta.constraints." in row.key]
        assert [row.value for row in constraints] == ["id > 0"]
        hive.execute("TRUNCATE TABLE orders")
        hive.execute("INSERT INTO orders VALUES (2, 20, 'new')")


def test_commands_of_dbt(incremental: Incremental) -> None:
    hive, project = incremental.hive, incremental.project
    hive.execute(
        "CREATE TABLE orders (id int, amount decimal(10,2), status string, at timestamp) "
        "STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"
    )
    hive.execute(
        "INSERT INTO orders VALUES (1, 10, 'new', current_date()), "
        "(2, 20, 'new', timestamp '2020-01-01 00:00:00')"
    )
    hive.execute(
        "CREATE TABLE names (id int, at timestamp) STORED AS ORC TBLPROPERTIES "
        "('transactional'='true')"
    )
    hive.execute(
        "INSERT INTO names VALUES (1, current_date()), (3, timestamp '2020-01-01 00:00:00')"
    )
    project.sources("orders", "names", config={"event_time": "at"})
    joined = """{{ config(materialized='incremental', incremental_strategy='acid_changes',
        unique_key='id') }} select o.id, n.id as name
        from {{ acid_changes(source('untimed', 'orders')) }} o
        join {{ source('fixed', 'names') }} n on n.id = o.id"""
    untimed = {"name": "untimed", "schema": incremental.database, "tables": [{"name": "orders"}]}
    fixed = {"name": "fixed", "schema": incremental.database, "tables": [{"name": "names"}]}
    timed = {"config": {"event_time": "at", "hiveacid": {"static": True}}}
    project.write("models/more.yml", yaml.safe_dump({"sources": [untimed, fixed | timed]}))
    project.models(
        joined=joined,
        keys=BY_KEY.replace("amount * 2", "{{ var('amount', 'amount') }} * 2"),
        ids=MODELS["delta_ids"],
        below="select count(*) as n, sum(twice) as twice from {{ ref('keys') }}",
    )
    incremental.run("--sample", "1 day")
    assert incremental.rows("keys", "id") == [("1",)]
    incremental.run()
    assert len(incremental.warnings) == 3
    incremental.assert_like_hive(["keys", "ids"])

    hive.execute("INSERT INTO orders VALUES (3, 30, 'new', current_date())")
    hive.execute("DELETE FROM orders WHERE id = 1")
    before = incremental.rows("keys")
    incremental.run("--sample", "1 day")
    assert incremental.rows("keys") == before
    wrong = failed(incremental, "run", "--vars", "amount: assert_true(id < 3)")
    assert set(wrong) == {"keys"}
    assert incremental.rows("keys") == before
    project.succeed("retry", "--vars", "amount: amount")
    incremental.assert_like_hive(["keys", "ids"])
    assert incremental.rows("below", "n") == [("2",)]
    # The sample showed no name of the new order, but the changes have not been applied then.
    assert incremental.rows("joined", "id") == [("3",)]
    assert incremental.warnings == []


@pytest.mark.long("a minute: runs dbt many times over one story")
def test_clone_and_defer(
    incremental: Incremental, hive_client: HiveClient, tmp_path: Path, other_schema: str
) -> None:
    hive, project, spark = incremental.hive, incremental.project, incremental.spark
    hive.script(ORDERS.format(clause=""))
    hive.execute("INSERT INTO orders VALUES (1, 10, 'new'), (2, 20, 'new')")
    project.sources("orders")
    project.models(
        keys=MODELS["delta_key"],
        plain=BY_KEY,
        below="select count(*) as n from {{ ref('keys') }}",
    )
    project.add_target("ci", other_schema)
    incremental.run()
    state = tmp_path / "state"
    shutil.copytree(project.path / "target", state)
    hive.execute("UPDATE orders SET amount = 11 WHERE id = 1")
    in_ci = ("--target", "ci", "--state", str(state))

    def rows(model: str) -> list[tuple[str, ...]]:
        frame = spark.newSession().sql(f"select * from {other_schema}.{model}")
        return canonical(frame.collect())

    incremental.run("--select", "below", "--defer", *in_ci)
    assert rows("below") == [("2",)]
    project.succeed("clone", "--select", "keys", *in_ci)
    assert rows("keys") == incremental.rows("keys")
    incremental.run("--select", "keys", *in_ci)
    (lost,) = incremental.warnings
    assert "was made by CLONE, without acid_changes" in lost
    assert rows("keys") == canonical(hive.query("select id, amount * 2, status from orders"))
    incremental.run("--exclude", "below")
    incremental.assert_like_hive(["keys", "plain"])
    assert incremental.warnings == []


def test_models_that_cannot_be_brought_up_to_date(incremental: Incremental) -> None:
    hive, project = incremental.hive, incremental.project
    hive.script(ORDERS.format(clause=""))
    hive.execute("INSERT INTO orders VALUES (1, 10, 'new'), (2, 20, 'new')")
    project.sources("orders")
    names = ("twice_parquet", "twice_delta", "mixed")
    inner = "{{ config(materialized='ephemeral') }} select 1 as one"
    mixed = """{{ config(materialized='incremental', incremental_strategy='acid_changes',
        unique_key='id') }}
        select id, {% if is_incremental() %} one {% else %} 0 {% endif %} as later
        from {{ acid_changes(source('shop', 'orders')) }} cross join {{ ref('inner') }}"""
    project.models(twice_parquet=BY_KEY, twice_delta=MODELS["delta_key"], inner=inner, mixed=mixed)
    incremental.run()
    before = {name: incremental.rows(name, "*") for name in names}
    hive.execute("INSERT INTO orders VALUES (3, 30, 'new'), (3, 31, 'new')")
    hive.compact("orders", "minor")
    formats = ("parquet", "delta", "iceberg")
    first = {f"{name}_first": MODELS[f"{name}_key"] for name in formats}
    project.models(**first)
    for arguments in ([], ["--full-refresh"]):
        wrong = failed(incremental, "run", "--exclude", "mixed", *arguments)
        assert set(wrong) == {*names, *first} - {"mixed"}
        for message in wrong.values():
            assert "2 new rows with the same unique_key (id = 3)" in message
        session = incremental.spark.newSession()
        assert not [name for name in first if session.catalog.tableExists(incremental.table(name))]
    hive.execute("DELETE FROM orders WHERE amount = 31")
    hive.compact("orders", "major")
    wrong = failed(incremental, "run", "--select", "mixed")
    assert "it has ephemeral parents" in wrong["mixed"]
    assert before == {name: incremental.rows(name, "*") for name in names}
    incremental.run("--select", "mixed", "--full-refresh")
    assert incremental.rows("mixed", "*") == [("1", "0"), ("2", "0"), ("3", "0")]
    hive.execute("DELETE FROM orders WHERE id = 2")
    hive.execute("INSERT INTO orders VALUES (4, 40, 'new')")
    incremental.run()
    assert incremental.rows("mixed", "*") == [("1", "0"), ("3", "0"), ("4", "1")]
    incremental.assert_like_hive(names[:2])


def test_hooks_and_branches_that_read_the_changes(incremental: Incremental) -> None:
    """A pre-hook has what a run is about to apply; a post-hook, and half a model, are refused."""
    hive, project, database = incremental.hive, incremental.project, incremental.database
    hive.script(ORDERS.format(clause=""))
    hive.execute("INSERT INTO orders VALUES (1, 10, 'new'), (2, 20, 'new')")
    incremental.spark.sql(
        f"CREATE TABLE {database}.audit (model string, kind string, id int, amount decimal(10,2)) "
        "USING parquet"
    )
    project.sources("orders")
    changes = "{{ acid_changes(source('shop', 'orders')) }}"
    keyed = "materialized='incremental', incremental_strategy='acid_changes', unique_key='id'"

    def hooked(hook: str) -> str:
        return (
            f"{{{{ config({keyed}, {hook}=\"insert into {database}.audit select '{hook}', "
            f'_change_type, id, amount from {changes}") }}}} select id, amount from {changes}'
        )

    project.models(
        before=hooked("pre_hook"),
        after=hooked("post_hook"),
        inner="{{ config(materialized='ephemeral') }} select 5 as id",
        half="{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', "
        f"file_format='delta') }}}} select id from {{% if is_incremental() %}} {changes} "
        "{% else %} {{ ref('inner') }} {% endif %}",
    )
    late = "reads acid_changes in a post-hook, after the changes"
    assert late in failed(incremental, "run")["after"]
    hive.execute("UPDATE orders SET amount = 11 WHERE id = 1")
    wrong = failed(incremental, "run")
    assert late in wrong["after"]
    assert "it has ephemeral parents" in wrong["half"]
    assert incremental.rows("audit", "*") == [
        ("pre_hook", "delete", "1", "10"),
        ("pre_hook", "insert", "1", "10"),
        ("pre_hook", "insert", "1", "11"),
        ("pre_hook", "insert", "2", "20"),
    ]
    rows = canonical(hive.query("SELECT id, amount FROM orders"))
    for model in ("before", "after"):
        assert incremental.rows(model, "id, amount") == rows
    assert incremental.rows("half", "id") == [("5",)]


def test_a_delta_log_that_the_catalog_does_not_know(
    incremental: Incremental, tmp_path: Path
) -> None:
    """With a `location_root` a build that fails, or a DROP TABLE, leaves it where it was."""
    hive, project, spark = incremental.hive, incremental.project, incremental.spark
    hive.script(ORDERS.format(clause=""))
    hive.execute("INSERT INTO orders VALUES (1, 10, 'new'), (2, 20, 'new'), (2, 21, 'new')")
    project.sources("orders")
    project.models(
        placed=MODELS["delta_key"].replace("unique_key", f"location_root='{tmp_path}', unique_key")
    )
    target = incremental.table("placed")
    assert "the same unique_key (id = 2)" in failed(incremental, "run")["placed"]
    hive.execute("DELETE FROM orders WHERE amount = 21")
    incremental.run()
    incremental.assert_like_hive(["placed"])
    for replaced_by in ("", f"CREATE VIEW {target} AS SELECT 1 AS one"):
        spark.sql(f"DROP TABLE {target}")
        if replaced_by:
            spark.sql(replaced_by)
        hive.execute("UPDATE orders SET amount = amount + 1")
        incremental.run()
        incremental.assert_like_hive(["placed"])
        hive.execute("DELETE FROM orders WHERE id = 1")
        incremental.run()
        incremental.assert_like_hive(["placed"])


def test_strategies_of_dbt_spark(incremental: Incremental) -> None:
    hive, project = incremental.hive, incremental.project
    hive.execute(
        "CREATE TABLE orders (id int, status string, at timestamp) STORED AS ORC "
        "TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"
    )
    hive.execute(
        "INSERT INTO orders VALUES (1, 'new', timestamp '2024-01-01 10:00:00'), "
        "(2, 'new', timestamp '2024-01-02 10:00:00'), (3, 'new', timestamp '2024-01-02 11:00:00')"
    )
    project.sources("orders", config={"event_time": "at"})
    config = "{{ config(materialized='incremental', partition_by=['day'], "
    query = "select id, status, cast(at as date) as day from {{ source('shop', 'orders') }}"
    project.models(
        batches=f"{config} incremental_strategy='microbatch', event_time='at', batch_size='day', "
        f"begin='2024-01-01') }}}} {query}",
        overwritten=f"{config} incremental_strategy='insert_overwrite') }}}} {query} "
        "{% if is_incremental() %} where at >= timestamp '2024-01-02 00:00:00' {% endif %}",
    )

    def step(today: str) -> None:
        with patch_microbatch_end_time(f"{today} 12:00:00"):
            incremental.run()
        expected = canonical(hive.query("select id, status, cast(at as date) from orders"))
        for model in ("batches", "overwritten"):
            assert incremental.rows(model, "id, status, day") == expected, model

    step("2024-01-02")
    hive.execute("UPDATE orders SET status = 'paid' WHERE id = 2")
    hive.execute("DELETE FROM orders WHERE id = 3")
    hive.execute("INSERT INTO orders VALUES (4, 'new', timestamp '2024-01-03 10:00:00')")
    step("2024-01-03")
