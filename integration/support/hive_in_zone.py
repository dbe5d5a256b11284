"""A Hive whose Java has a time zone of its own."""

from __future__ import annotations

from typing import Any

from integration.support.hive import HiveServer, HiveSettings


class HiveInZone(HiveServer):
    """Such a Hive."""

    def __init__(self, zone: str, settings: HiveSettings | None = None, **options: Any) -> None:
        """`options` are those of a `HiveServer`."""
        super().__init__(settings, **options)
        self._zone = zone

    def _java_options(self) -> list[str]:
        return [f"-Duser.timezone={self._zone}"]
