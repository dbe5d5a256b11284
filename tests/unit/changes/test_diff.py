"""State and changes make the new snapshot, whatever Hive did; or the loss is noticed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from hiveacid.acid.layout import BucketProperty, ListedFile, Listing
from hiveacid.acid.selection import AcidState, select
from hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList, bounded, new_write_ids
from hiveacid.changes.current_source import CurrentSource
from hiveacid.changes.diff import Kind, diff, first_write_ids, highest_base, new_bases
from hiveacid.changes.losses import Extent, dropped, is_renumbered, table_losses
from hiveacid.changes.state import SourceState
from hiveacid.changes.write_id_directories import grown_part
from hiveacid.jvm.scratch import Scratch
from hiveacid.metastore.models import Column, Partition, StorageDescriptor, Table, TableName
from hiveacid.reader.locations import Location
from hiveacid.reader.orc_footers import RowIdRange
from hiveacid.reader.properties import ORC_INPUT_FORMAT
from hiveacid.snapshots.tables import PinnedTable
from tests.unit.acid.warehouse import FIRST_COMPACTION, Warehouse, compactions, writes
from tests.unit.examples import examples

STORAGE = StorageDescriptor("file:/t", (Column("id", "int"),))
TABLE = Table(
    name=TableName("shop", "orders"),
    table_type="MANAGED_TABLE",
    storage=STORAGE,
    partition_keys=(),
    parameters={"transactional": "true"},
    create_time=100,
    id=7,
)
INSERT_ONLY = {"transactional": "true", "transactional_properties": "insert_only"}
NOTHING = frozenset()


def pinned_table(write_ids, *partitions, shows_originals=False, merges_files=False, **changes):
    """`partitions`: values of the key `p`, or Partitions. Without any the table has no key."""
    keys = (Column("p", "string"),) if partitions else ()
    parts = tuple(
        p
        if isinstance(p, Partition)
        else Partition((p,), replace(STORAGE, location=f"file:/t/p={p}"), create_time=50)
        for p in partitions
    )
    table = replace(TABLE, partition_keys=keys, **changes)
    return PinnedTable(
        table,
        parts,
        write_ids,
        ValidTxnList(10_000),
        transaction_id=1,
        shows_originals=shows_originals,
        merges_files=lambda: merges_files,
        scratch=Scratch(),
    )


def valid(high_watermark, open=(), aborted=()):
    return ValidWriteIdList(high_watermark, frozenset(open), frozenset(aborted), "shop.orders")


def without_data(directory):
    """A directory without a data file, for `locations`."""
    return f"{directory}/"


def without_files(directory):
    """A directory without any file, for `locations`."""
    return f"{directory}//"


def locations(pinned, *listings):
    """The locations; each listing as the names of directories with a file, and original files.

    Other directories are made by `without_data` and `without_files`. A file of another name stands
    behind its directory (`delta_1_1_0/000000_0`).
    """
    storages = [p.storage for p in pinned.partitions] or [pinned.table.storage]
    found = []
    for i, (storage, names) in enumerate(zip(storages, listings, strict=True)):
        paths = [n if "/" in n or n[0] == "0" else f"{n}/bucket_00000" for n in names]
        files = tuple(
            ListedFile(path, f"{storage.location}/{path}", 1)
            for path in paths
            if not path.endswith("/")
        )
        directories = tuple(path.partition("/")[0] for path in paths if "/" in path)
        blank = frozenset(path.rstrip("/") for path in paths if path.endswith("//"))
        listing = Listing(storage.location, files, directories, without_files=blank)
        state = select(listing, pinned.write_ids, pinned.valid_txns)
        found.append(Location(i, storage, listing, state))
    return found


def state_of(pinned, locations):
    """The state of a target that has seen these locations."""
    return SourceState.of(pinned, locations, "", "UTC")


def facts_of(pinned, locations, renumbered=NOTHING, options="", merged=NOTHING):
    """The records of a source that is now as these locations say."""
    source = CurrentSource.of(pinned, locations, options, "UTC")
    return source.with_new_bases(renumbered, merged)


def compared(before, now, old, new, renumbered=NOTHING, merged=NOTHING, **changes):
    """Compare one location: its write ids and directories before and now."""
    earlier = pinned_table(before, **changes)
    since = state_of(earlier, locations(earlier, old))
    pinned = pinned_table(now, **changes)
    ids = new_write_ids(since.write_ids, pinned.write_ids)
    source = facts_of(pinned, locations(pinned, new), renumbered, merged=merged)
    (change,) = diff(since, source, ids)
    return change


class Model:
    """The changes of a `Warehouse`, read as the frames of changes read real files."""

    def __init__(self, warehouse: Warehouse) -> None:
        self.warehouse = warehouse
        self.written = {
            row: write_id
            for name, held in warehouse.history.items()
            if not name.startswith("delete_")
            for row, write_id in held.records
        } | dict.fromkeys(warehouse.originals, 0)

    def pinned(self, write_ids: ValidWriteIdList) -> PinnedTable:
        txns = ValidTxnList(FIRST_COMPACTION * 2, frozenset(self.warehouse.hidden_compactions))
        return replace(pinned_table(write_ids), valid_txns=txns)

    def location(self, write_ids: ValidWriteIdList) -> Location:
        pinned, listing = self.pinned(write_ids), self.warehouse.listing()
        return Location(0, STORAGE, listing, select(listing, write_ids, pinned.valid_txns))

    def state(self, write_ids: ValidWriteIdList):
        return state_of(self.pinned(write_ids), [self.location(write_ids)])

    def facts(self, write_ids: ValidWriteIdList):
        return facts_of(self.pinned(write_ids), [self.location(write_ids)])

    def records(self, directories, write_ids):
        return [
            (row, write_id)
            for selected in directories
            for row, write_id in self.warehouse.directories[selected.directory.name].records
            if write_ids.is_valid(write_id)
        ]

    def live(self, state: AcidState, part: AcidState, write_ids):
        bases = [] if part.base is None else [part.base]
        rows = {row for row, _ in self.records([*bases, *part.deltas], write_ids)}
        rows |= set(self.warehouse.originals) if part.originals else set()
        return rows - {row for row, _ in self.records(state.delete_deltas, write_ids)}

    def changes(self, since, write_ids, new):
        """The kind of the table's location, the inserted and the deleted rows."""
        location = self.location(write_ids)
        (change,) = diff(since, self.facts(write_ids), new)
        if change.kind is Kind.NEW:
            return change, self.live(location.state, location.state, write_ids), set()
        part = grown_part(location.state, new)
        inserted = {
            row for row in self.live(location.state, part, write_ids) if self.written[row] in new
        }
        deleted = {
            row
            for row, write_id in self.records(part.delete_deltas, write_ids)
            if write_id in new and since.write_ids.is_valid(self.written[row])
        }
        return change, inserted, deleted


