"""Settings and fingerprints of decoding, and whether they have changed."""

from dataclasses import replace

import pytest

from hiveacid.acid.write_ids import new_write_ids
from hiveacid.changes.decoding import Decoding, changed_settings, decoding_settings
from hiveacid.changes.diff import diff
from hiveacid.changes.losses import Extent, table_losses
from hiveacid.changes.state import SourceState
from hiveacid.metastore.models import Column, StorageDescriptor
from hiveacid.reader.formats.text import line_format
from hiveacid.snapshots.tables import OrcColumns
from tests.unit.changes.test_diff import (
    INSERT_ONLY,
    TABLE,
    facts_of,
    locations,
    pinned_table,
    state_of,
    valid,
)

TEXT = StorageDescriptor(
    "file:/t",
    (Column("id", "int"), Column("name", "string")),
    "org.apache.hadoop.mapred.TextInputFormat",
    "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
    {"field.delim": ","},
)
NONE_NEW = new_write_ids(valid(3), valid(3))
BY_NAME = replace(pinned_table(valid(3)), orc_columns=OrcColumns.NAME)
LOG = replace(TABLE, storage=TEXT, parameters=INSERT_ONLY)
BY_DAY = replace(LOG, partition_keys=(Column("day", "string"),))


def with_columns(*types):
    return replace(TEXT, columns=tuple(Column(f"c{i}", type_) for i, type_ in enumerate(types)))


@pytest.mark.parametrize(
    ("type_", "zone"),
    [
        ("timestamp", "Europe/Berlin"),
        ("array<struct<at:timestamp>>", "Europe/Berlin"),
        ("timestamp with local time zone", None),
        ("date", None),
        ("struct<my_timestamp:int>", None),
        ("struct<timestamp:int>", None),
    ],
)
def test_the_time_zone_decides_for_times_on_the_clock(type_, zone):
    pinned = pinned_table(valid(3), storage=with_columns("int", type_))
    found = decoding_settings(pinned, "Europe/Berlin")
    assert found.get("session's time zone") == zone


@pytest.mark.parametrize("name", ["UTC", "Etc/UTC", "Z", "GMT", "+00:00", "Etc/GMT"])
def test_utc_has_many_names(name):
    pinned = pinned_table(valid(3), storage=with_columns("timestamp"))
    assert decoding_settings(pinned, name) == decoding_settings(pinned, "UTC")


def test_a_partition_column_may_be_a_time():
    keys = (Column("at", "timestamp"), Column("p", "int"))
    pinned = replace(BY_NAME, table=replace(TABLE, partition_keys=keys))
    assert decoding_settings(pinned, "Asia/Tokyo") == {
        "setting orc_columns": "name",
        "setting old_dates": "file",
        "type of its partition columns": "at timestamp, p int",
        "session's time zone": "Asia/Tokyo",
    }


def test_what_an_older_state_does_not_have_has_not_changed():
    assert list(changed_settings({}, {"a": "1"})) == []
    assert list(changed_settings({"a": "1"}, {})) == []
    assert list(changed_settings({"a": "1"}, {"a": "2"})) == ["the a is 2, before 1"]


def test_how_columns_are_found_and_days_are_counted_is_told_of():
    pinned = replace(BY_NAME, table=replace(TABLE, storage=with_columns("date")))
    name, position, unknown = (
        decoding_settings(replace(pinned, orc_columns=how), "UTC")
        for how in (OrcColumns.NAME, OrcColumns.POSITION, OrcColumns.UNKNOWN)
    )
    told = ["the setting orc_columns is name, before position"]
    assert list(changed_settings(position, name)) == told
    assert list(changed_settings(position, unknown)) == []
    gregorian = decoding_settings(replace(pinned, gregorian=True), "UTC")
    told = ["the setting old_dates is gregorian, before file"]
    assert list(changed_settings(name, gregorian)) == told


def test_a_table_without_times_has_hardly_any():
    assert decoding_settings(replace(BY_NAME, orc_columns=OrcColumns.UNKNOWN), "UTC") == {}


def test_whether_hive_shows_original_files_of_insert_only_tables_is_told_of():
    hidden = pinned_table(valid(3), parameters=INSERT_ONLY)
    before, now = (
        decoding_settings(replace(hidden, shows_originals=shown), "UTC") for shown in (False, True)
    )
    told = ["the setting hive.mm.allow.originals is true, before false"]
    assert list(changed_settings(before, now)) == told


