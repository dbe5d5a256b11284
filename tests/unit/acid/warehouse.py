"""A small model of Hive that writes, compacts and cleans one table.

Row ids are numbers; what a directory holds is kept next to the listing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

from hiveacid.acid.layout import ListedFile, Listing
from hiveacid.acid.write_ids import ValidWriteIdList

COMMITTED, ABORTED, OPEN = "committed", "aborted", "open"
FIRST_COMPACTION = 100


@dataclass
class Content:
    """Rows or delete events, each a row id with the write id that wrote it."""

    records: list[tuple[int, int]] = field(default_factory=list)


@dataclass
class Warehouse:
    """The directories of one table, and what became of each write id (counted from 1).

    `history` is what the writers wrote, before anything was compacted; `commits` are their write
    ids in the order in which they were committed. `untouched` are the compactions after the last
    one whose directories were cleaned.
    """

    directories: dict[str, Content] = field(default_factory=dict)
    history: dict[str, Content] = field(default_factory=dict)
    originals: list[int] = field(default_factory=list)
    states: list[str] = field(default_factory=list)
    commits: list[int] = field(default_factory=list)
    hidden_compactions: set[int] = field(default_factory=set)
    merged: set[str] = field(default_factory=set)
    untouched: set[int] = field(default_factory=set)
    compactions: int = 0
    lowest_high_watermark: int = 0
    base: int = 0
    next_row: int = 1000

    def valid(self, high_watermark: int) -> ValidWriteIdList:
        """The write ids as a reader has them whose snapshot goes up to `high_watermark`."""

        def of(state: str) -> frozenset[int]:
            ids = (i for i, known in enumerate(self.states, 1) if known == state)
            return frozenset(i for i in ids if i <= high_watermark)

        return ValidWriteIdList(high_watermark, of(OPEN), of(ABORTED))

    def listing(self) -> Listing:
        paths = [f"{name}/bucket_00000" for name, held in self.directories.items() if held.records]
        if self.originals:
            paths.append("000000_0")
        files = tuple(ListedFile(path, f"file:/t/{path}", 1) for path in paths)
        return Listing("file:/t", files, tuple(self.directories))

    def write(self, kind: str, state: str, victims: int) -> None:
        """One transaction. `victims` is a bit set: which of the rows of now it deletes."""
        rows = sorted(self.rows_by_history(len(self.states)))
        self.states.append(state)
        write_id = len(self.states)
        if state == COMMITTED:
            self.commits.append(write_id)
        name = f"{write_id:07d}_{write_id:07d}"
        deleted = [row for i, row in enumerate(rows) if victims >> i & 1]
        written: dict[str, Content] = {}
        if kind in ("delete", "update") and deleted:
            events = [(row, write_id) for row in deleted]
            written[f"delete_delta_{name}_0000"] = Content(events)
        if kind in ("insert", "update"):
            written[f"delta_{name}_0001"] = Content([(self._new_row(), write_id)])
        if kind == "insert" and victims % 2:
            written[f"delta_{name}_0002"] = Content([(self._new_row(), write_id)])
        if kind in ("overwrite", "truncate"):
            rows_of_base = [(self._new_row(), write_id)] if kind == "overwrite" else []
            written[f"base_{write_id:07d}"] = Content(rows_of_base)
            self.base = write_id if state == COMMITTED else self.base
        self.directories |= written
        self.history |= written

    def commit(self, write_id: int) -> None:
        """End an open transaction; Hive aborts it if another has deleted one of its rows."""
        events = self.history.get(f"delete_delta_{write_id:07d}_{write_id:07d}_0000", Content())
        others = {
            row
            for name, held in self.history.items()
            if name.startswith("delete_") and self.states[_write_id(name) - 1] == COMMITTED
            for row, _ in held.records
        }
        if others & {row for row, _ in events.records}:
            self.states[write_id - 1] = ABORTED
            return
        self.states[write_id - 1] = COMMITTED
        self.commits.append(write_id)
        if f"base_{write_id:07d}" in self.history:
            self.base = max(self.base, write_id)

    def _new_row(self) -> int:
        self.next_row += 1
        return self.next_row

    def rows_by_history(self, high_watermark: int) -> set[int]:
        """The rows that a reader of `valid` must see."""
        return self.rows_of(self.valid(high_watermark))

    def rows_of(self, valid: ValidWriteIdList) -> set[int]:
        """The rows that a reader must see, from what each transaction did, in their order."""
        seen = set(self.originals)
        for name, held in sorted(self.history.items(), key=lambda item: _write_id(item[0])):
            if not valid.is_valid(_write_id(name)):
                continue
            rows = {row for row, _ in held.records}
            if name.startswith("base_"):
                seen = rows
            elif name.startswith("delete_"):
                seen -= rows
            else:
                seen |= rows
        return seen

    def compact(self, major: bool, high: int, is_visible: bool, is_cleaned: bool) -> None:
        """Merge what lies between the base and `high`, as far as nothing is open."""
        if self.hidden_compactions:
            return  # Hive compacts a table once at a time
        opened = [i for i, state in enumerate(self.states, 1) if state == OPEN]
        high = min(high, *(i - 1 for i in opened)) if opened else high
        merged = {
            name: held
            for name, held in self.directories.items()
            if not name.startswith("base_")
            and name not in self.merged
            and self.base < _first_write_id(name)
            and _write_id(name) <= high
            and self._is_committed(name)
        }
        if len(merged) < 2:
            return
        txn = FIRST_COMPACTION + self.compactions
        self.compactions += 1
        low = min(map(_first_write_id, merged))
        top = max(map(_write_id, merged))
        inserts = [r for n, held in merged.items() if n.startswith("delta_") for r in held.records]
        events = [r for n, held in merged.items() if n.startswith("delete_") for r in held.records]
        before = set(self.directories)
        if major:
            bases = [n for n in self.directories if n.startswith("base_") and self._is_base(n)]
            below = self.directories[bases[0]].records if bases else []
            below = below or ([(row, 0) for row in self.originals] if not bases else [])
            gone = {row for row, _ in events}
            rows = [record for record in (*below, *inserts) if record[0] not in gone]
            self.directories[f"base_{top:07d}_v{txn:07d}"] = Content(rows)
        else:
            if inserts:
                self.directories[f"delta_{low:07d}_{top:07d}_v{txn:07d}"] = Content(inserts)
            if events:
                self.directories[f"delete_delta_{low:07d}_{top:07d}_v{txn:07d}"] = Content(events)
        if not is_visible:
            self.hidden_compactions.add(txn)
            return
        self.lowest_high_watermark = max(self.lowest_high_watermark, top)
        self.merged |= merged.keys()
        if major:
            self.base = top
        self.untouched.add(txn)
        if is_cleaned:
            self.untouched.clear()
            old = {n for n in before if _write_id(n) <= self.base} if major else set(merged)
            for name in old:
                del self.directories[name]
            if major:
                self.originals_cleaned()

    def originals_cleaned(self) -> None:
        """The cleaner removes the original files, too; the history keeps their rows."""
        if not self.originals:
            return
        self.history["base_0000000"] = Content([(row, 0) for row in self.originals])
        self.originals = []

    def _is_committed(self, name: str) -> bool:
        # A compacted directory holds what was committed only.
        return "_v" in name or self.states[_write_id(name) - 1] == COMMITTED

    def _is_base(self, name: str) -> bool:
        return _write_id(name) == self.base and self._is_committed(name)


def _numbers(name: str) -> list[int]:
    return [int(part) for part in name.split("_v")[0].split("_") if part.isdigit()]


def _first_write_id(name: str) -> int:
    return _numbers(name)[0]


def _write_id(name: str) -> int:
    numbers = _numbers(name)
    return numbers[0] if name.startswith("base_") else numbers[1]


writes = st.tuples(
    st.sampled_from(["insert", "insert", "insert", "delete", "update", "overwrite", "truncate"]),
    st.sampled_from([COMMITTED, COMMITTED, COMMITTED, ABORTED, OPEN]),
    st.integers(0, 255),
)
compactions = st.tuples(st.booleans(), st.integers(1, 12), st.booleans(), st.booleans())
