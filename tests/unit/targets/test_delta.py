import re
from dataclasses import replace

import pytest

from dbt.adapters.hiveacid.targets.delta import DeltaStore, newest_state
from dbt.adapters.hiveacid.targets.state import Checks, LostState, TargetState, reset_text

REMOVED = "its state was removed, by hiveacid_reset_state or by a run without acid_changes"

ONE = TargetState("c1", "i", "l", 1, {})
TWO = TargetState("c2", "i", "l", 2, {})


def history(*commits):
    """DESCRIBE HISTORY of commits given the oldest first."""
    rows = [
        {
            "version": version,
            "operation": operation,
            "operationParameters": parameters,
            "userMetadata": state.to_text() if isinstance(state, TargetState) else state,
        }
        for version, (operation, parameters, state) in enumerate(commits)
    ]
    return rows[::-1]


CREATE = ("CREATE OR REPLACE TABLE AS SELECT", {}, ONE)
MERGE = ("MERGE", {}, TWO)


PENDING = ("CREATE OR REPLACE TABLE AS SELECT", {}, replace(ONE, checks=Checks.PENDING))
CHECK = ("ADD CONSTRAINT", {}, None)
PASSED = ("SET TBLPROPERTIES", {}, replace(ONE, checks=Checks.PASSED))
OTHER = ("CREATE OR REPLACE TABLE AS SELECT", {}, replace(TWO, checks=Checks.PENDING))
OTHER_PASSED = ("SET TBLPROPERTIES", {}, replace(TWO, checks=Checks.PASSED))


def unchecked(commit):
    return LostState("the run that has built it ended before its rows were checked", commit)


@pytest.mark.parametrize(
    ("commits", "known"),
    [
        ([PENDING], unchecked("c1")),
        ([PENDING, CHECK, ("WRITE", {"mode": "Append"}, None)], unchecked("c1")),
        ([PENDING, CHECK, PASSED], ONE),
        ([PENDING, PASSED, MERGE], TWO),
        # Delta's log is cleaned up from its oldest end.
        ([PASSED, CHECK], ONE),
        # The checks of one run's rows say nothing of those of another, which has come between.
        ([PENDING, OTHER, PASSED], unchecked("c2")),
        ([PENDING, OTHER, PASSED, OTHER_PASSED], TWO),
        ([PENDING, OTHER, OTHER_PASSED, PASSED], TWO),
        ([PENDING, ("CREATE OR REPLACE TABLE", {}, None), PASSED], "by CREATE OR REPLACE TABLE,"),
        # They hold wherever the rows come back.
        ([PENDING, PASSED, ("RESTORE", {"version": "0"}, None)], replace(ONE, lineage="l.2")),
        (
            [PENDING, OTHER, PASSED, ("RESTORE", {"version": "0"}, None)],
            replace(ONE, lineage="l.3"),
        ),
        ([PENDING, OTHER, ("RESTORE", {"version": "0"}, None)], unchecked("c1")),
    ],
)
def test_a_table_that_is_built_in_its_place_has_a_state_once_it_is_checked(commits, known):
    found = newest_state(history(*commits))
    assert known in found.reason if isinstance(known, str) else found == known


def test_the_newest_state_counts():
    assert newest_state(history(CREATE)) == ONE
    assert newest_state(history(CREATE, MERGE)) == TWO
    assert newest_state([]) is None


@pytest.mark.parametrize(
    ("operation", "parameters"),
    [
        ("OPTIMIZE", {}),
        ("VACUUM END", {}),
        ("SET TBLPROPERTIES", {}),
        ("ADD COLUMNS", {}),
        ("DELETE", {"predicate": '["(id = 3)"]'}),
        ("WRITE", {"mode": "Append"}),
    ],
)
def test_other_commits_are_passed_over(operation, parameters):
    assert newest_state(history(CREATE, MERGE, (operation, parameters, None))) == TWO
    assert newest_state(history(CREATE, MERGE, (operation, parameters, "by hand"))) == TWO


@pytest.mark.parametrize(
    ("operation", "parameters"),
    [
        ("WRITE", {"mode": "Overwrite"}),
        ("CREATE OR REPLACE TABLE AS SELECT", {}),
        ("TRUNCATE", {}),
        ("CLONE", {}),
        ("RESTORE", {"version": None, "timestamp": "2026-01-01"}),
        ("SOMETHING NEW", {}),
    ],
)
def test_what_replaces_the_rows_loses_the_state(operation, parameters):
    lost = newest_state(history(CREATE, MERGE, (operation, parameters, None)))
    assert lost == LostState(
        f"version 2 of the table was made by {operation}, without acid_changes"
    )
    assert newest_state(history(CREATE, (operation, parameters, None), MERGE)) == TWO


@pytest.mark.parametrize("predicate", ["[]", '["true"]', None])
def test_a_delete_of_all_rows_loses_the_state(predicate):
    emptied = ("DELETE", {"predicate": predicate} if predicate else {}, None)
    lost = newest_state(history(CREATE, MERGE, emptied))
    assert lost == LostState("version 2 of the table removed all rows")


def test_a_restored_version_has_the_state_that_it_had():
    restored = ("RESTORE", {"version": "0", "timestamp": None}, None)
    # Delta has seen generation 2 of lineage "l", and would pass over another one.
    again = replace(ONE, lineage="l.2")
    assert newest_state(history(CREATE, MERGE, restored)) == again
    assert newest_state(history(CREATE, MERGE, restored, ("OPTIMIZE", {}, None))) == again
    twice = ("RESTORE", {"version": "2", "timestamp": None}, None)
    assert newest_state(history(CREATE, MERGE, restored, twice)) == replace(ONE, lineage="l.3")
    # What is restored must still be in the history.
    beyond = history(CREATE, MERGE, restored)[:2]
    assert newest_state(beyond) is None


def test_a_removed_state_is_lost():
    removed = ("SET TBLPROPERTIES", {}, reset_text())
    assert newest_state(history(CREATE, removed)) == LostState(REMOVED)


@pytest.mark.parametrize(
    ("later", "is_found"),
    [
        ([("CHANGE COLUMN", {}, None)] * 50, True),
        (
            [("CHANGE COLUMN", {}, None), ("ADD CONSTRAINT", {}, None)] * 15
            + [MERGE[:2] + (None,)],
            True,
        ),
        ([("WRITE", {"mode": "Append"}, None)] * 50, False),
    ],
)
def test_a_recent_state_is_found_below_many_comments(later, is_found):
    commits = history(*[("WRITE", {"mode": "Append"}, None)] * 9, CREATE, *later)
    asked = []

    def query(statement):
        limit = int(re.fullmatch("describe history marts.m limit ([0-9]+)", statement).group(1))
        asked.append(limit)
        return commits[:limit]

    assert DeltaStore(None, query, "marts.m").recent() == (ONE if is_found else None)
    # A model without acid_changes asks in each run.
    assert is_found or asked == [20]
