"""The one way to a metastore: connecting, taking turns, repeating, translating errors."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from tenacity import (
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    wait_exponential,
    wait_random,
)
from thrift.Thrift import TException

from dbt.adapters.hiveacid.exceptions import MetastoreUnavailableError
from dbt.adapters.hiveacid.metastore.errors import CONNECTION_ERRORS, translate, unavailable
from dbt.adapters.hiveacid.metastore.thrift_api import ThriftMetastore
from dbt.adapters.hiveacid.metastore.transport import Address, Connection, connect

T = TypeVar("T")

ATTEMPTS = 3
"""How often a call that is safe to repeat is tried when the connection fails."""


class Channel:
    """One connection, opened at the first call and opened anew when it breaks.

    Threads may share a channel: a lock lets one call through at a time. What must not wait behind
    another call, such as a heartbeat, gets a channel of its own.
    """

    def __init__(
        self, addresses: tuple[Address, ...], connect_timeout: float, read_timeout: float
    ) -> None:
        """Timeouts in seconds, see `transport.connect`."""
        self._addresses = addresses
        self._connect_timeout = connect_timeout
        self._read_timeout = read_timeout
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        self._in_call = False

    def wait_at_most(self, seconds: float) -> None:
        """Lower the timeouts to this, from the next connection on."""
        with self._lock:
            self._connect_timeout = min(self._connect_timeout, seconds)
            self._read_timeout = min(self._read_timeout, seconds)

    def close(self) -> None:
        """Close the connection; a later call opens a new one."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def repeatable(self, call: str, subject: str, run: Callable[[ThriftMetastore], T]) -> T:
        """Make a call that is safe to repeat: again, and elsewhere, if the connection fails.

        `call` and `subject`, e.g. `table shop.orders`, are for error messages. Raises
        `MetastoreUnavailableError` after `ATTEMPTS` failures, and what `errors.translate` makes of
        the metastore's own errors.
        """
        retrying = Retrying(
            stop=stop_after_attempt(ATTEMPTS),
            wait=wait_exponential(multiplier=0.1, max=2.0) + wait_random(0, 0.1),
            retry=retry_if_exception_type(MetastoreUnavailableError),
            reraise=True,
        )
        return retrying(self.once, call, subject, run)

    def once(self, call: str, subject: str, run: Callable[[ThriftMetastore], T]) -> T:
        """Make a call that must not be repeated: the metastore may have carried it out."""
        with self._lock:
            if self._in_call:
                # A signal handler of this thread has interrupted a call: its connection still
                # carries that call's answer.
                self.close()
            if self._connection is None:
                self._connection = connect(
                    self._addresses, self._connect_timeout, self._read_timeout
                )
            connection = self._connection
            self._in_call = True
            in_step = False
            try:
                result = run(connection.calls)
                in_step = True
                return result
            except CONNECTION_ERRORS as error:
                self._put_last(connection.address)
                raise unavailable(call, subject, connection.address, error) from error
            except TException as error:
                in_step = True
                raise translate(call, subject, error) from error
            finally:
                self._in_call = False
                if not in_step:
                    # Interrupted between request and answer: the next call would read this one's.
                    self.close()

    def _put_last(self, address: Address) -> None:
        """Try the others first: a server that hangs accepts connections all the same."""
        others = (other for other in self._addresses if other != address)
        self._addresses = (*others, address)
