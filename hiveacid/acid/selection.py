"""Selection of the directories and files that make up the snapshot of a location.

The rules are the rules of Hive's `AcidUtils.getAcidState`. A reader takes the best base whose
history it may see, then the deltas after the base: each write id from the widest directory that
covers it. It takes original files only if there is no base. Every listed file is either used, or
skipped with a reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from hiveacid.acid.layout import (
    BASE_OF_ORIGINALS,
    SIDE_FILE_SUFFIX,
    BaseDir,
    DeltaDir,
    ListedFile,
    Listing,
    is_side_file,
    parse_directory,
)
from hiveacid.acid.write_ids import RangeResponse, ValidTxnList, ValidWriteIdList
from hiveacid.errors import UnreadableTableError


@dataclass(frozen=True)
class Skipped:
    """A directory or file that the snapshot does not use; its path is relative to the location."""

    relative: str
    reason: str


@dataclass(frozen=True)
class SelectedDir:
    """A directory of the snapshot with its data files (empty files left out)."""

    directory: BaseDir | DeltaDir
    files: tuple[ListedFile, ...]

    @property
    def write_id_range(self) -> tuple[int, int]:
        """The lowest and the highest write id of the directory."""
        return self.directory.write_id_range


@dataclass(frozen=True)
class OpenFile:
    """A file in the delta `directory` that its writer, of several transactions, has not closed.

    The side file has the length that counts. The file's own length in a listing means nothing.
    """

    directory: str
    file: ListedFile
    side_file: ListedFile


@dataclass(frozen=True)
class AcidState:
    """The snapshot of one location (Hive's `AcidDirectory`).

    Attributes:
        originals: the files outside of any ACID directory, in Hive's order, which numbers their
            rows. Empty if there is a base.
        empty_directories: directories without a file that Hive sees, whose names cover several
            write ids. They cover nothing. Compactions leave some; other engines may, too.
        above_rows: the empty directories whose names cover rows that still exist. Hive's cleaner
            goes by the names, and may remove the rows.
        ignored_files: original files that Hive does not show (`without_originals`).
        open_files: files that are being written. No directory has them among its files.
        uncommitted_compactions: directories of compactions whose transactions are open or aborted
            in `valid_txns`.
    """

    base: SelectedDir | None
    deltas: tuple[SelectedDir, ...]
    delete_deltas: tuple[SelectedDir, ...]
    originals: tuple[ListedFile, ...]
    skipped: tuple[Skipped, ...]
    empty_directories: tuple[SelectedDir, ...] = ()
    above_rows: tuple[SelectedDir, ...] = ()
    ignored_files: tuple[ListedFile, ...] = ()
    open_files: tuple[OpenFile, ...] = ()
    uncommitted_compactions: tuple[BaseDir | DeltaDir, ...] = ()

    @property
    def of_rows(self) -> tuple[SelectedDir, ...]:
        """The directories that hold rows: the base, if there is one, and the deltas."""
        return self.deltas if self.base is None else (self.base, *self.deltas)

    @property
    def rows_hive_will_drop(self) -> tuple[SelectedDir, ...]:
        """The directories of compactions in `above_rows`: the cleaner comes after a compaction."""
        return tuple(empty for empty in self.above_rows if empty.directory.visibility_txn)

    @property
    def ignored_directories(self) -> tuple[SelectedDir, ...]:
        """The directories in `above_rows` that no compaction of Hive 4 has made."""
        return tuple(empty for empty in self.above_rows if not empty.directory.visibility_txn)

    @property
    def all_deltas(self) -> tuple[SelectedDir, ...]:
        """The deltas and the delete deltas: all directories but the base."""
        return (*self.deltas, *self.delete_deltas)

    @property
    def directories(self) -> tuple[SelectedDir, ...]:
        """All directories."""
        return (*self.of_rows, *self.delete_deltas)


def select(listing: Listing, write_ids: ValidWriteIdList, valid_txns: ValidTxnList) -> AcidState:
    """Choose the directories and files that a reader with these valid ids must read.

    Raises:
        UnreadableTableError: the name of a directory cannot be parsed, or the only base holds rows
            that the reader must not see ("not enough history").
    """
    files, originals = _by_directory(listing)

    bases: list[BaseDir] = []
    deltas: list[DeltaDir] = []
    skipped: list[Skipped] = []
    empty_directories: list[SelectedDir] = []
    uncommitted_compactions: list[BaseDir | DeltaDir] = []
    for name in sorted(files):
        directory = _parse(listing, name)
        if directory.visibility_txn and not valid_txns.is_valid(directory.visibility_txn):
            reason = f"its compaction, transaction {directory.visibility_txn}, is not visible"
            skipped.append(Skipped(name, reason))
            uncommitted_compactions.append(directory)
        elif name in listing.without_files:
            # Hive lists the files below a location, and so does not see the directory
            # (`AcidUtils.getHdfsDirSnapshots`). It reads what the directory's name covers until
            # the cleaner, which lists directories, removes it.
            skipped.append(Skipped(name, _why_empty(directory)))
            if directory.visibility_txn or _covers_several(directory):
                empty_directories.append(SelectedDir(directory, ()))
        elif isinstance(directory, BaseDir):
            bases.append(directory)
        else:
            deltas.append(directory)

    compacted = {base.name for base in bases if is_compacted(listing, base)}
    base = _best_base(listing, bases, compacted, write_ids, skipped)
    chosen = _best_deltas(deltas, base, write_ids, skipped)
    _refuse_reversed(listing, chosen)
    directories: tuple[BaseDir | DeltaDir, ...] = (*bases, *deltas)
    with_data = [
        d
        for d in directories
        if any(file.length for file in files[d.name]) and not is_replaced(d, base, chosen)
    ]
    has_originals = base is None and any(file.length for file in originals)
    if base is not None:
        reason = f"an original file, replaced by {base.name}"
        skipped.extend(Skipped(file.relative, reason) for file in originals)
        originals = []

    open_files: list[OpenFile] = []

    def with_files(directory: BaseDir | DeltaDir) -> SelectedDir:
        listed = _closed_files(directory, files.get(directory.name, ()), open_files, skipped)
        return SelectedDir(directory, _not_empty(listed, skipped))

    return AcidState(
        base=None if base is None else with_files(base),
        deltas=tuple(with_files(d) for d in chosen if not d.is_delete),
        delete_deltas=tuple(with_files(d) for d in chosen if d.is_delete),
        originals=_not_empty(sorted(originals, key=lambda file: file.relative), skipped),
        skipped=tuple(skipped),
        empty_directories=tuple(empty_directories),
        uncommitted_compactions=tuple(uncommitted_compactions),
        above_rows=tuple(
            empty
            for empty in empty_directories
            if will_delete_rows(empty.directory, with_data, has_originals, base, write_ids)
        ),
        open_files=tuple(open_files),
    )


def without_originals(state: AcidState) -> AcidState:
    """Ignore the original files, as Hive does in insert-only tables.

    Hive does so unless its setting `hive.mm.allow.originals` is true.
    """
    reason = "Hive does not show files outside of bases and deltas in an insert-only table"
    skipped = (Skipped(file.relative, reason) for file in state.originals)
    return replace(
        state,
        originals=(),
        skipped=(*state.skipped, *skipped),
        ignored_files=state.originals,
    )


def _why_empty(directory: BaseDir | DeltaDir) -> str:
    if directory.visibility_txn:
        return "its compaction has left no file in it"
    return "it has no file that Hive sees"


def _covers_several(directory: BaseDir | DeltaDir) -> bool:
    """Whether a name can stand for other directories. An INSERT without rows leaves others."""
    return isinstance(directory, BaseDir) or directory.min_write_id < directory.max_write_id


def is_compacted(listing: Listing, base: BaseDir) -> bool:
    """Whether a compaction made a base of `listing`, rather than an overwrite or a truncate."""
    return bool(base.visibility_txn) or listing.data_formats.get(base.name) == "compacted"


def _by_directory(listing: Listing) -> tuple[dict[str, list[ListedFile]], list[ListedFile]]:
    """Return the files of each ACID directory right below the location, and the original files.

    Refuse an ACID directory further down: Hive 4.0.1 reads its rows twice or not at all, depending
    on the file system (trinodb/trino#8920 shows a table with such copies). Allow the one nesting
    that Hive itself makes, of the same name (`base_3/base_3/000000_0`): where it writes dynamic
    partitions of an insert-only table and one of the partitions has a location of its own.
    """
    files: dict[str, list[ListedFile]] = {}
    for relative in listing.directories:
        top = _outside_of_others(listing, relative)
        if _is_acid_name(top):
            files.setdefault(top, [])
    originals: list[ListedFile] = []
    for file in listing.files:
        files.get(_outside_of_others(listing, file.relative), originals).append(file)
    return files, originals


def _outside_of_others(listing: Listing, relative: str) -> str:
    """Return the first part of a path. Its second part may repeat the ACID name.

    Raises:
        UnreadableTableError: another part is the name of an ACID directory.
    """
    top, *below = relative.split("/")
    if any(map(_is_acid_name, below[1:] if below[:1] == [top] else below)):
        raise UnreadableTableError(
            f"{listing.location} cannot be read: it has an ACID directory inside another "
            f"directory: {relative}. Move the inner directory out of the table, or compact "
            "the table in Hive, then take a new snapshot.",
            code="HIVEACID_NESTED_ACID_DIRECTORY",
        )
    return top


def _is_acid_name(name: str) -> bool:
    return name.startswith(("base_", "delta_", "delete_delta_"))


def _parse(listing: Listing, name: str) -> BaseDir | DeltaDir:
    try:
        directory = parse_directory(name)
    except ValueError as error:
        raise UnreadableTableError(
            f"{listing.location} cannot be read: it has a directory that Hive did not create: "
            f"{error}. Move the directory out of the table, then take a new snapshot.",
            code="HIVEACID_UNKNOWN_ACID_DIRECTORY",
        ) from error
    assert directory is not None, name
    return directory


def _refuse_reversed(listing: Listing, chosen: Iterable[DeltaDir]) -> None:
    """Refuse a delta such as `delta_4_3`, whose rows Hive shows.

    Hive 4.0.1 gives this name if it merges files below the open write id 4 and an earlier write id
    is aborted (`MergeCompactor.getOutputDirPath`).
    """
    for delta in chosen:
        if delta.min_write_id > delta.max_write_id:
            raise UnreadableTableError(
                f"{listing.location}/{delta.name} cannot be read: its write ids are reversed. "
                "A merging compaction below an open write creates such a directory, and Hive "
                "then shows each row twice. Take a new snapshot when the write has committed "
                "here or the table is compacted. If no compaction created the directory, find "
                "out who wrote it: it may hold rows.",
                code="HIVEACID_REVERSED_WRITE_IDS",
            )


def _best_base(
    listing: Listing,
    bases: Iterable[BaseDir],
    compacted: set[str],
    write_ids: ValidWriteIdList,
    skipped: list[Skipped],
) -> BaseDir | None:
    """Return the valid base with the highest write id; of two equal ones the compacted one."""

    def is_valid(base: BaseDir) -> bool:
        if base.write_id == BASE_OF_ORIGINALS:
            return True
        if base.name in compacted:
            return write_ids.is_valid_base(base.write_id)
        return write_ids.is_valid(base.write_id)

    def rank(base: BaseDir) -> tuple[int, bool, int]:
        return base.write_id, base.name in compacted, base.visibility_txn

    ordered = sorted(bases, key=rank, reverse=True)
    best = next((base for base in ordered if is_valid(base)), None)
    if best is None and any(base.name in compacted for base in ordered):
        raise UnreadableTableError(
            f"{listing.location} cannot be read in this snapshot: not enough history. The "
            f"oldest base is {ordered[-1].name}, but {_why_none_is_valid(ordered, write_ids)}",
            code="HIVEACID_NOT_ENOUGH_HISTORY",
        )
    for base in ordered:
        if base is best:
            continue
        if best is not None and rank(base) < rank(best):
            reason = f"replaced by {best.name}"
        else:
            reason = f"its write id {base.write_id} is not valid in this snapshot"
        skipped.append(Skipped(base.name, reason))
    return best


def _why_none_is_valid(bases: Sequence[BaseDir], write_ids: ValidWriteIdList) -> str:
    """Return the end of an error's sentence: the reason, and what to do."""
    mark = write_ids.high_watermark
    lowest = min(base.write_id for base in bases)
    if mark < lowest < write_ids.min_open and all(base.visibility_txn for base in bases):
        # The compactions are visible, so all their write ids had ended: the high-water mark has
        # gone back since. Without visibility transactions (Hive 3) this cannot be known.
        return (
            f"the high-water mark of the write ids is {mark}: the metastore knows no higher "
            "ones until the next write, and Hive cannot read the table either. Insert a row "
            "in Hive, then take a new snapshot."
        )
    return (
        f"this snapshot must not see write ids {sorted(write_ids.invalid)} up to {mark}. A "
        "compaction has removed the directories that the snapshot needs. Take a new snapshot."
    )


def _best_deltas(
    deltas: Iterable[DeltaDir],
    base: BaseDir | None,
    write_ids: ValidWriteIdList,
    skipped: list[Skipped],
) -> list[DeltaDir]:
    """Return the widest deltas that together cover the valid write ids after `base`.

    Of `delta_5_20 delta_5_10 delta_11_20 delta_51_60`, in this order, the first and the last are
    taken. A delta and a delete delta of the same range go together; so do all statements of one
    write id.
    """

    def order(delta: DeltaDir) -> tuple[int, int, int, bool, int]:
        statement = -1 if delta.statement_id is None else delta.statement_id
        newest_first = -delta.visibility_txn
        widest_first = -delta.max_write_id
        return delta.min_write_id, widest_first, statement, not delta.is_delete, newest_first

    chosen: list[DeltaDir] = []
    current = 0 if base is None else base.write_id
    last_statement: int | None = None
    previous: DeltaDir | None = None
    for delta in sorted(deltas, key=order):
        low, high = delta.min_write_id, delta.max_write_id
        if write_ids.is_range_valid(low, high) is RangeResponse.NONE:
            reason = f"no write id in {low}..{high} is valid in this snapshot"
            skipped.append(Skipped(delta.name, reason))
            continue
        if high > current:
            if write_ids.is_range_valid(current + 1, high) is RangeResponse.NONE:
                reason = f"no write id in {current + 1}..{high} is valid in this snapshot"
                skipped.append(Skipped(delta.name, reason))
                continue
            current, last_statement = high, delta.statement_id
        elif high == current and last_statement is not None:
            pass
        elif previous is not None and _same_range(delta, previous):
            if delta.is_delete == previous.is_delete:
                skipped.append(Skipped(delta.name, f"an older version of {previous.name}"))
                continue
        else:
            covering = previous or base
            by = f" by {covering.name}" if covering else ""
            skipped.append(Skipped(delta.name, f"its write ids are covered{by}"))
            continue
        chosen.append(delta)
        previous = delta
    return chosen


def _same_range(one: DeltaDir, other: DeltaDir) -> bool:
    return (one.min_write_id, one.max_write_id, one.statement_id) == (
        other.min_write_id,
        other.max_write_id,
        other.statement_id,
    )


def _closed_files(
    directory: BaseDir | DeltaDir,
    files: Sequence[ListedFile],
    open_files: list[OpenFile],
    skipped: list[Skipped],
) -> Sequence[ListedFile]:
    """Return the files without side files; move files that are being written to `open_files`.

    Hive uses a side file only in a delta of several write ids (`AcidUtils.getLogicalLength`).
    """
    side_files = {file.relative: file for file in files if is_side_file(file.name)}
    if not side_files:
        return files
    counts = (
        isinstance(directory, DeltaDir)
        and not directory.is_delete
        and directory.min_write_id < directory.max_write_id
    )
    closed = []
    for file in files:
        side_file = side_files.get(file.relative + SIDE_FILE_SUFFIX)
        if file.relative in side_files:
            reason = (
                "the flushed length of a file that is being written"
                if counts
                else "a flushed length that does not apply"
            )
            skipped.append(Skipped(file.relative, reason))
        elif counts and side_file is not None:
            open_files.append(OpenFile(directory.name, file, side_file))
        else:
            closed.append(file)
    return closed


def _not_empty(files: Sequence[ListedFile], skipped: list[Skipped]) -> tuple[ListedFile, ...]:
    skipped.extend(Skipped(file.relative, "an empty file") for file in files if not file.length)
    return tuple(file for file in files if file.length)


def will_delete_rows(
    emptied: BaseDir | DeltaDir,
    with_data: Iterable[BaseDir | DeltaDir],
    has_originals: bool,
    base: BaseDir | None,
    write_ids: ValidWriteIdList,
) -> bool:
    """Whether Hive's cleaner will remove rows because of a directory without any file.

    The cleaner removes what the directory's name covers, although the compaction has not merged it.
    Rows that the snapshot does not show yet count, too. Aborted rows, and rows that the snapshot's
    base also has, do not.

    Args:
        emptied: the directory without files.
        with_data: the directories of the location that hold data, without those `is_replaced`.
        has_originals: whether there are original files with data that no base has replaced.
        base: the base of the snapshot.
        write_ids: the write ids of the snapshot.
    """
    low, high = emptied.write_id_range
    if base is not None and high <= base.write_id and not _replaces(emptied, base):
        return False
    if low == 0 and has_originals:
        return True
    for directory in with_data:
        first, last = directory.write_id_range
        # A compaction of full ACID may have rows for a delta and nothing for its delete delta.
        is_sibling = directory.visibility_txn == emptied.visibility_txn and (
            bool(emptied.visibility_txn) or (first, last) == (low, high)
        )
        if low <= first and last <= high and not is_sibling:
            if not all(i in write_ids.aborted for i in range(first, last + 1)):
                return True
    return False


def is_replaced(
    directory: BaseDir | DeltaDir, base: BaseDir | None, chosen: Iterable[DeltaDir]
) -> bool:
    """Whether another directory of the snapshot covers the write ids of a directory.

    Args:
        directory: a directory of the location.
        base: the base of the snapshot.
        chosen: the deltas and delete deltas of the snapshot.
    """
    if directory == base:
        return False
    low, high = directory.write_id_range
    if base is not None and high <= base.write_id:
        return True
    return isinstance(directory, DeltaDir) and any(
        delta.is_delete == directory.is_delete
        and delta.write_id_range != (low, high)
        and delta.min_write_id <= low
        and high <= delta.max_write_id
        for delta in chosen
    )


def _replaces(emptied: BaseDir | DeltaDir, base: BaseDir) -> bool:
    return isinstance(emptied, BaseDir) and emptied.write_id == base.write_id
