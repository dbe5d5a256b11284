import json
from dataclasses import replace

from dbt.adapters.hiveacid.targets.state import (
    Checks,
    LostState,
    TargetState,
    commit_of,
    next_state,
    parse,
    reset_text,
)

REMOVED = "its state was removed, by hiveacid_reset_state or by a run without acid_changes"

STATE = TargetState("c1", "i1", "l1", 3, {"shop.orders": {"write_ids": "shop.orders:4::2:"}})


def text_with(name, value):
    fields = json.loads(STATE.to_text())
    fields["dbt_hiveacid"][name] = value
    return json.dumps(fields)


def test_a_state_survives_its_text():
    text = STATE.to_text()
    assert "\n" not in text
    assert parse(text) == STATE
    assert "checks" not in text and "unique_key" not in text
    keyed = replace(STATE, unique_key=("day", "id"))
    assert parse(keyed.to_text()) == keyed
    for checks in Checks:
        built = replace(STATE, checks=checks)
        assert parse(built.to_text()) == built


def test_other_texts_are_no_states():
    assert parse(None) is parse("") is parse("loaded by hand") is parse('{"a": 1}') is None


def test_a_state_that_cannot_be_read_is_lost_and_says_why():
    newer = STATE.to_text().replace('"version":1', '"version":2')
    assert "version 2" in parse(newer).reason
    assert "cannot be read" in parse(STATE.to_text()[:-5]).reason
    fields = json.loads(STATE.to_text())
    del fields["dbt_hiveacid"]["sources"]
    assert "cannot be read (KeyError: 'sources')" in parse(json.dumps(fields)).reason
    assert "cannot be read" in parse(text_with("checks", "some")).reason
    assert parse(reset_text()) == LostState(REMOVED)


def test_commits_are_counted_within_a_lineage():
    after = next_state(STATE, "i2", {"shop.orders": {}})
    assert (after.lineage, after.generation, after.invocation_id) == ("l1", 4, "i2")
    assert next_state(STATE, "i2", {}, ("id",)).unique_key == ("id",)
    assert after.commit_id != next_state(STATE, "i2", {}).commit_id
    for base in (None, LostState("gone")):
        first = next_state(base, "i2", {})
        assert first.generation == 1 and first.lineage not in (
            "l1",
            next_state(base, "", {}).lineage,
        )


def test_two_looks_at_a_target_are_compared_by_the_commit():
    after = next_state(STATE, "i2", {})
    assert commit_of(STATE) == "c1" != commit_of(after)
    assert commit_of(LostState("gone")) is commit_of(None) is None
    assert commit_of(LostState("unchecked", "c2")) == "c2"
