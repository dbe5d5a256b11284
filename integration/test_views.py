"""Views over ACID tables: dbt's default materialization, and views that others have stored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pyspark
import pytest
from dbt_common.events.base_types import EventMsg
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import hiveacid
from hiveacid.spark_versions import version_of
from hiveacid.sql.catalog import table_metadata
from integration.support.dbt_project import DbtProject, node_results
from integration.support.differential import canonical
from integration.support.hive import HiveClient, HiveServer
from integration.support.metastore import assert_nothing_held
from integration.support.targets import Tables
from integration.support.ungated import ungated

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"
ORDERS = "{{ source('shop', 'orders') }}"
VIEW = "{{ config(materialized='view') }}"
#: dbt's snapshots are tables of Delta here, which not every line of Spark has.
HAS_DELTA = version_of(pyspark.__version__).delta is not None


@pytest.fixture
def shop(hive_client: HiveClient, database: str) -> Iterator[HiveClient]:
    """The ACID table `orders`, in which Spark alone would see a deleted row. No lock is left."""
    hive_client.script(
        f"""
        CREATE TABLE orders (id int, status string, amount decimal(9,2), placed timestamp)
          PARTITIONED BY (day string) {ACID};
        INSERT INTO orders PARTITION (day) VALUES
          (1, 'new', 10.5, '2024-11-01 08:00:00', 'a'), (2, 'open', 7, '2024-11-01 23:30:00', 'a'),
          (3, 'open', 3.25, '2024-11-02 10:00:00', 'b'), (4, 'lost', 1, null, 'b');
        UPDATE orders SET status = 'open' WHERE id = 1;
        DELETE FROM orders WHERE id = 4
        """
    )
    yield hive_client
    assert_nothing_held(hive_client, database)


@pytest.fixture
def project(dbt_project: DbtProject, shop: HiveClient) -> DbtProject:
    """A project whose source is `orders`."""
    dbt_project.sources("orders")
    return dbt_project


def shown(project: DbtProject, sql: str) -> list[tuple[Any, ...]]:
    """The rows that `dbt show` finds."""
    result = project.succeed("show", "--inline", sql, "--limit", "100")
    (node,) = node_results(result)
    return [tuple(row) for row in node.agate_table.rows]


LONG = " + ".join(["length('it''s a \\\\ \"quote\" — ünïcode ✓')"] * 150)

MODELS = {
    "staged": f"{VIEW} select id, status, amount, placed, day from {ORDERS} o",
    "inlined": "{{ config(materialized='ephemeral') }} select id, status from " + ORDERS,
    "indirect": f"{VIEW} select * from {{{{ ref('inlined') }}}} where id > 1",
    "chained": f"{VIEW} select id, upper(status) as status, amount from {{{{ ref('staged') }}}}",
    "joined": f"{VIEW} with orders as (select * from {{{{ ref('chained') }}}}) "
    f"select o.id, s.status, o.amount from orders o join {ORDERS} s on o.id = s.id",
    "united": f"{VIEW} select id from {{{{ ref('staged') }}}} union all select id from "
    "{{ ref('chained') }} union all select id from {{ ref('joined') }} where id > 1",
    "remarked": f"{VIEW} select id from {ORDERS} -- '); the end",
    "substituted": f"{VIEW} select id, '${{spark.sql.session.timeZone}}' as zone from {ORDERS}",
    "long_text": f"{VIEW} select id, {LONG} as n, '日本 \\'x\\' \"y\" \\\\' as s from {ORDERS}",
    "odd_names": f"{VIEW} select id as `the id`, amount as `a.b`, status as `ü``x` from {ORDERS}",
    "headed": "{{ config(materialized='view', sql_header=\"set time zone 'Asia/Tokyo'\") }} "
    f"select id, cast(placed as string) as placed from {ORDERS}",
    "some_days": f"{VIEW} select id, day from {{{{ source('shop', 'first_day') }}}}",
    "above": f"{VIEW} select * from {{{{ ref('some_days') }}}} where id > 1",
}


def test_views_show_the_runs_snapshot(
    project: DbtProject, shop: HiveClient, tables: Tables, spark: SparkSession, database: str
) -> None:
    assert len(LONG) > 4000
    project.write(
        "models/sources.yml",
        f"""
