"""A dbt process whose models stop at named calls, to be killed there or to go on."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dbt.cli.main import dbtRunner
from dbt_common.events.contextvars import get_node_info
from pyspark.sql import SparkSession

from integration.support.dbt_project import DbtProject
from integration.support.stops import Stop, StoppedProcess, plant

_FORMATS = ("spark.jars", "spark.sql.catalog.", "spark.sql.extensions", "spark.databricks.")


def settings_like(spark: SparkSession) -> dict[str, str]:
    """Settings of a Spark that knows the formats and catalogs of `spark`, and has many tasks."""
    settings = dict(spark.sparkContext.getConf().getAll())
    # Tasks that sleep must not keep others waiting; plans stay as on two cores.
    many = {"spark.master": "local[64]", "spark.default.parallelism": "2"}
    return many | {key: value for key, value in settings.items() if key.startswith(_FORMATS)}


class StoppedDbt(StoppedProcess):
    """`dbt run` in such a process."""

    def __init__(
        self, project: DbtProject, stops: Mapping[str, Stop], work: Path, *arguments: str
    ) -> None:
        """`stops` by the names of the models, which are run; `work` is an empty directory."""
        work.mkdir()
        command = project.command_line(
            "run", "--select", *stops, "--threads", str(len(stops)), *arguments
        )
        command += ["--target-path", str(work / "target"), "--log-path", str(work)]
        plan = {
            "dbt": command,
            "work": str(work),
            "stops": {model: asdict(stop) for model, stop in stops.items()},
        }
        (work / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
        log = work / "output.log"
        process = project.start_module(__name__, str(work / "plan.json"), log=log)
        super().__init__(process, stops, work, log)

    def finish(self, seconds: float = 240) -> dict[str, tuple[str, str]]:
        """Let all models go on; status and message of each, once dbt has ended."""
        self.go(self._works)
        self._process.wait(timeout=seconds)
        text = (self._work / "target" / "run_results.json").read_text(encoding="utf-8")
        return {
            result["unique_id"].rpartition(".")[2]: (result["status"], result["message"])
            for result in json.loads(text)["results"]
        }


def _current_model() -> str:
    return str(get_node_info().get("node_name", ""))


def _run(plan: Mapping[str, Any]) -> bool:
    stops = {model: Stop(**stop) for model, stop in plan["stops"].items()}
    plant(stops, Path(plan["work"]), _current_model)
    return dbtRunner().invoke(plan["dbt"]).success


if __name__ == "__main__":
    sys.exit(0 if _run(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))) else 1)
