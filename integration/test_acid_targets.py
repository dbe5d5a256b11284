"""dbt's targets as Hive ACID tables (`file_format: acid`): every row as Hive shows it."""

from __future__ import annotations

import csv
import io
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from integration.support.dbt_project import DbtProject, failures, node_results
from integration.support.hive import HiveClient, HiveServer
from integration.support.metastore import assert_nothing_held

ORDERS = "{{ source('shop', 'orders') }}"
EXAMPLES = Path(__file__).parents[1] / "examples" / "acid"


def model(sql: str, **config: Any) -> str:
    """A model whose target is a Hive ACID table."""
    settings = {"materialized": "table", "file_format": "acid", **config}
    return f"{{{{ config(**{settings!r}) }}}}\n{sql}"


@pytest.fixture
def project(
    dbt_project: DbtProject, hive_client: HiveClient, database: str
) -> Iterator[DbtProject]:
    """A project on one ACID source of three orders. No lock is left."""
    hive_client.script(
        f"""
        CREATE TABLE {database}.orders (id int, country string, amount decimal(8,2))
          STORED AS ORC TBLPROPERTIES ('transactional'='true');
        INSERT INTO {database}.orders VALUES (1, 'uk', 10), (2, 'us', 20), (3, 'uk', 5);
        UPDATE {database}.orders SET amount = 11 WHERE id = 1;
        """
    )
    dbt_project.sources("orders")
    yield dbt_project
    assert_nothing_held(hive_client, database)


def shown(hive: HiveClient, table: str, columns: str = "*") -> list[tuple[Any, ...]]:
    """The rows that Hive shows, vectorized and fetched."""
    answers = []
    for fetched in ("none", "more"):
        hive.execute(f"SET hive.fetch.task.conversion={fetched}")
        answers.append(sorted(hive.query(f"SELECT {columns} FROM {table}"), key=repr))
    assert answers[0] == answers[1]
    return answers[0]


def test_tables_are_built_rebuilt_and_replaced(
    project: DbtProject, hive_client: HiveClient, database: str
) -> None:
    """Later models read them in the run that wrote them; Hive updates and compacts them."""
    project.models(
        big=model(f"select id, country, amount from {ORDERS} where amount > 5"),
        daily=model(
            "select country, count(*) as n from {{ ref('big') }} group by country",
            partition_by="country",
            acid_kind="insert_only",
            acid_storage="parquet",
        ),
        seen="{{ config(materialized='view') }} select * from {{ ref('big') }}",
    )
    project.write(
        "models/big.yml",
        "models: [{name: big, columns: [{name: id, data_tests: [unique, not_null]}]}]",
    )
    project.succeed("build")
    assert [row[:2] for row in shown(hive_client, "big")] == [(1, "uk"), (2, "us")]
    assert shown(hive_client, "daily") == [(1, "uk"), (1, "us")]
    hive_client.execute("UPDATE big SET country = 'fr' WHERE id = 2")
    hive_client.execute("INSERT INTO big VALUES (9, 'xx', 1)")
    assert [row[:2] for row in shown(hive_client, "big")] == [(1, "uk"), (2, "fr"), (9, "xx")]
    hive_client.compact("big", "major", cleaned=True)
    project.succeed("run")
    assert [row[:2] for row in shown(hive_client, "big")] == [(1, "uk"), (2, "us")]

    # Other columns: another table takes its place.
    project.models(big=model(f"select id, amount, country as land from {ORDERS}"))
    project.models(daily=model("select land, count(*) as n from {{ ref('big') }} group by land"))
    project.succeed("run")
    assert [row[0] for row in shown(hive_client, "big")] == [1, 2, 3]
    assert shown(hive_client, "daily") == [("uk", 2), ("us", 1)]
    assert [name for (name,) in hive_client.query("SHOW TABLES") if "__" in name] == []
    # dbt reads them as it reads sources.
    result = project.succeed("show", "--inline", "select * from {{ ref('big') }}", "--quiet")
    assert len(node_results(result)[0].agate_table.rows) == 3
    project.succeed("docs", "generate")
    nodes = project.artifact("catalog.json")["nodes"]
    assert list(nodes["model.test.big"]["columns"]) == ["id", "amount", "land"]