@st.composite
def histories(draw):
    """A warehouse; and the write ids, the rows and the state as they once were."""
    warehouse = Warehouse(originals=draw(st.sampled_from([[], [1, 2, 3]])))
    since: tuple[Any, Any] | None = None
    for _ in range(2):
        for kind, state, victims in draw(st.lists(writes, max_size=5)):
            warehouse.write(kind, state, victims)
        if since is not None:
            open_ids = [i for i, state in enumerate(warehouse.states, 1) if state == "open"]
            for write_id in draw(st.sets(st.sampled_from(open_ids))) if open_ids else ():
                warehouse.commit(write_id)
        for compaction in draw(st.lists(compactions, max_size=2)):
            warehouse.compact(*compaction)
        if since is None:
            seen = warehouse.valid(len(warehouse.states))
            since = Model(warehouse).state(seen), warehouse.rows_of(seen)
    assert since is not None
    return warehouse, *since


@pytest.mark.no_cover
@examples(500)
@given(histories())
def test_state_and_changes_make_the_new_snapshot(history):
    warehouse, since, before = history
    now = warehouse.valid(len(warehouse.states))
    new = new_write_ids(since.write_ids, now)
    model = Model(warehouse)
    change, inserted, deleted = model.changes(since, now, new)
    event(f"{change.kind.value}{': ' + change.loss.what.split()[1] if change.loss else ''}")
    base = model.location(now).state.base
    if change.kind is Kind.LOST:
        assert base is not None and base.directory.name != since.locations[0].base
        assert new.within(1, base.write_id_range[1])
        return
    assert inserted.isdisjoint(before)
    assert deleted <= before
    assert before - deleted | inserted == warehouse.rows_of(now)


