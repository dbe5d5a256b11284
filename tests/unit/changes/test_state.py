"""The state of a source survives JSON, and nothing else passes for one."""

import json
from dataclasses import replace

import pytest

from hiveacid.acid.write_ids import ValidWriteIdList
from hiveacid.changes.state import LocationState, SourceState
from hiveacid.metastore.models import Column, Partition, StorageDescriptor, TableName
from tests.unit.changes.test_diff import (
    INSERT_ONLY,
    locations,
    pinned_table,
    valid,
    without_files,
)

STATE = SourceState(
    TableName("shop", "orders"),
    table_id=17,
    create_time=1_700_000_000,
    is_full_acid=True,
    columns=(("id", "int"), ("größe", "decimal(10,2)")),
    write_ids=ValidWriteIdList(9, frozenset({4}), frozenset({2}), "shop.orders"),
    options="partitions=…",
    locations=(
        LocationState(("2026-01-01", "é u"), "file:/t/a", 7, "base_0000003", 5),
        LocationState(
            ("w", ""), "file:/t/w", 7, None, 5, files_fingerprint=("delta_5_5_0", "0a1b2c3d")
        ),
        LocationState(("o", ""), "file:/t/o", 7, None, 0, ("x",), ("y",), ("", "0a1b2c3d")),
        LocationState(("__HIVE_DEFAULT_PARTITION__", ""), "file:/t/b", 8),
        LocationState(("é", ""), "file:/t/é", 7, None, 5, ("delta_4_5_v9", "delta_6_7_v10")),
        LocationState(("f", ""), "file:/t/f", 7, None, 5, ("delta_1_2_v9",), ("delta_3_4_v10",)),
        LocationState(("g", ""), "file:/t/g", 7, None, 5, (), ("delta_3_4_v10", "delta_5_6_v11")),
        LocationState(("m", ""), "file:/t/m", 7, None, 5, decoding_fingerprint="2:0a1b2c3d"),
        LocationState(
            *(("n", ""), "file:/t/n", 7, None, 5, ("delta_3_4_v10",)),
            files_fingerprint=("delta_5_5_0", "0a1b2c3d"),
            decoding_fingerprint="0:0a1b2c3d",
        ),
        LocationState(
            *(("d", ""), "file:/t/d", 7, None, 5),
            files_fingerprint=("delta_5_5_0", "0a1b2c3d"),
            other_originals="1b2c3d4e",
        ),
        LocationState(
            *(("l", ""), "file:/t/l", 7, None, 5),
            files_fingerprint=("delta_5_5_0", "0a1b2c3d"),
            unmergeable=(0, 3, 12),
        ),
    ),
    decoding_settings={"session's time zone": "Europe/Berlin"},
)


def test_a_state_reads_back_from_json():
    assert SourceState.from_json(json.loads(json.dumps(STATE.to_json()))) == STATE


def test_a_state_in_the_midst_of_a_backlog_reads_back():
    state = replace(STATE, backlog_since=ValidWriteIdList(7, frozenset({4}), table="shop.orders"))
    assert SourceState.from_json(json.loads(json.dumps(state.to_json()))) == state


