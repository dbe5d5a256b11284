"""A target by key that works off a backlog in batches ends with the rows that Hive shows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from hiveacid.acid.write_ids import ValidWriteIdList, bounded, new_write_ids
from hiveacid.changes.diff import Kind, first_write_ids, highest_base
from hiveacid.changes.write_id_directories import seen_part
from tests.unit.acid.warehouse import COMMITTED, OPEN, Warehouse
from tests.unit.changes.test_diff import Model, histories
from tests.unit.examples import examples


def snapshots(warehouse):
    """The rows after each commit."""
    last = len(warehouse.states)
    for i in range(len(warehouse.commits) + 1):
        unseen = frozenset(range(1, last + 1)) - frozenset(warehouse.commits[:i])
        yield warehouse.rows_of(ValidWriteIdList(last, unseen))


def keys_of(warehouse, random):
    """A key for each row: after no commit have two rows had the same."""
    shown = list(snapshots(warehouse))
    keys = {}
    for row in sorted(set().union(*shown)):
        together = set().union(*(rows for rows in shown if row in rows))
        taken = {keys[other] for other in together if other in keys}
        free = [*sorted(set(keys.values()) - taken)] or [f"k{row}"]
        keys[row] = random.choice(free)
    return keys


def work_off(warehouse, since, target, keys, count):
    """Apply batches to `target`, rows by key, as `staged_changes` and `apply` do; how it went."""
    now, model = warehouse.valid(len(warehouse.states)), Model(warehouse)
    begun, how = since.write_ids, "in order"

    def batch(ids, part):
        change, inserted, deleted = model.changes(since, part, ids)
        if change.kind is Kind.LOST:
            return None
        gone = {keys[row] for row in deleted}
        seen = new_write_ids(begun, since.write_ids)
        state = model.location(part).state
        brought = {
            row
            for row in model.live(state, seen_part(state, seen), part)
            if model.written[row] in seen and keys[row] in gone
        }
        return gone, inserted, brought

    while new := new_write_ids(since.write_ids, now):
        facts = model.facts(now)
        ids = first_write_ids(since, facts, new, count)
        part = bounded(since.write_ids, now, ids, highest_base(facts))
        staged = batch(ids, part)
        if staged is not None and len({keys[r] for r in staged[1] | staged[2]}) < len(
            staged[1] | staged[2]
        ):
            how, part = "whole", now
            staged = batch(new, now)
        if staged is None:
            return "lost"
        gone, inserted, brought = staged
        how = "brought again" if brought and how != "whole" else how
        upserts = {keys[row]: row for row in inserted | brought}
        assert len(upserts) == len(inserted | brought)
        for key in gone - upserts.keys():
            target.pop(key, None)
        target.update(upserts)
        since = replace(model.state(part), backlog_since=begun)
    return how


@st.composite
def reordered(draw):
    """As `histories`, of few rows, many of which are committed late."""
    warehouse = Warehouse()
    warehouse.write("insert", COMMITTED, 1)
    seen = warehouse.valid(1)
    since = Model(warehouse).state(seen), warehouse.rows_of(seen)
    kinds = st.sampled_from(["insert", "insert", "delete", "delete", "update", "commit"])
    for kind, victims in draw(st.lists(st.tuples(kinds, st.integers(0, 15)), max_size=12)):
        still_open = [i for i, state in enumerate(warehouse.states, 1) if state == OPEN]
        if kind != "commit":
            # A delete that sees what another one has deleted would be aborted.
            is_late = kind == "insert" and victims > 5
            warehouse.write(kind, OPEN if is_late else COMMITTED, victims)
        elif still_open:
            warehouse.commit(still_open[victims % len(still_open)])
    return warehouse, *since


@pytest.mark.no_cover
@examples(500)
@given(histories() | reordered(), st.integers(1, 3), st.randoms(use_true_random=False))
def test_a_backlog_ends_with_hives_rows(history, count, random):
    warehouse, since, rows = history
    keys = keys_of(warehouse, random)
    target = {keys[row]: row for row in rows}
    how = work_off(warehouse, since, target, keys, count)
    event(how)
    if how != "lost":
        now = warehouse.rows_of(warehouse.valid(len(warehouse.states)))
        assert target == {keys[row]: row for row in now}


@pytest.mark.parametrize(
    ("late", "count", "how"), [(True, 1, "brought again"), (False, 1, "in order")]
)
def test_a_key_whose_next_row_has_the_lower_write_id(late, count, how):
    warehouse = Warehouse()
    warehouse.write("insert", COMMITTED, 0)
    since = Model(warehouse).state(warehouse.valid(1))
    (first,) = warehouse.rows_of(warehouse.valid(1))
    if late:
        warehouse.write("insert", OPEN, 0)
        warehouse.write("delete", COMMITTED, 1)
        warehouse.commit(2)
    else:
        warehouse.write("delete", COMMITTED, 1)
        warehouse.write("insert", COMMITTED, 0)
    (second,) = warehouse.rows_of(warehouse.valid(3))
    target = {"k": first}
    assert work_off(warehouse, since, target, {first: "k", second: "k"}, count) == how
    assert target == {"k": second}
