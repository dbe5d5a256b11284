from dataclasses import replace

import pytest

from dbt.adapters.hiveacid.targets.iceberg import Snapshot, newest_state
from dbt.adapters.hiveacid.targets.state import KEY, Checks, LostState, next_state, reset_text

REMOVED = "its state was removed, by hiveacid_reset_state or by a run without acid_changes"

ONE = next_state(None, "invocation", {})
TWO = next_state(ONE, "invocation", {})

CREATE = ("overwrite", {KEY: ONE.to_text()})
MERGE = ("overwrite", {KEY: TWO.to_text()})


def ancestry(*oldest_first, expired=0):
    """Snapshots numbered from 1, of which the oldest `expired` have gone, the newest first."""
    snapshots = [
        Snapshot(number, number - 1 or None, operation, summary)
        for number, (operation, summary) in enumerate(oldest_first, start=1)
    ]
    return reversed(snapshots[expired:])


def test_the_newest_state_counts():
    assert newest_state(ancestry(CREATE)) == ONE
    assert newest_state(ancestry(CREATE, MERGE)) == TWO
    assert newest_state([]) is None
    assert newest_state(ancestry(("append", {}), ("append", {}))) is None


@pytest.mark.parametrize(
    ("operation", "summary"),
    [
        ("append", {"added-records": "1"}),
        ("replace", {"deleted-data-files": "2", "added-data-files": "1"}),
        ("delete", {"deleted-data-files": "1", "total-data-files": "2"}),
        ("delete", {"added-delete-files": "1", "total-data-files": "2"}),
        ("overwrite", {"added-delete-files": "1", "added-data-files": "1"}),
        ("overwrite", {"spark.merge-into.num-target-rows-updated": "1"}),
    ],
)
def test_single_rows_may_change(operation, summary):
    assert newest_state(ancestry(CREATE, MERGE, (operation, summary))) == TWO


@pytest.mark.parametrize(
    ("operation", "summary", "reason"),
    [
        ("overwrite", {"deleted-data-files": "1"}, "snapshot 3 of the table replaced rows"),
        ("overwrite", {"replace-partitions": "true"}, "snapshot 3 of the table replaced rows"),
        ("delete", {"total-data-files": "0"}, "snapshot 3 of the table removed all rows"),
        ("append", {KEY: reset_text()}, REMOVED),
        ("append", {KEY: f"{{{KEY}"}, "its state cannot be read"),
    ],
)
def test_replaced_rows_lose_the_state(operation, summary, reason):
    lost = newest_state(ancestry(CREATE, MERGE, (operation, summary)))
    assert isinstance(lost, LostState) and lost.reason.startswith(reason)
    assert newest_state(ancestry(CREATE, (operation, summary), MERGE)) == TWO


def test_an_expired_snapshot_may_have_had_the_state():
    assert newest_state(ancestry(CREATE, MERGE, ("append", {}), expired=1)) == TWO
    assert newest_state(ancestry(CREATE, MERGE, ("append", {}), expired=2)) == LostState(
        "snapshot 2 of the table has expired, and later snapshots have no state"
    )


def test_a_table_that_is_built_in_its_place_has_a_state_once_it_is_checked():
    pending, passed = (
        (operation, {KEY: replace(ONE, checks=checks).to_text()})
        for operation, checks in (("overwrite", Checks.PENDING), ("append", Checks.PASSED))
    )
    unchecked = LostState(
        "the run that has built it ended before its rows were checked", ONE.commit_id
    )
    assert newest_state(ancestry(pending)) == unchecked
    assert newest_state(ancestry(pending, ("append", {}))) == unchecked
    assert newest_state(ancestry(pending, passed)) == ONE
    assert newest_state(ancestry(pending, passed, MERGE)) == TWO
    assert newest_state(ancestry(pending, passed, expired=1)) == ONE
    # A table that is rolled back to the snapshot of its rows.
    assert newest_state(ancestry(pending), ancestry(pending, passed)) == ONE
    assert newest_state(ancestry(pending), ancestry(pending, MERGE)) == unchecked
    other = ("overwrite", {KEY: replace(TWO, checks=Checks.PENDING).to_text()})
    assert newest_state(ancestry(other, passed)).commit_id == TWO.commit_id
