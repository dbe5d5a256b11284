"""Whatever the writers, the compactor and the cleaner did: selection gives each visible row once.

Reading means what the reader does: rows of the selected directories, less the delete events of the
selected delete deltas, both without those of invalid write ids.
"""

from __future__ import annotations

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from hiveacid.acid.selection import select
from hiveacid.acid.write_ids import ValidTxnList
from tests.unit.acid.warehouse import FIRST_COMPACTION, Warehouse, compactions, writes
from tests.unit.examples import examples


@st.composite
def warehouses(draw: st.DrawFn) -> Warehouse:
    warehouse = Warehouse(originals=draw(st.sampled_from([[], [1, 2, 3]])))
    for kind, state, victims in draw(st.lists(writes, min_size=1, max_size=9)):
        warehouse.write(kind, state, victims)
    for compaction in draw(st.lists(compactions, max_size=3)):
        warehouse.compact(*compaction)
    return warehouse


@pytest.mark.no_cover
@examples(400)
@given(warehouses(), st.integers(0, 9))
def test_every_visible_row_is_selected_once(warehouse: Warehouse, back: int) -> None:
    """For snapshots of now and of before, after any compactions and any cleaning."""
    newest = len(warehouse.states)
    # A reader that sees a compaction began after all that was compacted had ended.
    high_watermark = max(newest - back, warehouse.lowest_high_watermark)
    valid = warehouse.valid(high_watermark)
    txns = ValidTxnList(FIRST_COMPACTION * 2, frozenset(warehouse.hidden_compactions))
    listing = warehouse.listing()
    state = select(listing, valid, txns)

    bases = [] if state.base is None else [state.base]
    read = [
        row
        for selected in (*bases, *state.deltas)
        for row, write_id in warehouse.directories[selected.directory.name].records
        if valid.is_valid(write_id)
    ]
    read += warehouse.originals if state.originals else []
    events = {
        row
        for selected in state.delete_deltas
        for row, write_id in warehouse.directories[selected.directory.name].records
        if valid.is_valid(write_id)
    }
    assert len(read) == len(set(read)), "a row is read twice"
    assert set(read) - events == warehouse.rows_by_history(high_watermark)

    used = [
        file.relative
        for selected in (*bases, *state.deltas, *state.delete_deltas)
        for file in selected.files
    ] + [file.relative for file in state.originals]
    skipped = {item.relative for item in state.skipped}
    for file in listing.files:
        named = {file.relative, file.relative.partition("/")[0]} & skipped
        assert used.count(file.relative) + len(named) == 1, file.relative
    event(f"base: {bool(bases)}, compactions: {warehouse.compactions}")
