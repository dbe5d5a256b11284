"""dbt projects made for a test and run against a test's Hive."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml
from dbt.cli.main import dbtRunner, dbtRunnerResult
from dbt.contracts.graph import nodes
from dbt_common.events.base_types import EventMsg

from integration.support.class_archives import SPARK_ARCHIVE, archive_options, quoted_options
from integration.support.hive import HiveClient, HiveServer
from integration.support.hive.java import QUICK_START
from integration.support.local_files import without_chmod

HAS_FUNCTIONS = hasattr(nodes, "FunctionNode")
"""Whether this dbt-core makes functions. 1.10 does not, and cannot import dbt's suites of them."""

LASTING_MEMORY = "1600m"
"""Memory of the Spark that many tests share."""

INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""No Java code for a query: making it takes more time than a handful of rows.

The tests of the reader, where what Spark makes of it matters, keep Spark's default.
"""

FEW_TASKS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
}
"""Stages are planned once, and have one task. Random histories keep Spark's own way."""

SMALL = {**INTERPRETED, **FEW_TASKS}
"""Settings of a session that reads tables of a few rows."""

SLOW = "reflect('java.lang.Thread', 'sleep', 200L)"
"""A SQL expression that takes 0.2 seconds a row."""


def small_jvm() -> str:
    """Return options of a Java for tables of a few rows.

    Compiling Java code less well takes a quarter off the tests' time. Such a Java has room for
    48 MB of code, which Spark's generated code has filled once. Heap and metaspace are large from
    the start: growing them would collect all garbage again and again.
    """
    return (
        "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
        f" -Xms1g -Xmn400m -XX:MetaspaceSize=300m {' '.join(QUICK_START)}"
        f" {quoted_options(archive_options(SPARK_ARCHIVE))}"
    )


def lasting_jvm() -> str:
    """Return the options of the Java of `LASTING_MEMORY`.

    With more memory it collects garbage half as often.
    """
    return f"{small_jvm()} -Xms{LASTING_MEMORY} -Xmn900m"


def spark_settings(hive: HiveServer, java: str | None = None) -> dict[str, str]:
    """A small Spark whose tables live in Hive's metastore.

    `java` are options of its Java, `small_jvm` without.
    """
    return {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        # As the adapter sets it in dbt's sessions: casts and texts of decimals depend on it.
        "spark.sql.ansi.enabled": "false",
        "spark.driver.extraJavaOptions": f"-Duser.timezone=UTC {java or small_jvm()}",
        "spark.hadoop.hive.metastore.uris": hive.metastore_uri,
        "spark.sql.hive.metastore.version": hive.spark_client,
        "spark.sql.hive.metastore.jars": "path",
        "spark.sql.hive.metastore.jars.path": hive.spark_jars,
        "spark.sql.warehouse.dir": f"file://{hive.warehouse}",
    }


class DbtDirectory:
    """The directory of a project and of its profile, and dbt's commands there."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, relative: str, text: str) -> None:
        """Write any file of the project."""
        path = self.path / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def invoke(
        self, *arguments: str, on_event: Callable[[EventMsg], None] | None = None
    ) -> dbtRunnerResult:
        """Run a dbt command in this process, on the test run's own Spark."""
        runner = dbtRunner(callbacks=[] if on_event is None else [on_event])
        return runner.invoke(self.command_line(*arguments))

    def succeed(
        self, *arguments: str, on_event: Callable[[EventMsg], None] | None = None
    ) -> dbtRunnerResult:
        """Run a dbt command in this process and assert that all went well."""
        result = self.invoke(*arguments, on_event=on_event)
        assert result.success, failures(result)
        return result

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a dbt command as a user does, in a process of its own with a Spark of its own."""
        command = [str(Path(sys.executable).with_name("dbt")), *self.command_line(*arguments)]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def start_module(
        self, module: str, *arguments: str, log: Path, talks: bool = False
    ) -> subprocess.Popen[str]:
        """Start a module of these tests in a process of its own with a Spark of its own.

        What it prints goes to `log`; with `talks` its input and output are pipes.
        """
        # After the paths of this process: another release of PySpark or dbt-core may stand there.
        paths = [*filter(None, [os.environ.get("PYTHONPATH")]), str(Path(__file__).parents[2])]
        with log.open("ab") as file:
            return subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                stdin=subprocess.PIPE if talks else subprocess.DEVNULL,
                stdout=subprocess.PIPE if talks else file,
                stderr=file,
                text=True,
                # Derby and Spark write into the current directory.
                cwd=self.path,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            )

    def run_results(self) -> list[dict[str, Any]]:
        """The results of the last command, from its run_results.json."""
        results: list[dict[str, Any]] = self.artifact("run_results.json")["results"]
        return results

    def artifact(self, name: str) -> dict[str, Any]:
        """A JSON file that the last command left in target/."""
        text = (self.path / "target" / name).read_text(encoding="utf-8")
        content: dict[str, Any] = json.loads(text)
        return content

    def command_line(self, *arguments: str) -> list[str]:
        """A dbt command's arguments, with where this project is."""
        return [*arguments, "--project-dir", str(self.path), "--profiles-dir", str(self.path)]


