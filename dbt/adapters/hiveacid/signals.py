"""Handler of SIGTERM, which ends a run as Ctrl-C does."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import NoReturn


class TerminationHandler:
    """Handler that turns SIGTERM into the exception that Ctrl-C raises.

    Without it the process dies at once, and the run's transaction and locks stay with the metastore
    until their timeout. Python allows handlers on the main thread only. A handler that somebody
    else has installed is left alone.
    """

    def __init__(self) -> None:
        self._installed = False

    def install(self) -> None:
        """Install the handler, on the main thread and if nobody else has one."""
        on_main_thread = threading.current_thread() is threading.main_thread()
        if on_main_thread and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _terminate)
            self._installed = True

    def remove(self) -> None:
        """Put Python's own handler back, unless somebody else has installed one since."""
        on_main_thread = threading.current_thread() is threading.main_thread()
        if self._installed and on_main_thread:
            if signal.getsignal(signal.SIGTERM) in (_terminate, signal.SIG_IGN):
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
            self._installed = False


def _terminate(signal_number: int, frame: FrameType | None) -> NoReturn:
    # A second SIGTERM must not interrupt the end of the transaction.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt("terminated by SIGTERM")
