"""Time zones of Spark: of a session, and of the Java processes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

from hiveacid.jvm.py4j import java

SESSION_ZONE = "spark.sql.session.timeZone"

_REGION = re.compile("[A-Z][A-Za-z_]*(/[A-Za-z_0-9+-]+)*")
"""Time zones that Java and the C library read alike: not offsets, whose sign differs."""


def zone_variable(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return the variable that starts a process in the session's time zone; empty without one.

    Spark writes timestamps into ORC and text files as the clock of its Java shows them, and Hive
    shows that clock. `-Duser.timezone` in Java's options overrides the variable.
    """
    zone = parameters.get(SESSION_ZONE, "")
    return {"TZ": zone} if _REGION.fullmatch(zone) else {}


def is_set(session: SparkSession, key: str) -> bool:
    """Return whether a setting was set anywhere, and does not just have its default."""
    return bool(session._jsparkSession.sessionState().conf().contains(key))


@dataclass(frozen=True)
class TimeZones:
    """Time zones of a session and of the driver's Java.

    `is_chosen`: the session's was set. `is_same`: both show each instant alike.
    """

    session: str
    java: str
    is_chosen: bool
    is_same: bool

    @classmethod
    def of(cls, session: SparkSession) -> TimeZones:
        """Return the time zones now."""
        context, zone = session.sparkContext, str(session.conf.get(SESSION_ZONE))
        times = java(context, "org.apache.spark.sql.catalyst.util.DateTimeUtils")
        of_java = java(context, "java.util.TimeZone").getDefault().toZoneId()
        same = of_java.getRules().equals(times.getZoneId(zone).getRules())
        return cls(zone, str(of_java.getId()), is_set(session, SESSION_ZONE), bool(same))

    def __str__(self) -> str:
        """Return the line of `dbt debug`."""
        source = "" if self.is_chosen else ", that of this machine"
        java = "" if self.is_same else f"; Spark's Java: {self.java}"
        return f"Time zone of the session: {self.session}{source}{java}"