def test_a_location_without_base_and_files_is_empty():
    assert [location.is_empty for location in STATE.locations] == [
        *[False] * 3,
        True,
        *[False] * 7,
    ]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("table", "orders"),
        ("table_id", "17"),
        ("create_time", None),
        ("is_full_acid", 1),
        ("columns", {}),
        ("columns", ["id"]),
        ("columns", [["id", "int", None]]),
        ("columns", [["id", 4]]),
        ("write_ids", 9),
        ("write_ids", "9"),
        ("options", None),
        ("backlog_since", 9),
        ("backlog_since", "9"),
        ("shown", []),
        ("shown", {"session's time zone": 1}),
        ("locations", [[[], "file:/t", 0, None, 3, {"read by": "0a1b"}]]),
        ("locations", [[[], "file:/t", 0, None, 3, {"read by": 1, "base_3": "0a1b2c3d"}]]),
        ("locations", {}),
        ("locations", [["2026-01-01"]]),
        ("locations", [[[], "file:/t", 0, None]]),
        ("locations", [[[1], "file:/t", 0, None, None]]),
        ("locations", [[[], None, 0, None, None]]),
        ("locations", [[[], "file:/t", "0", None, None]]),
        ("locations", [[[], "file:/t", 0, 3, None]]),
        ("locations", [[[], "file:/t", 0, None, "3"]]),
        ("locations", [[[], "file:/t", 0, None, 3, 4]]),
        ("locations", [[[], "file:/t", 0, None, 3, {}]]),
        ("locations", [[[], "file:/t", 0, None, 3, {"base_3": 7}]]),
        ("locations", [[[], "file:/t", 0, None, 3, ["delta_1_2_v9"], "delta_3_4_v10"]]),
        ("locations", [[[], "file:/t", 0, None, 3, [4]]]),
    ],
)
def test_what_is_no_state_is_refused(key, value):
    with pytest.raises(ValueError, match="not |cannot be"):
        SourceState.from_json({**STATE.to_json(), key: value})


def test_missing_and_unknown_keys_are_refused():
    lacking = STATE.to_json()
    del lacking["options"]
    for wrong in (lacking, {**STATE.to_json(), "more": 1}, [], None, "state"):
        with pytest.raises(ValueError, match="not the state of a source"):
            SourceState.from_json(wrong)


STORED = """{"table": "shop.orders", "table_id": 7, "create_time": 100, "is_full_acid": false,
"columns": [["id", "int"], ["at", "timestamp"]], "write_ids": "shop.orders:9:4:4:2",
"options": "partitions=x", "locations": [
[["a"], "file:/t/p=a", 50, "base_3_v0000009", 5, {"delta_5_5_0": "9022fe24",
"read by": "2:4803f5bd"}],
[["ü"], "file:/t/p=ü", 51, null, 6, {"delta_3_3_v0000010": "4f53cda1", "read by": "2:4803f5bd"},
"delta_3_3_v0000010"],
[["c"], "file:/t/p=c", 52, null, 3, {"delta_3_3_0": "560eb2de", "read by": "2:4803f5bd"},
["delta_1_3_v0000011"]]],
"shown": {"type of its partition columns": "p string", "session's time zone": "Europe/Berlin"}}"""
"""What an earlier release has stored."""


def test_a_state_is_stored_as_earlier_releases_stored_it():
    storage = StorageDescriptor(
        "file:/t",
        (Column("id", "int"), Column("at", "timestamp")),
        "org.apache.hadoop.mapred.TextInputFormat",
        "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
        {"field.delim": ","},
    )
    partitions = [
        Partition((value,), replace(storage, location=f"file:/t/p={value}"), create_time=50 + i)
        for i, value in enumerate("aüc")
    ]
    write_ids = valid(9, open=[4], aborted=[2])
    pinned = pinned_table(write_ids, *partitions, parameters=INSERT_ONLY, storage=storage)
    found = locations(
        pinned,
        ["base_3_v0000009", "delta_5_5_0"],
        ["delta_3_3_v0000010/", "delta_6_6"],
        ["000000_0", without_files("delta_1_3_v0000011"), "delta_3_3_0"],
    )
    state = SourceState.of(pinned, found, "partitions=x", "Europe/Berlin")
    # What this release says besides.
    later = {
        "setting orc_columns": "position",
        "setting old_dates": "file",
        "setting hive.mm.allow.originals": "false",
    }
    stored, read = json.loads(STORED), SourceState.from_json(json.loads(STORED))
    stored["shown"] |= later
    stored["locations"][2][5]["originals"] = state.locations[2].originals
    assert state.to_json() == stored
    assert read.locations[2].originals is None
    *others, last = read.locations
    last = replace(last, other_originals=state.locations[2].originals)
    settings = {**read.decoding_settings, **later}
    assert replace(read, decoding_settings=settings, locations=(*others, last)) == state
