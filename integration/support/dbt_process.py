"""A process of its own, with a Spark of its own, for dbt commands one after another.

A process has one Spark, and so have the tests; a project that needs another one's settings (another
catalog, say) runs here.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from dbt.cli.main import dbtRunner
from pyspark.sql import SparkSession

from integration.support.dbt_project import DbtProject, failures


class DbtProcess:
    """Such a process, as a context manager; Spark starts with the first command."""

    def __init__(self, project: DbtProject) -> None:
        self._project = project
        self._log = project.path / "dbt_process.log"
        self._process = project.start_module(__name__, log=self._log, talks=True)

    def __enter__(self) -> DbtProcess:
        return self

    def __exit__(self, *error: object) -> None:
        # Its requests have ended: so does it, and its Java with it.
        self._process.communicate()

    def succeed(self, *arguments: str) -> None:
        """Run a dbt command and assert that all went well."""
        failed = self._ask({"dbt": self._project.command_line(*arguments)})
        assert failed is None, failed

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a statement that Spark runs as it is, in order; values are those of JSON."""
        return sorted(tuple(row) for row in self._ask({"sql": sql}))

    def _ask(self, request: dict[str, Any]) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        assert answer, f"The process ended. Its log:\n{self._log.read_text(errors='replace')}"
        return json.loads(answer)


def _answer(request: dict[str, Any]) -> Any:
    if "sql" in request:
        return [
            list(row) for row in SparkSession.active().newSession().sql(request["sql"]).collect()
        ]
    result = dbtRunner().invoke(request["dbt"])
    return None if result.success else failures(result)


def _serve() -> None:
    # What dbt prints goes to the log; the answers go where it would have been.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        print(json.dumps(_answer(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    _serve()


WITHOUT_DBT = """
import sys

class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("dbt", "dbt_common", "agate"):
            raise ModuleNotFoundError(f"No module named {name!r} (refused by a test)", name=name)

sys.meta_path.insert(0, Refused())
"""
"""The start of a program that must do without dbt."""