@pytest.mark.no_cover
@examples(300)
@given(histories(), st.integers(1, 3))
def test_batches_make_the_new_snapshot_step_by_step(history, count):
    warehouse, since, rows = history
    now, model = warehouse.valid(len(warehouse.states)), Model(warehouse)
    if model.changes(since, now, new_write_ids(since.write_ids, now))[0].kind is Kind.LOST:
        return
    while new := new_write_ids(since.write_ids, now):
        facts = model.facts(now)
        taken = first_write_ids(since, facts, new, count)
        assert taken and not taken.without(new)
        part = bounded(since.write_ids, now, taken, highest_base(facts))
        change, inserted, deleted = model.changes(since, part, taken)
        assert change.kind is not Kind.LOST
        rows = rows - deleted | inserted
        assert rows == warehouse.rows_of(part)
        since = model.state(part)
    assert rows == warehouse.rows_of(now)


@pytest.mark.parametrize(
    ("before", "old", "now", "new", "kind"),
    [
        (valid(3), ["delta_1_1_0"], valid(3), ["delta_1_1_0"], Kind.UNCHANGED),
        (valid(3), ["delta_1_1_0"], valid(4), ["delta_1_1_0"], Kind.UNCHANGED),
        (valid(3), ["delta_1_1_0"], valid(4), ["delta_1_1_0", "delta_4_4_0"], Kind.GROWN),
        (valid(3), ["delta_1_1_0"], valid(4), ["delta_1_4_v0000009"], Kind.GROWN),
        (valid(3), ["delta_3_3_0"], valid(4), ["base_3_v0000009", "delta_4_4_0"], Kind.GROWN),
        (valid(3), ["base_1", "delta_3_3_0"], valid(4), ["base_3_v0000009"], Kind.UNCHANGED),
        (valid(3), [], valid(4), ["base_4"], Kind.NEW),
        (valid(3), ["000000_0"], valid(4), ["000000_0", "delete_delta_4_4_0"], Kind.GROWN),
        (
            valid(3),
            ["000000_0"],
            valid(3),
            ["base_-9223372036854775808_v0000009"],
            Kind.UNCHANGED,
        ),
        # A late commit below the old high-water mark.
        (valid(3, open=[2]), ["delta_3_3_0"], valid(3), ["delta_2_2_0", "delta_3_3_0"], Kind.GROWN),
        # Hive has forgotten the aborted write id, which the compaction ignored.
        (valid(3, aborted=[2]), ["delta_3_3_0"], valid(3), ["base_3_v0000009"], Kind.UNCHANGED),
    ],
)
def test_a_complete_history(before, old, now, new, kind):
    change = compared(before, now, old, new)
    assert (change.kind, change.loss) == (kind, None)


def test_what_was_open_and_has_committed_since_is_new():
    late = ["delta_2_2_0", "delta_3_3_0"]
    change = compared(valid(3, open=[2]), valid(3), ["delta_3_3_0"], late)
    assert change.kind is Kind.GROWN


def test_only_directories_of_new_write_ids_are_read():
    old = ["base_1", "delta_3_3_0"]
    now = [*old, "delta_4_4_0", "delete_delta_4_4_1", "delta_6_6_0", "delete_delta_2_2_0"]
    change = compared(valid(3, open=[2]), valid(5), old, now)
    part = grown_part(change.location.selected, new_write_ids(valid(3, open=[2]), valid(5)))
    assert [d.directory.name for d in part.deltas] == ["delta_4_4_0"]
    deletes = [d.directory.name for d in part.delete_deltas]
    assert deletes == ["delete_delta_2_2_0", "delete_delta_4_4_1"]
    assert (part.base, part.originals) == (None, ())


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (["delta_3_3_0"], ["base_5"], "write id 5 replaced all rows (overwrite or truncate)"),
        (["delta_3_3_0"], ["base_5_v0000009"], "base_5_v0000009 includes write ids 4-5, which had"),
        (["base_3"], ["delta_5_5_0"], "its base base_3 is gone"),
        (["base_2"], ["base_3"], "its base was base_2 and is base_3, though write id 3 is not"),
        (["delta_3_3_0"], ["delta_5_5_0"], "rows of write id 3 are gone, and no compaction"),
        (["000000_0"], ["delta_5_5_0"], "rows of write id 0 are gone"),
        (["delta_3_3_0"], [], "rows of write id 3 are gone"),
    ],
)
def test_a_lost_history(old, new, what):
    change = compared(valid(3), valid(5), old, new)
    assert change.kind is Kind.LOST
    assert what in change.loss.what
    assert change.loss.reconcilable


FULL = {}
MERGING = {
    "parameters": INSERT_ONLY,
    "storage": replace(STORAGE, input_format=ORC_INPUT_FORMAT),
    "merges_files": True,
}


