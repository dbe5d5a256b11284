"""The dbt process around an adapter: its command, what `dbt retry` runs again, SIGTERM, its log."""

import json
import logging
import os
import signal
import threading
from types import SimpleNamespace
from typing import Any

import click
import pytest
from dbt.artifacts.schemas.results import NodeStatus
from dbt.cli.main import cli
from dbt.task import retry

from dbt.adapters.hiveacid.dbt_process import (
    TerminationHandler,
    find_command,
    install_log_handler,
    retried_nodes,
)


def context(name, parent=cli):
    root = click.Context(parent, info_name=parent.name)
    return click.Context(cli.commands[name], parent=root, info_name=name)


def test_a_dbt_command_is_found_on_its_thread():
    assert find_command() is None
    with context("run") as run:
        assert find_command() is run
    assert find_command() is None


def test_a_tools_own_command_is_none_of_dbts():
    with click.Context(click.Group("dbt-osmosis"), info_name="dbt-osmosis") as tool:
        assert click.get_current_context() is tool
        assert find_command() is None
        with context("run") as run:
            assert find_command() is run


@pytest.fixture
def command(tmp_path):
    """`dbt retry`, after a command with some results."""

    def after(results, which="build", state=None, name="retry"):
        directory = tmp_path / (state or "target")
        directory.mkdir()
        if results is not None:
            found = [{"unique_id": id_, "status": status} for id_, status in results.items()]
            content = {"args": {"which": which}, "results": found}
            (directory / "run_results.json").write_text(json.dumps(content))
        made = context(name)
        config = SimpleNamespace(project_root=str(tmp_path), target_path="target")
        made.obj = {"flags": SimpleNamespace(state=state), "runtime_config": config}
        return made

    return after


RESULTS = {
    "model.a": "success",
    "model.b": "error",
    "model.c": "skipped",
    "model.d": "partial success",
    "test.e": "fail",
    "test.f": "warn",
    "test.g": "pass",
    "operation.on_start": "error",
}


def test_the_nodes_that_did_not_succeed_are_tried_again(command):
    assert retried_nodes(command(RESULTS)) == {"model.b", "model.c", "model.d", "test.e"}


def test_a_warning_counts_where_dbt_says_so(command, monkeypatch):
    monkeypatch.setattr(retry, "RETRYABLE_STATUSES", {*retry.RETRYABLE_STATUSES, NodeStatus.Warn})
    retried = retried_nodes(command(RESULTS))
    assert retried is not None and "test.f" in retried


def test_the_results_are_those_of_state(command):
    assert retried_nodes(command({"model.x": "error"}, state="kept")) == {"model.x"}


def test_other_commands_and_operations_retry_no_node(command):
    assert retried_nodes(None) is None
    assert retried_nodes(command(RESULTS, state="1", name="run")) is None
    assert retried_nodes(command(RESULTS, state="2", which="run-operation")) is None


def test_results_that_cannot_be_read_are_not_foreseen(command):
    assert retried_nodes(command(None)) is None


@pytest.fixture
def default_handler():
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)


def test_sigterm_raises_what_ctrl_c_raises_and_is_then_ignored(default_handler):
    handler = TerminationHandler()
    handler.install()
    with pytest.raises(KeyboardInterrupt, match="terminated by SIGTERM"):
        os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGTERM)
    handler.remove()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_somebody_elses_handler_stays(default_handler):
    def theirs(number, frame):
        """Theirs."""

    signal.signal(signal.SIGTERM, theirs)
    handler = TerminationHandler()
    handler.install()
    handler.remove()
    assert signal.getsignal(signal.SIGTERM) is theirs


def test_another_thread_cannot_install_it(default_handler):
    handler = TerminationHandler()
    thread = threading.Thread(target=handler.install)
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.fixture
def roots_records():
    """The records that a handler of Python's root logger gets, as snowplow_tracker adds one."""
    records = []
    handler: Any = logging.Handler()
    handler.emit = records.append
    logging.root.addHandler(handler)
    yield records
    logging.root.removeHandler(handler)


def test_the_console_has_no_line_of_the_library_beside_dbts_own(roots_records, monkeypatch):
    logger = logging.getLogger("hiveacid")
    monkeypatch.setattr(logger, "propagate", True)
    install_log_handler()
    logger.debug("Opened transaction 5.")
    logger.warning("A heartbeat failed.")
    assert roots_records == []
