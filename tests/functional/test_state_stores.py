"""The state of a target changes with its rows, or not at all; a second run on it is noticed."""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException

from dbt.adapters.hiveacid.errors import ConcurrentRunError
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.spark.table_locations import location
from dbt.adapters.hiveacid.targets import files
from dbt.adapters.hiveacid.targets.delta import DeltaStore
from dbt.adapters.hiveacid.targets.file_records import Directory
from dbt.adapters.hiveacid.targets.files import STATE_DIRECTORY, FileStore, write_record
from dbt.adapters.hiveacid.targets.iceberg import IcebergStore
from dbt.adapters.hiveacid.targets.recovery import current_version, restore
from dbt.adapters.hiveacid.targets.state import (
    Checks,
    LostState,
    OtherRuns,
    StateLookup,
    TargetState,
    next_state,
)

REMOVED = "its state was removed, by hiveacid_reset_state or by a run without acid_changes"

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


def pending(invocation_id: str, number: int, base: StateLookup = None) -> TargetState:
    """The state of a table that is built in its place, before its checks."""
    return replace(next_state(base, invocation_id, sources(number)), checks=Checks.PENDING)


def assert_unchecked(known: StateLookup) -> None:
    assert isinstance(known, LostState) and "before its rows were checked" in known.reason


class TestDelta:
    def store(self, session: Any, name: str) -> DeltaStore:
        return DeltaStore(session, lambda sql: session.sql(sql).collect(), name)

    def commit(self, session: Any, store: DeltaStore, base: Any, number: int, sql: str) -> Any:
        state = next_state(base, "invocation", sources(number))
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
        restored = store.read()
        assert restored == replace(created, lineage=restored.lineage)
        session.sql(f"delete from {name}")
        emptied = store.read()
        assert isinstance(emptied, LostState) and "removed all rows" in emptied.reason
        session.sql(f"create or replace table {name} using delta as select 9 as id")
        assert isinstance(store.read(), LostState)
        rebuilt = self.commit(session, store, store.read(), 3, f"insert into {name} values (4)")
        assert rebuilt.lineage != created.lineage
        store.reset()
        assert store.read() == LostState(REMOVED)
        assert rows(session, name) == [(4,), (9,)]

    def test_a_second_run_from_the_same_state_changes_nothing(
        self, session: Any, name: str
    ) -> None:
        store, created = self.create(session, name)
        first = self.commit(session, store, created, 2, f"insert into {name} values (2)")
        with pytest.raises(ConcurrentRunError, match="at the same time"):
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
            with pytest.raises(ConcurrentRunError, match="at the same time"):
                first.result()
        assert rows(session, name) == [(1,), (3,)]
        assert store.read() == second

    def test_a_table_built_anew_meanwhile_keeps_its_rows(self, session: Any, name: str) -> None:
        store, created = self.create(session, name)
        sql = f"create or replace table {name} using delta as select 7 as id"
        # By a run that has found the table without a state that it can go on from.
        rebuilt = self.commit(session, store, LostState("gone", created.commit_id), 5, sql)
        assert rebuilt.lineage != created.lineage
        with pytest.raises(ConcurrentRunError, match="at the same time"):
            self.commit(session, store, created, 2, f"insert into {name} values (2)")
        assert rows(session, name) == [(7,)]
        known = store.read()
        assert known == replace(rebuilt, lineage=known.lineage)

    def test_a_restored_table_goes_on_from_its_state(self, session: Any, name: str) -> None:
        store, known = self.create(session, name)
        for number in (2, 3):
            known = self.commit(session, store, known, number, f"insert into {name} values (2)")
        rebuild = f"create or replace table {name} using delta as select 9"
        for sql in (f"insert into {name} values (9)", rebuild):
            session.sql(f"restore table {name} to version as of 1")
            known = store.read()
            assert known.sources == sources(2)
            after = self.commit(session, store, known, 7, sql)
            assert store.read() == after
            assert (9,) in rows(session, name)

    def test_a_table_built_in_its_place_has_a_state_once_it_is_checked(
        self, session: Any, name: str
    ) -> None:
        store, sql = self.store(session, name), f"create or replace table {name} using delta as "
        first = pending("first", 1)
        with store.committing(None, first):
            session.sql(sql + "select 1 as id")
        unchecked = store.read()
        assert_unchecked(unchecked)
        # A slower first run, in the midst of the checks of this one.
        slower = pending("slower", 0)
        with (
            pytest.raises(ConcurrentRunError, match="at the same time"),
            store.committing(None, slower),
        ):
            session.sql(sql + "select 0 as id")
        store.confirm(first)
        known = store.read()
        assert isinstance(known, TargetState) and known.commit_id == first.commit_id
        assert rows(session, name) == [(1,)]
        session.sql(f"alter table {name} add constraint positive check (id > 0)")
        assert store.read() == known
        # A run that has not confirmed may be dead, and is followed.
        second = pending("second", 2, unchecked)
        with store.committing(unchecked, second):
            session.sql(sql + "select 2 as id")
        with pytest.raises(ConcurrentRunError, match="at the same time"):
            store.confirm(first)
        store.confirm(second)
        assert store.read() == replace(second, checks=None)
        assert rows(session, name) == [(2,)]

    def test_a_compaction_after_the_commit_is_no_other_run(self, session: Any, name: str) -> None:
        store, known = self.create(session, name)
        session.conf.set("spark.databricks.delta.autoCompact.enabled", "true")
        session.conf.set("spark.databricks.delta.autoCompact.minNumFiles", "2")
        for number in (2, 3, 4):
            known = self.commit(session, store, known, number, f"insert into {name} values (2)")
        operations = {row["operation"] for row in session.sql(f"describe history {name}").collect()}
        assert "OPTIMIZE" in operations
        assert store.read() == known
        assert rows(session, name) == [(1,), (2,), (2,), (2,)]


