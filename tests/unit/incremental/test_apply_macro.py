"""The macro `hiveacid_apply_changes`: the way that it takes for each kind of step."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from dbt_common.clients.jinja import get_environment

from dbt.adapters.hiveacid.incremental.apply import ApplyByFiles, ApplyByStatement
from dbt.adapters.hiveacid.incremental.decision import FullRun, QuietRun
from dbt.adapters.hiveacid.incremental.run_context import RunContext
from tests.unit.incremental.runs import STAGE, TARGET, context, staged

MACRO = Path("dbt/include/hiveacid/macros/incremental/apply_changes.sql")

_PREFIX = "dbt_macro__"


class Returned(Exception):
    """What a macro returns in the midst of its text."""


@pytest.fixture
def took():
    return []


@pytest.fixture
def apply_changes(took):
    """The macro, as dbt calls it for a model; `took` gets what it calls."""

    def noting(name):
        return lambda *args, **kwargs: took.append((name, *args)) or ""

    def give(value):
        raise Returned(value)

    def calling(macro):
        def call(*args, **kwargs):
            try:
                return macro(*args, **kwargs)
            except Returned as returned:
                return returned.args[0]

        return call

    names = {
        "adapter": SimpleNamespace(get_columns_in_relation=lambda relation: ["columns"]),
        "compiled_code": "select 1",
        "config": {"contract": SimpleNamespace(enforced=False)},
        "get_merge_update_columns": lambda *args: None,
        "hiveacid_build_table": noting("build"),
        "hiveacid_incremental_sql": lambda *args, **kwargs: f"{args[0]} from {args[1]}",
        "incremental_validate_on_schema_change": lambda value, default: value or default,
        "model": {"raw_code": "select 1"},
        "noop_statement": noting("noop"),
        "process_schema_changes": noting("schema"),
        "render": lambda code: code,
        "return": give,
        "store_result": lambda name, response: took.append(("result", response)),
        "write": noting("write"),
    }
    layout = ("file_format", "options", "tblproperties", "location", "comment")
    names |= {f"{name}_clause": lambda: "" for name in layout}
    names |= {f"{name}_cols": lambda label: "" for name in ("partition", "clustered")}
    template = get_environment(None).from_string(MACRO.read_text(encoding="utf-8"))
    # A macro finds the others among the names that its template was given.
    own = [name for name in vars(template.module) if name.startswith(_PREFIX)]
    module = SimpleNamespace()
    for name in own:
        called = name.removeprefix(_PREFIX)
        names[called] = lambda *args, name=name: calling(vars(module)[name])(*args)
    vars(module).update(vars(template.make_module(names)))

    def run(step, on_schema_change="ignore"):
        model_run = SimpleNamespace(prepare_changes=lambda *args: step)
        names["hiveacid_apply_changes"](model_run, TARGET, TARGET, "merge", on_schema_change, None)
        return took

    return run


def finishing(monkeypatch, kind):
    """Let a kind of step run its statement; the response is the statement."""
    finish = lambda self, sql: SimpleNamespace(report=lambda: sql)  # noqa: E731
    monkeypatch.setattr(kind, "finish", finish)


def test_a_table_is_built_as_a_whole_from_sql_that_is_checked(apply_changes, monkeypatch):
    checked = []
    monkeypatch.setattr(RunContext, "check_row_wise", lambda self, sql: checked.append(sql))
    step = FullRun(context(), None, "it is new")
    step.context.statements.node.is_full_load = False
    assert apply_changes(step) == [("build", TARGET, TARGET, "select 1", step)]
    assert checked == ["select 1"]
    assert step.context.node.is_full_load


def test_a_target_is_left_as_it_is(apply_changes):
    (took,) = apply_changes(QuietRun(context(), "select 1"))
    assert took[:3] == ("noop", "main", "OK, no changes")


def test_the_columns_of_a_run_without_changes_are_compared(apply_changes, monkeypatch):
    monkeypatch.setattr(QuietRun, "no_rows", lambda self: "no rows")
    quiet = QuietRun(context(), "select 1", maker=SimpleNamespace())
    first, _ = apply_changes(quiet, "append_new_columns")
    assert first == ("schema", "append_new_columns", "no rows", TARGET)


@pytest.mark.parametrize(
    ("config", "sql"),
    [
        ({"unique_key": "id"}, "merge into marts.orders as DBT_INTERNAL_DEST"),
        ({"incremental_strategy": "merge", "unique_key": "id"}, f"merge from {STAGE}"),
    ],
)
def test_a_statement_is_written_and_run(apply_changes, monkeypatch, config, sql):
    finishing(monkeypatch, ApplyByStatement)
    stores = SimpleNamespace(commit_store=lambda *_: SimpleNamespace(begin=lambda previous: None))
    run = context(services={"stores": stores}, file_format="delta", **config)
    (name, written), result = apply_changes(staged(run).choose_apply())
    assert (name, result) == ("write", ("result", written))
    assert written.startswith(sql)


def test_files_are_written_into_a_table_of_their_own(apply_changes, monkeypatch):
    finishing(monkeypatch, ApplyByFiles)
    services = {"staging": SimpleNamespace(stage=lambda *_: STAGE)}
    run = context(services=services, file_format="parquet", unique_key="id")
    (_, written), result = apply_changes(staged(run).choose_apply())
    assert result == ("result", written)
    assert f"create table {STAGE}" in written and "left anti join" in written