@pytest.mark.parametrize(
    ("table", "old", "new", "merged", "left_out"),
    [
        (FULL, ["delta_1_1_0/000000_0", "delta_3_3_0"], ["base_3_v0000009"], True, "1"),
        (FULL, ["delta_1_1_0/000000_0", "delta_3_3_0"], ["base_3_v0000009"], False, None),
        (FULL, ["delta_1_1_0", "delta_3_3_0"], ["base_3_v0000009"], True, None),
        (FULL, ["000000_0", "delta_3_3_0"], ["base_3_v0000009"], True, "0"),
        (FULL, ["000000_0", "delta_3_3_0"], ["base_3_v0000009"], False, None),
        (
            FULL,
            ["delta_1_1_0", "delta_3_3_0/000000_0"],
            ["base_2_v0000009", "delta_3_3_0/000000_0"],
            True,
            None,
        ),
        (
            MERGING,
            ["delta_1_1_0/part-0.orc", "delta_3_3_0/000000_0"],
            ["base_3_v9/000000_0"],
            False,
            "1",
        ),
        (
            MERGING,
            ["base_1/part-0.orc", "delta_3_3_0/000000_0"],
            ["base_3_v9/000000_0"],
            False,
            "1",
        ),
        (
            MERGING,
            ["base_1/000000_0", "delta_2_2_0/part-0", "delta_3_3_0/HIVE_UNION_SUBDIR_1/000000_0"],
            ["base_1/000000_0", "delta_2_3_v9/000000_0"],
            False,
            "2-3",
        ),
        (
            MERGING,
            ["delta_1_1_0/000001_0", "delta_3_3_0/000000_0"],
            ["base_3_v9/000000_0"],
            False,
            None,
        ),
        (
            MERGING | {"merges_files": False},
            ["delta_1_1_0/part-0.orc", "delta_3_3_0/000000_0"],
            ["base_3_v9/000000_0"],
            False,
            None,
        ),
        (
            MERGING | {"storage": STORAGE},
            ["delta_1_1_0/part-0.parquet", "delta_3_3_0/000000_0"],
            ["base_3_v9/000000_0"],
            False,
            None,
        ),
    ],
)
def test_rows_that_a_merging_compaction_leaves_out(table, old, new, merged, left_out):
    change = compared(valid(3), valid(3), old, new, merged={0} if merged else NOTHING, **table)
    assert (change.kind is Kind.LOST) == (left_out is not None)
    if left_out is not None:
        assert f"rows of write ids {left_out} are lost" in change.loss.what
        assert change.loss.reconcilable == (table is FULL)


SHOWN = {"parameters": INSERT_ONLY, "shows_originals": True}
CONVERTED = {}


@pytest.mark.parametrize(
    ("table", "old", "new"),
    [
        (SHOWN, ["000000_0", "delta_3_3_0"], ["000000_0", "000000_0_copy_1", "delta_3_3_0"]),
        (SHOWN, ["000000_0", "delta_3_3_0"], ["000000_0_copy_1", "delta_3_3_0"]),
        (SHOWN, ["000000_0"], ["000000_0", "000000_0_copy_1"]),
        (SHOWN, ["delta_3_3_0"], ["000000_0", "delta_3_3_0"]),
        (CONVERTED, ["000000_0", "delta_3_3_0"], ["000000_0", "000000_0_copy_1", "delta_3_3_0"]),
        (CONVERTED, ["delta_3_3_0"], ["000000_0", "delta_3_3_0"]),
        (CONVERTED, ["delta_3_3"], ["000000_0", "delta_3_3"]),
    ],
)
@pytest.mark.parametrize("is_new_id", [False, True])
def test_an_original_file_that_was_added_is_noticed(table, old, new, is_new_id):
    """It has no write id, so that nothing but the files tell."""
    new = [*new, *(["delta_4_4_0"] if is_new_id else [])]
    change = compared(valid(3), valid(4 if is_new_id else 3), old, new, **table)
    assert change.kind is Kind.LOST and change.loss.extent is Extent.TABLE
    assert "its files outside of ACID directories are not the files" in change.loss.what


@pytest.mark.parametrize("table", [SHOWN, CONVERTED])
def test_original_files_that_have_gone_are_noticed(table):
    old = ["000000_0", "delta_3_3_0"]
    gone = compared(valid(3), valid(3), old, ["delta_3_3_0"], **table)
    assert gone.kind is Kind.LOST and "rows of write id 0 are gone" in gone.loss.what
    for now in (old, ["base_3_v0000009"]):
        kept = compared(valid(3), valid(4), old, [*now, "delta_4_4_0"], **table)
        assert (kept.kind, kept.loss) == (Kind.GROWN, None)