def test_a_view_and_a_plain_table_become_acid_tables(
    project: DbtProject, hive_client: HiveClient, database: str
) -> None:
    sql = f"select id from {ORDERS}"
    project.models(
        was_view="{{ config(materialized='view') }} " + sql,
        was_plain="{{ config(file_format='orc') }} " + sql,
    )
    project.succeed("run")
    project.models(was_view=model(sql), was_plain=model(sql))
    project.succeed("run")
    for name in ("was_view", "was_plain"):
        hive_client.execute(f"DELETE FROM {name} WHERE id = 1")
        assert shown(hive_client, name) == [(2,), (3,)]
    assert [name for (name,) in hive_client.query("SHOW TABLES") if "__" in name] == []


def test_changes_of_an_acid_target_are_followed(
    project: DbtProject, hive_client: HiveClient, database: str
) -> None:
    project.models(
        mart=model(
            f"select id, amount from {ORDERS}",
            materialized="incremental",
            incremental_strategy="merge",
            unique_key="id",
        ),
        copy="{{ config(materialized='incremental', incremental_strategy='acid_changes', "
        "unique_key='id', file_format='delta') }} "
        "select id, amount from {{ acid_changes(ref('mart')) }}",
    )
    project.succeed("run")
    hive_client.execute("UPDATE orders SET amount = 50 WHERE id = 2")
    hive_client.execute("DELETE FROM mart WHERE id = 3")
    project.succeed("run")
    result = project.succeed("show", "--inline", "select * from {{ ref('copy') }} order by id")
    rows = [tuple(row) for row in node_results(result)[0].agate_table.rows]
    assert [(int(id_), float(amount)) for id_, amount in rows] == [
        (id_, float(amount)) for id_, amount in shown(hive_client, "mart")
    ]


INCREMENTAL: dict[str, dict[str, Any]] = {
    "append": {},
    "merge": {"unique_key": "id"},
    "delete+insert": {"unique_key": ["id"]},
    "insert_overwrite": {"partition_by": "country"},
}


def table_of(strategy: str) -> str:
    """The model of a strategy."""
    return f"by_{strategy.replace('+', '_')}"


def test_incremental_strategies(
    project: DbtProject, hive_client: HiveClient, database: str
) -> None:
    for strategy, config in INCREMENTAL.items():
        name = table_of(strategy)
        project.models(
            **{
                name: model(
                    f"select id, amount, country from {ORDERS} "
                    "{% if is_incremental() %} where amount > "
                    "(select max(amount) from {{ this }}) {% endif %}",
                    materialized="incremental",
                    incremental_strategy=strategy,
                    **config,
                )
            }
        )
    project.models(**{path.stem: path.read_text() for path in EXAMPLES.glob("*.sql")})
    project.succeed("run")
    first = [(1, "uk", "11.00"), (2, "us", "20.00"), (3, "uk", "5.00")]

    def rows(name: str) -> list[tuple[Any, ...]]:
        found = shown(hive_client, table_of(name), "id, country, amount")
        return [(*row[:2], str(row[2])) for row in found]

    for strategy in INCREMENTAL:
        assert rows(strategy) == first
    hive_client.execute("UPDATE orders SET amount = 30, country = 'uk' WHERE id = 2")
    hive_client.execute("INSERT INTO orders VALUES (4, 'us', 40)")
    project.succeed("run")
    new = [(2, "uk", "30.00"), (4, "us", "40.00")]
    assert rows("append") == sorted([*first, *new])
    by_key = sorted([first[0], *new, first[2]])
    assert rows("merge") == by_key
    assert rows("delete+insert") == by_key
    assert rows("insert_overwrite") == sorted(new)
    assert [row[0] for row in shown(hive_client, "newest_orders")] == [1, 2, 3, 4]


