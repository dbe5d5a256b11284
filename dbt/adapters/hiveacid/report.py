"""Report on one dbt command: its snapshot, and what each node has read from it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt.flags import get_flags

from dbt.adapters.hiveacid.__version__ import version
from dbt.adapters.hiveacid.sources.read_log import ReadLog
from hiveacid.snapshots.locked_tables import SnapshotReport

logger = AdapterLogger("HiveAcid")
FILE_NAME = "hiveacid_snapshot.json"
_DIGITS = 3
"""Decimal places of seconds."""


def write_report(directory: Path | None, report: Mapping[str, Any]) -> None:
    """Write a report next to dbt's run_results.json, except with `--no-write-json`.

    If the report cannot be written, the run continues with a warning.

    Args:
        directory: dbt's target directory; None for a command that has none.
        report: as `as_dict` returns it.
    """
    if directory is None or not getattr(get_flags(), "WRITE_JSON", True):
        return
    try:
        write(directory, report)
    except OSError as error:
        logger.warning(
            "[HIVEACID_WARN_REPORT_NOT_WRITTEN] "
            f"{FILE_NAME} could not be written to {directory}: {error}. The run itself is not "
            "affected; check that the directory can be written to."
        )


def as_dict(
    invocation_id: str,
    snapshot: SnapshotReport | None,
    reads: ReadLog,
    *,
    is_open: bool,
    ended_after: str | None,
) -> dict[str, Any]:
    """Return the report for JSON: seconds, bytes, and write ids as Hive writes them.

    Args:
        invocation_id: the id of the dbt command.
        snapshot: what the run holds or held; None if it has opened no transaction.
        reads: what each node has read.
        is_open: whether the transaction is open.
        ended_after: the node after which the transaction has ended; None if it ended with the run.
    """
    return {
        "metadata": {
            "adapter_version": version,
            "invocation_id": invocation_id,
            "generated_at": datetime.now(timezone.utc).isoformat(),
        },
        "transaction": None if snapshot is None else _transaction(snapshot, is_open, ended_after),
        "sources": [] if snapshot is None else _sources(snapshot, reads),
        "nodes": [
            {
                "unique_id": reader,
                "reads": [{"table": str(t), **asdict(amount)} for t, amount in tables.items()],
            }
            for reader, tables in reads.by_reader()
        ],
    }


def write(directory: Path, report: Mapping[str, Any]) -> None:
    """Write the report atomically into a directory, which is created if it is missing.

    Raises:
        OSError: the report could not be written. The previous report stays.
    """
    directory.mkdir(parents=True, exist_ok=True)
    new = directory / f".{FILE_NAME}.{os.getpid()}"
    try:
        new.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
        new.replace(directory / FILE_NAME)
    finally:
        new.unlink(missing_ok=True)


def _transaction(
    snapshot: SnapshotReport, is_open: bool, ended_after: str | None
) -> dict[str, Any]:
    return {
        "id": snapshot.transaction_id,
        "is_open": is_open,
        "ended_after": ended_after,
        "lock_wait_seconds": round(snapshot.lock_wait_seconds, _DIGITS),
        "held_seconds": round(snapshot.held_seconds, _DIGITS),
    }


def _sources(snapshot: SnapshotReport, reads: ReadLog) -> list[dict[str, Any]]:
    return [
        {
            "table": str(table),
            "transaction_id": snapshot.transaction_id,
            "write_ids": str(write_ids),
            "high_watermark": write_ids.high_watermark,
            "lock_wait_seconds": round(snapshot.lock_waits[table], _DIGITS),
            "held_seconds": round(snapshot.held_seconds, _DIGITS),
            **asdict(reads.of_table(table)),
        }
        for table, write_ids in sorted(snapshot.write_ids.items())
    ]
