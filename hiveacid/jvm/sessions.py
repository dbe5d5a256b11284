"""Sessions of Java's that are like another one, with some settings of their own."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

_Key = tuple[SparkContext, str, tuple[tuple[str, str | None], ...]]

_KEPT = 64
"""Sessions that are kept at most. A new one takes some 20 ms; its users hold on to it."""


class SessionsLike:
    """Sessions by the session that they are like and by their own settings, those used last.

    Nobody else has such a session: what a user sets does not reach the settings of its own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[_Key, Any] = OrderedDict()

    def of(self, spark: SparkSession, own: Mapping[str, str | None]) -> Any:
        """Return a session with the settings that `spark` has now, and its `own`.

        A setting that is None in `own` has Spark's default. If the session is there already, its
        other settings follow those of `spark`.
        """
        like = spark._jsparkSession
        key = (spark.sparkContext, str(like.sessionUUID()), tuple(sorted(own.items())))
        with self._lock:
            session = self._kept.get(key)
            if session is None:
                session = self._kept[key] = like.newSession()
            self._kept.move_to_end(key)
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
            # A copy: other threads may change the settings meanwhile.
            wanted = like.sessionState().conf().clone().settings()
            for name, value in own.items():
                if value is None:
                    wanted.remove(name)
                else:
                    wanted.put(name, value)
            # At no time do the settings of its own have other values: statements may run.
            settings = session.sessionState().conf().settings()
            settings.putAll(wanted)
            settings.keySet().retainAll(wanted.keySet())
            return session