def test_partition_columns_and_time_zones_are_told_of():
    before = pinned_table(valid(3), "a", storage=with_columns("timestamp"))
    since = state_of(before, locations(before, ["delta_3_3_0"]))
    assert table_losses(since, SourceState.of(before, [], "", "Etc/UTC")) == []
    keys = (Column("p", "varchar(3)"),)
    after = replace(before, table=replace(before.table, partition_keys=keys))
    losses = table_losses(since, SourceState.of(after, [], "", "Asia/Tokyo"))
    assert sorted(loss.what for loss in losses) == [
        "the session's time zone is Asia/Tokyo, before UTC",
        "the type of its partition columns is p varchar(3), before p string",
    ]
    assert {loss.extent for loss in losses} == {Extent.TABLE}


@pytest.mark.parametrize(
    ("storage", "is_same"),
    [
        (replace(TEXT, location="file:/u"), True),
        (replace(TEXT, serde_parameters={"field.delim": ",", "comment": "new"}), True),
        (replace(TEXT, serde_parameters={"field.delim": ";"}), False),
        (replace(TEXT, serde_parameters={"field.delim": ",", "escape.delim": "\\"}), False),
        (replace(TEXT, serde="org.apache.hadoop.hive.serde2.JsonSerDe"), False),
        (replace(TEXT, columns=(*TEXT.columns, Column("more", "int"))), True),
    ],
)
def test_how_files_are_read(storage, is_same):
    before = Decoding.of(LOG, TEXT).fingerprint
    assert Decoding.of(replace(LOG, storage=storage), storage).has_fingerprint(before) == is_same


def test_the_default_delimiter_may_be_said_or_not():
    """Hive leaves it out of the partitions of a table that has become a transactional one."""
    of_hive = replace(with_columns("int"), serde_parameters={"serialization.format": "1"})
    table = replace(BY_DAY, storage=replace(TEXT, serde_parameters={}))
    silent = replace(of_hive, serde_parameters={})
    assert Decoding.of(table, silent).has_fingerprint(Decoding.of(table, of_hive).fingerprint)
    other = replace(of_hive, serde_parameters={"serialization.format": "2"})
    assert not Decoding.of(table, silent).has_fingerprint(Decoding.of(table, other).fingerprint)


def test_a_partition_has_columns_of_its_own():
    before = Decoding.of(BY_DAY, with_columns("int", "int")).fingerprint
    assert Decoding.of(BY_DAY, with_columns("int", "int", "string")).has_fingerprint(before)
    assert not Decoding.of(BY_DAY, with_columns("int", "string")).has_fingerprint(before)
    # Hive reads full ACID tables by the table's columns alone.
    acid = replace(BY_DAY, parameters={"transactional": "true"})
    before = Decoding.of(acid, with_columns("int", "int")).fingerprint
    assert Decoding.of(acid, with_columns("int", "string")).has_fingerprint(before)


def test_files_that_are_read_otherwise_are_a_loss_of_the_table():
    before = pinned_table(valid(3), storage=TEXT, parameters=INSERT_ONLY)
    since = state_of(before, locations(before, ["delta_3_3_0"]))
    other = replace(TEXT, serde_parameters={"field.delim": ",", "serialization.null.format": "-"})
    after = replace(before, table=replace(before.table, storage=other))
    (change,) = diff(since, facts_of(after, locations(after, ["delta_3_3_0"])), NONE_NEW)
    assert "SET SERDEPROPERTIES" in change.loss.what
    assert change.loss.extent is Extent.TABLE
    old = replace(
        since, locations=tuple(replace(at, decoding_fingerprint=None) for at in since.locations)
    )
    (change,) = diff(old, facts_of(after, locations(after, ["delta_3_3_0"])), NONE_NEW)
    assert change.loss is None


class _Recording(dict):
    """Properties that note what they are asked for."""

    def __init__(self, *args):
        super().__init__(*args)
        self.asked = set()

    def get(self, name, default=None):
        self.asked.add(name)
        return super().get(name, default)


def test_every_property_that_a_text_is_read_by_is_part_of_the_fingerprint(monkeypatch):
    recording = _Recording()
    monkeypatch.setattr(
        "hiveacid.reader.formats.text.file_properties", lambda table, storage: recording
    )
    refused = set()
    monkeypatch.setattr(
        "hiveacid.reader.formats.text.refuse_others",
        lambda table, kind, properties, harmless: refused.update(name for name, _ in harmless),
    )
    line_format(LOG, TEXT)
    assert recording.asked
    for name in recording.asked - refused:
        storage = replace(TEXT, serde_parameters={**TEXT.serde_parameters, name: "7"})
        changed = replace(LOG, storage=storage)
        assert Decoding.of(changed, storage).fingerprint != Decoding.of(LOG, TEXT).fingerprint, name
