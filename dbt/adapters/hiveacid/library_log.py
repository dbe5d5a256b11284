"""Log of the library `hiveacid` as a part of dbt's log."""

from __future__ import annotations

import logging

from dbt.adapters.events.logging import AdapterLogger

LIBRARY = "hiveacid"
"""The name of the library's logger."""


class DbtLogHandler(logging.Handler):
    """Handler that gives the library's records to dbt, which adds the node of this thread."""

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
    """Give everything that the library logs to dbt, and to dbt alone. May be called again.

    A library that dbt imports (snowplow_tracker) gives Python's root logger a handler, which would
    print each record on the console again, at every level.
    """
    logger = logging.getLogger(LIBRARY)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    if not any(isinstance(handler, DbtLogHandler) for handler in logger.handlers):
        logger.addHandler(DbtLogHandler())