class TestIceberg:
    @pytest.fixture
    def table(self, session: Any, name: str) -> Iterator[str]:
        session.sql("create schema if not exists lake.marts")
        yield f"lake.marts.{name}"
        session.sql(f"drop table if exists lake.marts.{name}")

    def commit(self, session: Any, store: IcebergStore, base: Any, number: int, sql: str) -> Any:
        """Commit a statement, which writes into `{}`."""
        state = next_state(base, "invocation", sources(number))
        written = f"{store._name}.{store.begin(base)}"
        with store.committing(base, state):
            session.sql(sql.format(written))
        return state

    def build(
        self, session: Any, table: str, base: Any, number: int, properties: str = ""
    ) -> tuple[IcebergStore, Any]:
        store = IcebergStore(session, table)
        state = next_state(base, "invocation", sources(number))
        with store.committing(base, state):
            session.sql(
                f"create or replace table {table} using iceberg {properties} "
                f"as select {number} as id"
            )
        return store, state

    def snapshots(self, session: Any, table: str) -> list[int]:
        query = f"select snapshot_id from {table}.snapshots order by committed_at"
        return [row["snapshot_id"] for row in session.sql(query).collect()]

    def branches(self, session: Any, table: str) -> list[str]:
        return [row["name"] for row in session.sql(f"select name from {table}.refs").collect()]

    def test_the_state_is_that_of_the_newest_commit(self, session: Any, table: str) -> None:
        store, created = self.build(session, table, None, 1)
        assert store.read() == created
        inserted = self.commit(
            session, IcebergStore(session, table), created, 2, "insert into {} values (2)"
        )
        assert (inserted.lineage, inserted.generation) == (created.lineage, 2)
        assert store.read() == inserted
        # A statement without rows: the state moves all the same.
        for statement in (
            "insert into {} select 9 where false",
            "insert overwrite {} select id from {} where false",
            "merge into {} t using (select 9 as id) s on t.id = s.id when matched then delete",
        ):
            run = IcebergStore(session, table)
            written = run.begin(store.read())
            base = store.read()
            state = next_state(base, "invocation", sources(3))
            with run.committing(base, state):
                session.sql(statement.replace("{}", f"{table}.{written}"))
            assert store.read() == state
            if "overwrite" in statement:
                assert rows(session, table) == []
                session.sql(f"insert into {table} values (1), (2)")
        assert rows(session, table) == [(1,), (2,)]
        assert self.branches(session, table) == ["main"]
        first = self.snapshots(session, table)[0]
        session.sql(f"call lake.system.rollback_to_snapshot('{table[5:]}', {first})")
        assert (store.read(), rows(session, table)) == (created, [(1,)])
        store.reset()
        assert store.read() == LostState(REMOVED)
        assert rows(session, table) == [(1,)]

    @pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
    def test_what_others_do_keeps_the_state_or_loses_it(
        self, session: Any, table: str, mode: str
    ) -> None:
        properties = ", ".join(
            f"'write.{kind}.mode'='{mode}'" for kind in ("update", "delete", "merge")
        )
        store, created = self.build(session, table, None, 1, f"tblproperties ({properties})")
        session.sql(f"insert into {table} select /*+ coalesce(1) */ id from range(2, 6)")
        session.sql(
            f"merge into {table} t using (select 2 as id) s on t.id = s.id when matched then delete"
        )
        session.sql(f"alter table {table} add column note string")
        session.sql(f"call lake.system.rewrite_data_files('{table[5:]}')")
        session.sql(f"delete from {table} where id = 1")
        kept = store.read()
        session.sql(f"update {table} set note = 'x' where id = 3")
        if mode == "copy-on-write":
            # It rewrites files, as INSERT OVERWRITE does.
            assert isinstance(store.read(), LostState)
        else:
            assert kept == store.read() == created
        head = self.snapshots(session, table)[-1]
        lost = (
            f"insert overwrite {table} values (7, 'y')",
            f"truncate table {table}",
            f"create or replace table {table} using iceberg as select 7 as id",
        )
        for statement in lost:
            session.sql(statement)
            assert isinstance(store.read(), LostState), statement
            session.sql(f"call lake.system.set_current_snapshot('{table[5:]}', {head})")
        if mode == "merge-on-read":
            assert store.read() == created
            session.sql(
                f"call lake.system.expire_snapshots(table => '{table[5:]}', "
                "older_than => timestamp '2999-01-01', retain_last => 1)"
            )
            known = store.read()
            assert isinstance(known, LostState) and "has expired" in known.reason

    def test_a_second_run_from_the_same_state_changes_nothing(
        self, session: Any, table: str
    ) -> None:
        store, created = self.build(session, table, None, 1)
        # A run that died left its branch.
        dead = IcebergStore(session, table)
        dead.begin(created)
        # Another has begun, and writes while this one commits.
        late = IcebergStore(session, table)
        written = late.begin(created)
        first = self.commit(
            session, IcebergStore(session, table), created, 2, "insert into {} values (2)"
        )
        with pytest.raises(ConcurrentRunError, match="at the same time"):
            with late.committing(created, next_state(created, "late", sources(2))):
                session.sql(f"insert into {table}.{written} values (2)")
        with pytest.raises(ConcurrentRunError, match="at the same time"):
            IcebergStore(session, table).begin(created)
        assert rows(session, table) == [(1,), (2,)]
        assert store.read() == first
        assert self.branches(session, table) == ["main"]

    def test_a_run_that_overlaps_another_changes_nothing(self, session: Any, table: str) -> None:
        store, created = self.build(session, table, None, 1)
        other = session.newSession()
        slow = f"insert into {{}} select 2 from range(1) where {SLEEP} is null"
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(self.commit, other, IcebergStore(other, table), created, 2, slow)
            time.sleep(1)
            second = self.commit(
                session, IcebergStore(session, table), created, 2, "insert into {} values (3)"
            )
            with pytest.raises(ConcurrentRunError, match="at the same time"):
                first.result()
        assert rows(session, table) == [(1,), (3,)]
        assert store.read() == second
        assert self.branches(session, table) == ["main"]

    def test_a_table_built_anew_meanwhile_keeps_its_rows(self, session: Any, table: str) -> None:
        store, created = self.build(session, table, None, 1)
        late = IcebergStore(session, table)
        written = late.begin(created)
        _, rebuilt = self.build(session, table, created, 7)
        with pytest.raises(ConcurrentRunError, match="at the same time"):
            with late.committing(created, next_state(created, "late", sources(2))):
                session.sql(f"insert into {table}.{written} values (2)")
        assert rows(session, table) == [(7,)]
        assert store.read() == rebuilt

    def test_a_table_built_in_its_place_has_a_state_once_it_is_checked(
        self, session: Any, table: str
    ) -> None:
        store = IcebergStore(session, table)
        sql = f"create or replace table {table} using iceberg as select "
        first = pending("first", 1)
        with store.committing(None, first):
            session.sql(sql + "1 as id")
        assert_unchecked(store.read())
        with pytest.raises(ConcurrentRunError, match="at the same time"):
            with IcebergStore(session, table).committing(None, next_state(None, "x", sources(0))):
                raise AssertionError("not reached")
        store.confirm(first)
        known = replace(first, checks=None)
        assert store.read() == known
        built = self.snapshots(session, table)[0]
        session.sql(f"call lake.system.rollback_to_snapshot('{table[5:]}', {built})")
        assert (store.read(), rows(session, table)) == (known, [(1,)])
        second = pending("second", 2, known)
        with store.committing(known, second):
            session.sql(sql + "2 as id")
        with pytest.raises(ConcurrentRunError, match="at the same time"):
            store.confirm(first)
        store.confirm(second)
        assert (store.read(), rows(session, table)) == (replace(second, checks=None), [(2,)])
        after = self.commit(
            session, IcebergStore(session, table), store.read(), 3, "insert into {} values (3)"
        )
        assert store.read() == after

    def test_a_failed_statement_leaves_no_branch(self, session: Any, table: str) -> None:
        store, created = self.build(session, table, None, 1)
        with pytest.raises(AnalysisException, match="nowhere"):
            self.commit(session, store, created, 2, "insert into {} select nowhere")
        assert self.branches(session, table) == ["main"]
        assert store.read() == created

    def test_a_former_version_comes_back_whole(self, session: Any, table: str) -> None:
        relation = HiveAcidRelation.create(
            schema="lake.marts", identifier=table.split(".")[2], is_iceberg=True
        )
        store, created = self.build(session, table, None, 1, "tblproperties ('kind' = 'a')")
        version = current_version(session, relation)
        session.sql(
            f"create or replace table {table} using iceberg partitioned by (extra) "
            "tblproperties ('kind' = 'b', 'more' = 'c') as select 2 as id, 'x' as extra"
        )
        restore(session, relation, version)
        assert rows(session, table) == [(1,)]
        assert session.table(table).columns == ["id"]
        shown = session.sql(f"show tblproperties {table}").collect()
        described = {row["key"]: row["value"] for row in shown}
        assert described["kind"] == "a" and "more" not in described
        assert session.sql(f"select * from {table}.partitions").columns[0] == "record_count"
        assert store.read() == created


