"""Warnings about reads that are correct but may be surprising, each logged once."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence

from hiveacid.acid.layout import ListedFile
from hiveacid.errors import MetastoreError
from hiveacid.formatting import first_few, human_bytes, pluralize
from hiveacid.metastore.models import TableName
from hiveacid.reader.partition_choice import PartitionChoice
from hiveacid.reader.plan import ReadPlan
from hiveacid.snapshots.tables import PinnedTable, UnlockedTable

logger = logging.getLogger("hiveacid")
_SHOWN = 3
"""Maximum number of directories that a warning names."""


class ReadWarnings:
    """Warnings about one snapshot's reads, once for each table. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said: set[tuple[TableName, str]] = set()
        self._to_be_lost: dict[TableName, tuple[str, ...]] = {}

    @property
    def rows_hive_will_drop(self) -> Mapping[TableName, tuple[str, ...]]:
        """Tables with rows that Hive will lose, and the directories that show it."""
        with self._lock:
            return dict(self._to_be_lost)

    def warn_of_nanoseconds(self, plan: ReadPlan) -> None:
        """Warn of timestamps in a plan's files that Spark cuts to microseconds."""
        name = plan.pinned.table.name
        if plan.nanoseconds and self._is_first(name, "nanoseconds"):
            columns = ", ".join(f"{c} (in {file.path})" for c, file in plan.nanoseconds.items())
            logger.warning(
                "[HIVEACID_WARN_NANOSECONDS_CUT] "
                f"{name} has timestamps with nanoseconds, which Spark cuts to microseconds: "
                f"{columns}. Values that differ only there become equal. If that matters, let Hive "
                "keep them as text, in a column of type string."
            )

    def warn_of_losses(self, name: TableName, rows_hive_will_drop: Sequence[str]) -> None:
        """Warn of rows that Hive will lose, and remember the directories.

        Args:
            name: the table.
            rows_hive_will_drop: see `ReadPlan`.
        """
        if rows_hive_will_drop and self._is_first(name, "to be lost"):
            with self._lock:
                self._to_be_lost[name] = tuple(rows_hive_will_drop)
            logger.warning(
                f"[HIVEACID_WARN_ROWS_HIVE_WILL_DROP] Hive is going to lose rows of {name}: a "
                f"compaction has left {first_few(rows_hive_will_drop, _SHOWN)} without any "
                "file. The rows that belong there are still in older directories, and are "
                "read, but Hive's cleaner will remove these directories. Copy the table in "
                "Hive before that (CREATE TABLE … AS SELECT)."
            )

    def warn_of_missing(self, name: TableName, missing: Sequence[str]) -> None:
        """Warn of partitions whose locations do not exist for Spark.

        Args:
            name: the table.
            missing: see `ReadPlan`.
        """
        if missing and self._is_first(name, "missing"):
            logger.warning(
                f"[HIVEACID_WARN_PARTITION_WITHOUT_DIRECTORY] {name} has partitions without a "
                f"directory: {first_few(missing, _SHOWN)}. They are read as empty, as Hive "
                "does. If Hive shows rows of them, Spark does not see their file system: "
                "check its settings. Otherwise drop the partitions, or create the directories."
            )

    def warn_of_ignored_directories(self, name: TableName, directories: Sequence[str]) -> None:
        """Warn of directories without files that hide rows in Hive 3.1, but not in Hive 4.

        Args:
            name: the table.
            directories: see `ReadPlan.ignored_directories`.
        """
        if directories and self._is_first(name, "ignored directories"):
            logger.warning(
                "[HIVEACID_WARN_DIRECTORY_WITHOUT_FILES] "
                f"{name} has no visible file in {first_few(directories, _SHOWN)}, as Impala's "
                "TRUNCATE leaves a base. Hive 4 shows the rows that the name covers, and they are "
                "read; Hive 3.1 and Impala do not show them. To end the difference, TRUNCATE the "
                "table in Hive if the rows must go, or run a major compaction there if they must "
                "stay."
            )

    def warn_of_ignored_files(self, name: TableName, files: Sequence[ListedFile]) -> None:
        """Warn of files of an insert-only table that Hive does not show.

        Args:
            name: the table.
            files: see `ReadPlan.ignored_files`.
        """
        if files and self._is_first(name, "ignored files"):
            size = human_bytes(sum(file.length for file in files))
            logger.warning(
                f"[HIVEACID_WARN_IGNORED_FILES] {name} has {pluralize(len(files), 'file')} "
                f"({size}) outside of all bases and deltas, such as {files[0].path}. The "
                "files are not read, and Hive does not show their rows in an insert-only "
                "table either. To add the rows, load the files in Hive: LOAD DATA INPATH … "
                "INTO TABLE …."
            )

    def warn_of_unseen(self, pinned: PinnedTable) -> None:
        """Warn of a materialized view that has not seen all writes to its tables."""
        name = pinned.table.name
        if pinned.unseen and self._is_first(name, "unseen"):
            writes = first_few([f"{table} (write id {ids})" for table, ids in pinned.unseen], 3)
            logger.warning(
                f"[HIVEACID_WARN_STALE_MATERIALIZED_VIEW] {name} is a materialized view that "
                f"Hive has not rebuilt since writes to {writes}. It is read as it is, as "
                "Hive's SELECT * FROM the view does. To refresh it, run ALTER MATERIALIZED "
                "VIEW … REBUILD in Hive."
            )

    def warn_of_foreign(self, name: TableName, foreign: Sequence[tuple[str, int]]) -> None:
        """Warn of compactions of another metastore that Hive does not show yet.

        Args:
            name: the table.
            foreign: the result of `find_compactions_of_other_metastore`.
        """
        if foreign and self._is_first(name, "foreign"):
            logger.warning(
                f"[HIVEACID_WARN_COMPACTION_OF_OTHER_METASTORE] {about_foreign(name, foreign)}"
            )

    def warn_of_unknown_compactions(self, name: TableName, error: MetastoreError) -> None:
        """Warn of compactions of an unknown metastore, which the snapshot does not see yet.

        Args:
            name: the table.
            error: the metastore's error.
        """
        if self._is_first(name, "unknown compactions"):
            logger.warning(
                "[HIVEACID_WARN_UNKNOWN_COMPACTIONS] "
                f"{name} has directories of compactions that the snapshot does not see. The rows "
                "read are those that Hive shows. Only changes of the table need to know whether "
                "another metastore made the directories (REPL LOAD copies such directories), and "
                f"the metastore did not say: {error.message}"
            )

    def warn_of_unknown(self, table: UnlockedTable, choice: PartitionChoice) -> None:
        """Warn of chosen values for which the table has no partition."""
        name, unknown = table.table.name, choice.unknown_in(table)
        if unknown and self._is_first(name, f"unknown: {choice}"):
            logger.warning(
                f"[HIVEACID_WARN_UNKNOWN_PARTITION] {name} has no partition "
                f"{', '.join(unknown)}, which the option `partitions` of the source names. "
                "Compare the value with SHOW PARTITIONS in Hive."
            )

    def _is_first(self, table: TableName, subject: str) -> bool:
        with self._lock:
            is_first = (table, subject) not in self._said
            self._said.add((table, subject))
        return is_first


def about_foreign(name: TableName, foreign: Sequence[tuple[str, int]]) -> str:
    """Return the warning about compactions that another metastore ran."""
    paths = first_few([path for path, _ in foreign], _SHOWN)
    highest = max(transaction for _, transaction in foreign)
    return (
        f"{name} has rows that Hive does not show yet: a compaction of another metastore made "
        f"{paths} (REPL LOAD copies such directories). Hive shows the rows once transaction "
        f"{highest} has ended in this metastore, or is forgotten after an abort. Until then, "
        "reads show the same rows as Hive."
    )
