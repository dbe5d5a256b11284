"""dbt's other kinds of nodes over ACID sources: snapshots, tests, seeds, hooks, operations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from dbt_common.events.base_types import EventMsg

from integration.support.crash_points import CONFIGS
from integration.support.dbt_project import DbtProject, node_results
from integration.support.differential import NULL, canonical
from integration.support.hive import HiveClient, HiveServer
from integration.support.incremental import EXAMPLES, SCHEMAS
from integration.support.metastore import assert_nothing_held
from integration.support.targets import Tables
from integration.test_dbt_run import once_finished

ORDERS = "{{ source('shop', 'orders') }}"


@pytest.fixture
def project(
    dbt_project: DbtProject, hive_client: HiveClient, database: str
) -> Iterator[DbtProject]:
    """A project on one ACID source, three orders with an update behind them. No lock is left."""
    hive_client.script(
        f"""
        CREATE TABLE {database}.orders (id int, status string, updated_at timestamp)
          STORED AS ORC TBLPROPERTIES ('transactional'='true');
        INSERT INTO {database}.orders VALUES (1, 'new', '2024-11-01 08:00:00'),
          (2, 'open', '2024-11-01 09:00:00'), (3, 'open', '2024-11-01 10:00:00');
        UPDATE {database}.orders SET status = 'open' WHERE id = 1;
        """
    )
    dbt_project.sources("orders")
    yield dbt_project
    assert_nothing_held(hive_client, database)


def statuses(project: DbtProject, *arguments: str) -> dict[str, tuple[str, str]]:
    """Status and message of each node of a command, on one line."""
    return {
        node.node.name: (str(node.status), " ".join(str(node.message).split()))
        for node in node_results(project.invoke(*arguments))
    }


_BY_TIME = "strategy='timestamp', updated_at='updated_at'"
_BY_CHECK = "strategy='check', check_cols=['status']"
SNAPSHOT_EXAMPLE = Path(__file__).parents[1] / "examples" / "snapshots" / "orders_history.yml"
STRATEGIES = {"ignore": _BY_TIME, "invalidate": _BY_CHECK, "new_record": _BY_TIME}
"""A strategy for each form of hard_deletes."""

HISTORIES = [*(("delta", form) for form in STRATEGIES), ("iceberg", "new_record")]

# What each form of hard_deletes leaves of the order 3 once Hive has deleted it: whether the row is
# the current one, and what dbt says of its deletion.
DELETED = {
    "ignore": [("3", "open", "True", NULL)],
    "invalidate": [("3", "open", "False", NULL)],
    "new_record": [("3", "open", "False", "False"), ("3", "open", "True", "True")],
}


def test_a_snapshot_follows_updates_and_deletes(
    project: DbtProject, hive_client: HiveClient, tables: Tables
) -> None:
    """From one run to the next: what Hive writes while a run goes on is for the next one."""
    project.write(SCHEMAS, (EXAMPLES / SCHEMAS).read_text(encoding="utf-8"))
    project.models(gate=f"select count(*) as n from {ORDERS}")
    for name, form in HISTORIES:
        config = f"unique_key='id', {CONFIGS[name]}, hard_deletes='{form}', {STRATEGIES[form]}"
        project.write(
            f"snapshots/{name}_with_{form}.sql",
            f"{{% snapshot {name}_with_{form} %}}{{{{ config({config}) }}}} select * from {ORDERS} "
            "-- {{ ref('gate') }}\n{% endsnapshot %}",
        )
    project.write("snapshots/example.yml", SNAPSHOT_EXAMPLE.read_text(encoding="utf-8"))

    def history(name: str, form: str) -> list[tuple[str, ...]]:
        deletion = "dbt_is_deleted" if form == "new_record" else "null"
        columns = f"id, status, dbt_valid_to is null, {deletion}"
        return tables.rows(columns, f"{name}_with_{form}", name)

    before = canonical(hive_client.query("SELECT id, status FROM orders"))

    def hive_writes() -> None:
        hive_client.execute(
            "UPDATE orders SET status = 'paid', updated_at = '2024-11-02 08:00:00' WHERE id = 2"
        )
        hive_client.execute("DELETE FROM orders WHERE id = 3")
        hive_client.execute("INSERT INTO orders VALUES (4, 'new', '2024-11-02 09:00:00')")

    # It comes before the snapshots, which depend on it.
    project.succeed("build", on_event=once_finished("gate", hive_writes))
    for name, form in HISTORIES:
        kept = "False" if form == "new_record" else NULL
        assert history(name, form) == [(*row, "True", kept) for row in before], (name, form)
    after = canonical(hive_client.query("SELECT id, status FROM orders"))
    assert after == [("1", "open"), ("2", "paid"), ("4", "new")]

    # The second time nothing has changed, so that nothing must be added.
    for _ in range(2):
        project.succeed("snapshot")
        for name, form in HISTORIES:
            kept = "False" if form == "new_record" else NULL
            assert history(name, form) == [
                ("1", "open", "True", kept),
                ("2", "open", "False", kept),
                ("2", "paid", "True", kept),
                *DELETED[form],
                ("4", "new", "True", kept),
            ], (name, form)
        of_the_example = tables.rows("id, status, dbt_valid_to is null, null", "orders_history")
        assert of_the_example == history("delta", "invalidate")


PYTHON_EXAMPLE = Path(__file__).parents[1] / "examples" / "python" / "orders_by_status.py"

PYTHON_MODEL = """
def model(dbt, session):
    seen = dbt.source("shop", "orders").count()

    from integration.support.hive import HiveClient

    with HiveClient({port}) as hive:
        hive.execute("INSERT INTO {database}.orders VALUES (4, 'late', '2024-11-02 09:00:00')")
    dbt.config(materialized="table")
    orders = dbt.source("shop", "orders")
    return orders.selectExpr("id", "upper(status) as status", f"{{seen}} as seen")
