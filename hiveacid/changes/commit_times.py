"""Commit times of write ids, by the notification log or by files; the write id of a time."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping

from pyspark.sql import SparkSession

from hiveacid.acid.file_times import FileTimes, UnknownTime, file_times
from hiveacid.acid.layout import Listing
from hiveacid.acid.write_ids import WriteIdRanges
from hiveacid.changes.history import History, Point
from hiveacid.errors import InstantLostError, InvalidSettingError
from hiveacid.formatting import text_literal
from hiveacid.snapshots.read_options import AsOf

logger = logging.getLogger("hiveacid")


def commit_times(history: History, write_ids: WriteIdRanges) -> Mapping[int, int]:
    """Return when write ids were committed, in milliseconds since the epoch, where known.

    The time comes from the notification log. Without an entry there, it is the time at which
    the write's last file was finished.
    """
    events = history.evidence.events
    known = dict(_file_times(history, history.listings).known)
    if events is not None:
        known |= {i: at * 1000 for i, at in events.committed.items()}
    return {i: at for i, at in known.items() if i in write_ids}


def find_point(spark: SparkSession, history: History, as_of: AsOf) -> Point:
    """Return the point of an instant, and log how a time was mapped.

    As of a write id, all lower ones are included. As of a time, the ones that are known to have
    been committed later are left out.

    Raises:
        InvalidSettingError: the text is no timestamp.
        InstantLostError: nothing shows which writes were committed at the time.
    """
    if as_of.version is not None:
        return Point(as_of.version)
    milliseconds = milliseconds_of(spark, str(as_of.timestamp))
    point, means = _at_time(history, as_of, milliseconds)
    logger.info(f"{history.name} as of {as_of} is its write id {point}, by {means}.")
    return point


def _at_time(history: History, as_of: AsOf, milliseconds: int) -> tuple[Point, str]:
    if milliseconds >= time.time() * 1000:
        return Point(history.newest), "the clock, for the time has not passed"
    events = history.evidence.events
    if events is not None:
        found = events.at(milliseconds / 1000, history.newest)
        if found is not None:
            found = min(found, history.newest)
            later = _valid(history, events.later(milliseconds / 1000, found))
            return Point(found, later), "the metastore's notification log"
    times = _file_times(history, history.list_whole())
    by_files = times.at(milliseconds, history.pinned.write_ids)
    if isinstance(by_files, UnknownTime):
        raise InstantLostError(
            f"{history.name} cannot be read as of {as_of}: which of its write ids "
            f"{by_files.write_ids} had been committed then, neither {by_files.directory} nor "
            "the metastore's notification log tells. "
            f"{history.readable_after((by_files.write_ids.first or 1) - 1)} Give one of them as "
            "`version_as_of`.",
            code="HIVEACID_AMBIGUOUS_INSTANT",
        )
    later = _valid(history, times.later(milliseconds, by_files))
    return Point(by_files, later), "the modification times of its files"


def _file_times(history: History, listings: Iterable[Listing]) -> FileTimes:
    return file_times(
        listings,
        history.pinned.write_ids,
        names_compactions=history.evidence.server.tells_compaction_transactions,
    )


def _valid(history: History, write_ids: Iterable[int]) -> frozenset[int]:
    return frozenset(filter(history.pinned.write_ids.is_valid, write_ids))


def milliseconds_of(spark: SparkSession, text: str) -> int:
    """Return the time that Spark parses from a text, in milliseconds since the epoch.

    Raises:
        InvalidSettingError: Spark cannot cast the text to a timestamp.
    """
    # Not `timestamp`: a setting can make it a type without a time zone.
    cast = f"unix_millis(try_cast({text_literal(text)} as timestamp_ltz))"
    (found,) = spark.sql(f"select {cast}").collect()[0]
    if found is None:
        raise InvalidSettingError(
            f"{text!r} is no timestamp. Write it as '2026-01-31 12:00:00', with a zone if it is "
            "another than the session's (spark.sql.session.timeZone): '2026-01-31 12:00:00+01:00'.",
            code="HIVEACID_INVALID_TIMESTAMP",
        )
    return int(found)
