"""The dbt process around an adapter: its command, node events, SIGTERM and log."""

from __future__ import annotations

import json
import logging
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import click
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.events.base_types import EventMsg
from dbt_common.events.event_manager_client import get_event_manager

from dbt.adapters.hiveacid.errors import AdapterError

logger = AdapterLogger("HiveAcid")
_CLI = "dbt.cli.main"
LIBRARY = "hiveacid"
"""The name of the library's logger."""


def find_command() -> click.Context | None:
    """Return the dbt command that runs on this thread; None outside of dbt commands.

    A tool that uses dbt as a library may have click commands of its own; they are not returned.
    """
    module = sys.modules.get(_CLI)
    context = found = click.get_current_context(silent=True)
    while module is not None and found is not None:
        if found.command is module.cli:
            return context
        found = found.parent
    return None


class OwningCommand:
    """The dbt command that made an adapter, until the command ends.

    dbt keeps one adapter in a process. Another command that begins meanwhile would close its
    connections, or use them until the first command closes them.
    """

    def __init__(self) -> None:
        """Take the command that runs on this thread, if there is one."""
        self._command = find_command()
        self._thread = threading.current_thread()
        if self._command is not None:
            self._command.call_on_close(self._end)

    def refuse_another(self) -> None:
        """Refuse the command on this thread if it is another one, and the first one still runs.

        Raises:
            AdapterError: naming both commands.
        """
        first, command = self._command, find_command()
        if first is None or command in (None, first) or not self._thread.is_alive():
            return
        assert command is not None
        raise AdapterError(
            f"`dbt {command.info_name}` cannot run while `dbt {first.info_name}` runs in the same "
            "process: dbt has one adapter, with one snapshot, for both. Run one command at a time, "
            "or each in a process of its own.",
            code="HIVEACID_ONE_COMMAND_AT_A_TIME",
        )

    def _end(self) -> None:
        self._command = None


def retried_nodes(command: click.Context | None) -> frozenset[str] | None:
    """Return the unique ids of the nodes that `dbt retry` runs again; None in any other command.

    `dbt retry` makes no selection. Like this function, it takes the ids from the previous
    command's run_results.json.
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
    # Imported late: only `dbt retry` needs it.
    from dbt.task.retry import RETRYABLE_STATUSES

    if results["args"].get("which") == "run-operation":
        return None
    return frozenset(
        result["unique_id"]
        for result in results["results"]
        if result["status"] in RETRYABLE_STATUSES
        and not result["unique_id"].startswith("operation.")
    )


class NodeEvents:
    """Listener to the starts and ends of nodes, on the nodes' threads.

    dbt does not call the adapter for a node that it skips. Its events report every node, however
    the node ends.
    """

    def __init__(
        self,
        started: Callable[[str], None],
        finished: Callable[[str, Mapping[str, Any]], None],
    ) -> None:
        """Report to `started` and `finished`, which must not raise: dbt would fail the node.

        Args:
            started: called with the unique id of a node.
            finished: called with the unique id and the adapter's response, empty without one.
        """
        self._started, self._finished = started, finished

    def install(self) -> None:
        """Start listening. dbt removes all listeners when its next command begins."""
        if self._on_event not in get_event_manager().callbacks:
            get_event_manager().add_callback(self._on_event)

    def remove(self) -> None:
        """Stop listening."""
        callbacks = get_event_manager().callbacks
        if self._on_event in callbacks:
            callbacks.remove(self._on_event)

    def _on_event(self, event: EventMsg) -> None:
        name = event.info.name
        if name not in ("NodeStart", "NodeFinished") or not event.data.node_info.unique_id:
            return
        if name == "NodeStart":
            self._started(event.data.node_info.unique_id)
        else:
            # A protobuf `Struct`, whose numbers are floats.
            response = dict(event.data.run_result.adapter_response.items())
            self._finished(event.data.node_info.unique_id, response)


class TerminationHandler:
    """Handler that turns SIGTERM into KeyboardInterrupt, as Ctrl-C does.

    Without it the process dies at once, and the run's transaction and locks stay in the metastore
    until they time out. Python sets handlers on the main thread only. A handler of other code is
    left in place.
    """

    def __init__(self) -> None:
        self._installed = False

    def install(self) -> None:
        """Install the handler, if this is the main thread and there is no other handler."""
        on_main_thread = threading.current_thread() is threading.main_thread()
        if on_main_thread and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _terminate)
            self._installed = True

    def remove(self) -> None:
        """Restore Python's own handler, unless other code has installed one since."""
        on_main_thread = threading.current_thread() is threading.main_thread()
        if self._installed and on_main_thread:
            if signal.getsignal(signal.SIGTERM) in (_terminate, signal.SIG_IGN):
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
            self._installed = False


def _terminate(signal_number: int, frame: FrameType | None) -> NoReturn:
    # A second SIGTERM must not interrupt the end of the transaction.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt("terminated by SIGTERM")


class DbtLogHandler(logging.Handler):
    """Handler that sends the library's log records to dbt, which adds this thread's node."""

    def __init__(self) -> None:
        super().__init__()
        self._logger = AdapterLogger("HiveAcid")

    def emit(self, record: logging.LogRecord) -> None:
        """Log one record at its own level."""
        message = record.getMessage()
        if record.levelno >= logging.WARNING:
            self._logger.warning(message)
        elif record.levelno >= logging.INFO:
            self._logger.info(message)
        else:
            self._logger.debug(message)


def install_log_handler() -> None:
    """Send everything that the library logs to dbt, and only to dbt. May be called again.

    snowplow_tracker, which dbt imports, installs a handler on Python's root logger. That handler
    would print each record on the console a second time, at every level.
    """
    logger = logging.getLogger(LIBRARY)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    if not any(isinstance(handler, DbtLogHandler) for handler in logger.handlers):
        logger.addHandler(DbtLogHandler())