def test_a_state_of_an_earlier_release_says_nothing_of_original_files():
    pinned = pinned_table(valid(3))
    state = state_of(pinned, locations(pinned, ["000000_0", "delta_3_3_0"]))
    (location,) = state.locations
    earlier = replace(state, locations=(replace(location, other_originals=None),))
    now = facts_of(pinned, locations(pinned, ["000000_0", "000000_0_copy_1", "delta_3_3_0"]))
    (change,) = diff(earlier, now, new_write_ids(valid(3), valid(3)))
    assert (change.kind, change.loss) == (Kind.UNCHANGED, None)


@pytest.mark.parametrize(
    "emptied", [without_data("delta_2_3_v0000009"), without_data("base_3_v0000009")]
)
def test_what_hive_lost_in_a_compaction_is_noticed_once(emptied):
    """Hive 4.0.1 compacts a partition `ü` to nothing: integration/test_changes.py."""
    old = ["base_1", "delta_2_2_0", "delete_delta_3_3_0"]
    new = [emptied, "delta_4_4_0"] if "base" in emptied else ["base_1", emptied, "delta_4_4_0"]
    strange = {"storage": replace(STORAGE, location="file:/t/ü")}
    change = compared(valid(3), valid(4), old, new, **strange)
    assert change.kind is Kind.LOST and change.loss.reconcilable
    assert f"the compaction that made {emptied[:-1]} left it empty" in change.loss.what
    # A state that has it knows it, and a path of ASCII letters has no such loss.
    again = compared(valid(4), valid(5), new, [*new, "delta_5_5_0"], **strange)
    assert (again.kind, again.loss) == (Kind.GROWN, None)
    usual = compared(valid(3), valid(4), [*old], [*new, "delete_delta_2_3_v0000009"])
    assert (usual.kind, usual.loss) == (Kind.GROWN, None)


@pytest.mark.parametrize(
    "emptied", [without_files("delta_1_3_v0000009"), without_files("base_3_v0000009")]
)
def test_what_hive_lost_next_to_an_open_write_id_is_noticed_once_it_is_removed(emptied):
    """A compaction of an insert-only table that took nothing in: integration/test_changes.py."""
    old = ["delta_1_1_0", "delta_3_3_0"]
    kept = [*old, emptied, "delta_4_4_0"]
    change = compared(
        valid(3, aborted=[2]), valid(4, aborted=[2]), old, kept, parameters=INSERT_ONLY
    )
    assert (change.kind, change.loss) == (Kind.GROWN, None)
    cleaned = [emptied, "delta_4_4_0"]
    change = compared(
        valid(4, aborted=[2]), valid(4, aborted=[2]), kept, cleaned, parameters=INSERT_ONLY
    )
    assert change.kind is Kind.LOST and change.loss.extent is Extent.TABLE
    assert f"the compaction that made {emptied[:-2]} left it empty" in change.loss.what
    again = compared(valid(4), valid(5), cleaned, [*cleaned, "delta_5_5_0"], parameters=INSERT_ONLY)
    assert (again.kind, again.loss) == (Kind.GROWN, None)


@pytest.mark.parametrize(
    "cleaned", [["base_4_v0000012"], [without_files("delta_1_3_v0000009"), "delta_4_4_0"]]
)
def test_a_state_remembers_what_was_going_to_be_lost(cleaned):
    """A major compaction may remove the empty directory before the next run."""
    ids = valid(4, aborted=[2])
    pending = ["delta_1_1_0", "delta_3_3_0", without_files("delta_1_3_v0000009"), "delta_4_4_0"]
    half_done = pending[1:]
    assert compared(ids, ids, pending, half_done, parameters=INSERT_ONLY).loss is None
    change = compared(ids, ids, pending, cleaned, parameters=INSERT_ONLY)
    assert "the compaction that made delta_1_3_v0000009 left it empty" in change.loss.what
    # Of rows that no run has seen nothing is lost.
    none_seen = compared(valid(0), ids, pending, cleaned, parameters=INSERT_ONLY)
    assert none_seen.kind is Kind.NEW


def test_a_directory_that_the_cleaner_is_removing_has_lost_nothing():
    ids = valid(3)
    old = ["base_3_v0000012", "delta_1_2_v0000009"]
    change = compared(ids, ids, old, ["base_3_v0000012", without_files("delta_1_2_v0000009")])
    assert (change.kind, change.loss) == (Kind.UNCHANGED, None)


