"""What is asked about a stage of changes, by the format of the target."""

from types import SimpleNamespace

import pytest

from dbt.adapters.hiveacid.errors import IncrementalError
from dbt.adapters.hiveacid.incremental import model_run
from dbt.adapters.hiveacid.incremental.apply import (
    AppliedRun,
    ApplyByFiles,
    ApplyByStatement,
    RepeatedKeyInBatch,
)
from dbt.adapters.hiveacid.incremental.config import Mode
from dbt.adapters.hiveacid.incremental.model_run import ModelRun
from dbt.adapters.hiveacid.incremental.run_context import RunContext
from dbt.adapters.hiveacid.incremental.stage import StageSummary
from dbt.adapters.hiveacid.targets.state import LostState
from hiveacid.acid.layout import ListedFile
from hiveacid.changes.plan import FileAmount
from tests.unit.incremental.runs import STAGE, TARGET, Statements, context, planned, staged


@pytest.mark.parametrize(
    ("config", "mode", "bound"),
    [
        ({"unique_key": "id"}, Mode.UNIQUE_KEY, "`id` between 3 and 7"),
        ({}, Mode.ROW_ID, "_row_id.write_id between 3L and 7L"),
    ],
)
@pytest.mark.parametrize("file_format", ["delta", "iceberg"])
def test_a_merge_is_told_which_keys_the_changes_have(file_format, config, mode, bound):
    store = SimpleNamespace(begin=lambda previous: None)
    stores = SimpleNamespace(commit_store=lambda target, file_format: store)
    statements = Statements()
    run = context(statements, services={"stores": stores}, file_format=file_format, **config)
    step = staged(run).choose_apply()
    assert isinstance(step, ApplyByStatement) and step.kind == "merge"
    assert step.staged.planned.mode is mode
    merge = step.merge_sql(predicates=["DBT_INTERNAL_DEST.id > 0"])
    assert f"on (DBT_INTERNAL_DEST.id > 0) and (DBT_INTERNAL_DEST.{bound})" in merge
    assert " as low_0" in statements.queries[0]


def test_a_commit_is_written_into_the_branch_that_it_has_begun():
    stores = SimpleNamespace(
        commit_store=lambda *_: SimpleNamespace(begin=lambda previous: "branch_dbt_1")
    )
    run = context(services={"stores": stores}, file_format="iceberg", unique_key="id")
    step = staged(run).choose_apply()
    assert str(step.relation) == "marts.orders.branch_dbt_1"


@pytest.mark.parametrize("config", [{"unique_key": "id"}, {}])
def test_a_rewrite_needs_no_bounds_of_keys(config):
    statements = Statements()
    services = {"staging": SimpleNamespace(stage=lambda target, location_root: STAGE)}
    run = context(statements, services=services, file_format="parquet", **config)
    step = staged(run).choose_apply()
    assert isinstance(step, ApplyByFiles) and not step.is_append
    assert statements.looked_up == [] and " as low_" not in statements.queries[0]


@pytest.mark.parametrize("file_format", ["delta", "iceberg", "parquet"])
def test_a_repeated_key_is_refused_in_every_format(file_format):
    run = staged(context(Statements(times=2), file_format=file_format, unique_key="id"))
    with pytest.raises(IncrementalError, match=r"2 new rows with the same unique_key \(id = 3\)"):
        run.choose_apply()


def test_a_repeated_key_in_a_batch_takes_the_whole_backlog(monkeypatch):
    statements, dropped, limits = Statements(times=2), [], []
    relations = SimpleNamespace(drop_relation=dropped.append)
    services = {"relations": relations, "columns_of": lambda existing: ["id"]}
    run = context(
        statements,
        services=services,
        file_format="delta",
        unique_key="id",
        max_write_ids=1,
        acid_changes_row_wise="assume",
    )

    def plan_run(run, stored, sql, limit):
        limits.append(limit)
        return planned(run, remaining=[6] if limit else [])

    monkeypatch.setattr(model_run, "plan_run", plan_run)
    monkeypatch.setattr(
        model_run,
        "stage_changes",
        lambda found, existing, _: staged(run, remaining=[6] if found.is_batch else []),
    )
    assert isinstance(staged(run, remaining=[6]).choose_apply(), RepeatedKeyInBatch)
    # Then no write ids remain: the key is repeated in what Hive shows.
    with pytest.raises(IncrementalError, match="2 new rows with the same unique_key"):
        ModelRun(run, "select 1").prepare_changes(TARGET, "select 1", None)
    assert limits == [1, None]
    assert dropped == [STAGE]


@pytest.mark.parametrize("known", [LostState("files of its last append are gone"), None])
def test_an_append_whose_files_are_gone_is_no_success(monkeypatch, known):
    statements = Statements()
    statements.node.stages["stage"] = SimpleNamespace(relation=STAGE)
    store = SimpleNamespace(record=lambda *_: None, read=lambda: known)
    stores = SimpleNamespace(file_store=lambda target: store)
    run = staged(context(statements, services={"stores": stores}, file_format="parquet"))
    monkeypatch.setattr(RunContext, "next_state", lambda *_: None)
    build = ApplyByFiles(run, STAGE, is_append=True)
    if known is None:
        build.finish("create table … as …")
    else:
        with pytest.raises(
            IncrementalError, match="m was interrupted, and files of its last append"
        ):
            build.finish("create table … as …")
    assert statements.node.stages == {}


def applied(write_ids, mode, summary, read, whole):
    planned = SimpleNamespace(
        mode=mode,
        plan=SimpleNamespace(new_write_ids=write_ids, whole=whole),
        rows=SimpleNamespace(amount_read=lambda: read),
    )
    return AppliedRun(SimpleNamespace(planned=planned, summary=summary, context=context()))


def test_what_was_applied_is_told():
    read = FileAmount.of([ListedFile("a", "/t/a", 1200), ListedFile("b", "/t/b", 300)])
    counted, whole = StageSummary(1, 2000), FileAmount(9, 150_000)
    run = applied("3, 5-6", Mode.UNIQUE_KEY, counted, read, whole)
    assert run.message == "OK, 1 upsert, 2,000 deletes"
    assert run.line(17) == (
        "Model m: 1 upsert and 2,000 deletes by write ids 3, 5-6 of shop.orders, read in "
        "transaction 17 from 2 of 9 files, 1.5 kB of 150 kB"
    )
    assert run.to_dict() == {
        "source": "shop.orders",
        "write_ids": "3, 5-6",
        "inserts": 1,
        "deletes": 2000,
        "files_read": 2,
        "files": 9,
        "bytes_read": 1500,
        "bytes": 150_000,
    }
    run = applied("4", Mode.ROW_ID, StageSummary(0, 1), read, read)
    assert run.message == "OK, 0 inserts, 1 delete"