sources:
  - name: shop
    schema: {database}
    tables:
      - name: orders
      - {{name: first_day, identifier: orders, config: {{hiveacid: {{partitions: {{day: a}}}}}}}}
""",
    )
    project.models(**MODELS)
    project.models(**{f"read_{name}": f"select * from {{{{ ref('{name}') }}}}" for name in MODELS})
    # The names that Spark gives a table's columns are those of its formats.
    odd = "select `the id` as a, `a.b` as b, `ü``x` as c from {{ ref('odd_names') }}"
    project.models(read_odd_names=odd)
    project.succeed("run", "--select", *MODELS)

    def hives(sql: str) -> list[tuple[str, ...]]:
        return canonical(shop.query(sql))

    expected = {
        "staged": "SELECT id, status, amount, placed, day FROM orders",
        "inlined": "SELECT id, status FROM orders",
        "indirect": "SELECT id, status FROM orders WHERE id > 1",
        "chained": "SELECT id, upper(status), amount FROM orders",
        "joined": "SELECT id, status, amount FROM orders",
        "united": "SELECT id FROM orders UNION ALL SELECT id FROM orders UNION ALL "
        "SELECT id FROM orders WHERE id > 1",
        "remarked": "SELECT id FROM orders",
        "substituted": "SELECT id, 'UTC' FROM orders",
        "odd_names": "SELECT id, amount, status FROM orders",
        "some_days": "SELECT id, day FROM orders WHERE day = 'a'",
        "above": "SELECT id, day FROM orders WHERE day = 'a' AND id > 1",
        "headed": "SELECT id, cast(from_utc_timestamp(placed, 'Asia/Tokyo') AS string) FROM orders",
    }
    shop.execute("INSERT INTO orders PARTITION (day) VALUES (5, 'new', 2, null, 'a')")
    project.succeed("run", "--select", *(f"read_{name}" for name in MODELS))
    for name, sql in expected.items():
        assert tables.rows("*", f"read_{name}") == hives(sql), name
    # To Spark 3.5, '' between two quotes ends a text and begins the next.
    ((length,),) = spark.sql(f"select {LONG}").collect()
    assert tables.rows("*", "read_long_text") == canonical(
        [(i, length, "日本 'x' \"y\" \\") for i in (1, 2, 3, 5)]
    )


def test_nodes_read_views(project: DbtProject, shop: HiveClient, tables: Tables) -> None:
    project.models(
        staged=f"{VIEW} select * from {ORDERS}",
        above=f"{VIEW} select * from {{{{ ref('staged') }}}}",
        added="{{ config(materialized='incremental') }} select id, status from {{ ref('above') }}"
        "{% if is_incremental() %} where id > (select max(id) from {{ this }}){% endif %}",
    )
    if HAS_DELTA:
        project.write(
            "snapshots/history.sql",
            "{% snapshot history %}{{ config(unique_key='id', strategy='check', "
            "check_cols=['status'], file_format='delta') }} select id, status from "
            "{{ ref('above') }}{% endsnapshot %}",
        )
    project.write(
        "models/tests.yml",
        """
models:
  - name: above
    columns:
      - name: id
        data_tests: [unique, not_null]
unit_tests:
  - name: mocked
    model: above
    given: [{input: ref('staged'), rows: [{id: 7, status: x}]}]
    expect: {rows: [{id: 7, status: x}]}
  - name: mocked_source
    model: staged
    given: [{input: "source('shop', 'orders')", rows: [{id: 8}]}]
    expect: {rows: [{id: 8}]}
