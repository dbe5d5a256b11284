"""The adapter's methods that tell what a run held and read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.base.meta import AdapterMeta, available
from dbt.adapters.events.logging import AdapterLogger
from dbt.flags import get_flags

from dbt.adapters.hiveacid.report import FILE_NAME, write

if TYPE_CHECKING:
    from dbt.adapters.hiveacid.run import Run

logger = AdapterLogger("HiveAcid")


class ReportMethods(metaclass=AdapterMeta):
    """What the run held and read, for hooks and for a file."""

    run: Run
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
