"""Time zones of Spark: of a session, and of the Java processes."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pyspark.find_spark_home import _find_spark_home
from pyspark.sql import SparkSession

from hiveacid.jvm.py4j import java

SESSION_ZONE = "spark.sql.session.timeZone"

_OF_EXECUTORS = "spark.executorEnv.TZ"
_JAVA_VARIABLES = ("SPARK_SUBMIT_OPTS", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS")
"""Environment variables with options of the driver's Java."""

_REGION = re.compile("UTC|[A-Z][A-Za-z_]*(/[A-Za-z_0-9+-]+)+")
"""Time zones that Java and the C library read alike: no offsets, whose sign differs, and no `PST`,
which the C library takes for UTC."""


def parse_region(value: Any) -> str:
    """Parse the name of a time zone: `UTC`, or an area and a city."""
    if not isinstance(value, str) or not _REGION.fullmatch(value) or not _is_known(value):
        raise ValueError(f"must be `UTC` or a region such as `Europe/Berlin`, not {value!r}")
    return value


def _is_known(region: str) -> bool:
    try:
        ZoneInfo(region)
    except (ZoneInfoNotFoundError, OSError):
        # A directory (`America/Argentina`) is an OSError. A machine may have no list at all: Java
        # has its own.
        return not available_timezones()
    return True


def zone_variables(
    hive_zone: str | None, parameters: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return what starts Java in Hive's time zone: variables of the driver, Spark's settings.

    Spark writes timestamps into ORC and text files as the clock of its Java shows them, reads them
    so, and Hive shows that clock. Both are empty where the profile does not name Hive's zone, and
    where the profile, Spark's defaults or the environment choose a zone for the driver or the
    executors: the other side would get another one.
    """
    if hive_zone is None or _chooses_zone({**_defaults(), **parameters}):
        return {}, {}
    return {"TZ": hive_zone}, {_OF_EXECUTORS: hive_zone}


def _chooses_zone(settings: Mapping[str, str]) -> bool:
    """Return whether Spark's settings or the environment name the time zone of a Java process."""
    options = [value for key, value in settings.items() if key.endswith("JavaOptions")]
    options += [os.environ.get(name, "") for name in _JAVA_VARIABLES]
    return _OF_EXECUTORS in settings or any("user.timezone" in it for it in options)


def _defaults() -> dict[str, str]:
    """Return the settings of `spark-defaults.conf`, which Spark's launcher adds to the profile's.

    Raises:
        OSError: the file cannot be read; Spark would not start either.
    """
    home = os.environ.get("SPARK_CONF_DIR") or os.path.join(_find_spark_home(), "conf")
    file = Path(home, "spark-defaults.conf")
    if not file.is_file():
        return {}
    text = file.read_text(encoding="utf-8", errors="replace")
    lines = (line.strip() for line in text.splitlines())
    pairs = (re.split(r"\s*[=:\s]\s*", line, maxsplit=1) for line in lines if line[:1] not in "#!")
    return {key: "".join(value) for key, *value in pairs}


def is_set(session: SparkSession, key: str) -> bool:
    """Return whether a setting was set anywhere, and does not just have its default."""
    return bool(session._jsparkSession.sessionState().conf().contains(key))


@dataclass(frozen=True)
class TimeZones:
    """Time zones of a session and of the driver's Java.

    `is_chosen`: the session's was set. `is_same`: both show each instant alike. `for_java` is the
    session's as `-Duser.timezone` takes it.
    """

    session: str
    java: str
    for_java: str
    is_chosen: bool
    is_same: bool

    @classmethod
    def of(cls, session: SparkSession) -> TimeZones:
        """Return the time zones now."""
        context, zone = session.sparkContext, str(session.conf.get(SESSION_ZONE))
        times = java(context, "org.apache.spark.sql.catalyst.util.DateTimeUtils")
        java_zones = java(context, "java.util.TimeZone")
        of_session, of_java = times.getZoneId(zone), java_zones.getDefault().toZoneId()
        return cls(
            session=zone,
            java=str(of_java.getId()),
            for_java=str(java_zones.getTimeZone(of_session.normalized()).getID()),
            is_chosen=is_set(session, SESSION_ZONE),
            is_same=bool(of_java.getRules().equals(of_session.getRules())),
        )

    def __str__(self) -> str:
        """Return the line of `dbt debug`."""
        source = "" if self.is_chosen else ", that of this machine"
        java = "" if self.is_same else f"; Spark's Java: {self.java}"
        return f"Time zone of the session: {self.session}{source}{java}"
