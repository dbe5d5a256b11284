"""Outcome of a model's run over `acid_changes`, for the log and dbt's artifacts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hiveacid.changes.plan import FileAmount
from hiveacid.formatting import human_bytes, pluralize


@dataclass(frozen=True)
class Outcome:
    """The changes that one run has applied.

    `write_ids` are the new write ids of `source`. `read` are the source's files with inserted rows
    and deletes, `whole` all files of its snapshot.
    """

    model: str
    source: str
    write_ids: str
    is_upsert: bool
    inserts: int
    deletes: int
    read: FileAmount
    whole: FileAmount

    @property
    def message(self) -> str:
        """The text that dbt shows next to the model's name."""
        return f"OK, {self._rows(', ')}"

    def line(self, transaction_id: int | None) -> str:
        """Return the line for the log."""
        return (
            f"Model {self.model}: {self._rows(' and ')} by write ids {self.write_ids} of "
            f"{self.source}, read in transaction {transaction_id} from {self.read.files} of "
            f"{self.whole.files} files, {human_bytes(self.read.bytes)} of "
            f"{human_bytes(self.whole.bytes)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for `run_results.json`."""
        return {
            "source": self.source,
            "write_ids": self.write_ids,
            "inserts": self.inserts,
            "deletes": self.deletes,
            "files_read": self.read.files,
            "files": self.whole.files,
            "bytes_read": self.read.bytes,
            "bytes": self.whole.bytes,
        }

    def _rows(self, between: str) -> str:
        inserts = pluralize(self.inserts, "upsert" if self.is_upsert else "insert")
        return f"{inserts}{between}{pluralize(self.deletes, 'delete')}"
