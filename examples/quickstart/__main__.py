"""Tell the quickstart's story: Hive writes, `dbt build`, Hive changes, `dbt build`, what changed.

Run with `make quickstart`. It starts a real Apache Hive of its own on this machine and stops it at
the end; nothing is left behind but the project's `target/` folder.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from integration.support.hive import HiveClient, HiveServer
from integration.support.hive.client import split_statements
from integration.support.hive.jars import HIVE_VERSION, VERSIONS

PROJECT = Path(__file__).parent
SOURCES = ("orders", "customers", "events", "shipments")
MARTS = ("customer_orders", "daily_revenue", "event_log", "shipment_states")
LINES = 8
"""Changed rows of a model that are shown at most."""

SHIPMENT_STATES = "SELECT shipment_id, tracking_code, upper(state) FROM shop.shipments"
"""The query of the incremental model, as Hive is asked it."""

Rows = dict[str, list[tuple[Any, ...]]]


def main() -> None:
    """Run the whole story. Ends with exit code 1 if a `dbt build` fails."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--hive", choices=VERSIONS, default=HIVE_VERSION, help="the version")
    version = parser.parse_args().hive
    with tempfile.TemporaryDirectory(prefix="hiveacid-quickstart-") as work:
        heading("Starting Apache Hive: metastore and HiveServer2, on this machine only")
        with HiveServer(work=Path(work), version=version) as hive:
            tell(hive)
    heading("What next?")
    print(f"  The dbt project that ran: {PROJECT.relative_to(Path.cwd())}")
    print("  Its docs: the manifest and the catalog of the last run are in its target/ folder.")
    print("  Your own project: see 'A profile' and the sections after it in README.md.")


def tell(hive: HiveServer) -> None:
    """Tell the story on a running Hive."""
    with HiveClient(hive.hs2_port) as client:
        heading("Hive writes orders, customers and events")
        run_script(client, PROJECT / "hive_writes.sql")
        dbt(hive, "build")
        before, _ = look(hive)

        heading("Hive updates, deletes and compacts")
        run_script(client, PROJECT / "hive_changes.sql")
        dbt(hive, "build")
        applied = changes_applied("shipment_states")
        dbt(hive, "docs", "generate")
        after, plain = look(hive)

        heading("What changed in the models")
        for mart in MARTS:
            print_changes(mart, before[mart], after[mart])
        heading("What the incremental model read of shop.shipments")
        print_table(("", "read", "of"), applied)
        if sorted(after["shipment_states"]) != sorted(client.query(SHIPMENT_STATES)):
            raise SystemExit("  Hive shows other rows.")
        print("  Hive's own answer to the model's query has the same rows.")
        heading("What a plain Spark would have shown of the sources")
        lines = []
        for source in SOURCES:
            ((count,),) = client.query(f"SELECT count(*) FROM shop.{source}")
            lines.append((f"shop.{source}", count, plain[source]))
        print_table(("table", "rows by Hive, and by the models", "rows by plain Spark"), lines)


def run_script(client: HiveClient, path: Path) -> None:
    """Run the statements of a file, showing each."""
    for statement in split_statements(path.read_text(encoding="utf-8")):
        print("  hive> " + statement.replace("\n", "\n        ") + ";", flush=True)
        client.execute(statement)


def environment(hive: HiveServer) -> dict[str, str]:
    """Return the variables that `profiles.yml` asks for."""
    return {
        "QUICKSTART_METASTORE_URI": hive.metastore_uri,
        "QUICKSTART_HIVE_CLIENT": hive.spark_client,
        "QUICKSTART_HIVE_JARS": hive.spark_jars,
        "DBT_PROFILES_DIR": str(PROJECT),
        "DBT_PROJECT_DIR": str(PROJECT),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
    }


def dbt(hive: HiveServer, *arguments: str) -> None:
    """Run a dbt command as a user would, in a process of its own."""
    heading("dbt " + " ".join(arguments))
    command = [str(Path(sys.executable).with_name("dbt")), *arguments]
    if subprocess.run(command, env={**os.environ, **environment(hive)}).returncode:
        raise SystemExit(1)


def changes_applied(model: str) -> list[tuple[str, int, int]]:
    """Return what a model has read of its source, by the artifact of the last run."""
    target = Path(os.environ.get("DBT_TARGET_PATH", PROJECT / "target"))
    run = json.loads((target / "run_results.json").read_text(encoding="utf-8"))
    (node,) = (r for r in run["results"] if r["unique_id"] == f"model.quickstart.{model}")
    changes = node["adapter_response"]["changes"]
    return [(what, changes[f"{what}_read"], changes[what]) for what in ("files", "bytes")]


def look(hive: HiveServer) -> tuple[Rows, dict[str, int]]:
    """Return the rows of the marts, and how many rows of each source a plain Spark sees."""
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("plain Spark")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.hadoop.hive.metastore.uris", hive.metastore_uri)
        .config("spark.sql.hive.metastore.version", hive.spark_client)
        .config("spark.sql.hive.metastore.jars", "path")
        .config("spark.sql.hive.metastore.jars.path", hive.spark_jars)
        .enableHiveSupport()
        .getOrCreate()
    )
    try:
        marts = {
            mart: [tuple(row) for row in spark.table(f"shop_marts.{mart}").collect()]
            for mart in MARTS
        }
        return marts, {source: spark.table(f"shop.{source}").count() for source in SOURCES}
    finally:
        spark.stop()


def print_changes(
    name: str, before: Sequence[tuple[Any, ...]], after: Sequence[tuple[Any, ...]]
) -> None:
    """Print the rows that went and came between two builds."""
    lines = [("-", row) for row in {*before} - {*after}]
    lines += [("+", row) for row in {*after} - {*before}]
    print(f"\n  {name}: {len(before)} rows, then {len(after)}")
    lines.sort(key=lambda line: (line[1][0], line[0] == "+"))
    for sign, row in lines[:LINES]:
        print("    " + "  ".join((sign, *map(str, row))))
    if len(lines) > LINES:
        print(f"    … and {len(lines) - LINES} more lines like these")


def print_table(header: Sequence[str], lines: Iterable[Sequence[Any]]) -> None:
    """Print a plain table, columns aligned."""
    cells = [tuple(map(str, line)) for line in (header, *lines)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(header))]
    for line in cells:
        print("  " + "   ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip())


def heading(text: str) -> None:
    """Print a line that starts a part of the story."""
    print(f"\n=== {text}", flush=True)


if __name__ == "__main__":
    main()