"""


# pandas-on-Spark runs what is read before the model returns in a session that is not the model's.
PANDAS_ON_SPARK_MODEL = """
import pyspark.pandas as ps


def model(dbt, session):
    dbt.config(materialized="table")
    orders = dbt.source("shop", "orders").pandas_api()
    found = ps.DataFrame({"id": [1, 2, 5]}).merge(orders[orders["id"] > 1], on="id")
    return found.assign(seen=len(found))
"""


def test_a_python_model_reads_the_runs_snapshot(
    project: DbtProject,
    hive: HiveServer,
    hive_client: HiveClient,
    tables: Tables,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # pandas-on-Spark sets it, too, and warns that it was not.
    monkeypatch.setenv("PYARROW_IGNORE_TIMEZONE", "1")
    project.write("models/with_pandas.py", PANDAS_ON_SPARK_MODEL)
    code = PYTHON_MODEL.format(port=hive.hs2_port, database=database)
    project.write("models/by_python.py", code)
    project.write("models/example.py", PYTHON_EXAMPLE.read_text(encoding="utf-8"))
    expected = canonical(hive_client.query(f"SELECT id, upper(status), 3 FROM {database}.orders"))
    nodes = {n.node.name: n for n in node_results(project.succeed("run"))}
    node = nodes["by_python"]
    assert tables.rows("id, status, seen", "with_pandas") == [("2", "open", "1")]
    # All models see three open orders, whatever Hive has committed by now.
    assert tables.rows("*", "example") == [("open", "3")]
    assert tables.rows("id, status, seen", "by_python") == expected
    assert node.adapter_response["rows_affected"] == 3
    assert node.adapter_response["snapshot"] == {f"{database}.orders": 2}
    assert ("4", "late") in canonical(
        hive_client.query(f"SELECT id, status FROM {database}.orders")
    )


SOURCE_TESTS = """
sources:
  - name: shop
    schema: {database}
    loaded_at_field: updated_at
    freshness:
      warn_after: {{count: 1, period: day}}
      error_after: {{count: 36500, period: day}}
    tables:
      - name: orders
        columns:
          - name: id
            data_tests: [unique, not_null]
          - name: status
            data_tests:
              - accepted_values:
                  name: all_paid
                  arguments: {{values: [paid]}}
                  config: {{store_failures: true, store_failures_as: {form}}}
