"""Keeping a transaction alive while Spark works."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from dbt.adapters.hiveacid.metastore.client import MetastoreClient
from dbt.adapters.hiveacid.metastore.transactions import TransactionState

RETRY_SECONDS = 5.0
"""Wait before the next heartbeat after one that failed, unless the interval is shorter."""

ATTEMPTS_IN_A_TIMEOUT = 6
"""So many answers can be waited for in the metastore's timeout: beside the usual interval, a third
of it, there is time for three addresses that hang."""

STATE_REASONS = {
    TransactionState.ABORTED: "the metastore has aborted it",
    TransactionState.UNKNOWN: "the metastore no longer knows it",
}
"""Why a transaction in this state is lost."""


class Heartbeat:
    """A daemon thread that sends heartbeats on a connection of its own until stopped.

    A heartbeat that fails is repeated. The transaction counts as lost when the metastore says so,
    or when none got through for the metastore's timeout, since then it may be aborted any time.
    """

    def __init__(
        self,
        client_factory: Callable[[], MetastoreClient],
        transaction_id: int,
        interval: float,
        transaction_timeout: float,
        on_lost: Callable[[str], None],
    ) -> None:
        """`interval` and `transaction_timeout` in seconds.

        `on_lost` is called at most once, on the heartbeat's thread, with the reason.
        """
        self._client_factory = client_factory
        self._transaction_id = transaction_id
        self._interval = interval
        self._timeout = transaction_timeout
        self._on_lost = on_lost
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name=f"hiveacid-heartbeat-{transaction_id}", daemon=True
        )

    def start(self) -> None:
        """Send the first heartbeat one interval from now."""
        self._thread.start()

    def stop(self) -> None:
        """Send no more, without waiting for one that is under way; it can no longer report loss."""
        self._stopped.set()

    def _run(self) -> None:
        client = self._client_factory()
        client.wait_at_most(self._timeout / ATTEMPTS_IN_A_TIMEOUT)
        try:
            reason = self._beat_until_lost(client)
        finally:
            client.close()
        if reason is not None and not self._stopped.is_set():
            self._on_lost(reason)

    def _beat_until_lost(self, client: MetastoreClient) -> str | None:
        last_success = time.monotonic()
        wait = self._interval
        while not self._stopped.wait(wait):
            # The metastore counts from when it got the heartbeat, which was not before now.
            started = time.monotonic()
            try:
                state = client.heartbeat(self._transaction_id)
            except Exception as error:  # whatever it is, the thread must not die silently
                silence = time.monotonic() - last_success
                if silence >= self._timeout:
                    return f"no heartbeat reached the metastore for {silence:.0f} s: {error}"
                wait = min(self._interval, RETRY_SECONDS)
                continue
            if state is not TransactionState.OPEN:
                return STATE_REASONS[state]
            last_success = started
            wait = self._interval
        return None
