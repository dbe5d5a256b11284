"""The names and texts of the records in which Parquet and ORC tables keep their state (`plain`)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from dbt.adapters.hiveacid.incremental.stores.directory import Directory

CLAIM = "claimed_by"

_RECORD = re.compile(r"(\d{12})\.json")


@dataclass(frozen=True)
class NewestRecord:
    """The number of the newest record, and number and text of the newest that is no claim.

    The text is empty, and the numbers are 0, if there is none.
    """

    records: Directory
    generation: int
    counting: int
    text: str


def generations(names: Iterable[str]) -> list[int]:
    """The numbers of the records among a directory's files, in their order."""
    matches = map(_RECORD.fullmatch, names)
    return sorted(int(match.group(1)) for match in matches if match is not None)


def claim_of(text: str) -> str | None:
    """The invocation that a record says is about to replace the table."""
    return json.loads(text).get(CLAIM) if CLAIM in text else None


def record_name(generation: int) -> str:
    """The file of a record."""
    return f"{generation:012d}.json"


def done_name(generation: int) -> str:
    """The file that says that all files of a record's append are in place."""
    return f"{generation:012d}.done"