def test_snapshots_seeds_python_models_and_failures(
    project: DbtProject, hive_client: HiveClient, database: str
) -> None:
    project.write(
        "snapshots/history.yml",
        f"""
snapshots:
  - name: history
    relation: source('shop', 'orders')
    config:
      schema: {database}
      file_format: acid
      unique_key: id
      strategy: check
      check_cols: [amount]
      hard_deletes: invalidate
""",
    )
    project.write(
        "macros/schema.sql",
        "{% macro generate_schema_name(a, b) %}{{ target.schema }}{% endmacro %}",
    )
    lines = io.StringIO()
    csv.writer(lines).writerows([("code", "name"), ("uk", "Kingdom"), ("us", "States")])
    project.write("seeds/countries.csv", lines.getvalue())
    project.write("seeds/empty.csv", "code,name\n")
    project.write(
        "seeds/seeds.yml",
        "seeds: [{name: countries, config: {file_format: acid}}, {name: empty, config: "
        "{file_format: acid, column_types: {code: string, name: string}}}]",
    )
    project.write(
        "models/py.py",
        "def model(dbt, session):\n"
        "    dbt.config(materialized='table', file_format='acid')\n"
        "    return dbt.ref('countries')\n",
    )
    project.write(
        "tests/big.sql",
        "{{ config(store_failures=true, file_format='acid', schema='x', severity='warn') }}"
        f"select id from {ORDERS} where amount > 10",
    )
    project.succeed("build")
    assert shown(hive_client, "countries", "code, name") == [("uk", "Kingdom"), ("us", "States")]
    assert hive_client.query("SELECT count(*) FROM empty") == [(0,)]
    assert shown(hive_client, "py") == [("uk", "Kingdom"), ("us", "States")]
    assert shown(hive_client, "big") == [(1,), (2,)]
    assert [row[0] for row in shown(hive_client, "history", "id, dbt_valid_to")] == [1, 2, 3]
    hive_client.execute("DELETE FROM orders WHERE id = 3")
    hive_client.execute("UPDATE orders SET amount = 21 WHERE id = 2")
    project.succeed("build")
    found = shown(hive_client, "history", "id, cast(amount as string), dbt_valid_to is null")
    assert found == [
        (1, "11.00", True),
        (2, "20.00", False),
        (2, "21.00", True),
        (3, "5.00", False),
    ]


def test_columns_comments_conflicts_and_refusals(
    project: DbtProject, hive: HiveServer, hive_client: HiveClient, database: str
) -> None:
    sql = f"select id, country from {ORDERS}"
    config = {
        "materialized": "incremental",
        "incremental_strategy": "merge",
        "unique_key": "id",
        "on_schema_change": "append_new_columns",
        "persist_docs": {"relation": True, "columns": True},
    }
    project.models(grown=model(sql, **config))
    project.write(
        "models/grown.yml",
        "models: [{name: grown, description: All orders, columns: [{name: id, description: Key}]}]",
    )
    project.succeed("run")
    project.models(grown=model(sql.replace("country", "country, amount"), **config))
    project.succeed("run")
    assert [row[:2] for row in shown(hive_client, "grown")] == [(1, "uk"), (2, "us"), (3, "uk")]
    described = {row[0].strip(): row[2] for row in hive_client.query("DESCRIBE grown")}
    assert described["id"] == "Key" and "amount" in described

    # Hive writes into the target while the model computes from what it has read of it.
    project.write(
        "models/raced.py",
        "def model(dbt, session):\n"
        "    dbt.config(materialized='incremental', file_format='acid')\n"
        "    if dbt.is_incremental:\n"
        "        seen = session.table(str(dbt.this)).count()\n"
        f"        open({str(project.path / 'seen')!r}, 'w').close()\n"
        f"        while not __import__('os').path.exists({str(project.path / 'go')!r}):\n"
        "            __import__('time').sleep(0.1)\n"
        "    return session.sql('select 1 as id')\n",
    )
    project.succeed("run", "--select", "raced")

    def insert() -> None:
        while not (project.path / "seen").exists():
            time.sleep(0.1)
        with HiveClient(hive.hs2_port, log=hive.log) as other:
            other.execute(f"INSERT INTO {database}.raced VALUES (2)")
        (project.path / "go").touch()

    thread = threading.Thread(target=insert)
    thread.start()
    result = project.invoke("run", "--select", "raced")
    thread.join()
    assert "HIVEACID_WRITE_CONFLICT" in failures(result)
    assert shown(hive_client, "raced") == [(1,), (2,)]

    project.models(
        orders=model("select 1 as id"),
        wrong=model("select 1 as id", acid_kind="some", location_root="/x", acid_storage="parquet"),
    )
    result = project.invoke("run", "--select", "orders", "wrong")
    messages = failures(result)
    assert "HIVEACID_TARGET_NOT_OF_DBT" in messages
    assert "`acid_kind` must be one of full, insert_only" in messages
    assert "`location_root` is not for Hive ACID tables" in messages
    assert len(shown(hive_client, "orders")) == 3