"""


def test_a_tests_failures_are_stored_as_a_table(
    project: DbtProject, tables: Tables, database: str, hive_client: HiveClient
) -> None:
    project.write("models/sources.yml", SOURCE_TESTS.format(database=database, form="table"))
    try:
        found = statuses(project, "test")
        assert {name: status for name, (status, _) in found.items()} == {
            "all_paid": "fail",
            "source_unique_shop_orders_id": "pass",
            "source_not_null_shop_orders_id": "pass",
        }
        assert found["all_paid"][1] == "Got 1 result, configured to fail if != 0"
        audit = Tables(tables._spark, f"{database}_dbt_test__audit")
        assert audit.rows("*", "all_paid") == [("open", "3")]
    finally:
        hive_client.execute(f"DROP DATABASE IF EXISTS {database}_dbt_test__audit CASCADE")


def test_a_tests_failures_are_stored_as_a_view(
    project: DbtProject, database: str, hive_client: HiveClient
) -> None:
    show = ("show", "--inline", f"select * from {database}_dbt_test__audit.all_paid")
    try:
        for form in ("view", "table", "view", "view"):
            project.write("models/sources.yml", SOURCE_TESTS.format(database=database, form=form))
            found = statuses(project, "test", "--select", "all_paid")
            assert found == {"all_paid": ("fail", "Got 1 result, configured to fail if != 0")}, form
            (node,) = node_results(project.succeed(*show))
            assert [tuple(row) for row in node.agate_table.rows] == [("open", 3)], form
        # A view shows what fails now.
        hive_client.execute("UPDATE orders SET status = 'paid'")
        (node,) = node_results(project.succeed(*show))
        assert len(node.agate_table.rows) == 0
        assert statuses(project, "test", "--select", "all_paid")["all_paid"][0] == "pass"
    finally:
        hive_client.execute(f"DROP DATABASE IF EXISTS {database}_dbt_test__audit CASCADE")


@pytest.mark.parametrize(
    "loaded_at",
    ["field: updated_at", 'query: "select max(o.updated_at) from {{ this }} o where o.id < 9"'],
)
def test_freshness_of_a_source(project: DbtProject, database: str, loaded_at: str) -> None:
    text = SOURCE_TESTS.format(database=database, form="table")
    project.write("models/sources.yml", text.replace("field: updated_at", loaded_at))
    (result,) = node_results(project.invoke("source", "freshness"))
    assert result.max_loaded_at.strftime("%Y-%m-%d %H:%M:%S") == "2024-11-01 10:00:00"
    assert str(result.status) == "warn"


def test_seeds_and_ephemeral_models_join_a_source(project: DbtProject, tables: Tables) -> None:
    project.write("seeds/names.csv", "status,name\nopen,Offen\nnew,Neu\n")
    ephemeral = "{{ config(materialized='ephemeral') }}"
    project.models(
        stg_orders=f"{ephemeral} select id, status from {ORDERS}",
        late_orders=f"{ephemeral} select * from {{{{ ref('stg_orders') }}}} where id > 1",
        named="select id, name from {{ ref('late_orders') }} join {{ ref('names') }} "
        "using (status) join (select count(*) as n from {{ ref('stg_orders') }}) on n = 3",
    )
    project.succeed("build")
    assert tables.rows("*", "named") == [("2", "Offen"), ("3", "Offen")]


def test_a_unit_test_of_a_model_over_a_source(project: DbtProject) -> None:
    changes = f"{{{{ acid_changes({ORDERS.strip('{ }')}) }}}}"
    project.models(
        paid=f"select id from {ORDERS} where status = 'paid'",
        changed="{{ config(materialized='incremental', incremental_strategy='acid_changes', "
        f"unique_key='id') }}}} select id, _change_type, _write_id from {changes} c",
    )
    project.write(
        "models/unit.yml",
        """
unit_tests:
  - name: only_paid
    model: paid
    given:
      - input: source('shop', 'orders')
        rows:
          - {id: 7, status: paid, updated_at: 2024-11-01 08:00:00}
          - {id: 8, status: open}
    expect:
      rows: [{id: 7}]
  - name: wrong
    model: paid
    given:
      - input: source('shop', 'orders')
        rows: [{id: 9, status: paid}]
    expect:
      rows: [{id: 10}]
  - name: changes
    model: changed
    given:
      - input: source('shop', 'orders')
        rows: [{id: 7, status: paid}]
    expect:
      rows: [{id: 7, _change_type: insert, _write_id: null}]