class TestPlain:
    alive: tuple[str, ...] = ()

    def store(self, session: Any, name: str) -> FileStore:
        others = OtherRuns(
            lambda invocation: invocation in self.alive,
            seconds=0.1,
            raise_if_cancelled=lambda: None,
        )
        return FileStore(session, lambda sql: session.sql(sql).collect(), "default", name, others)

    def create(self, session: Any, name: str, clause: str = "") -> tuple[FileStore, Any]:
        session.sql(f"create table {name} using parquet {clause} as select 1 as id, 'a' as p")
        store = self.store(session, name)
        assert store.read() is None
        state = next_state(None, "invocation", sources(1))
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

    def test_partitions_by_a_column_with_an_underscore(self, session: Any, name: str) -> None:
        clause = "using parquet partitioned by (_p)"
        session.sql(f"create table {name} {clause} as select 1 as id, 'a' as _p")
        store, state = self.store(session, name), next_state(None, "invocation", sources(1))
        write_record(session, "default", name, state)
        session.sql(f"create table {name}_stage {clause} as select 2 as id, 'b' as _p")
        after = next_state(state, "invocation", sources(2))
        store.record(state, after, "default", f"{name}_stage")
        assert store.read() == after
        assert rows(session, name) == [(1, "a"), (2, "b")]

    def test_an_append_whose_files_are_gone_is_no_state(self, session: Any, name: str) -> None:
        store, state = self.create(session, name)
        stage = self.stage(session, name, "", "(2, 'a'), (3, 'b')")
        store.record(state, next_state(state, "invocation", sources(2)), "default", stage)
        session.sql(f"drop table {stage}")
        for _ in range(2):
            lost = store.read()
            assert isinstance(lost, LostState)
            assert f"neither in the table nor in `default`.`{stage}`, where they" in lost.reason
        assert rows(session, name) == [(1, "a")]

    @pytest.mark.parametrize("kind", ["whole", "managed", "external"])
    def test_rows_that_others_have_removed_are_missed(
        self, session: Any, name: str, tmp_path: Path, kind: str
    ) -> None:
        place = f"location '{tmp_path}/{name}'" if kind == "external" else ""
        clause = f"partitioned by (p) {place}" if kind != "whole" else ""
        store, state = self.create(session, name, clause)
        stage = self.stage(session, name, clause.replace(name, "stage"), "(2, 'b'), (3, 'c:d')")
        store.record(state, next_state(state, "invocation", sources(2)), "default", stage)
        state = store.read()
        here = Path(location(session, "default", name).removeprefix("file:"))
        ours = Directory(session, str(here)).data_files()
        # Rows that others add are none of ours.
        session.sql(f"insert into {name} values (4, 'b'), (5, 'x')")
        assert store.read() == state
        away = tmp_path / "away"
        shutil.move(here / ours[0], away)
        lost = store.read()
        assert isinstance(lost, LostState) and "1 of the " in lost.reason
        # Whether a model without acid_changes has to remove a state, it need not look.
        assert store.recent() == state
        shutil.move(away, here / ours[0])
        assert store.read() == state
        if kind == "whole":
            return
        statements = {
            "managed": (
                f"insert overwrite {name} values (9, 'x')",
                f"insert overwrite {name} values (9, 'c:d')",
            ),
            "external": (
                f"alter table {name} drop partition (p = 'x')",
                f"alter table {name} drop partition (p = 'c:d')",
            ),
        }
        session.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
        harmless, harmful = statements[kind]
        session.sql(harmless)
        assert store.read() == state
        session.sql(harmful)
        lost = LostState("1 of the 3 files that its runs have written are gone from it (p=c%3Ad)")
        assert store.read() == lost
        with pytest.raises(ConcurrentRunError, match="at the same time"):
            store.check(state)
        if kind == "managed":
            session.sql(f"truncate table {name}")
            assert store.read().reason.startswith("3 of the 3 files")

    @pytest.mark.parametrize("clause", ["", "partitioned by (p)"])
    def test_rows_are_appended_with_their_state(self, session: Any, name: str, clause: str) -> None:
        store, state = self.create(session, name, clause)
        stage = self.stage(session, name, clause, "(2, 'a'), (3, 'b c')")
        after = next_state(state, "invocation", sources(2))
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
        after = next_state(state, "invocation", sources(2))
        store.record(state, after, "default", stage)
        store.read()
        stage = self.stage(session, name, "", "(2, 'b')")
        with pytest.raises(ConcurrentRunError, match="at the same time"):
            store.record(state, next_state(state, "other", sources(2)), "default", stage)
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
        monkeypatch.setattr(files, "_KEPT", 2)
        store, state = self.create(session, name)
        for number in range(2, 5):
            stage = self.stage(session, name, "", f"({number}, 'b')")
            after = next_state(state, "invocation", sources(number))
            store.record(state, after, "default", stage)
            state = store.read()
            assert state == after
        records = Directory(session, f"{location(session, 'default', name)}/{STATE_DIRECTORY}")
        assert len([record for record in records.names() if record.endswith(".json")]) == 2
        store.reset()
        assert store.read() == LostState(REMOVED)
        assert len(rows(session, name)) == 4

    def test_a_table_that_is_being_replaced_changes_no_more(
        self, session: Any, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store, state = self.create(session, name)
        stage = self.stage(session, name, "", "(2, 'b')")
        with pytest.raises(KeyboardInterrupt), store.replacing(state, "first"):
            monkeypatch.setattr(TestPlain, "alive", ("first",))
            for attempt in (
                lambda: store.record(state, next_state(state, "x", sources(2)), "default", stage),
                lambda: store.replacing(state, "second").__enter__(),
                store.read,
            ):
                with pytest.raises(ConcurrentRunError, match=r"\(invocation first…\) is about to"):
                    attempt()
            # The claim of a run that has died counts for nothing, but for its number.
            monkeypatch.setattr(TestPlain, "alive", ())
            assert store.read() == replace(state, generation=2)
            raise KeyboardInterrupt
        assert store.read() == state
        with store.replacing(state, "first"):
            session.sql(f"drop table {name}")
            session.sql(f"alter table {stage} rename to {name}")
            write_record(session, "default", name, next_state(state, "first", sources(3)))
        assert store.read().sources == sources(3)
        with pytest.raises(ConcurrentRunError, match="at the same time"):
            store.replacing(state, "second").__enter__()
        session.sql(f"drop table {name}")
        with pytest.raises(ConcurrentRunError, match="at the same time"):
            store.check(state)

    def test_records_are_not_put_where_no_table_is(self, session: Any, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            Directory(session, f"{tmp_path}/gone").create("x.json", "one")
        assert not (tmp_path / "gone").exists()

    def test_several_processes_move_the_same_files(
        self, session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        here, there = tmp_path / "here", tmp_path / "there"
        there.mkdir()
        (there / "a").write_text("rows")
        source, target = Directory(session, str(there)), Directory(session, str(here))
        assert target.move_in(source, "a")
        assert not target.move_in(source, "a")
        # Another process moves it between the look and the rename.
        files = _Files(source._files, seen=str(there / "a"))
        monkeypatch.setattr(target, "_files", files)
        assert not target.move_in(source, "a")
        (here / "a").unlink()
        files.unseen = str(there / "a")
        with pytest.raises(OSError, match="could not be renamed"):
            target.move_in(source, "a")


class _Files:
    """A file system that still shows a file, once, that has gone."""

    def __init__(self, files: Any, seen: str) -> None:
        self._files = files
        self.unseen: str | None = seen

    def exists(self, path: Any) -> bool:
        if path.toString() == self.unseen:
            self.unseen = None
            return True
        return bool(self._files.exists(path))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)
