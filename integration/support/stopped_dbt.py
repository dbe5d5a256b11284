"""A dbt process whose models stop at named calls, to be killed there or to go on.

A process with a Spark of its own takes twenty seconds to start, so that one serves many models:
each stops on its thread at a step of its own, while the others work.
"""

from __future__ import annotations

import functools
import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil
from dbt.cli.main import dbtRunner
from dbt_common.events.contextvars import get_node_info
from pyspark.sql import SparkSession

from integration.support.dbt_project import DbtProject

_FORMATS = ("spark.jars", "spark.sql.catalog.", "spark.sql.extensions", "spark.databricks.")

_REACHED, _GO = "reached", "go"


@dataclass(frozen=True)
class Stop:
    """Where a model stops: before the `nth` call of a function.

    `call` is `module:name` or `module:Class.name`. Only calls count whose first arguments, as text,
    contain `like`. With `during` the call goes on, and counts as reached two seconds later.
    """

    call: str
    nth: int = 1
    like: str = ""
    during: bool = False


def settings_like(spark: SparkSession) -> dict[str, str]:
    """Settings of a Spark that knows the formats and catalogs of `spark`, and has many tasks."""
    settings = dict(spark.sparkContext.getConf().getAll())
    # Tasks that sleep must not keep others waiting; plans stay as on two cores.
    many = {"spark.master": "local[64]", "spark.default.parallelism": "2"}
    return many | {key: value for key, value in settings.items() if key.startswith(_FORMATS)}


class StoppedDbt:
    """`dbt run` in such a process, as a context manager that leaves no process behind."""

    def __init__(
        self, project: DbtProject, stops: Mapping[str, Stop], work: Path, *arguments: str
    ) -> None:
        """`stops` by the names of the models, which are run; `work` is an empty directory."""
        self._stops = dict(stops)
        self._work = work
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
        self._log = work / "output.log"
        self._process = project.start_module(__name__, str(work / "plan.json"), log=self._log)

    def __enter__(self) -> StoppedDbt:
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()

    def wait(self, seconds: float = 240) -> None:
        """Return when every model has come to its step. Raises AssertionError if one does not."""
        deadline = time.monotonic() + seconds
        while missing := [m for m in self._stops if not self._file(m, _REACHED).exists()]:
            assert self._process.poll() is None, f"dbt ended before {missing}:\n{self._output()}"
            assert time.monotonic() < deadline, f"{missing} did not stop:\n{self._output()}"
            time.sleep(0.1)

    def kill(self) -> None:
        """kill -9; returns when Java has ended, too, as it does without the process."""
        try:
            java = psutil.Process(self._process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            java = []
        self._process.kill()
        self._process.wait()
        _, alive = psutil.wait_procs(java, timeout=60)
        assert alive == [], f"{alive} outlive dbt"

    def go(self, models: Iterable[str]) -> None:
        """Let models go on."""
        for model in models:
            self._file(model, _GO).touch()

    def finish(self, seconds: float = 240) -> dict[str, tuple[str, str]]:
        """Let all models go on; status and message of each, once dbt has ended."""
        self.go(self._stops)
        self._process.wait(timeout=seconds)
        text = (self._work / "target" / "run_results.json").read_text(encoding="utf-8")
        return {
            result["unique_id"].rpartition(".")[2]: (result["status"], result["message"])
            for result in json.loads(text)["results"]
        }

    def _file(self, model: str, what: str) -> Path:
        return self._work / f"{model}.{what}"

    def _output(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")[-6000:]


def _plant(stops: Mapping[str, Stop], work: Path) -> None:
    """Let the calls stop that some model stops at."""
    calls: Counter[str] = Counter()
    for name in {stop.call for stop in stops.values()}:
        module, _, path = name.partition(":")
        *owners, attribute = path.split(".")
        owner = functools.reduce(getattr, owners, import_module(module))
        setattr(owner, attribute, _stopping(name, getattr(owner, attribute), stops, calls, work))


def _stopping(
    name: str,
    original: Callable[..., Any],
    stops: Mapping[str, Stop],
    calls: Counter[str],
    work: Path,
) -> Callable[..., Any]:
    @functools.wraps(original)
    def stopping(*arguments: Any, **named: Any) -> Any:
        model = get_node_info().get("node_name", "")
        stop = stops.get(model)
        if stop is not None and stop.call == name and stop.like in str(arguments[:2]):
            calls[model] += 1
            if calls[model] == stop.nth:
                _stop(stop, model, work)
        return original(*arguments, **named)

    return stopping


def _stop(stop: Stop, model: str, work: Path) -> None:
    reached = work / f"{model}.{_REACHED}"
    if stop.during:
        threading.Timer(2, reached.touch).start()
        return
    reached.touch()
    while not (work / f"{model}.{_GO}").exists():
        time.sleep(0.05)


def _run(plan: Mapping[str, Any]) -> bool:
    stops = {model: Stop(**stop) for model, stop in plan["stops"].items()}
    _plant(stops, Path(plan["work"]))
    return dbtRunner().invoke(plan["dbt"]).success


if __name__ == "__main__":
    sys.exit(0 if _run(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))) else 1)
