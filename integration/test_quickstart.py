"""The quickstart's project under each of dbt's commands, and its story in the terminal."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from examples.quickstart.__main__ import MARTS, PROJECT, SHIPMENT_STATES, SOURCES, environment
from integration.support.dbt_project import DbtDirectory, failures, node_results, small_jvm
from integration.support.differential import canonical
from integration.support.hive import HiveClient, HiveServer
from integration.support.metastore import assert_nothing_held

#: The marts as Hive itself computes them.
MARTS_BY_HIVE = {
    "customer_orders": """
        SELECT c.customer_id, c.name, upper(c.country),
               count(o.order_id), coalesce(sum(o.amount), 0)
        FROM shop.customers c
        LEFT JOIN (SELECT * FROM shop.orders WHERE status <> 'test') o
          ON c.customer_id = o.customer_id
        GROUP BY c.customer_id, c.name, upper(c.country)
    """,
    "daily_revenue": """
        SELECT order_date, count(*), sum(amount) FROM shop.orders
        WHERE status NOT IN ('test', 'cancelled') GROUP BY order_date
    """,
    "event_log": "SELECT event_id, customer_id, kind, happened_at FROM shop.events",
    "shipment_states": SHIPMENT_STATES,
}

STORY_SECONDS = 600
"""The story starts a Hive and five Sparks: two minutes on an idle machine, more on a busy one."""


@pytest.fixture(scope="module")
def shop(hive_session: HiveClient) -> Iterator[None]:
    """The database that the quickstart's first script writes; gone after the tests."""
    hive_session.execute("USE default")
    hive_session.script((PROJECT / "hive_writes.sql").read_text(encoding="utf-8"))
    yield
    hive_session.execute("DROP DATABASE shop CASCADE")
    hive_session.execute("DROP DATABASE IF EXISTS shop_marts CASCADE")