def test_what_the_cleaner_removes_below_an_empty_base_is_noticed():
    """The base of Impala's TRUNCATE, which Hive 4 does not see."""
    old, emptied = ["delta_1_1_0", "delta_3_3_0"], without_files("base_2")
    kept = [*old, emptied]
    assert compared(valid(3), valid(3), old, kept).loss is None
    change = compared(valid(3), valid(3), kept, [emptied, "delta_3_3_0"])
    assert "base_2 has no file that Hive 4 sees" in change.loss.what


def test_an_insert_without_rows_is_no_loss():
    old, new = ["delta_1_1_0"], ["delta_1_1_0", without_files("delta_2_2_0")]
    assert compared(valid(2), valid(2), old, new).loss is None
    assert compared(valid(1), valid(2), old, new).loss is None


def test_a_compaction_of_aborted_writes_alone_has_lost_nothing():
    ids = valid(3, aborted=[2, 3])
    old, new = ["delta_1_1_0"], ["delta_1_1_0", without_files("delta_2_3_v0000009")]
    assert compared(ids, ids, old, new).loss is None


@pytest.mark.parametrize(
    ("new", "lost"),
    [
        (["delta_3_3_0", "delta_4_5_v0000009"], None),
        (["base_3_v0000009", "delta_4_5_v0000009"], None),
        (["delta_3_5_v0000009"], "delta_3_5_v0000009 mixes rows that were read before"),
        (["base_5_v0000009"], "includes write ids 4-5"),
    ],
)
def test_insert_only_directories_are_new_or_seen_as_a_whole(new, lost):
    change = compared(valid(3), valid(5), ["delta_3_3_0"], new, parameters=INSERT_ONLY)
    if lost is None:
        assert change.kind is Kind.GROWN
    else:
        assert lost in change.loss.what
        assert change.loss.extent is Extent.TABLE, "insert-only rows have no row ids"


def test_row_ids_that_a_compaction_may_have_changed():
    new = ["base_3_v0000009", "delta_4_4_0"]
    change = compared(valid(3), valid(4), ["delta_3_3_0"], new, frozenset({0}))
    assert change.kind is Kind.GROWN
    assert change.loss.extent is Extent.ROW_IDS
    # Past the state nothing can be compared by row id either.
    past = compared(valid(3), valid(4), ["delta_3_3_0"], ["base_4_v0000009"], frozenset({0}))
    assert (past.kind, past.loss.extent) == (Kind.LOST, Extent.TABLE)


def test_only_new_compacted_bases_are_looked_at_for_row_ids():
    def looked_at(**changes):
        names = ("a", "b", "c", "d")
        earlier = pinned_table(valid(3), *names, **changes)
        old = [["delta_3_3_0"], ["base_3_v0000009"], [], ["delta_3_3_0"]]
        since = state_of(earlier, locations(earlier, *old))
        pinned = pinned_table(valid(4), *names, **changes)
        now = facts_of(pinned, locations(pinned, *[["base_3_v0000009"]] * 3, ["base_4"]))
        return [location.number for location, _ in new_bases(since, now)]

    assert looked_at() == [0]
    assert looked_at(parameters=INSERT_ONLY) == [], "its rows have no row ids"


def bucket(number, statement_id=0):
    return BucketProperty(number, statement_id).encode()


def ids(rows, first_bucket=0, last_bucket=None, statement_id=0):
    last_bucket = first_bucket if last_bucket is None else last_bucket
    buckets = bucket(first_bucket, statement_id), bucket(last_bucket, statement_id)
    return rows[1] - rows[0] + 1, RowIdRange((1, 9), buckets, rows)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ([], False),
        ([ids((0, 9))], True),
        ([ids((10, 14), 1), ids((0, 9), 0)], True),
        ([ids((0, 9), 0), ids((0, 9), 1)], False),
        ([ids((1, 9))], False),
        ([(20, ids((0, 9))[1])], False),  # two writes with the same numbers
        ([ids((0, 9), statement_id=1)], False),
        ([ids((0, 9), 0, 1)], False),
        ([ids((0, 9), 0), (10, RowIdRange.of((2**63 - 1, -(2**63)) * 3))], True),
    ],
)
def test_rows_numbered_together_are_renumbered(files, expected):
    assert is_renumbered(files) is expected


