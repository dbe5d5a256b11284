"""How a run holds its snapshot."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.hiveacid.exceptions import InvalidSettingError


@dataclass(frozen=True)
class SnapshotSettings:
    """Settings of the run's transaction, in seconds.

    `heartbeat_interval`: how often the metastore is told that the transaction is alive; None takes
    a third of the metastore's `metastore.txn.timeout`; 0 sends none, so that the metastore aborts
    the transaction after that timeout (of use only to see what happens then).
    `lock_timeout`: how long to wait for the shared locks on the sources.
    Raises `InvalidSettingError` for a negative number.
    """

    heartbeat_interval: float | None = None
    lock_timeout: float = 300.0

    def __post_init__(self) -> None:
        for key, value in vars(self).items():
            if value is not None and value < 0:
                raise InvalidSettingError(f"{key} must not be negative, but is {value:g}.")

    def heartbeat_seconds(self, transaction_timeout: float) -> float:
        """The interval for a metastore whose transactions time out after `transaction_timeout`.

        0 means no heartbeats. Raises `InvalidSettingError` for an interval that could not keep the
        transaction alive.
        """
        if self.heartbeat_interval is None:
            return transaction_timeout / 3
        if self.heartbeat_interval >= transaction_timeout:
            raise InvalidSettingError(
                f"heartbeat_interval is {self.heartbeat_interval:g} s, but the metastore aborts a "
                f"transaction after {transaction_timeout:g} s without one "
                "(metastore.txn.timeout). Leave it out, or set it well below."
            )
        return self.heartbeat_interval
