"""Report of one dbt command: its snapshot, and what each node has read of it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.base.meta import AdapterMeta
from dbt.adapters.events.logging import AdapterLogger
from dbt.flags import get_flags

from dbt.adapters.hiveacid.__version__ import version
from dbt.adapters.hiveacid.errors import available
from dbt.adapters.hiveacid.sources.read_log import ReadLog
from hiveacid.snapshots.run_snapshot import SnapshotReport

if TYPE_CHECKING:
    from dbt.adapters.hiveacid.invocation import Invocation


FILE_NAME = "hiveacid_snapshot.json"
_DIGITS = 3
"""Of seconds, after the point."""


def as_dict(
    invocation_id: str,
    snapshot: SnapshotReport | None,
    reads: ReadLog,
    *,
    is_open: bool,
    ended_after: str | None,
) -> dict[str, Any]:
    """The report as JSON has it: times in seconds, lengths in bytes, write ids as Hive writes them.

    Args:
        snapshot: what the run holds or held; None if it has opened no transaction.
        is_open: whether it is still held.
        ended_after: the node with whose end the transaction has ended before the run.
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
    """Put the report into a directory, which is made if need be; a reader sees all of it or none.

    Raises:
        OSError: it could not be written. What was there before stays.
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


logger = AdapterLogger("HiveAcid")


class ReportMethods(metaclass=AdapterMeta):
    """What the run held and read, for hooks and for a file."""

    run: Invocation
    config: Any

    @available
    def hiveacid_snapshot_report(self) -> dict[str, Any]:
        """What the run holds and has read up to now, as `hiveacid_snapshot.json` has it at the end.

        Times are in seconds, lengths in bytes. Opens no transaction.
        """
        return self.run.report()

    def write_report(self, report: Mapping[str, Any]) -> None:
        """Put a report beside dbt's run_results.json, unless dbt was told to write no JSON."""
        target = getattr(self.config, "project_target_path", None)
        if target is None or not getattr(get_flags(), "WRITE_JSON", True):
            return
        try:
            write(Path(target), report)
        except OSError as error:
            logger.warning(
                f"{FILE_NAME} could not be written to {target}: {error}. The run itself is not "
                "affected; see whether the directory can be written to."
            )
