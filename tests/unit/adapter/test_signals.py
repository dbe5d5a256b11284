import os
import signal
import threading

import pytest

from dbt.adapters.hiveacid.signals import TerminationHandler


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
