"""How long dbt commands take until they do something, beside stock dbt-spark on the same project.

::

    python -m benchmarks.start_up

A project of 200 models on 40 ACID sources of a real Hive. Each command runs in a process of its
own, in turns with `type: hiveacid` and with dbt-spark (`type: spark`, `method: session`), on the
same Spark settings; the fastest of the rounds counts. `run one` runs a model that reads no source,
so it ends soon after Spark has started; `run on 40` one that reads every source, which stock
dbt-spark takes for empty tables.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from integration.support.dbt_project import SOURCES, DbtProject, add_large_project
from integration.support.hive import HiveClient, HiveServer

COMMANDS: Mapping[str, Sequence[str]] = {
    "ls": ("ls", "--quiet"),
    "parse, whole": ("parse", "--no-partial-parse"),
    "run one": ("run", "--select", "one"),
    "run on 40": ("run", "--select", "all_sources"),
}


def main() -> None:
    """Make the project, run the commands in turns, and print seconds and differences."""
    parser = argparse.ArgumentParser(description="Start-up beside stock dbt-spark.")
    parser.add_argument("--rounds", type=int, default=3, help="the fastest counts (default: 3)")
    rounds: int = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="start-up-") as work, HiveServer() as hive:
        project = _project(Path(work) / "project", hive)
        spent: dict[tuple[str, str], float] = {}
        for number in range(rounds):
            print(f"round {number + 1} of {rounds}", flush=True)
            for name, command in COMMANDS.items():
                for target in ("dev", "stock"):
                    seconds = _seconds(project, *command, "--target", target)
                    spent[name, target] = min(seconds, spent.get((name, target), seconds))
    print(f"{'':<14}{'hiveacid':>10}{'spark':>10}{'more':>10}")
    for name in COMMANDS:
        ours, stock = spent[name, "dev"], spent[name, "stock"]
        print(f"{name:<14}{ours:>8.2f} s{stock:>8.2f} s{ours - stock:>8.2f} s")


def _project(path: Path, hive: HiveServer) -> DbtProject:
    project = DbtProject(path, hive, "default", schema="targets", compiled=True)
    with HiveClient(hive.hs2_port) as client:
        add_large_project(project, client)
        for source in SOURCES:
            client.execute(f"INSERT INTO {source} VALUES (1), (2)")
        client.execute("CREATE DATABASE targets")
    project.add_target("stock", "targets", type="spark", host="localhost")
    every = " union all ".join(f"select id from {{{{ source('shop', '{s}') }}}}" for s in SOURCES)
    project.models(one="select 1 as id", all_sources=every)
    return project


def _seconds(project: DbtProject, *arguments: str) -> float:
    started = time.perf_counter()
    process = project.start(*arguments)
    output, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"dbt {' '.join(arguments)} failed:\n{output}")
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