def test_partitions_moved_created_anew_and_dropped():
    before = pinned_table(valid(3), "same", "moved", "anew", "gone", "empty")
    full = ["delta_3_3_0"]
    since = state_of(before, locations(before, full, full, full, full, []))
    moved = Partition(("moved",), replace(STORAGE, location="file:/u"), create_time=50)
    anew = replace(before.partitions[2], create_time=51)
    pinned = pinned_table(valid(4), "same", moved, anew, "new")
    now = facts_of(pinned, locations(pinned, full, full, ["delta_4_4_0"], ["delta_4_4_0"]))
    new = new_write_ids(since.write_ids, pinned.write_ids)
    changes = diff(since, now, new)
    assert [c.kind for c in changes] == [Kind.UNCHANGED, Kind.LOST, Kind.LOST, Kind.NEW]
    assert [str(c.loss) for c in changes if c.loss] == [
        "partition p=moved: it was moved from file:/t/p=moved to file:/u",
        "partition p=anew: it was dropped and created again (createTime 51, before 50)",
    ]
    assert [c.loss.reconcilable for c in changes if c.loss] == [False, True]
    (gone,) = dropped(since, now)
    assert str(gone) == "partition p=gone: it was dropped; it was at file:/t/p=gone"
    assert gone.reconcilable


@pytest.mark.parametrize("name", ["base_3_v{}", "delta_1_3_v{}"])
def test_compacted_partitions_that_swap_their_names(name):
    pinned = pinned_table(valid(3), "a", "b")
    names = [[name.format("0000008")], [name.format("0000009")]]
    since = state_of(pinned, locations(pinned, *names))
    new = new_write_ids(valid(3), valid(3))
    same = diff(since, facts_of(pinned, locations(pinned, *names)), new)
    assert [change.kind for change in same] == [Kind.UNCHANGED] * 2
    swapped = diff(since, facts_of(pinned, locations(pinned, *reversed(names))), new)
    assert [str(change.loss).partition(" in it ")[0] for change in swapped] == [
        f"partition p=a: {names[1][0]}",
        f"partition p=b: {names[0][0]}",
    ]
    assert {change.loss.extent for change in swapped} == {Extent.TABLE}


@pytest.mark.parametrize(
    ("names", "extent"),
    [
        (["delta_4_4_0"], Extent.LOCATION),
        (["base_4"], Extent.LOCATION),
        # These can hold rows that are older than the partition, with row ids that it had before.
        (["delta_3_4_v0000009"], Extent.TABLE),
        (["base_4_v0000009"], Extent.TABLE),
        (["000000_0"], Extent.TABLE),
    ],
)
def test_a_partition_that_is_younger_than_its_rows(names, extent):
    before = pinned_table(valid(3), "a")
    since = state_of(before, locations(before, ["delta_2_2_0"]))
    pinned = pinned_table(valid(4), replace(before.partitions[0], create_time=51))
    new = new_write_ids(valid(3), valid(4))
    (change,) = diff(since, facts_of(pinned, locations(pinned, names)), new)
    assert "it was dropped and created again (createTime 51" in change.loss.what
    assert change.loss.extent is extent


@pytest.mark.parametrize(
    ("names", "is_noticed"),
    [
        (["delta_3_3_0"], True),
        (["base_3_v0000009"], True),
        (["base_1", "delta_2_3_v0000009"], True),
        (["000000_0"], True),
        (["delta_1_1_0", "delta_2_3"], True),
        # Streaming ingest may go on writing there.
        (["delta_2_3"], False),
    ],
)
def test_a_partition_that_was_given_the_name_of_another(names, is_noticed):
    before = pinned_table(valid(3), "a")
    (location,) = locations(before, names)
    since = state_of(before, [location])
    files = tuple(replace(file, modification_time=8) for file in location.listing.files)
    listing = replace(location.listing, files=files)
    swapped = replace(location, listing=listing, state=select(listing, valid(3), before.valid_txns))

    def changes(state):
        return diff(state, facts_of(before, [swapped]), new_write_ids(valid(3), valid(3)))

    (change,) = changes(since)
    assert (change.kind is Kind.LOST) is is_noticed
    if change.loss is not None:
        assert "are not the files that were read before: another partition" in change.loss.what
        assert change.loss.extent is Extent.TABLE
    # A state from before there were fingerprints.
    earlier = replace(since, locations=(replace(since.locations[0], files_fingerprint=None),))
    assert [change.kind for change in changes(earlier)] == [Kind.UNCHANGED]


