"""The line that shows how far long statements are."""

import io
import sys
import time
from types import SimpleNamespace

import pytest

from dbt.adapters.hiveacid import connections
from dbt.adapters.hiveacid.spark import progress
from dbt.adapters.hiveacid.spark.progress import SHOWN_AFTER, ProgressLine


def test_the_statement_that_has_run_longest_is_shown():
    line = ProgressLine(io.StringIO(), {"a": (3, 8), "b": (0, 200)}.__getitem__)
    with line.watching("a", "model.shop.orders"):
        now = time.monotonic()
        assert line.compose(now) == ""
        assert line.compose(now + 9) == "orders: 3 of 8 tasks, 9 s"
        with line.watching("b", "model.shop.customers"):
            later = line.compose(time.monotonic() + SHOWN_AFTER)
        assert later == f"orders: 3 of 8 tasks, {SHOWN_AFTER:.0f} s, 1 more"
    assert line.compose(now + 9) == ""


def test_what_has_no_tasks_is_waited_for():
    line = ProgressLine(io.StringIO(), lambda tag: (0, 0))
    with line.watching("a", "list_schemas"):
        assert line.compose(time.monotonic() + 5) == "list_schemas: no tasks yet, 5 s"


def test_a_long_name_is_cut():
    line = ProgressLine(io.StringIO(), lambda tag: (1, 2))
    with line.watching("a", "model.shop." + "n" * 100):
        assert len(line.compose(time.monotonic() + 5)) == 60


def test_the_line_is_wiped_off(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(progress, "SHOWN_AFTER", 0.0)
    monkeypatch.setattr(progress, "REFRESH_PERIOD", 0.01)
    stream = io.StringIO()
    line = ProgressLine(stream, lambda tag: (1, 2))
    for _ in range(2):
        with line.watching("a", "orders"):
            deadline = time.monotonic() + 5
            while "orders: 1 of 2 tasks" not in stream.getvalue():
                assert time.monotonic() < deadline
                time.sleep(0.01)
        while line._thread is not None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        shown = stream.getvalue().split("\r")
        assert shown[-1] == "", "the cursor is at the beginning of the line"
        assert shown[-2].strip() == "" and len(shown[-2]) == len(shown[-3])
        stream.seek(0)
        stream.truncate()


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "flags", "parameters", "expected"),
    [
        (Terminal, {}, {}, True),
        (Terminal, {"QUIET": False, "LOG_FORMAT": "text"}, {}, True),
        (Terminal, {}, {"spark.ui.showConsoleProgress": "true"}, True),
        (Terminal, {}, {"spark.ui.showConsoleProgress": "false"}, False),
        (Terminal, {"QUIET": True}, {}, False),
        (Terminal, {"LOG_FORMAT": "json"}, {}, False),
        (io.StringIO, {}, {}, False),
    ],
)
def test_a_line_is_for_people_at_a_terminal(stream, flags, parameters, expected, monkeypatch):
    monkeypatch.setattr(connections, "get_flags", lambda: SimpleNamespace(**flags))
    monkeypatch.setattr(connections, "task_counter", lambda context: lambda tag: (0, 0))
    monkeypatch.setattr(sys, "stderr", stream())
    root = SimpleNamespace(sparkContext=object())
    line = connections._progress_line(root, parameters)
    assert isinstance(line, ProgressLine) is expected
    # One for all connections: two would write over each other.
    assert connections._progress_line(root, parameters) is line