""",
    )
    found = statuses(project, "test", "--select", "test_type:unit")
    assert {name: status for name, (status, _) in found.items()} == {
        "only_paid": "pass",
        "wrong": "fail",
        "changes": "pass",
    }


def test_hooks_read_a_source(
    project: DbtProject, hive_client: HiveClient, tables: Tables, database: str
) -> None:
    hive_client.execute("CREATE TABLE notes (hook string, sources bigint, targets bigint)")
    note = (
        f"insert into {database}.notes select '%s', n, m from (select count(*) as n from {ORDERS}) "
        f"cross join (select count(*) as m from {database}.copied)"
    )
    hooks = f"pre_hook={note % 'pre'!r}, post_hook={note % 'post'!r}"
    project.models(copied=f"select * from {ORDERS}")
    project.succeed("run")
    # From now on the target is read before and after it is replaced, in the same run.
    project.models(copied=f"{{{{ config({hooks}) }}}} select * from {ORDERS}")
    project.write(
        "dbt_project.yml",
        (project.path / "dbt_project.yml").read_text()
        + f'on-run-start: "{note % "start"}"\non-run-end: "{note % "end"}"\n',
    )
    hive_client.execute("INSERT INTO orders VALUES (4, 'new', '2024-11-02 09:00:00')")
    # The hook at the end comes after the last node.
    project.add_target("held", database, hold_until="run_end")
    project.succeed("run", "--target", "held")
    assert tables.rows("*", "notes") == [
        ("end", "4", "4"),
        ("post", "4", "4"),
        ("pre", "4", "3"),
        ("start", "4", "3"),
    ]


COUNT_ORDERS = """
{% macro count_orders(database) %}
  {% set orders = source('shop', 'orders') %}
  {% set counted = run_query('select count(*), sum(id) from ' ~ orders).rows[0] %}
  {% do log('rows ' ~ counted[0] ~ ' ' ~ counted[1], info=true) %}
  {% set columns = adapter.get_columns_in_relation(orders) | map(attribute='name') %}
  {% do log('columns ' ~ columns | join(' '), info=true) %}
  {% set plain = adapter.get_relation(none, database, 'orders') %}
  {% do log('plain ' ~ plain ~ ' ' ~ plain.type, info=true) %}
  {% set counted = run_query('select count(*) from ' ~ plain).rows[0] %}
  {% do log('counted ' ~ counted[0], info=true) %}
{% endmacro %}
"""


def test_an_operation_reads_a_source(project: DbtProject, database: str) -> None:
    project.write("macros/count_orders.sql", COUNT_ORDERS)
    said: list[str] = []
    errors: list[str] = []

    def listen(event: EventMsg) -> None:
        if event.info.name == "JinjaLogInfo":
            said.append(event.data.msg)
        if event.info.level == "error":
            errors.append(event.info.msg)  # type: ignore[attr-defined]

    command = ("run-operation", "count_orders", "--args", f"{{database: {database}}}")
    project.succeed(*command, on_event=listen)
    assert said == [
        "rows 3 6",
        "columns id status updated_at",
        f"plain {database}.orders table",
        "counted 3",
    ]
    assert errors == []


def test_incremental_models_over_a_source(
    project: DbtProject, hive_client: HiveClient, tables: Tables
) -> None:
    since = (
        "{% if is_incremental() %} where updated_at > (select max(updated_at) from {{ this }}) "
        "{% endif %}"
    )
    project.models(
        appended="{{ config(materialized='incremental', incremental_strategy='append') }} "
        f"select * from {ORDERS} {since}",
        merged="{{ config(materialized='incremental', incremental_strategy='merge', "
        f"file_format='delta', unique_key='id') }}}} select * from {ORDERS} {since}",
    )
    project.succeed("run")
    hive_client.execute(
        "UPDATE orders SET status = 'paid', updated_at = '2024-11-02 08:00:00' WHERE id = 2"
    )
    hive_client.execute("INSERT INTO orders VALUES (4, 'new', '2024-11-02 09:00:00')")
    project.succeed("run")
    project.succeed("run")
    assert tables.rows("id, status", "appended") == [
        ("1", "open"),
        ("2", "open"),
        ("2", "paid"),
        ("3", "open"),
        ("4", "new"),
    ]
    assert tables.rows("id, status", "merged") == [
        ("1", "open"),
        ("2", "paid"),
        ("3", "open"),
        ("4", "new"),
    ]
