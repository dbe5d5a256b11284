"""What a run of a model has applied to its target, for the log and dbt's artifacts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hiveacid.changes.plan import FileAmount
from hiveacid.formatting import human_bytes, pluralize


@dataclass(frozen=True)
class Outcome:
    """The changes that one run has applied.

    `write_ids` are those of `source` that are new with it. `read` are the source's files with what
    was inserted and deleted, `whole` all files of its snapshot.
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
        """What dbt shows beside the model's name."""
        return f"OK, {self._rows(', ')}"

    def line(self, transaction_id: int | None) -> str:
        """What the log says."""
        return (
            f"Model {self.model}: {self._rows(' and ')} by write ids {self.write_ids} of "
            f"{self.source}, read in transaction {transaction_id} from {self.read.files} of "
            f"{self.whole.files} files, {human_bytes(self.read.bytes)} of "
            f"{human_bytes(self.whole.bytes)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """What `run_results.json` has."""
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