class DbtProject(DbtDirectory):
    """A project in a directory of its own, whose source `shop` is one Hive database.

    Targets go into the same database unless `schema` says otherwise.
    """

    def __init__(
        self,
        path: Path,
        hive: HiveServer,
        database: str,
        *,
        schema: str | None = None,
        threads: int = 4,
        profile: Mapping[str, Any] | None = None,
        spark: Mapping[str, str | None] | None = None,
        compiled: bool = False,
    ) -> None:
        """`profile` and `spark` replace keys of the target and of its Spark settings.

        A setting that is None is left out.
        Spark's settings are those for tables of a few rows, or `compiled` its own.
        """
        super().__init__(path)
        self.database = database
        settings = {**spark_settings(hive), **without_chmod(), **({} if compiled else SMALL)}
        target = {
            "type": "hiveacid",
            "method": "session",
            "schema": schema or database,
            "threads": threads,
            "metastore_uri": hive.metastore_uri,
            "footer_cache": str(path / "footers"),
            "server_side_parameters": {
                key: value for key, value in {**settings, **(spark or {})}.items() if value
            },
            **(profile or {}),
        }
        self._targets = {"dev": target}
        self._write_profile()
        self._write_yaml(
            "dbt_project.yml",
            {
                "name": "test",
                "version": "1.0",
                "profile": "test",
                "models": {"+materialized": "table"},
                "flags": {"send_anonymous_usage_stats": False},
            },
        )

    def add_target(
        self, name: str, schema: str, *, spark: Mapping[str, str] | None = None, **keys: Any
    ) -> None:
        """Add a target to the profile that differs from `dev` in its schema and these keys only.

        `spark` adds to the Spark settings.
        """
        settings = {**self._targets["dev"]["server_side_parameters"], **(spark or {})}
        own = {"schema": schema, "server_side_parameters": settings, **keys}
        self._targets[name] = {**self._targets["dev"], **own}
        self._write_profile()

    def sources(self, *tables: str, **config: Any) -> None:
        """Declare the source `shop` with these tables of the database."""
        source = {
            "name": "shop",
            "schema": self.database,
            "tables": [{"name": table} for table in tables],
            **config,
        }
        self._write_yaml("models/sources.yml", {"version": 2, "sources": [source]})

    def models(self, **models: str) -> None:
        """Write models by name."""
        for name, sql in models.items():
            self.write(f"models/{name}.sql", sql)

    def _write_profile(self) -> None:
        profile = {"target": "dev", "outputs": self._targets}
        self._write_yaml("profiles.yml", {"test": profile})

    def _write_yaml(self, relative: str, content: Mapping[str, Any]) -> None:
        self.write(relative, yaml.safe_dump(content, sort_keys=False))


def node_results(result: dbtRunnerResult) -> list[Any]:
    """What became of each node of a dbt command; empty for a command that runs none."""
    return list(getattr(result.result, "results", ()))


def failures(result: dbtRunnerResult) -> str:
    """What went wrong in a dbt command, one line a node."""
    if result.exception is not None:
        return str(result.exception)
    # An operation's result names no node.
    names = [getattr(r, "node", r) for r in node_results(result)]
    return "\n".join(
        f"{getattr(node, 'name', node)}: {r.status}: {r.message}"
        for node, r in zip(names, node_results(result), strict=True)
    )


def finished(event: EventMsg, node: str) -> bool:
    """Whether an event says that a node has finished."""
    return event.info.name == "NodeFinished" and event.data.node_info.node_name == node


SOURCES = tuple(f"source_{number}" for number in range(40))
MODELS = 200


def add_large_project(project: DbtProject, hive: HiveClient, *others: str) -> None:
    """Make the sources and those named `others`, and five models on each of the 40.

    A source has the column `id` and no rows. `model_<n>` counts those of source n modulo 40.
    """
    for source in (*SOURCES, *others):
        hive.execute(
            f"CREATE TABLE {source} (id int) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
        )
    project.sources(*SOURCES, *others)
    for number in range(MODELS):
        source = SOURCES[number % len(SOURCES)]
        project.models(
            **{f"model_{number}": f"select count(*) as n from {{{{ source('shop', '{source}') }}}}"}
        )
