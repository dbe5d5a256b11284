"""Processes that stop at named calls, one work at a time, to be killed there or to go on.

A process with a Spark of its own takes many seconds to start, so that one serves many works: each
stops on its thread at a step of its own, while the others go on.
"""

from __future__ import annotations

import functools
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import psutil

_REACHED, _GO = "reached", "go"
T = TypeVar("T", bound="StoppedProcess")


@dataclass(frozen=True)
class Stop:
    """Where a work, such as a model, stops: before the `nth` call of a function.

    `call` is `module:name` or `module:Class.name`. Only calls count whose first arguments, as text,
    contain `like`. With `during` the call goes on, and counts as reached two seconds later.
    """

    call: str
    nth: int = 1
    like: str = ""
    during: bool = False


class StoppedProcess:
    """A process whose works stop, as a context manager that leaves no process behind."""

    def __init__(
        self, process: subprocess.Popen[str], works: Iterable[str], work: Path, log: Path
    ) -> None:
        """`works` are names; the process writes into `work` what they have reached."""
        self._process = process
        self._works = list(works)
        self._work = work
        self._log = log

    def __enter__(self: T) -> T:
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()

    def wait(self, seconds: float = 240) -> None:
        """Return when every work has come to its step. Raises AssertionError if one does not."""
        deadline = time.monotonic() + seconds
        while missing := [it for it in self._works if not self._file(it, _REACHED).exists()]:
            assert self._process.poll() is None, f"It ended before {missing}:\n{self._output()}"
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
        assert alive == [], f"{alive} outlive the process"

    def go(self, works: Iterable[str]) -> None:
        """Let works go on."""
        for work in works:
            self._file(work, _GO).touch()

    def _file(self, work: str, what: str) -> Path:
        return self._work / f"{work}.{what}"

    def _output(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")[-6000:]


def plant(stops: Mapping[str, Stop], work: Path, current: Callable[[], str]) -> None:
    """Let the calls stop that some work stops at; `current` names the work of a thread."""
    calls: Counter[str] = Counter()
    for name in {stop.call for stop in stops.values()}:
        module, _, path = name.partition(":")
        *owners, attribute = path.split(".")
        owner = functools.reduce(getattr, owners, import_module(module))
        setattr(
            owner,
            attribute,
            _stopping(name, getattr(owner, attribute), current, stops, calls, work),
        )


def _stopping(
    name: str,
    original: Callable[..., Any],
    current: Callable[[], str],
    stops: Mapping[str, Stop],
    calls: Counter[str],
    work: Path,
) -> Callable[..., Any]:
    @functools.wraps(original)
    def stopping(*arguments: Any, **named: Any) -> Any:
        name_of_work = current()
        stop = stops.get(name_of_work)
        if stop is not None and stop.call == name and stop.like in str(arguments[:2]):
            calls[name_of_work] += 1
            if calls[name_of_work] == stop.nth:
                _stop(stop, name_of_work, work)
        return original(*arguments, **named)

    return stopping


def _stop(stop: Stop, name: str, work: Path) -> None:
    reached = work / f"{name}.{_REACHED}"
    if stop.during:
        threading.Timer(2, reached.touch).start()
        return
    reached.touch()
    while not (work / f"{name}.{_GO}").exists():
        time.sleep(0.05)
