"""Plan of the changes between two instants of a table."""

from __future__ import annotations

from pyspark.sql import SparkSession

from hiveacid.changes.history import History
from hiveacid.changes.plan import ChangePlan, plan_changes, state_of
from hiveacid.changes.state import SourceState
from hiveacid.errors import InvalidSettingError
from hiveacid.reader.orc_footers import OrcFooters


def plan_between(
    spark: SparkSession,
    history: History,
    since: SourceState | int | None,
    until: int | None,
    footers: OrcFooters,
    *,
    options: str = "",
    max_write_ids: int | None = None,
) -> ChangePlan:
    """Find what changed after a state or a write id, up to a write id.

    Args:
        history: the past of the table.
        since: a state, or a write id, whose own changes are not taken; None takes every row.
        until: the last write id whose changes are taken; None goes to the newest.
        options: the text of the options that the table was narrowed with.
        max_write_ids: see `plan_changes`.

    Raises:
        InvalidSettingError: the snapshot has no such write id, or `until` is before `since`.
        InstantLostError: the table as of one of the write ids can no longer be told.
        UnreadableTableError: as for `plan_changes`.
    """
    last = history.newest if until is None else until
    state: SourceState | None
    if isinstance(since, int):
        history.check_known(since)
        instant = history.until(last, since)
        before = history.at(since)
        state = state_of(spark, before.pinned, before.listings, options)
    else:
        instant, state = history.at(last), since
        if state is not None and state.write_ids.high_watermark > last:
            raise InvalidSettingError(
                f"The state of {history.name} has seen write id {state.write_ids.high_watermark}, "
                f"and its changes cannot go back to write id {last}. Give a later `until`."
            )
    return plan_changes(
        spark,
        instant.pinned,
        state,
        footers,
        options=options,
        max_write_ids=max_write_ids,
        listings=instant.listings,
    )
