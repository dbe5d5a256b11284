"""Statements of dbt read ACID tables by their own names; what they show is what Hive shows."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from hiveacid.sql.clauses import render_read
from integration.support.dbt_project import DbtProject, node_results
from integration.support.differential import canonical
from integration.support.hive import HiveClient
from integration.support.metastore import assert_nothing_held
from integration.support.targets import Tables

ORDERS = "{{ source('shop', 'orders') }}"
OPTIMIZED = {"read": "optimized"}


@pytest.fixture
def project(
    dbt_project: DbtProject, hive_client: HiveClient, database: str
) -> Iterator[DbtProject]:
    """A project on a table in which Spark alone sees no row, and a Hive view."""
    hive_client.script(
        f"""
        CREATE TABLE {database}.orders (id int, status string)
          STORED AS ORC TBLPROPERTIES ('transactional'='true');
        INSERT INTO {database}.orders VALUES (1, 'new'), (2, 'open'), (3, 'open');
        DELETE FROM {database}.orders WHERE id = 2;
        CREATE VIEW {database}.open_orders AS
          SELECT id, upper(status) AS status FROM {database}.orders WHERE status = 'open';
        """
    )
    dbt_project.sources("orders")
    yield dbt_project
    assert_nothing_held(hive_client, database)


def test_any_transactional_table_is_read_by_its_name(
    project: DbtProject, hive_client: HiveClient, database: str, tables: Tables
) -> None:
    name = f"{database}.orders"
    project.models(
        declared=f"select orders.id, orders.status from {ORDERS}",
        direct=f"select {name}.id, status from {name}",
        subquery=f"select id, status from {name} where id in (select max(id) from {name})",
        with_clause=f"with orders as (select * from {name}) select * from orders",
        through_view=f"select * from {database}.open_orders",
        relation="select * from {{ adapter.get_relation(none, target.schema, 'orders') }}",
    )
    project.succeed("run")
    rows = canonical(hive_client.query(f"SELECT id, status FROM {name} ORDER BY id"))
    last = canonical(hive_client.query(f"SELECT id, status FROM {name} ORDER BY id DESC LIMIT 1"))
    view = canonical(hive_client.query(f"SELECT id, status FROM {database}.open_orders"))
    expected = {
        "declared": rows,
        "direct": rows,
        "subquery": last,
        "with_clause": rows,
        "through_view": view,
        "relation": rows,
    }
    shown = {model: tables.rows("id, status", model) for model in expected}
    assert shown == expected
    compiled = (project.path / "target/compiled/test/models/declared.sql").read_text()
    assert compiled.strip() == f"select orders.id, orders.status from {name}"


def test_earlier_instants_and_changes_in_models(
    project: DbtProject, hive_client: HiveClient, database: str, tables: Tables
) -> None:
    first = canonical(hive_client.query(f"SELECT id, status FROM {database}.orders ORDER BY id"))
    between = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() + 1))
    time.sleep(2)
    hive_client.execute(f"INSERT INTO {database}.orders VALUES (4, 'late')")
    project.models(
        now=f"select id, status from {ORDERS}",
        before=f"select id, status from {ORDERS} version as of 2",
        at_time=f"select id, status from {ORDERS} timestamp as of '{between}'",
        compacted=f"select id, status from {render_read(f'{database}.orders', OPTIMIZED)}",
        called=f"select orders.id, status from acid_table('{database}.orders') union all "
        f"select o.id, status from acid_table('{database}.orders', read => 'optimized') o",
        changed=f"select id, _change_type as status from table_changes('{database}.orders', 1, 3)",
    )
    project.succeed("run")
    shown = {
        model: tables.rows("id, status", model)
        for model in ("now", "before", "at_time", "compacted", "called", "changed")
    }
    assert shown == {
        "now": canonical(
            hive_client.query(f"SELECT id, status FROM {database}.orders ORDER BY id")
        ),
        "before": first,
        "at_time": first,
        "compacted": [],
        "called": canonical(hive_client.query(f"SELECT id, status FROM {database}.orders")),
        "changed": [("2", "delete"), ("4", "insert")],
    }

    # The whole run at an earlier time; a version that never was.
    project.add_target("earlier", database, as_of=between)
    project.succeed("run", "--select", "now", "--target", "earlier")
    assert tables.rows("id, status", "now") == first
    project.models(wrong=f"select * from {ORDERS} version as of 99 -- {between}")
    (node,) = node_results(project.invoke("run", "--select", "wrong"))
    assert f"{database}.orders has no write id 99 in this snapshot" in node.message


def test_rows_and_files_of_a_transactional_table_are_not_changed_by_spark(
    project: DbtProject, hive_client: HiveClient, database: str
) -> None:
    before = hive_client.query(f"SELECT * FROM {database}.orders ORDER BY id")
    project.models(
        m="{{ config(pre_hook='insert into ' ~ target.schema ~ '.orders values (9, 1)') }} "
        "select 1 as a"
    )
    (node,) = node_results(project.invoke("run"))
    assert f"{database}.orders is a transactional Hive table. Spark would change" in node.message
    assert hive_client.query(f"SELECT * FROM {database}.orders ORDER BY id") == before
