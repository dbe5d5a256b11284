"""Differences of Hive 3 from what was tried with Hive 4.0.1 next to Spark."""

from __future__ import annotations

import datetime as dt

from sqlglot import exp

from hiveacid.sql.hive_functions import Arguments, DiffersError, call, cast, text

_OF_DATES = {
    "add_months": 1,
    "date_add": 1,
    "date_format": 1,
    "date_sub": 1,
    "datediff": 2,
    "day": 1,
    "dayofmonth": 1,
    "dayofweek": 1,
    "last_day": 1,
    "month": 1,
    "months_between": 2,
    "next_day": 1,
    "quarter": 1,
    "trunc": 1,
    "weekofyear": 1,
    "year": 1,
}
"""Functions of dates, and how many of their first arguments are dates."""

_NO_JULIAN_DAYS = dt.date(1582, 10, 15)


def arguments_of(name: str, arguments: Arguments) -> Arguments:
    """Return the arguments with which a function shows what it shows in Hive 3.

    Raises:
        DiffersError: it shows something else with any.
    """
    if name == "cume_dist":
        raise DiffersError("it is a whole number in Hive 3")
    dates = _OF_DATES.get(name, 0)
    return [*map(without_old_days, arguments[:dates]), *arguments[dates:]]


def without_old_days(value: exp.Expression) -> exp.Expression:
    """Return a date or a time; before 1582-10-15, reading it is an error in Spark."""
    if isinstance(value, exp.Literal):
        return value
    fails = call(
        "RAISE_ERROR",
        text(
            "A view of Hive's computes with a day before 1582-10-15, which Hive 3 counts in two "
            "calendars."
        ),
    )
    first = cast(text(str(_NO_JULIAN_DAYS)), "date")
    return call("IF", exp.LT(this=exp.paren(value.copy()), expression=first), fails, value)


def is_day(literal: str) -> bool:
    """Tell whether a text begins with a day that exists: of others Hive 3 counts on."""
    try:
        dt.date.fromisoformat(literal[:10])
    except ValueError:
        return False
    return True