@pytest.mark.parametrize(
    ("write_ids", "options", "table", "what"),
    [
        (valid(5), "", {}, []),
        (valid(5), "", {"id": 8, "create_time": 100}, ["another table of the same name (id 8"]),
        (
            valid(5),
            "",
            {"id": None, "create_time": 101},
            ["another table of the same name (createTime"],
        ),
        (valid(5), "", {"parameters": INSERT_ONLY}, ["it was full ACID and is insert-only now"]),
        (valid(2), "", {}, ["write ids 3 were read before and are no longer valid"]),
        (valid(5, open=[2]), "", {}, ["write ids 2 were read before and are no longer valid"]),
        (valid(5), "partitions=a", {}, ["other options (partitions=a, before none)"]),
    ],
)
def test_another_table_or_another_history(write_ids, options, table, what):
    before = pinned_table(valid(3))
    since = state_of(before, locations(before, ["delta_3_3_0"]))
    losses = table_losses(
        since, SourceState.of(pinned_table(write_ids, **table), [], options, "UTC")
    )
    assert len(losses) == len(what)
    assert all(text in loss.what for text, loss in zip(what, losses, strict=True))
    assert not any(loss.reconcilable for loss in losses)


@pytest.mark.parametrize(
    ("now", "what"),
    [
        ("id int, name string, more date", []),
        ("id int, called string", ["its column name is called called now"]),
        ("id int, called date", ["its column name is called called now"]),
        ("id int, new date, name string", ["column name is number 2, before 1"]),
        ("id bigint, name string", ["its column id is bigint, before int"]),
        ("name string, id int", ["column name is number 0, before 1", "column id is number 1"]),
        ("name string", ["its column name is number 0, before 1"]),
    ],
)
def test_columns_whose_values_may_have_changed(now, what):
    before, after = (
        replace(STORAGE, columns=tuple(Column(*column.split()) for column in text.split(", ")))
        for text in ("id int, name string", now)
    )
    pinned = pinned_table(valid(3), storage=before)
    since = state_of(pinned, locations(pinned, ["delta_3_3_0"]))
    losses = table_losses(since, state_of(pinned_table(valid(3), storage=after), []))
    assert len(losses) == len(what)
    assert all(text in str(loss) for text, loss in zip(what, losses, strict=True))
    assert not any(loss.reconcilable for loss in losses)


def taken(since, now, count, *directories, **table):
    before = pinned_table(since, **table)
    state = state_of(before, locations(before, ["delta_1_1_0"]))
    pinned = pinned_table(now, **table)
    new = new_write_ids(since, now)
    facts = facts_of(pinned, locations(pinned, directories))
    return str(first_write_ids(state, facts, new, count))


def test_a_batch_takes_the_lowest_ids_that_left_something():
    deltas = ["delta_1_1_0", "delta_4_4_0", "delta_6_6_0", "delta_8_8_0"]
    assert taken(valid(2), valid(9), 2, *deltas) == "3-6"
    assert taken(valid(2), valid(9), 3, *deltas) == "3-9"
    assert taken(valid(2), valid(9), 1, "base_5", "delta_7_7_0", "delta_8_8_0") == "3-5"
    assert taken(valid(2), valid(9), 2, "delta_1_7_v0000009", "delta_8_8_0") == "3-4"


def test_compacted_insert_only_directories_come_as_a_whole():
    wide = ["delta_1_1_0", "delta_4_7_v0000009", "delta_8_8_0", "delta_9_9_0"]
    assert taken(valid(2), valid(9), 2, *wide, parameters=INSERT_ONLY) == "3-7"
    assert taken(valid(2), valid(9), 2, *wide) == "3-5"


def test_a_batch_goes_up_to_a_base_that_is_named_after_an_aborted_id():
    since, now = valid(8), valid(12, aborted=[10])
    listing = ["base_10_v0000009", "delta_11_11_0", "delta_12_12_0"]
    pinned = pinned_table(now)
    facts = facts_of(pinned, locations(pinned, listing))
    state = state_of(pinned_table(since), locations(pinned_table(since), ["delta_8_8_0"]))
    new = new_write_ids(since, now)
    batch = first_write_ids(state, facts, new, 1)
    assert str(batch) == "9"
    part = pinned_table(bounded(since, now, batch, highest_base(facts)))
    (change,) = diff(state, facts_of(part, locations(part, listing)), batch)
    assert "base_10_v0000009 includes write ids 9, which had not" in change.loss.what
    # The rest of the backlog is still to come.
    assert str(new_write_ids(part.write_ids, now)) == "11-12"