@pytest.fixture
def quickstart(
    tmp_path: Path,
    hive: HiveServer,
    hive_session: HiveClient,
    shop: None,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[DbtDirectory]:
    """A copy of the project, and the variables that its profile asks for. It leaves no lock."""
    for name, value in environment(hive).items():
        monkeypatch.setenv(name, value)
    copy = tmp_path / "quickstart"
    shutil.copytree(PROJECT, copy, ignore=shutil.ignore_patterns("target", "logs"))
    yield DbtDirectory(copy)
    assert_nothing_held(hive_session, "shop")


def assert_marts_are_hives(hive: HiveClient) -> None:
    """Hive reads from the marts what it computes from the sources."""
    for mart, sql in MARTS_BY_HIVE.items():
        rows = canonical(hive.query(f"SELECT * FROM shop_marts.{mart}"))
        assert rows == canonical(hive.query(sql)), mart
        assert rows, mart


@pytest.mark.long("another copy of the quickstart; test_offline.py has `parse` and `ls`")
def test_before_any_run(quickstart: DbtDirectory, hive_session: HiveClient) -> None:
    quickstart.succeed("parse")
    listed = quickstart.succeed("ls", "--output", "name").result
    assert isinstance(listed, list)
    assert set(listed) > {*MARTS, "stg_orders", "shop.orders", "shop.customers", "shop.events"}

    quickstart.succeed("compile")
    code = quickstart.artifact("manifest.json")["nodes"]["model.quickstart.daily_revenue"]
    assert "\nfrom shop.orders\n" in code["compiled_code"]
    assert code["relation_name"] == "shop_marts.daily_revenue"

    expected = hive_session.query("SELECT count(*) FROM shop.orders WHERE status <> 'test'")
    shown = quickstart.succeed("show", "--inline", "select count(*) from {{ ref('stg_orders') }}")
    (node,) = node_results(shown)
    assert [tuple(row) for row in node.agate_table.rows] == expected


@pytest.mark.long("another copy of the quickstart, a minute")
def test_builds_follow_hives_changes(quickstart: DbtDirectory, hive_session: HiveClient) -> None:
    quickstart.succeed("build")
    assert_marts_are_hives(hive_session)
    hive_session.script((PROJECT / "hive_changes.sql").read_text(encoding="utf-8"))
    built = node_results(quickstart.succeed("build"))
    assert_marts_are_hives(hive_session)
    (shipments,) = (node for node in built if node.node.name == "shipment_states")
    assert shipments.message == "OK, 150 upserts, 50 deletes"
    changes = shipments.adapter_response["changes"]
    # All files but that of the 20,000 rows, none of which has changed.
    assert (changes["files_read"], changes["files"]) == (5, 6)
    assert changes["bytes_read"] < 0.05 * changes["bytes"]


@pytest.mark.long("another copy of the quickstart, a minute")
def test_run_then_test_show_and_docs(quickstart: DbtDirectory, hive_session: HiveClient) -> None:
    quickstart.succeed("run")
    assert_marts_are_hives(hive_session)
    tests = quickstart.succeed("test")
    assert {str(node.status) for node in node_results(tests)} == {"pass"}

    shown = node_results(quickstart.succeed("show", "--select", "customer_orders"))
    (mart,) = (node for node in shown if node.node.name == "customer_orders")
    rows = canonical(row for row in mart.agate_table.rows)
    assert rows == canonical(hive_session.query("SELECT * FROM shop_marts.customer_orders"))

    quickstart.succeed("docs", "generate")
    catalog = quickstart.artifact("catalog.json")
    assert catalog["errors"] is None
    assert set(catalog["nodes"]) == {f"model.quickstart.{mart}" for mart in MARTS}
    assert set(catalog["sources"]) == {f"source.quickstart.shop.{source}" for source in SOURCES}
    orders = catalog["sources"]["source.quickstart.shop.orders"]["columns"]
    assert list(orders) == ["order_id", "customer_id", "amount", "status", "order_date"]


@pytest.mark.long("another copy of the quickstart, a minute")
def test_an_empty_run_reads_nothing(quickstart: DbtDirectory, hive_session: HiveClient) -> None:
    quickstart.succeed("run")
    quickstart.succeed("run", "--empty")
    for mart in ("customer_orders", "daily_revenue"):
        assert hive_session.query(f"SELECT * FROM shop_marts.{mart}") == []
    events = hive_session.query("SELECT * FROM shop_marts.event_log")
    assert canonical(events) == canonical(hive_session.query(MARTS_BY_HIVE["event_log"]))
    quickstart.succeed("run")
    assert_marts_are_hives(hive_session)


@pytest.mark.long("another copy of the quickstart, a minute")
def test_retry_takes_up_what_failed(quickstart: DbtDirectory, hive_session: HiveClient) -> None:
    model = quickstart.path / "models" / "marts" / "daily_revenue.sql"
    right = model.read_text(encoding="utf-8")
    model.write_text(right.replace("sum(amount)", "sum(amuont)"), encoding="utf-8")
    result = quickstart.invoke("run")
    assert not result.success
    assert {node.node.name: str(node.status) for node in node_results(result)} == {
        "customer_orders": "success",
        "daily_revenue": "error",
        "event_log": "success",
        "shipment_states": "success",
    }
    assert "`amuont` cannot be resolved" in failures(result)
    assert_nothing_held(hive_session, "shop")

    model.write_text(right, encoding="utf-8")
    retried = quickstart.succeed("retry")
    assert [node.node.name for node in node_results(retried)] == ["daily_revenue"]
    assert_marts_are_hives(hive_session)


@pytest.mark.long("another copy of the quickstart, a minute")
def test_one_process_runs_dbt_twice(quickstart: DbtDirectory, hive_session: HiveClient) -> None:
    transactions = []
    for _ in range(2):
        # What the second run must see, and the first one's snapshot cannot have.
        hive_session.execute("INSERT INTO shop.orders VALUES (100, 1, 1.00, 'paid', '2026-11-09')")
        result = quickstart.succeed("run", "--select", "daily_revenue")
        (node,) = node_results(result)
        transactions.append(node.adapter_response["transaction_id"])
        expected = canonical(hive_session.query(MARTS_BY_HIVE["daily_revenue"]))
        rows = canonical(hive_session.query("SELECT * FROM shop_marts.daily_revenue"))
        assert rows == expected
    assert transactions[0] < transactions[1]


def test_the_story(tmp_path: Path) -> None:
    root = PROJECT.parent.parent
    done = subprocess.run(
        [sys.executable, "-m", "examples.quickstart"],
        cwd=root,
        env={
            **os.environ,
            "DBT_TARGET_PATH": str(tmp_path / "target"),
            "DBT_LOG_PATH": str(tmp_path / "logs"),
            # Its Sparks are those of a user, but for what Java compiles.
            "SPARK_SUBMIT_OPTS": small_jvm(),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=STORY_SECONDS,
    )
    assert done.returncode == 0, done.stdout
    # The profile names no directory: by itself Spark would put its databases here.
    assert not (root / "spark-warehouse" / "shop_marts.db").exists()
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    changed = lines[lines.index("=== What changed in the models") :]
    assert changed[1 : changed.index("=== What next?")] == [
        "",
        "customer_orders: 4 rows, then 3",
        "- 2 Grace US 1 35.50",
        "+ 2 Grace US 1 40.00",
        "- 3 Linus FI 1 99.99",
        "- 4 Edsger NL 1 48.00",
        "+ 4 Edsger DE 2 63.75",
        "",
        "daily_revenue: 3 rows, then 2",
        "- 2026-11-01 2 55.50",
        "+ 2026-11-01 2 60.00",
        "- 2026-11-02 1 99.99",
        "- 2026-11-03 1 48.00",
        "+ 2026-11-04 1 15.75",
        "",
        "event_log: 4 rows, then 5",
        "+ 5 4 order 2026-11-04 10:00:00",
        "",
        "shipment_states: 20200 rows, then 20280",
        "- 20000 cfcd208495d565ef66e7dff9f98764da LOST",
        "+ 20000 cfcd208495d565ef66e7dff9f98764da FOUND",
        "- 20001 c4ca4238a0b923820dcc509a6f75849b SENT",
        "- 20005 e4da3b7fbbce2345d7772b0674a318d5 SENT",
        "- 20009 45c48cce2e2d7fbdea1afc51c7c6ad26 SENT",
        "- 20010 d3d9446802a44259755d38e6d163e820 LOST",
        "+ 20010 d3d9446802a44259755d38e6d163e820 FOUND",
        "- 20013 c51ce410c124a10e0db5e4b97fc2af39 SENT",
        "… and 212 more lines like these",
        "",
        "=== What the incremental model read of shop.shipments",
        "read of",
        "files 5 6",
        # Their length is for Hive to choose.
        *[line for line in changed if line.startswith("bytes ")],
        "Hive's own answer to the model's query has the same rows.",
        "",
        "=== What a plain Spark would have shown of the sources",
        "table rows by Hive, and by the models rows by plain Spark",
        "shop.orders 5 0",
        "shop.customers 3 0",
        "shop.events 5 0",
        "shop.shipments 20280 0",
        "",
    ]
