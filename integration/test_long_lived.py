"""Tools that live longer than a dbt command: they make an adapter once, and execute statements."""

from __future__ import annotations

import threading
import time
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

import pytest
from dbt.adapters.factory import FACTORY, get_adapter_by_type, reset_adapters
from dbt.cli.flags import Flags
from dbt.cli.types import Command
from dbt.config import RuntimeConfig
from dbt.context.providers import generate_runtime_macro_context
from dbt.context.query_header import generate_query_header_context
from dbt.contracts.graph.manifest import Manifest
from dbt.flags import set_flags, set_from_args
from dbt.mp_context import get_mp_context
from dbt.task.run import RunTask
from dbt_common.clients.system import get_env
from dbt_common.context import set_invocation_context
from dbt_common.events.base_types import EventMsg
from dbt_common.events.event_manager_client import get_event_manager

from dbt.adapters.hiveacid import HiveAcidAdapter
from hiveacid.errors import SnapshotEndedError
from integration.support.dbt_project import SLOW, DbtProject, finished
from integration.support.hive import HiveClient
from integration.support.metastore import assert_nothing_held, locks_of_dbt

COUNT_TWICE = """
{% macro count_twice(source) %}
  {% set found = [] %}
  {% for i in range(2) %}
    {% do found.append(run_query('select count(*) from ' ~ source).rows[0][0] | int) %}
  {% endfor %}
  {{ return(found) }}
{% endmacro %}
"""


@pytest.fixture
def project(
    dbt_project: DbtProject, hive_client: HiveClient, database: str
) -> Iterator[DbtProject]:
    """A project over one source of two rows. Whatever a test does, no lock is left."""
    hive_client.script(
        f"""
        CREATE TABLE {database}.orders (id int) STORED AS ORC
          TBLPROPERTIES ('transactional'='true');
        INSERT INTO {database}.orders VALUES (1), (2);
        """
    )
    dbt_project.sources("orders")
    dbt_project.write("macros/count_twice.sql", COUNT_TWICE)
    dbt_project.models(
        first="select count(*) as n from {{ source('shop', 'orders') }}",
        second="select count(*) as n from {{ source('shop', 'orders') }} -- {{ ref('first') }}",
    )
    yield dbt_project
    assert_nothing_held(hive_client, database)


class Tool:
    """An adapter made as dbt-core-interface, dbt-osmosis and Power User make theirs."""

    def __init__(self, project: DbtProject) -> None:
        manifest = project.succeed("parse").result
        assert isinstance(manifest, Manifest)
        set_invocation_context(get_env())
        paths = {"project_dir": str(project.path), "profiles_dir": str(project.path)}
        args = Namespace(
            **paths,
            profile=None,
            target=None,
            vars={},
            threads=None,
            which="tool",
            single_threaded=False,
        )
        set_from_args(args, None)
        self.config = RuntimeConfig.from_args(args)
        self.manifest = manifest
        self.adapter: Any = HiveAcidAdapter(self.config, get_mp_context())
        self.adapter.set_macro_resolver(manifest)
        generator: Any = generate_runtime_macro_context
        self.adapter.set_macro_context_generator(generator)
        self.adapter.connections.set_query_header(
            generate_query_header_context(self.config, manifest)
        )
        self.adapter.connections.set_connection_name("tool")

    @property
    def orders(self) -> str:
        """The source as it is rendered in SQL."""
        (source,) = self.manifest.sources.values()
        return str(self.adapter.Relation.create_from(self.config, source))

    def count(self, join: str = "") -> int:
        """Execute a query, on the connection that this thread has."""
        return _number(self.adapter, f"select count(*) from {self.orders} {join}")


def _number(adapter: Any, sql: str) -> int:
    _, table = adapter.execute(sql, auto_begin=False, fetch=True)
    return int(table.rows[0][0])


@pytest.fixture
def tool(project: DbtProject) -> Iterator[Tool]:
    """A tool that never cleans up its connections while a test runs."""
    reset_adapters()
    tool = Tool(project)
    FACTORY.adapters["hiveacid"] = tool.adapter
    yield tool
    reset_adapters()


