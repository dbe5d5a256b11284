"""What is asked about a stage of changes, by the format of the target."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from pyspark.sql import Row
from pyspark.sql.types import IntegerType, StructType

from dbt.adapters.hiveacid.acid.changes import WriteIdRanges
from dbt.adapters.hiveacid.exceptions import IncrementalError
from dbt.adapters.hiveacid.incremental import apply_methods
from dbt.adapters.hiveacid.incremental.apply_methods import ApplyMethods
from dbt.adapters.hiveacid.incremental.config import IncrementalConfig, Mode
from dbt.adapters.hiveacid.incremental.model import ModelChanges
from dbt.adapters.hiveacid.incremental.target_state import LostState
from dbt.adapters.hiveacid.relation import HiveAcidRelation

TARGET = HiveAcidRelation.create(schema="marts", identifier="orders", type="table")
STAGE = TARGET.incorporate(path={"identifier": "orders__dbt_changes_0123abcd"})


class Adapter(ApplyMethods):
    """The methods of an adapter whose stage has two inserts and a delete, of the ids 3 to 7."""

    def __init__(self, file_format, times=1, **config):
        self.queries, self.looked_up = [], []
        self._times = times
        options = IncrementalConfig.of(
            "m", {"incremental_strategy": "acid_changes", "file_format": file_format, **config}
        )
        self._running_changes = ModelChanges(
            "m", None, None, TARGET, options, lambda: None, None, True, False
        )
        self._running_changes.mode = options.mode(has_row_id=True)

    def _changes(self):
        return self._running_changes

    def _handle(self):
        return SimpleNamespace(session=SimpleNamespace(table=self._table))

    def _table(self, name):
        self.looked_up.append(name)
        return SimpleNamespace(schema=StructType().add("id", IntegerType()))

    def _query(self, sql):
        self.queries.append(sql)
        bounds = {f"{bound}_{i}": v for i in range(3) for bound, v in (("low", 3), ("high", 7))}
        nulls = {f"nulls_{i}": 0 for i in range(3)}
        key = Row(id=3)
        return [Row(inserts=2, deletes=1, times=self._times, repeated=key, **bounds, **nulls)]


@pytest.mark.parametrize(
    ("config", "mode", "bound"),
    [
        ({"unique_key": "id"}, Mode.UNIQUE_KEY, "`id` between 3 and 7"),
        ({}, Mode.ROW_ID, "_row_id.write_id between 3L and 7L"),
    ],
)
@pytest.mark.parametrize("file_format", ["delta", "iceberg"])
def test_a_merge_is_told_which_keys_the_changes_have(file_format, config, mode, bound):
    adapter = Adapter(file_format, **config)
    assert adapter.hiveacid_way(STAGE) == "merge"
    assert adapter._changes().mode is mode
    predicates = ["DBT_INTERNAL_DEST.id > 0"]
    merge = adapter.hiveacid_statement("merge", STAGE, TARGET, predicates=predicates)
    assert f"on (DBT_INTERNAL_DEST.id > 0) and (DBT_INTERNAL_DEST.{bound})" in merge
    assert " as low_0" in adapter.queries[0]


@pytest.mark.parametrize("config", [{"unique_key": "id"}, {}])
def test_a_rewrite_needs_no_bounds_of_keys(config):
    adapter = Adapter("parquet", **config)
    assert adapter.hiveacid_way(STAGE) == "rewrite"
    assert adapter.looked_up == [] and " as low_" not in adapter.queries[0]


@pytest.mark.parametrize("file_format", ["delta", "iceberg", "parquet"])
def test_a_repeated_key_is_refused_in_every_format(file_format):
    adapter = Adapter(file_format, times=2, unique_key="id")
    with pytest.raises(IncrementalError, match=r"2 new rows with the same unique_key \(id = 3\)"):
        adapter.hiveacid_way(STAGE)


def test_a_repeated_key_in_a_batch_takes_the_whole_backlog():
    adapter = Adapter("delta", times=2, unique_key="id", max_write_ids=1)
    changes = adapter._changes()
    changes.plan = SimpleNamespace(remaining=WriteIdRanges.of_ids([6]))
    changes.source = SimpleNamespace(table="shop.orders")
    assert adapter.hiveacid_way(STAGE) == "again"
    assert changes.config.max_write_ids is None
    # Then no write ids remain: the key is repeated in what Hive shows.
    changes.plan = SimpleNamespace(remaining=WriteIdRanges())
    with pytest.raises(IncrementalError, match="2 new rows with the same unique_key"):
        adapter.hiveacid_way(STAGE)


@pytest.mark.parametrize("known", [LostState("files of its last append are gone"), None])
def test_an_append_whose_files_are_gone_is_no_success(monkeypatch, known):
    adapter, stages = Adapter("parquet"), {"stage": SimpleNamespace(relation=STAGE)}
    handle = SimpleNamespace(session=None, stages=stages, uninterrupted=nullcontext)
    store = SimpleNamespace(record=lambda *_: None, read=lambda: known)
    monkeypatch.setattr(adapter, "_handle", lambda: handle)
    monkeypatch.setattr(adapter, "_plain_store", lambda target: store)
    monkeypatch.setattr(ModelChanges, "next_state", lambda *_: None)
    monkeypatch.setattr(apply_methods, "get_invocation_id", lambda: "i")
    if known is None:
        adapter.hiveacid_append()
    else:
        with pytest.raises(IncrementalError, match="m was appending, and files of its last append"):
            adapter.hiveacid_append()
    assert stages == {}
