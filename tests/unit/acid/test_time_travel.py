"""Earlier instants: read exactly as they were, or refused for a directory that is named.

Reading means what the reader does: rows of the selected directories, less the delete events of the
selected delete deltas, both without those of later write ids. Rows of insert-only tables have none.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from hiveacid.acid.layout import ListedFile, Listing
from hiveacid.acid.selection import select
from hiveacid.acid.time_travel import (
    Cleaning,
    Obstacle,
    compacted_part,
    cut,
    has_something_at,
    instants_needed,
    listing_at,
    listing_since,
    obstacles,
    traceless,
    write_ids_left_out,
)
from hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from tests.unit.acid.warehouse import FIRST_COMPACTION, Warehouse, compactions, writes

TXNS = ValidTxnList(FIRST_COMPACTION * 2)
UNKNOWN = Cleaning()
INSERTS = st.tuples(
    st.sampled_from(["insert", "insert", "insert", "overwrite", "truncate"]),
    st.sampled_from(["committed", "committed", "committed", "aborted"]),
    st.integers(0, 255),
)


@st.composite
def warehouses(draw: st.DrawFn, kinds: st.SearchStrategy = writes) -> Warehouse:
    """Writes and compactions by turns."""
    warehouse = Warehouse(originals=draw(st.sampled_from([[], [], [1, 2, 3]])))
    if kinds is INSERTS:
        warehouse.originals = []
    for _ in range(draw(st.integers(1, 3))):
        for kind, state, victims in draw(st.lists(kinds, min_size=1, max_size=5)):
            warehouse.write(kind, state, victims)
        for compaction in draw(st.lists(compactions, max_size=2)):
            warehouse.compact(*compaction)
    return warehouse


def read_at(
    warehouse: Warehouse, write_id: int, later: frozenset[int] = frozenset(), *, is_full_acid: bool
) -> set[int] | Obstacle:
    """The rows of an instant, or what hides it."""
    valid = warehouse.valid(len(warehouse.states))
    txns = ValidTxnList(FIRST_COMPACTION * 2, frozenset(warehouse.hidden_compactions))
    listing = warehouse.listing()
    had_originals = bool(warehouse.originals) or "base_0000000" in warehouse.history
    found = obstacles(
        listing,
        valid,
        txns,
        Cleaning(frozenset(warehouse.untouched)),
        is_full_acid=is_full_acid,
        first=2 if had_originals else 1,
    )
    for obstacle in found:
        if any(map(obstacle.hides, instants_needed(write_id, later))):
            return obstacle
    earlier = cut(valid, write_id, later)
    state = select(
        listing_at(listing, write_id, txns, is_full_acid=is_full_acid, later=later), earlier, txns
    )
    rows = [
        row
        for selected in state.of_rows
        for row, writer in warehouse.directories[selected.directory.name].records
        if not is_full_acid or earlier.is_valid(writer)
    ]
    rows += warehouse.originals if state.originals else []
    assert len(rows) == len(set(rows)), "a row is read twice"
    return set(rows) - {
        row
        for selected in state.delete_deltas
        for row, writer in warehouse.directories[selected.directory.name].records
        if earlier.is_valid(writer)
    }


@pytest.mark.no_cover  # Measured, its many examples take twice the time; so of all like it.
def test_an_instant_is_shown_as_it_was_or_refused() -> None:
    seen: Counter[str] = Counter()

    def check(warehouse: Warehouse, *, is_full_acid: bool) -> None:
        newest = len(warehouse.states)
        earliest = 0
        for write_id in range(newest + 1):
            shown = read_at(warehouse, write_id, is_full_acid=is_full_acid)
            if isinstance(shown, Obstacle):
                name = shown.directory.rpartition("/")[2]
                assert name in warehouse.directories
                seen["refused"] += 1
                earliest = write_id + 1
                continue
            seen["read"] += 1
            expected = warehouse.rows_of(cut(warehouse.valid(newest), write_id))
            assert shown == expected, write_id
        event(f"earliest: {earliest} of {newest}, compactions: {warehouse.compactions}")

    @settings(max_examples=500, deadline=None)
    @given(warehouses())
    def check_full_acid(warehouse: Warehouse) -> None:
        check(warehouse, is_full_acid=True)

    @settings(max_examples=300, deadline=None)
    @given(warehouses(INSERTS))
    def check_insert_only(warehouse: Warehouse) -> None:
        check(warehouse, is_full_acid=False)

    check_full_acid()
    check_insert_only()
    assert seen["read"] > 100 and seen["refused"] > 100, seen


@st.composite
def overlapping(draw: st.DrawFn, kinds: st.SearchStrategy = writes) -> Warehouse:
    """Writes whose transactions end in another order than they began."""
    warehouse = Warehouse()
    opened: list[int] = []
    for _ in range(draw(st.integers(2, 8))):
        kind, state, victims = draw(kinds)
        is_open = not opened and draw(st.booleans()) and kind not in ("overwrite", "truncate")
        if opened and kind in ("overwrite", "truncate"):
            continue  # Hive's lock keeps them from each other.
        warehouse.write(kind, "open" if is_open else state, victims)
        if is_open:
            opened.append(len(warehouse.states))
        elif opened and draw(st.booleans()):
            warehouse.commit(opened.pop())
    for write_id in opened:
        warehouse.commit(write_id)
    for compaction in draw(st.lists(compactions, max_size=2)):
        warehouse.compact(*compaction)
    return warehouse


@pytest.mark.no_cover
@pytest.mark.parametrize("is_full_acid", [True, False])
def test_a_time_does_not_show_what_was_committed_later(is_full_acid: bool) -> None:
    seen: Counter[str] = Counter()
    kinds = writes if is_full_acid else INSERTS

    # As many in CI: few of them are refused.
    @settings(max_examples=1000, deadline=None)
    @given(overlapping(kinds.filter(lambda write: write[1] != "open")))
    def check_times(warehouse: Warehouse) -> None:
        valid = warehouse.valid(len(warehouse.states))
        for i in range(1, len(warehouse.commits)):
            write_id = max(warehouse.commits[:i])
            later = frozenset(w for w in warehouse.commits[i:] if w < write_id)
            shown = read_at(warehouse, write_id, later, is_full_acid=is_full_acid)
            if isinstance(shown, Obstacle):
                seen["refused"] += 1
                continue
            seen["read"] += 1
            seen["less"] += bool(later)
            assert shown == warehouse.rows_of(cut(valid, write_id, later)), (write_id, later)

    check_times()
    assert min(seen[what] for what in ("read", "refused", "less")) > 20, seen


def listing(*paths: str, times: int = 1000, **changes: object) -> Listing:
    """A location with a file of each path; a name alone is an empty directory."""
    files = tuple(ListedFile(p, f"/t/{p}", 9, times) for p in paths if "/" in p or p[0] == "0")
    names = tuple(dict.fromkeys(p.partition("/")[0] for p in paths if p[0] != "0"))
    return Listing("/t", files, names, **changes)


def hidden(
    of: Listing, cleaning: Cleaning = UNKNOWN, high: int = 9, **options: object
) -> list[int]:
    """The instants of a location that cannot be read."""
    options = {"is_full_acid": True, **options}
    found = obstacles(of, ValidWriteIdList(high), TXNS, cleaning, **options)
    return [n for n in range(high + 1) if any(obstacle.hides(n) for obstacle in found)]


def test_a_cut_keeps_what_is_invalid() -> None:
    ids = ValidWriteIdList(9, frozenset({3, 8}), frozenset({2, 7}), "shop.orders")
    assert cut(ids, 5) == ValidWriteIdList(5, frozenset({3}), frozenset({2}), "shop.orders")
    assert cut(ids, 12) == ids


def test_a_compacted_base_hides_what_it_took_in_once_the_cleaner_may_have_run() -> None:
    directories = listing("delta_1_1_0000/b", "delta_2_2_0000/b", "base_4_v0000007/b")
    assert hidden(directories) == [1, 2, 3]
    assert hidden(directories, Cleaning(frozenset({8}))) == [1, 2, 3]
    assert hidden(directories, Cleaning(frozenset({7}))) == []
    # Originals were there before the first write id.
    assert hidden(directories, first=10_000_001) == [0, 1, 2, 3]


def test_a_compaction_that_is_not_visible_hides_nothing() -> None:
    directories = listing("delta_1_1_0000/b", "base_4_v0000777/b")
    assert hidden(directories) == []


def test_a_compaction_of_hive_3_hides_what_it_took_in() -> None:
    directories = listing("delta_1_1_0000/b", "base_4/b", data_formats={"base_4": "compacted"})
    assert hidden(directories, Cleaning(frozenset({0}))) == [1, 2, 3]


def test_an_overwrite_hides_nothing_while_something_older_is_there() -> None:
    directories = listing("delta_2_2_0000/b", "base_4/b")
    assert hidden(directories) == []
    assert hidden(directories, Cleaning(may_be_partial=True)) == [1, 2, 3]
    assert hidden(listing("000000_0", "base_4/b"), first=10_000_001) == []
    assert hidden(listing("base_4/b", "delta_5_5_0000/b")) == [1, 2, 3]


def test_a_partition_that_came_with_an_overwrite_had_nothing_before() -> None:
    directories = listing("base_4/b", times=1_700_000_000_900)
    assert hidden(directories, create_time=1_700_000_000) == []
    assert hidden(directories, create_time=1_699_999_999) == [1, 2, 3]
    assert hidden(listing("base_4"), create_time=1_700_000_000) == [1, 2, 3]


def test_a_compacted_delta_hides_only_rows_without_a_write_id() -> None:
    directories = listing("delta_2_5_v0000007/b", "delta_2_2/b")
    assert hidden(directories) == []
    assert hidden(directories, is_full_acid=False) == [2, 3, 4]
    assert hidden(directories, Cleaning(frozenset({7})), is_full_acid=False) == []
    kept = listing_at(directories, 3, TXNS, is_full_acid=False)
    assert kept.directories == ("delta_2_2",) and [f.name for f in kept.files] == ["b"]
    assert listing_at(directories, 5, TXNS, is_full_acid=False) == directories


def test_a_compaction_that_may_have_lost_rows_hides_them() -> None:
    emptied = listing("delta_2_5_v0000007", without_files=frozenset({"delta_2_5_v0000007"}))
    assert hidden(emptied) == [2, 3, 4]
    no_data = listing("delta_2_5_v0000007")
    assert hidden(no_data, path="/t/city=Bern") == []
    assert hidden(no_data, path="/t/city=Zürich") == [2, 3, 4]
    pending = listing("delta_2_2_0000/b", "delta_2_5_v0000007")
    assert hidden(pending, Cleaning(frozenset({7})), path="/t/Zürich") == []
    kept = listing_at(pending, 3, TXNS, is_full_acid=True, path="/t/Zürich")
    assert kept.directories == ("delta_2_2_0000",)


def test_changes_are_told_by_what_a_compaction_took_in() -> None:
    directories = listing("delta_1_1/b", "delta_2_2/b", "base_2_v0000007/b", "base_1/b")
    assert listing_since(directories, 1, TXNS, is_full_acid=True).directories == (
        "delta_1_1",
        "delta_2_2",
        "base_1",
    )
    assert listing_since(directories, 2, TXNS, is_full_acid=True) == directories
    # Deletes after a REBALANCE compaction name the row ids that it gave.
    kept = listing_since(directories, 1, TXNS, is_full_acid=True, renumbering={7})
    assert kept == directories


@pytest.mark.parametrize("is_full_acid", [True, False])
@pytest.mark.parametrize("name", ["base_3_v0000009", "delta_1_3_v0000009"])
@pytest.mark.parametrize("txns", [ValidTxnList(8), ValidTxnList(20, frozenset({9}))])
def test_a_compaction_that_is_not_seen_stays_to_be_told_of(
    txns: ValidTxnList, name: str, is_full_acid: bool
) -> None:
    """It may be another metastore's, whose rows appear without a write once it is seen."""
    directories = listing("delta_4_4_0000/b", f"{name}/b")
    at = listing_at(directories, 2, txns, is_full_acid=is_full_acid)
    since = listing_since(directories, 2, txns, is_full_acid=is_full_acid)
    for kept in (at, since):
        (uncommitted_compactions,) = select(
            kept, cut(ValidWriteIdList(4), 2), txns
        ).uncommitted_compactions
        assert uncommitted_compactions.name == name
    seen = ValidTxnList(20)
    if name.startswith("base"):
        assert name not in listing_at(directories, 2, seen, is_full_acid=True).directories