""",
    )
    project.succeed("build")
    shop.script(
        """
        UPDATE orders SET status = 'paid' WHERE id = 2;
        INSERT INTO orders PARTITION (day) VALUES (6, 'new', 2, null, 'b')
        """
    )
    found = {it.node.name: it for it in node_results(project.succeed("build"))}
    assert tables.rows("*", "added") == [
        ("1", "open"), ("2", "open"), ("3", "open"), ("6", "new"),
    ]  # fmt: skip
    if HAS_DELTA:
        assert tables.rows("id, status, dbt_valid_to is null", "history") == [
            ("1", "open", "True"), ("2", "open", "False"), ("2", "paid", "True"),
            ("3", "open", "True"), ("6", "new", "True"),
        ]  # fmt: skip
    assert {name: str(it.status) for name, it in found.items()} == {
        "staged": "success",
        "above": "success",
        "added": "success",
        **({"history": "success"} if HAS_DELTA else {}),
        "mocked": "pass",
        "mocked_source": "pass",
        "unique_above_id": "pass",
        "not_null_above_id": "pass",
    }
    # The views themselves read nothing.
    assert found["above"].adapter_response.get("transaction_id") is None
    assert found["added"].adapter_response["transaction_id"]


DOCUMENTED = """
models:
  - name: staged
    description: Orders, "as they are".
    config:
      persist_docs: {{relation: true, columns: true}}
      contract: {{enforced: true}}
    columns:
      - {{name: id, description: "It's the key.", data_type: int}}
      - {{name: amount, description: Money, data_type: "decimal(9,2)"}}
      - {{name: status, data_type: {type}}}
"""

COLUMNS_OF = """
{% macro columns_of(name) %}
  {% set found = adapter.get_relation(none, target.schema, name) %}
  {% do log('is_view ' ~ found.is_view, info=true) %}
  {% for column in adapter.get_columns_in_relation(found) %}
    {% do log('column ' ~ column.name ~ ' ' ~ column.dtype, info=true) %}
  {% endfor %}
{% endmacro %}
"""


def test_columns_comments_and_contracts(project: DbtProject, database: str) -> None:
    project.models(staged=f"{VIEW} select status, id, amount from {ORDERS}")
    project.write("models/staged.yml", DOCUMENTED.format(type="string"))
    project.write("macros/columns_of.sql", COLUMNS_OF)
    project.succeed("run")
    project.succeed("run")
    lines: list[str] = []
    operation = ("run-operation", "columns_of", "--args", "{name: staged}")

    def listen(event: EventMsg) -> None:
        lines.append(str(event.info.msg))  # type: ignore[attr-defined]

    project.succeed(*operation, on_event=listen)
    told = [line for line in lines if line.startswith(("is_view", "column "))]
    assert told[0] == "is_view True"
    assert sorted(told[1:]) == [
        "column amount decimal(9,2)",
        "column id int",
        "column status string",
    ]
    project.succeed("docs", "generate")
    node = project.artifact("catalog.json")["nodes"]["model.test.staged"]
    assert node["metadata"]["type"] == "view"
    assert node["metadata"]["comment"] == 'Orders, "as they are".'
    columns = {name: (it["type"], it["comment"]) for name, it in node["columns"].items()}
    assert columns == {
        "id": ("int", "It's the key."),
        "amount": ("decimal(9,2)", "Money"),
        "status": ("string", columns["status"][1]),
    }
    project.write("models/staged.yml", DOCUMENTED.format(type="int"))
    (node,) = node_results(project.invoke("run"))
    assert str(node.status) == "error" and "enforced contract" in str(node.message)
    # The view of the last good run is still there.
    assert [row[0] for row in shown(project, "select id from {{ ref('staged') }} order by 1")] == [
        1, 2, 3,
    ]  # fmt: skip


def test_other_materializations_in_turn(
    project: DbtProject, tables: Tables, spark: SparkSession, database: str
) -> None:
    def kind() -> str:
        rows = spark.newSession().sql(f"describe extended {database}.target").collect()
        return next(row.data_type for row in rows if row.col_name == "Type")

    for form in ("view", "table", "view", "incremental", "view", "view"):
        project.models(
            target=f"{{{{ config(materialized='{form}') }}}} select id, status from {ORDERS}"
        )
        project.succeed("run", *(["--full-refresh"] if form == "incremental" else []))
        assert kind() == ("VIEW" if form == "view" else "MANAGED"), form
        if form != "view":
            assert tables.rows("id", "target") == [("1",), ("2",), ("3",)]
        assert len(shown(project, "select * from {{ ref('target') }}")) == 3, form
    project.succeed("run", "--empty")
    assert shown(project, "select * from {{ ref('target') }}") == []
    project.succeed("run", "--full-refresh")
    project.succeed("show", "--select", "target")
    assert len(shown(project, "select * from {{ ref('target') }}")) == 3


def test_deferred_and_cloned(
    project: DbtProject, spark: SparkSession, shop: HiveClient, other_schema: str
) -> None:
    project.models(
        staged=f"{VIEW} select id from {ORDERS}",
        above="select * from {{ ref('staged') }}",
        deltas="{{ config(materialized='view', file_format='delta') }} select id from "
        "{{ ref('staged') }}",
    )
    project.succeed("run", "--select", "staged", "deltas")
    (project.path / "target").rename(project.path / "state")
    project.add_target("ci", other_schema)
    state = ("--target", "ci", "--state", str(project.path / "state"))
    project.succeed("run", "--select", "above", "--defer", *state)
    ci = Tables(spark, other_schema)
    assert ci.rows("*", "above") == [("1",), ("2",), ("3",)]
    project.succeed("clone", "--select", "deltas", *state)
    shop.execute("DELETE FROM orders WHERE id = 1")
    project.models(above="select * from {{ ref('deltas') }}")
    project.succeed("run", "--select", "above", "--target", "ci")
    assert ci.rows("*", "above") == [("2",), ("3",)]


def test_a_view_cannot_read_changes(project: DbtProject) -> None:
    changes = "{{ acid_changes(source('shop', 'orders')) }}"
    project.models(changed=f"{VIEW} select id from {changes}")
    (node,) = node_results(project.invoke("run"))
    assert str(node.status) == "error"
    assert "`materialized: incremental`" in " ".join(str(node.message).split())


PAST_THE_SWAP = """
def model(dbt, session):
    dbt.config(materialized="table")
    dbt.ref("staged")
    return session.newSession().table("{database}.staged")
