"""What is asked about a stage of changes, by the format of the target."""

from contextlib import contextmanager, nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest
from pyspark.sql import Row
from pyspark.sql.types import IntegerType, StructType

from dbt.adapters.hiveacid.errors import IncrementalError
from dbt.adapters.hiveacid.incremental import apply
from dbt.adapters.hiveacid.incremental.apply import ApplyMethods
from dbt.adapters.hiveacid.incremental.config import IncrementalConfig, Mode
from dbt.adapters.hiveacid.incremental.model_run import ModelChanges
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.targets.state import Checks, LostState, TargetState
from hiveacid.acid.write_ids import WriteIdRanges

TARGET = HiveAcidRelation.create(schema="marts", identifier="orders", type="table")
STAGE = TARGET.incorporate(path={"identifier": "orders__dbt_changes_0123abcd"})


class Adapter(ApplyMethods):
    """The methods of an adapter whose stage has two inserts and a delete, of the ids 3 to 7."""

    connections = SimpleNamespace(exception_handler=nullcontext)

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

    def _as_statement(self, sql, function):
        return function()

    def _handle(self):
        session = SimpleNamespace(table=self._table)
        return SimpleNamespace(session=session, uninterrupted=nullcontext)

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
    monkeypatch.setattr(apply, "get_invocation_id", lambda: "i")
    if known is None:
        adapter.hiveacid_append()
    else:
        with pytest.raises(IncrementalError, match="m was appending, and files of its last append"):
            adapter.hiveacid_append()
    assert stages == {}


@pytest.mark.parametrize("file_format", ["delta", "iceberg"])
def test_what_is_built_in_its_place_counts_once_it_is_checked(monkeypatch, file_format):
    adapter, commits = Adapter(file_format, unique_key="id"), []

    class Store:
        begin = confirm = lambda self, state: commits.append(state)

        @contextmanager
        def committing(self, base, state):
            commits.append(state)
            yield

    state = TargetState("c1", "i", "l", 1, {})
    monkeypatch.setattr(adapter, "_running", adapter._changes, raising=False)
    monkeypatch.setattr(adapter, "_commit_store", lambda target, config: Store())
    monkeypatch.setattr(adapter, "execute", lambda *_, **__: (None, None), raising=False)
    monkeypatch.setattr(ModelChanges, "next_state", lambda *_: state)
    monkeypatch.setattr(apply, "get_invocation_id", lambda: "i")
    adapter.hiveacid_confirm_state()
    adapter.hiveacid_commit("create table … as …")
    pending = replace(state, checks=Checks.PENDING)
    assert commits == [pending]
    adapter.hiveacid_confirm_state()
    assert commits == [pending, pending]
    # What goes into another table is checked before that takes the target's place.
    adapter = Adapter(file_format, unique_key="id")
    monkeypatch.setattr(adapter, "_running", adapter._changes, raising=False)
    monkeypatch.setattr(adapter, "_commit_store", lambda target, config: Store())
    monkeypatch.setattr(adapter, "execute", lambda *_, **__: (None, None), raising=False)
    adapter.hiveacid_commit("create table … as …", STAGE)
    # So are changes, which are staged.
    adapter.hiveacid_begin_commit(TARGET)
    adapter.hiveacid_commit("merge …")
    adapter.hiveacid_confirm_state()
    assert commits[2:] == [state, None, state]


@pytest.mark.parametrize(
    ("known", "config", "is_looked_at"),
    [
        (TargetState("c", "i", "l", 1, {}, unique_key=("day", "id")), {}, False),
        (TargetState("c", "i", "l", 1, {}, unique_key=("id",)), {}, True),
        # That of a model that had no key, or of one from before it was kept.
        (TargetState("c", "i", "l", 1, {}), {}, True),
        (TargetState("c", "i", "l", 1, {}), {"incremental_strategy": "merge"}, False),
        (TargetState("c", "i", "l", 1, {}), {"unique_key": ["id", "new"]}, False),
    ],
)
def test_a_new_key_has_to_tell_the_rows_apart_that_are_there(known, config, is_looked_at):
    adapter = Adapter("delta", **{"unique_key": ["Id", "`day`"], **config})
    changes = adapter._changes()
    changes.known, changes.stored_columns = known, ["id", "day", "amount"]
    adapter._query = lambda sql: [{"key": Row(id=3, day=1), "times": 2}]
    if not is_looked_at:
        adapter._check_new_key(changes)
        return
    with pytest.raises(
        IncrementalError, match=r"2 rows with the same value .* \(id = 3, day = 1\)"
    ):
        adapter._check_new_key(changes)
    adapter._query = lambda sql: adapter.queries.append(sql) or []
    adapter._check_new_key(changes)
    assert "group by `Id`, `day` having count(*) > 1" in adapter.queries[0]