def test_a_write_id_without_a_directory_is_traceless() -> None:
    ids = ValidWriteIdList(8, frozenset({6}))
    directories = [listing("delta_1_1_0000/b", "delta_2_4_v0000007/b"), listing("base_5/b")]
    assert str(traceless(ids, directories, by_name=True)) == "2-4, 7-8"
    assert str(traceless(ids, directories, by_name=False)) == "7-8"
    assert str(traceless(ids, [], by_name=False, first=3)) == "3-5, 7-8"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("delta_3_3_0000/b", False),
        ("delta_2_3_v0000007/b", True),
        ("delete_delta_2_2_0000/b", True),
        ("base_3/b", False),
        ("base_2", True),
        ("000000_0", True),
    ],
)
def test_what_may_be_from_an_instant(path: str, expected: bool) -> None:
    assert has_something_at(listing(path), 2) is expected


@pytest.mark.parametrize(
    ("paths", "part", "left"),
    [
        (["base_4_v0000007/b", "delta_5_5_0000/b"], ["base_4_v0000007"], "5"),
        (["base_4/b", "delta_5_6_v0000008/b"], ["base_4", "delta_5_6_v0000008"], "none"),
        (
            ["delta_1_2_v0000008/b", "delete_delta_1_2_v0000008/b", "delete_delta_3_3_0000/b"],
            ["delta_1_2_v0000008", "delete_delta_1_2_v0000008"],
            "3",
        ),
        # A delta of a single write comes first: what comes after it would lack rows.
        (["delta_1_1_0000/b", "delta_2_3_v0000008/b"], [], "1-3"),
        (["000000_0", "delta_1_1_0000/b"], [], "1"),
    ],
)
def test_the_compacted_part_of_a_location(paths: list[str], part: list[str], left: str) -> None:
    whole = select(listing(*paths), ValidWriteIdList(9), TXNS)
    compacted = compacted_part(whole)
    assert [d.directory.name for d in compacted.directories] == part
    assert compacted.originals == whole.originals
    assert str(write_ids_left_out(whole, compacted)) == left
