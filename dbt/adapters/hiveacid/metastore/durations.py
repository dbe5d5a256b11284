"""Hive's durations: a number with an optional unit, e.g. `300s` or `5min`."""

from __future__ import annotations

import re

_SHORT_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_LONG_UNITS = {
    "day": 86400.0,
    "hour": 3600.0,
    "min": 60.0,
    "sec": 1.0,
    "msec": 1e-3,
    "usec": 1e-6,
    "nsec": 1e-9,
}
_DURATION = re.compile(r"(\d+)\s*([a-z]*)", re.IGNORECASE)


def parse_seconds(text: str, default_unit: str = "s") -> float:
    """The seconds in a duration as Hive's configuration writes it (`MetastoreConf.unitFor`).

    A long unit may go on in any way (`min`, `minutes`); a number without one counts
    `default_unit`. Raises `ValueError` on anything else.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"not a duration: {text!r}")
    unit = (match[2] or default_unit).lower()
    seconds = _SHORT_UNITS.get(unit)
    if seconds is None:
        long_units = (factor for prefix, factor in _LONG_UNITS.items() if unit.startswith(prefix))
        seconds = next(long_units, None)
    if seconds is None:
        raise ValueError(f"not a duration: {text!r} (unknown unit {unit!r})")
    return int(match[1]) * seconds
