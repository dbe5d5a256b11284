"""The dbt command that is under way when an adapter is made, by dbt's command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click
from dbt.adapters.events.logging import AdapterLogger

logger = AdapterLogger("HiveAcid")
_CLI = "dbt.cli.main"


def find_command() -> click.Context | None:
    """Return the dbt command that runs on this thread; None outside of any.

    A tool may use dbt as a library, and have commands of its own.
    """
    module = sys.modules.get(_CLI)
    context = found = click.get_current_context(silent=True)
    while module is not None and found is not None:
        if found.command is module.cli:
            return context
        found = found.parent
    return None


def retried_nodes(command: click.Context | None) -> frozenset[str] | None:
    """Return the unique ids of the nodes that `dbt retry` runs again; None in any other command.

    `dbt retry` selects nothing: it takes the ids from the previous command's results, as here.
    """
    if command is None or command.command.name != "retry":
        return None
    flags, config = command.obj["flags"], command.obj["runtime_config"]
    path = Path(config.project_root, flags.state or config.target_path, "run_results.json")
    try:
        results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return _unfinished(results)
    except (OSError, ValueError, LookupError) as error:
        logger.debug(f"The nodes to retry cannot be foreseen, {path} is unreadable: {error!r}")
        return None


def _unfinished(results: dict[str, Any]) -> frozenset[str] | None:
    # Late: nothing but `dbt retry` needs it.
    from dbt.task.retry import RETRYABLE_STATUSES

    if results["args"].get("which") == "run-operation":
        return None
    return frozenset(
        result["unique_id"]
        for result in results["results"]
        if result["status"] in RETRYABLE_STATUSES
        and not result["unique_id"].startswith("operation.")
    )
