"""The state of a target changes with its rows, or not at all; a second run on it is noticed."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dbt.adapters.hiveacid.exceptions import ConcurrentRunError
from dbt.adapters.hiveacid.incremental.stores import plain
from dbt.adapters.hiveacid.incremental.stores.delta import DeltaStore
from dbt.adapters.hiveacid.incremental.stores.directory import Directory
from dbt.adapters.hiveacid.incremental.stores.plain import (
    STATE_DIRECTORY,
    PlainStore,
    write_record,
)
from dbt.adapters.hiveacid.incremental.target_state import LostState, following
from dbt.adapters.hiveacid.spark.files import location

SLEEP = "reflect('java.lang.Thread', 'sleep', 4000L)"


@pytest.fixture
def session(spark: Any) -> Any:
    return spark.newSession()


@pytest.fixture
def name(session: Any) -> Iterator[str]:
    table = f"t_{uuid.uuid4().hex[:8]}"
    yield table
    session.sql(f"drop table if exists {table}")


def rows(session: Any, table: str) -> list[tuple[Any, ...]]:
    session.sql(f"refresh table {table}")
    return sorted(tuple(row) for row in session.sql(f"select * from {table}").collect())


def sources(number: int) -> dict[str, Any]:
    return {"shop.orders": {"write_ids": number}}


class TestDelta:
    def store(self, session: Any, name: str) -> DeltaStore:
        return DeltaStore(session, lambda sql: session.sql(sql).collect(), name)

    def commit(self, session: Any, store: DeltaStore, base: Any, number: int, sql: str) -> Any:
        state = following(base, "invocation", sources(number))
        with store.committing(base, state):
            session.sql(sql)
        return state

    def create(self, session: Any, name: str) -> tuple[DeltaStore, Any]:
        store = self.store(session, name)
        sql = f"create or replace table {name} using delta as select 1 as id"
        return store, self.commit(session, store, None, 1, sql)

    def test_the_state_is_that_of_the_newest_commit(self, session: Any, name: str) -> None:
        store, created = self.create(session, name)
        assert store.read() == created
        inserted = self.commit(session, store, created, 2, f"insert into {name} values (2)")
        assert (inserted.lineage, inserted.generation) == (created.lineage, 2)
        assert store.read() == inserted
        session.sql(f"insert into {name} values (3)")
        assert store.read() == inserted
        merge = f"merge into {name} using (select 9 as id) s on {name}.id = s.id"
        unmatched = self.commit(session, store, inserted, 3, f"{merge} when matched then delete")
        assert store.read() == unmatched
        session.sql(f"restore table {name} to version as of 0")
        assert store.read() == created
        session.sql(f"create or replace table {name} using delta as select 9 as id")
        assert isinstance(store.read(), LostState)
        rebuilt = self.commit(session, store, store.read(), 3, f"insert into {name} values (4)")
        assert rebuilt.lineage != created.lineage
        store.reset()
        assert store.read() == LostState("its state was removed by hiveacid_reset_state")
        assert rows(session, name) == [(4,), (9,)]

    def test_a_second_run_from_the_same_state_changes_nothing(
        self, session: Any, name: str
    ) -> None:
        store, created = self.create(session, name)
        first = self.commit(session, store, created, 2, f"insert into {name} values (2)")
        with pytest.raises(ConcurrentRunError, match="was faster"):
            self.commit(session, store, created, 2, f"insert into {name} values (2)")
        assert rows(session, name) == [(1,), (2,)]
        assert store.read() == first

    def test_a_run_that_overlaps_another_changes_nothing(self, session: Any, name: str) -> None:
        store, created = self.create(session, name)
        other = session.newSession()
        # Its transaction begins before it reads; the other run commits while it reads.
        slow = f"insert into {name} select 2 from range(1) where {SLEEP} is null"
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(self.commit, other, self.store(other, name), created, 2, slow)
            time.sleep(1)
            second = self.commit(session, store, created, 2, f"insert into {name} values (3)")
            with pytest.raises(ConcurrentRunError, match="was faster"):
                first.result()
        assert rows(session, name) == [(1,), (3,)]
        assert store.read() == second

    def test_a_table_built_anew_meanwhile_keeps_its_rows(self, session: Any, name: str) -> None:
        store, created = self.create(session, name)
        sql = f"create or replace table {name} using delta as select 7 as id"
        rebuilt = self.commit(session, store, None, 5, sql)
        assert rebuilt.lineage != created.lineage
        with pytest.raises(ConcurrentRunError, match="was faster"):
            self.commit(session, store, created, 2, f"insert into {name} values (2)")
        assert rows(session, name) == [(7,)]
        assert store.read() == rebuilt


class TestPlain:
    def store(self, session: Any, name: str) -> PlainStore:
        return PlainStore(session, lambda sql: session.sql(sql).collect(), "default", name)

    def create(self, session: Any, name: str, clause: str = "") -> tuple[PlainStore, Any]:
        session.sql(f"create table {name} using parquet {clause} as select 1 as id, 'a' as p")
        store = self.store(session, name)
        assert store.read() is None
        state = following(None, "invocation", sources(1))
        write_record(session, "default", name, state)
        assert store.read() == state
        return store, state

    def stage(self, session: Any, name: str, clause: str, values: str) -> str:
        stage = f"{name}_stage"
        session.sql(
            f"create table {stage} using parquet {clause} as select * from values {values} as "
            "v(id, p)"
        )
        return stage

    @pytest.mark.parametrize("clause", ["", "partitioned by (p)"])
    def test_rows_are_appended_with_their_state(self, session: Any, name: str, clause: str) -> None:
        store, state = self.create(session, name, clause)
        stage = self.stage(session, name, clause, "(2, 'a'), (3, 'b c')")
        after = following(state, "invocation", sources(2))
        store.record(state, after, "default", stage)
        # The run dies here; the first file has been moved.
        here, there = (location(session, "default", table) for table in (name, stage))
        moved = Directory(session, there).data_files()[0]
        assert Directory(session, here).move_in(Directory(session, there), moved)
        assert store.read() == after
        expected = [(1, "a"), (2, "a"), (3, "b c")]
        assert rows(session, name) == expected
        assert not session.catalog.tableExists(stage)
        assert store.read() == after
        assert rows(session, name) == expected

    def test_a_second_run_from_the_same_state_changes_nothing(
        self, session: Any, name: str
    ) -> None:
        store, state = self.create(session, name)
        stage = self.stage(session, name, "", "(2, 'b')")
        after = following(state, "invocation", sources(2))
        store.record(state, after, "default", stage)
        store.read()
        stage = self.stage(session, name, "", "(2, 'b')")
        with pytest.raises(ConcurrentRunError, match="was faster"):
            store.record(state, following(state, "other", sources(2)), "default", stage)
        session.sql(f"drop table {stage}")
        assert rows(session, name) == [(1, "a"), (2, "b")]
        assert store.read() == after

    def test_only_one_record_of_a_generation_can_be_made(self, session: Any, name: str) -> None:
        _, state = self.create(session, name)
        records = Directory(session, f"{location(session, 'default', name)}/{STATE_DIRECTORY}")
        assert records.create("x.json", "one") and not records.create("x.json", "two")
        assert records.read("x.json") == "one"
        assert records.names() == ["000000000001.json", "x.json"]

    def test_a_state_that_is_removed_is_lost_and_old_records_go(
        self, session: Any, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(plain, "_KEPT", 2)
        store, state = self.create(session, name)
        for number in range(2, 5):
            stage = self.stage(session, name, "", f"({number}, 'b')")
            after = following(state, "invocation", sources(number))
            store.record(state, after, "default", stage)
            state = store.read()
            assert state == after
        records = Directory(session, f"{location(session, 'default', name)}/{STATE_DIRECTORY}")
        assert len([record for record in records.names() if record.endswith(".json")]) == 2
        store.reset()
        assert store.read() == LostState("its state was removed by hiveacid_reset_state")
        assert len(rows(session, name)) == 4
