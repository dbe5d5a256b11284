"""The names of partitions, as Hive makes them of keys and values."""

from __future__ import annotations

import re
from collections.abc import Iterable

_ESCAPED = re.compile("[\x01-\x1f\"#%'*/:=?\\\\\x7f{\\[\\]^]")


def partition_name(keys: Iterable[str], values: Iterable[str]) -> str:
    """`day=2026-01-01/region=a%2Fb`; empty without keys (`Warehouse.makePartName`)."""
    parts = zip(keys, values, strict=True)
    return "/".join(f"{_escape(key.lower())}={_escape(value)}" for key, value in parts)


def _escape(text: str) -> str:
    """`FileUtils.escapePathName`."""
    return _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", text)
