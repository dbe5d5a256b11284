"""What the library logs: in dbt's log, and nowhere else."""

import logging
from typing import Any

import pytest

from dbt.adapters.hiveacid.library_log import install_log_handler


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