def test_each_statement_sees_what_is_new_and_nothing_is_held_in_between(
    tool: Tool, hive_client: HiveClient, database: str
) -> None:
    assert tool.count() == 2
    assert_nothing_held(hive_client, database)
    hive_client.execute("INSERT INTO orders VALUES (3)")
    assert tool.count() == 3
    hive_client.execute("DROP TABLE orders")
    hive_client.script(
        """
        CREATE TABLE orders (id bigint, item string) STORED AS ORC
          TBLPROPERTIES ('transactional'='true');
        INSERT INTO orders VALUES (7, 'x');
        """
    )
    assert tool.count() == 1, "of the table that is there now"
    columns = tool.adapter.get_columns_in_relation(
        tool.adapter.Relation.create(schema=database, identifier="orders")
    )
    assert [column.name for column in columns] == ["id", "item"]


@pytest.mark.parametrize("end", ["release", "clear_thread_connection", "cleanup_all"])
def test_rows_that_are_fetched_later_are_held_until_the_connection_goes(
    tool: Tool, hive_client: HiveClient, database: str, end: str
) -> None:
    _, cursor = tool.adapter.add_query(f"select id from {tool.orders} order by id", False)
    hive_client.execute("DELETE FROM orders WHERE id = 2")
    assert {lock["table"] for lock in locks_of_dbt(hive_client, database)} == {"orders"}
    assert [row[0] for row in cursor.fetchall()] == [1, 2]
    getattr(tool.adapter.connections, end)()
    assert_nothing_held(hive_client, database)
    with tool.adapter.connection_named("tool"):
        assert tool.count() == 1


def test_statements_at_the_same_time_have_snapshots_of_their_own(
    tool: Tool, hive_client: HiveClient, database: str
) -> None:
    counts: list[int] = []

    def slowly() -> None:
        with tool.adapter.connection_named("slow"):
            # In one task: the other statement needs the second core.
            slow = f"(select {SLOW} as s from range(0, 40, 1, 1))"
            counts.append(tool.count(f"join {slow} where length(s) >= 0"))

    thread = threading.Thread(target=slowly)
    thread.start()
    while thread.is_alive() and not locks_of_dbt(hive_client, database):
        time.sleep(0.1)
    hive_client.execute("INSERT INTO orders VALUES (3)")
    assert tool.count() == 3
    assert thread.is_alive() and not counts
    assert len(locks_of_dbt(hive_client, database)) == 1, "the other one's"
    thread.join()
    assert counts == [2 * 40]


def test_a_temporary_view_of_an_earlier_statement_is_refused(tool: Tool, database: str) -> None:
    tool.adapter.execute(f"create temporary view seen as select * from {tool.orders}")
    with pytest.raises(SnapshotEndedError, match=rf"A temporary view shows {database}.orders as"):
        tool.adapter.execute("select * from seen", fetch=True)


def test_a_macro_reads_one_snapshot(tool: Tool) -> None:
    found = tool.adapter.execute_macro("count_twice", kwargs={"source": tool.orders})
    assert found == [2, 2]


def test_nodes_that_a_tool_runs_by_itself_share_a_snapshot(
    tool: Tool, hive_client: HiveClient, database: str
) -> None:
    def listen(event: EventMsg) -> None:
        if finished(event, "first"):
            hive_client.execute("INSERT INTO orders VALUES (3)")

    get_event_manager().add_callback(listen)
    given = {
        "project_dir": tool.config.project_root,
        "profiles_dir": tool.config.project_root,
        "send_anonymous_usage_stats": False,
    }
    flags = Flags.from_dict(Command.RUN, given)
    set_flags(flags)
    RunTask(flags, RuntimeConfig.from_args(flags), tool.manifest).run()
    with tool.adapter.connection_named("tool"):
        for model in ("first", "second"):
            assert _number(tool.adapter, f"select n from {database}.{model}") == 2
        assert tool.count() == 3


def test_an_adapter_that_a_command_has_left_sees_what_is_new(
    project: DbtProject, hive_client: HiveClient, database: str
) -> None:
    """As in a notebook: `dbtRunner().invoke(…)`, then a look at the rows."""
    project.succeed("run")
    adapter: Any = get_adapter_by_type("hiveacid")
    manifest = adapter.get_macro_resolver()
    (source,) = manifest.sources.values()
    for rows in (3, 4):
        hive_client.execute(f"INSERT INTO orders VALUES ({rows})")
        with adapter.connection_named("notebook"):
            orders = adapter.Relation.create_from(adapter.config, source)
            assert _number(adapter, f"select count(*) from {orders}") == rows
        assert_nothing_held(hive_client, database)
    project.succeed("run")
    assert [int(n) for (n,) in hive_client.query("SELECT n FROM second")] == [4]
