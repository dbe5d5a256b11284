"""Incremental models over `acid_changes` have what a full refresh gives, after each run."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
import yaml

from integration.support.dbt_project import node_results
from integration.support.differential import NULL, canonical
from integration.support.hive import HiveClient, HiveServer
from integration.support.incremental import BY_KEY, LAKE, MODELS, ORDERS, Incremental, files_below

CHANGES = [
    ("1", "delete", "4"),
    ("1", "insert", "4"),
    ("2", "insert", "2"),
    ("3", "insert", "3"),
]


@pytest.mark.long("two minutes: runs dbt many times over one story")
def test_every_kind_of_target_follows_one_history(
    incremental: Incremental, hive: HiveServer, hive_client: HiveClient, database: str
) -> None:
    run, places = incremental.run, (hive.warehouse / f"{database}.db", hive.work / "lake")
    hive_client.script(ORDERS.format(clause=""))
    hive_client.execute(
        "INSERT INTO orders VALUES (1, 10, 'new'), (2, 20, 'new'), (3, 30, 'hidden'), "
        "(4, 40, 'new')"
    )
    incremental.project.sources("orders")
    incremental.project.models(**MODELS)
    documented = [name for name in MODELS if name.endswith("_key")]
    incremental.project.write("models/documented.yml", _documented(documented))

    def step(*statements: str) -> dict[str, str]:
        for statement in statements:
            hive_client.execute(statement)
        messages = run()
        incremental.assert_like_hive(MODELS)
        return messages

    step()
    step("INSERT INTO orders VALUES (5, 50, 'new'), (6, 60, 'hidden')")
    step(
        "UPDATE orders SET amount = 11 WHERE id = 1",
        "UPDATE orders SET status = 'hidden' WHERE id = 2",
        "UPDATE orders SET status = 'new' WHERE id = 3",
    )
    step("DELETE FROM orders WHERE id = 4", "INSERT INTO orders VALUES (7, 70, 'new')")
    # What no target has shown.
    step("DELETE FROM orders WHERE id = 6")
    assert incremental.warnings == []

    with_commits = [name for name in MODELS if name.startswith(("delta", "iceberg"))]
    versions = list(map(incremental.version, with_commits))
    files = files_below(places)
    messages = step()
    assert set(messages.values()) == {"OK, no changes"}
    assert versions == list(map(incremental.version, with_commits))
    assert files == files_below(places)
    for name in documented:
        assert incremental.comments(name)["status"] == "where it's at", name

    hive_client.execute("DELETE FROM orders WHERE id = 7")
    hive_client.execute("INSERT INTO orders VALUES (8, 80, 'new')")
    hive_client.compact("orders", "major")
    step()
    lost = [warning for warning in incremental.warnings if "is rebuilt" in warning]
    assert len(lost) == 3 and all("had not been read" in warning for warning in lost)
    step("UPDATE orders SET amount = 81 WHERE id = 8")
    assert incremental.warnings == []


def _documented(models: Iterable[str]) -> str:
    """A file of properties with comments for the columns of models."""
    columns = [{"name": "status", "description": "where it's at"}, {"name": "id"}]
    config = {"persist_docs": {"columns": True}}
    return yaml.safe_dump(
        {"models": [{"name": name, "config": config, "columns": columns} for name in models]}
    )


def test_lost_partitions_are_compared_by_row_id(incremental: Incremental) -> None:
    hive = incremental.hive
    hive.script(ORDERS.format(clause="PARTITIONED BY (day string)"))
    hive.execute("INSERT INTO orders VALUES (1, 10, 'new', 'a'), (2, 20, 'new', 'b')")
    hive.execute("INSERT INTO orders VALUES (3, 30, 'new', 'b'), (4, 40, 'new', 'c')")
    incremental.project.sources("orders")
    models = {name: MODELS[name] for name in ("delta_ids", "orc_ids")}
    incremental.project.models(
        strict=BY_KEY.replace("unique_key", "on_history_loss='error', unique_key"), **models
    )
    incremental.run()
    created = incremental.version("delta_ids")
    hive.execute("ALTER TABLE orders DROP PARTITION (day = 'a')")
    hive.execute("INSERT OVERWRITE TABLE orders PARTITION (day = 'b') SELECT 5, 50, 'new'")
    hive.execute("DELETE FROM orders WHERE id = 4")
    hive.execute("INSERT INTO orders VALUES (6, 60, 'new', 'c')")
    result = incremental.project.invoke("run")
    incremental.assert_like_hive(models)
    assert incremental.version("delta_ids") == created + 1
    messages = {node.node.name: str(node.message) for node in node_results(result)}
    assert "cannot be updated from the changes of" in messages["strict"]
    assert "partition day=a: it was dropped" in messages["strict"]
    assert "base_0000004" in messages["strict"]


@pytest.mark.long("a minute: runs dbt many times over one story")
def test_keys_of_a_model(incremental: Incremental) -> None:
    hive, project = incremental.hive, incremental.project
    hive.script(ORDERS.format(clause=""))
    hive.execute(
        "CREATE TABLE names (id int, name string) STORED AS ORC "
        "TBLPROPERTIES ('transactional'='true')"
    )
    hive.execute("INSERT INTO names VALUES (1, 'one'), (2, 'two')")
    hive.execute("INSERT INTO orders VALUES (1, 10, 'new')")
    project.sources("orders", "names")
    joined = """{{ config(materialized='incremental', incremental_strategy='acid_changes',
        unique_key='id', on_multi_source='full_refresh') }}
        select o.id, n.name from {{ acid_changes(source('shop', 'orders')) }} o
        left join {{ source('shop', 'names') }} n on n.id = o.id"""
    own = """{{ config(materialized='incremental', incremental_strategy='append') }}
        select id, _change_type, _write_id from {{ acid_changes(source('shop', 'orders')) }}"""
    evolving = """{{ config(materialized='incremental', incremental_strategy='acid_changes',
        file_format='delta', unique_key='id', on_schema_change='append_new_columns',
        merge_update_columns=['status']) }}
        select id, status {% if var('more', false) %}, amount {% endif %}
        from {{ acid_changes(source('shop', 'orders')) }}"""
    project.models(
        joined=joined,
        second=joined.replace(", on_multi_source='full_refresh'", ""),
        own=own,
        bounded=BY_KEY.replace("unique_key='id'", "max_write_ids=1"),
        evolving=evolving,
    )
    project.models(wrong=own.replace("'append'", "'append', max_write_ids='two'"))
    failed = {
        node.node.name: str(node.message)
        for node in node_results(project.invoke("run"))
        if str(node.status) == "error"
    }
    assert failed.keys() == {"second", "wrong"}
    assert f"{incremental.database}.names, whose changes" in failed["second"]
    assert "`max_write_ids` must be a whole number from 1 up, not 'two'" in failed["wrong"]
    for name in failed:
        (project.path / "models" / f"{name}.sql").unlink()

    # A column comes though no row does.
    messages = incremental.run("--select", "evolving", "--vars", "more: true")
    assert messages == {"evolving": "OK, no changes"}
    assert incremental.rows("evolving", "id, amount") == [("1", NULL)]

    hive.execute("INSERT INTO orders VALUES (2, 20, 'new')")
    hive.execute("INSERT INTO orders VALUES (3, 30, 'new')")
    hive.execute("UPDATE orders SET status = 'paid' WHERE id = 1")
    hive.execute("UPDATE names SET name = 'first' WHERE id = 1")
    incremental.run("--empty")
    assert incremental.rows("own", "*") == [("1", "insert", "1")]
    (shown,) = node_results(project.succeed("show", "--select", "own"))
    assert canonical(row.values() for row in shown.agate_table.rows) == CHANGES
    incremental.run("--vars", "more: true")
    assert incremental.rows("joined", "*") == [("1", "first"), ("2", "two"), ("3", NULL)]
    assert incremental.rows("own", "*") == sorted([("1", "insert", "1"), *CHANGES])
    assert incremental.rows("evolving", "*") == [
        ("1", "paid", NULL),
        ("2", "new", "20"),
        ("3", "new", "30"),
    ]
    assert incremental.rows("bounded", "id") == [("1",), ("2",)]
    assert not any("is rebuilt from" in warning for warning in incremental.warnings)

    incremental.run("--select", "bounded")
    assert incremental.rows("bounded", "id") == [("1",), ("2",), ("3",)]
    # Now comes the update, which takes a key or row ids to apply.
    incremental.run("--select", "bounded")
    assert incremental.rows("bounded", "id, status") == [("1", "paid"), ("2", "new"), ("3", "new")]
    assert any("were deleted or updated, and only a model with" in w for w in incremental.warnings)

    said: list[str] = []
    project.succeed(
        "run-operation",
        "hiveacid_state",
        "--args",
        "{model: own}",
        on_event=lambda event: said.append(event.info.msg),  # type: ignore[attr-defined]
    )
    assert any(f"{incremental.database}.orders:4:" in line for line in said)
    project.succeed("run-operation", "hiveacid_reset_state", "--args", "{model: own}")
    incremental.run("--select", "own")
    assert any("was removed, by hiveacid_reset_state or" in w for w in incremental.warnings)
    assert incremental.rows("own", "*") == [
        ("1", "insert", "4"),
        ("2", "insert", "2"),
        ("3", "insert", "3"),
    ]


def test_a_model_of_several_sources(incremental: Incremental) -> None:
    hive, project = incremental.hive, incremental.project
    hive.script(ORDERS.format(clause=""))
    for table in ("names", "regions"):
        hive.execute(
            f"CREATE TABLE {table} (id int, name string) STORED AS ORC "
            "TBLPROPERTIES ('transactional'='true')"
        )
        hive.execute(f"INSERT INTO {table} VALUES (1, 'one'), (2, 'two'), (3, 'three')")
    hive.execute("INSERT INTO orders VALUES (1, 10, 'new'), (2, 20, 'new')")
    project.sources("orders", "names")
    fixed = {"name": "fixed", "schema": incremental.database, "tables": [{"name": "regions"}]}
    static = {"config": {"hiveacid": {"static": True}}}
    project.write("models/fixed.yml", yaml.safe_dump({"sources": [fixed | static]}))
    model = """{{{{ config(materialized='incremental', incremental_strategy='acid_changes',
        file_format='delta', unique_key='id', on_multi_source='{}') }}}}
        select o.id, o.amount, t.name from {{{{ acid_changes(source('shop', 'orders')) }}}} o
        left join {{{{ source('{}', '{}') }}}} t on t.id = o.id"""
    project.models(
        by_region=model.format("error", "fixed", "regions"),
        by_name=model.format("full_refresh", "shop", "names"),
    )
    incremental.run()
    # The second source of `by_name` has not changed, and the static one of `by_region` may.
    hive.execute("UPDATE regions SET name = 'other'")
    hive.execute("UPDATE orders SET amount = 11 WHERE id = 1")
    hive.execute("INSERT INTO orders VALUES (3, 30, 'new')")
    messages = incremental.run()
    assert messages == dict.fromkeys(("by_region", "by_name"), "OK, 2 upserts, 0 deletes")
    assert incremental.rows("by_region", "*") == [
        ("1", "11", "other"),
        ("2", "20", "two"),  # its order has not changed
        ("3", "30", "other"),
    ]
    assert incremental.rows("by_name", "*") == [
        ("1", "11", "one"),
        ("2", "20", "two"),
        ("3", "30", "three"),
    ]
    hive.execute("DELETE FROM orders WHERE id = 2")
    hive.execute("UPDATE names SET name = 'first' WHERE id = 1")
    messages = incremental.run()
    assert messages["by_region"] == "OK, 0 upserts, 1 delete"
    assert "upsert" not in messages["by_name"], "rebuilt"
    assert incremental.rows("by_name", "*") == [("1", "11", "first"), ("3", "30", "three")]

    # What a hook has made a view of is read all the same.
    behind = """{{{{ config(materialized='incremental', incremental_strategy='acid_changes',
        file_format='delta', unique_key='id', on_multi_source='{}', pre_hook="create or replace
        temporary view other as select * from {{{{ {} }}}}") }}}}
        select o.id, o.amount, t.name from {} o left join other t on t.id = o.id"""
    changes, names = "{{ acid_changes(source('shop', 'orders')) }}", "source('shop', 'names')"
    project.models(
        by_region=behind.format("error", "source('fixed', 'regions')", changes),
        by_name=behind.format("full_refresh", names, changes),
        refused=behind.format("error", names, changes),
        hidden=behind.format("error", "acid_changes(source('shop', 'orders'))", "other"),
    )
    result = project.invoke("run")
    messages = {node.node.name: str(node.message) for node in node_results(result)}
    assert "whose changes would be missed" in messages.pop("refused")
    assert "reads acid_changes through a temporary view" in messages.pop("hidden")
    assert messages == dict.fromkeys(("by_region", "by_name"), "OK, no changes")
    hive.execute("UPDATE names SET name = 'third' WHERE id = 3")
    incremental.run("--select", "by_name")
    assert incremental.rows("by_name", "*") == [("1", "11", "first"), ("3", "30", "third")]


@pytest.mark.long("a minute: runs dbt many times over one story")
def test_columns_that_come_and_are_renamed(incremental: Incremental) -> None:
    hive, project = incremental.hive, incremental.project
    hive.script(ORDERS.format(clause=""))
    hive.execute("INSERT INTO orders VALUES (1, 10, 'new'), (2, 20, 'new')")
    project.sources("orders")
    model = """{{{{ config(materialized='incremental', incremental_strategy='acid_changes',
            on_schema_change='append_new_columns', {}) }}}}
        select {} from {{{{ acid_changes(source('shop', 'orders')) }}}}"""
    later = "{% if var('ids', '') %}, {{ var('ids') }}{% endif %}"
    project.models(
        parquet_ids=model.format("file_format='parquet'", f"id{later}"),
        delta_ids=model.format("file_format='delta'", f"id{later}"),
        packed=model.format("unique_key='id'", "id, to_json(struct(*)) as packed"),
    )
    incremental.run()

    with_ids = ("--vars", "ids: _row_id")
    by_id = ("parquet_ids", "delta_ids")

    def refused(*arguments: str) -> None:
        result = project.invoke("run", "--select", *by_id, *arguments)
        assert len(list(node_results(result))) == len(by_id)
        for node in node_results(result):
            assert "key column" in str(node.message)

    # The rows that are there would have no row id, by which they could be deleted.
    refused(*with_ids)
    hive.execute("INSERT INTO orders VALUES (3, 30, 'new')")
    refused(*with_ids)
    incremental.run("--full-refresh", *with_ids)
    hive.execute("DELETE FROM orders WHERE id = 1")
    incremental.run(*with_ids)
    hive.execute("INSERT INTO orders VALUES (4, 40, 'new')")
    refused()
    incremental.run(*with_ids)
    for name in by_id:
        assert incremental.rows(name, "id") == [("2",), ("3",), ("4",)], name

    hive.execute("ALTER TABLE orders CHANGE COLUMN status state string")
    incremental.run("--select", "packed")
    (lost,) = incremental.warnings
    assert "its column status is called state now" in lost
    states = incremental.rows("packed", "id, get_json_object(packed, '$.state')")
    assert states == [("2", "new"), ("3", "new"), ("4", "new")]


@pytest.mark.long("a minute: runs dbt many times over one story")
def test_a_strategy_of_the_users_own(incremental: Incremental) -> None:
    hive, project = incremental.hive, incremental.project
    hive.script(ORDERS.format(clause=""))
    hive.execute("INSERT INTO orders VALUES (1, 10, 'new'), (2, 20, 'new')")
    project.sources("orders")
    project.write(
        "macros/upsert.sql",
        """{% macro get_incremental_upsert_sql(arg_dict) %}
        merge into {{ arg_dict['target_relation'] }} t using {{ arg_dict['temp_relation'] }} s
        on t.id = s.id and s._change_type = 'delete' when matched then delete
        when not matched and s._change_type = 'insert' then insert *
        {% endmacro %}""",
    )
    model = """{{{{ config(materialized='incremental', incremental_strategy='upsert', {}) }}}}
        select id, amount, _change_type from {{{{ acid_changes(source('shop', 'orders')) }}}}"""
    project.models(in_delta=model.format("file_format='delta'"), iceberg_own=model.format(LAKE))
    incremental.run()
    hive.execute("UPDATE orders SET amount = 11 WHERE id = 1")
    hive.execute("DELETE FROM orders WHERE id = 2")
    incremental.run()
    for name in ("in_delta", "iceberg_own"):
        assert incremental.rows(name, "id, amount") == [("1", "11")], name
    assert set(incremental.run().values()) == {"OK, no changes"}


def test_a_model_that_has_lost_a_column(incremental: Incremental) -> None:
    hive, project = incremental.hive, incremental.project
    hive.script(ORDERS.format(clause=""))
    hive.execute("INSERT INTO orders VALUES (1, 10, 'new'), (2, 20, 'new')")
    project.sources("orders")
    model = """{{{{ config(
            materialized='incremental', on_schema_change='append_new_columns', {}) }}}}
        select id, status {{% if var('whole', true) %}}, amount {{% endif %}}
        from {{{{ acid_changes(source('shop', 'orders')) }}}}"""
    by_key = "incremental_strategy='acid_changes', unique_key='id'"
    project.models(
        parquet_key=model.format(by_key),
        delta_key=model.format(f"{by_key}, file_format='delta'"),
        iceberg_key=model.format(f"{by_key}, {LAKE}"),
        parquet_own=model.format("incremental_strategy='append'"),
        delta_own=model.format("incremental_strategy='append', file_format='delta'"),
        iceberg_own=model.format(f"incremental_strategy='append', {LAKE}"),
        delta_own_merge=model.format(
            "incremental_strategy='merge', unique_key='id', file_format='delta', "
            "merge_update_columns=['status']"
        ),
    )
    incremental.run()
    hive.execute("INSERT INTO orders VALUES (3, 30, 'new')")
    incremental.run("--vars", "whole: false")
    first = [("1", "new", "10"), ("2", "new", "20"), ("3", "new", NULL)]
    for name in ("parquet_own", "delta_own", "iceberg_own", "delta_own_merge"):
        assert incremental.rows(name, "id, status, amount") == first, name
    hive.execute("UPDATE orders SET status = 'paid', amount = 11 WHERE id = 1")
    incremental.run("--select", "parquet_key", "delta_key", "iceberg_key", "--vars", "whole: false")
    kept = [("1", "paid", "10"), *first[1:]]
    for name in ("parquet_key", "delta_key", "iceberg_key"):
        assert incremental.rows(name, "id, status, amount") == kept, name