"""


def test_others_get_an_error_that_names_the_guard(
    project: DbtProject, spark: SparkSession, shop: HiveClient, database: str
) -> None:
    project.models(
        staged=f"{VIEW} select id from {ORDERS}",
        above=f"{VIEW} select id from {{{{ ref('staged') }}}}",
    )
    project.succeed("run")
    plain = spark.newSession()
    for name in ("staged", "above"):
        for read in (
            lambda name=name: plain.sql(f"select count(*) from {database}.{name}").collect(),
            lambda name=name: plain.table(f"{database}.{name}").collect(),
            lambda name=name: plain.sql(f"select 1 where exists (table {database}.{name})").count(),
        ):
            with pytest.raises(AnalysisException, match="hiveacid_snapshot"):
                read()
        with pytest.raises(Exception, match="hiveacid_snapshot"):
            shop.query(f"SELECT * FROM {database}.{name}")
    # A view that somebody else makes over the view is no way around the guard.
    with pytest.raises(AnalysisException, match="hiveacid_snapshot"):
        plain.sql(f"create view {database}.stolen as select * from {database}.staged")


RENAMED = """
{% macro renamed() %}
  {% do run_query('refresh table ' ~ target.schema ~ '.staged') %}
  {% do run_query('alter view ' ~ target.schema ~ '.staged rename to moved') %}
{% endmacro %}
"""


def test_commands_about_a_view(
    project: DbtProject, shop: HiveClient, hive: HiveServer, spark: SparkSession, database: str
) -> None:
    session = spark.newSession()
    session.sql(f"use {database}")

    def run(sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in snapshot.sql(sql).collect()]

    with hiveacid.snapshot(session, hive.metastore_uri, []) as snapshot:
        columns = "(id comment 'the key', status)"
        run(f"create view ours {columns} as select id, status from orders")
        run(f"create view plain {columns} as select 1 as id, 'new' as status")
        for column in ("id", "STATUS"):
            for describe in ("describe", "describe extended"):
                assert run(f"{describe} ours {column}") == run(f"{describe} plain {column}")
        with pytest.raises(AnalysisException, match="UNRESOLVED_COLUMN.*nothing"):
            run("describe ours nothing")
        assert run("refresh table ours") == run("alter view ours rename to moved") == []
        assert run("select id from moved where id < 3 order by id") == [(1,), (2,)]
        with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
            run("select * from ours")
        with pytest.raises(AnalysisException, match="ALTER VIEW"):
            run("alter table moved rename to ours")
        with pytest.raises(AnalysisException, match="databases do not match"):
            run("alter view moved rename to default.ours")
        run(f"alter view moved rename to spark_catalog.{database}.ours")
        run("alter view ours set tblproperties ('k' = 'v')")
        assert ("k", "v") in run("show tblproperties ours")
        # A new text over plain tables takes the guard away.
        run("alter view ours as select 7 as id, 'lucky' as status")
        assert run("select * from ours") == [(7, "lucky")]
        run("drop view ours")
        run("drop view plain")
    project.models(staged=f"{VIEW} select id from {ORDERS}")
    project.write("macros/renamed.sql", RENAMED)
    project.succeed("run")
    project.succeed("run-operation", "renamed")
    assert len(shown(project, f"select * from {database}.moved")) == 3


def test_a_read_past_the_swap_is_an_error(project: DbtProject, database: str) -> None:
    project.models(staged=f"{VIEW} select id from {ORDERS}")
    project.write("models/past.py", PAST_THE_SWAP.format(database=database))
    _, node = node_results(project.invoke("run"))
    assert str(node.status) == "error"
    assert "hiveacid_snapshot" in node.message


def test_a_view_alone_opens_no_transaction(
    project: DbtProject, hive: HiveServer, shop: HiveClient
) -> None:
    project.models(
        staged=f"{VIEW} select id from {ORDERS}",
        above=f"{VIEW} select id from {{{{ ref('staged') }}}}",
    )
    project.succeed("run")
    report = json.loads((project.path / "target" / "hiveacid_snapshot.json").read_text())
    assert report["transaction"] is None


# What decides about a view's rows and is stored with it.
SETTINGS = {
    "ansi": {"spark.sql.ansi.enabled": "true"},
    "not_ansi": {"spark.sql.ansi.enabled": "false"},
    "tokyo": {"spark.sql.session.timeZone": "Asia/Tokyo"},
    "case": {"spark.sql.caseSensitive": "true"},
}
TEXT = (
    "select *, try_divide(id, 0) as d, cast(placed as string) as p, amount / 3 as third, "
    "'1' + id as sum, concat_ws('|', status, day) as c from {table}"
)


def test_views_that_spark_has_stored(
    shop: HiveClient, hive: HiveServer, spark: SparkSession, database: str
) -> None:
    """A view of plain Spark shows what the same view over a plain copy shows plain Spark."""
    plain = spark.newSession()
    with hiveacid.snapshot(plain, hive.metastore_uri, []) as snapshot:
        snapshot.sql(f"create table {database}.copied using parquet as select * from "
                     f"{database}.orders")  # fmt: skip
    names = []
    for name, settings in SETTINGS.items():
        maker = spark.newSession()
        maker.sql(f"use {database}")
        for key, text in settings.items():
            maker.conf.set(key, text)
        for table in ("orders", "copied"):
            with ungated(maker):
                maker.sql(f"create view {name}_{table} as {TEXT.format(table=table)}")
                maker.sql(
                    f"create view {name}_named_{table} (a, b comment 'two') as "
                    f"select id, case when id > 1 then amount end as x from {table}"
                )
                maker.sql(f"create view {name}_above_{table} as select * from {name}_{table}")
        names += [name, f"{name}_named", f"{name}_above"]
    for ours in ("orders", "copied"):
        shop.execute(f"ALTER TABLE {ours} ADD COLUMNS (note string)" + (
            " CASCADE" if ours == "orders" else ""))  # fmt: skip
    # In another zone than that of the copy, its timestamps would not be Hive's.
    for ansi in ("false", "true"):
        reader = spark.newSession()
        reader.conf.set("spark.sql.ansi.enabled", ansi)
        with hiveacid.snapshot(reader, hive.metastore_uri, []) as snapshot:
            for name in names:
                sql = f"select * from {database}.{name}_%s"
                frame, copy = snapshot.sql(sql % "orders"), reader.sql(sql % "copied")
                assert frame.schema == copy.schema, (ansi, name)
                assert canonical(frame.collect()) == canonical(copy.collect()), (ansi, name)


def test_views_that_hive_has_stored(
    shop: HiveClient, hive: HiveServer, spark: SparkSession, database: str
) -> None:
    shop.execute("CREATE VIEW hives AS SELECT o.id AS a, o.day FROM orders o WHERE o.id < 3")
    shop.execute(f"CREATE VIEW above (x, y) AS SELECT * FROM {database}.hives")
    with hiveacid.snapshot(spark.newSession(), hive.metastore_uri, []) as snapshot:
        for name in ("hives", "above"):
            rows = snapshot.sql(f"select * from {database}.{name}").collect()
            assert canonical(rows) == canonical(shop.query(f"SELECT * FROM {name}")) != [], name


MODES = ("evolution", "type evolution", "compensation", "binding")


@pytest.mark.skipif(
    not version_of(pyspark.__version__).has_view_schema_modes, reason="Spark 4's syntax"
)
def test_views_whose_columns_follow_the_table(
    hive_client: HiveClient, hive: HiveServer, spark: SparkSession, database: str
) -> None:
    """Spark stores the columns of such a view again when it is read: the guard stays around."""
    hive_client.execute(f"CREATE TABLE narrow (id int, n int) {ACID}")
    hive_client.execute("INSERT INTO narrow VALUES (1, 2)")
    session = spark.newSession()
    with hiveacid.snapshot(session, hive.metastore_uri, []) as snapshot:
        for mode in MODES:
            for name, run in (("guarded", snapshot.sql), ("plain", session.sql)):
                with ungated(session) if name == "plain" else nullcontext():
                    run(
                        f"create view {database}.{name}_{mode.replace(' ', '_')} with schema "
                        f"{mode} as with c as (select * from {database}.narrow) table c"
                    )
    hive_client.execute("ALTER TABLE narrow CHANGE COLUMN n n bigint")
    hive_client.execute("ALTER TABLE narrow ADD COLUMNS (extra string)")
    hive_client.execute("INSERT INTO narrow VALUES (2, 3, 'x')")
    reader = spark.newSession()
    with ungated(reader):
        reader.sql(f"refresh table {database}.narrow")
    with hiveacid.snapshot(reader, hive.metastore_uri, []) as snapshot:
        for mode in MODES:
            for name in ("guarded", "plain", "guarded"):
                view = f"{database}.{name}_{mode.replace(' ', '_')}"
                if mode == "binding":
                    with pytest.raises(AnalysisException, match="CANNOT_UP_CAST_DATATYPE"):
                        snapshot.sql(f"select * from {view}")
                    continue
                frame = snapshot.sql(f"select * from {view}")
                number = "int" if mode == "compensation" else "bigint"
                added = [("extra", "string")] if mode == "evolution" else []
                assert frame.dtypes == [("id", "int"), ("n", number), *added], view
                rows = canonical(frame.select("id", "n").collect())
                assert rows == [("1", "2"), ("2", "3")], view
    for mode in MODES:
        with pytest.raises(AnalysisException, match="hiveacid_snapshot"):
            view = f"{database}.guarded_{mode.replace(' ', '_')}"
            spark.newSession().sql(f"select * from {view}").collect()


def test_a_view_is_stored_as_sparks_own(
    shop: HiveClient, hive: HiveServer, spark: SparkSession, database: str
) -> None:
    session = spark.newSession()
    session.sql(f"use {database}")
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    statement = (
        "create or replace view {view} (a comment 'the key', b, `c d`) comment 'it\\'s one' "
        "tblproperties ('k' = 'v') as select id, amount * 2 as twice, status from {table}"
    )
    with hiveacid.snapshot(session, hive.metastore_uri, []) as snapshot:
        snapshot.sql(f"create table copied using parquet as select * from {database}.orders")
        snapshot.sql(statement.format(view="ours", table="orders"))
        # Again: nothing of the first text may stay.
        snapshot.sql(statement.format(view="ours", table="orders"))
    session.sql(statement.format(view="plain", table="copied"))

    def stored(name: str) -> dict[str, Any]:
        found = table_metadata(session, database, name)
        assert found is not None
        properties = {
            row.key: row.value for row in session.sql(f"show tblproperties {name}").collect()
        }
        return {
            "schema": str(found.schema().json()),
            "comment": str(found.comment()),
            "type": str(found.tableType()),
            "namespace": str(found.viewCatalogAndNamespace()),
            "columns": str(found.viewQueryColumnNames()),
            "provider": str(found.provider()),
            "settings": str(found.viewSQLConfigs()),
            "properties": {
                key: text
                for key, text in properties.items()
                if not key.startswith("hiveacid.") and key != "transient_lastDdlTime"
            },
        }

    assert stored("ours") == stored("plain")
    assert stored("ours")["properties"]["k"] == "v"
    assert "spark.sql.session.timeZone -> Asia/Tokyo" in stored("ours")["settings"]
