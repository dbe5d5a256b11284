"""dbt.tests.adapter.hooks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from dbt.tests.adapter.hooks import fixtures
from dbt.tests.adapter.hooks import test_model_hooks as model_hooks
from dbt.tests.adapter.hooks.test_run_hooks import BaseAfterRunHooks, BasePrePostRunHooks
from dbt.tests.util import write_file

from tests.functional.conformance.formats import Delta
from tests.functional.conformance.spark_sql import with_strings


def check_context(context, state, project):
    """What a hook wrote down about its run: dbt's own tests look for Postgres' target."""
    assert context["test_state"] == state
    assert context["target_name"] == "default"
    assert context["target_schema"] == project.test_schema
    assert context["target_threads"] == 2
    assert context["target_type"] == "hiveacid"
    assert context["run_started_at"]
    assert context["invocation_id"]
    assert context["thread_id"]


pytestmark = pytest.mark.conformance(
    "they run as dbt-spark's do; test_dbt_nodes.py has hooks over a source"
)


class TableOfHooks:
    @pytest.fixture(scope="class")
    def test_data_dir(self):
        return Path(fixtures.__file__).parent / "data"


class ModelHooks(Delta, TableOfHooks):
    get_ctx_vars: Callable[..., Any]

    def check_hooks(self, state, project, host, count=1):
        """dbt's method looks for Postgres' target: host, database, user."""
        for context in self.get_ctx_vars(state, count, project):
            check_context(context, state, project)


class TestPrePostModelHooks(ModelHooks, model_hooks.BasePrePostModelHooks):
    pass


class TestPrePostModelHooksUnderscores(ModelHooks, model_hooks.TestPrePostModelHooksUnderscores):
    pass


class TestHookRefs(ModelHooks, model_hooks.BaseHookRefs):
    pass


class TestPrePostModelHooksOnSeeds(Delta, model_hooks.BasePrePostModelHooksOnSeeds):
    pass


class TestHooksRefsOnSeeds(model_hooks.BaseHooksRefsOnSeeds):
    pass


class TestPrePostModelHooksOnSeedsPlusPrefixed(
    Delta, model_hooks.BasePrePostModelHooksOnSeedsPlusPrefixed
):
    pass


class TestPrePostModelHooksOnSeedsPlusPrefixedWhitespace(
    Delta, model_hooks.BasePrePostModelHooksOnSeedsPlusPrefixedWhitespace
):
    pass


class TestPrePostModelHooksOnSnapshots(Delta, model_hooks.BasePrePostModelHooksOnSnapshots):
    pass


class TestPrePostModelHooksInConfig(ModelHooks, model_hooks.BasePrePostModelHooksInConfig):
    pass


class TestPrePostModelHooksInConfigWithCount(
    ModelHooks, model_hooks.BasePrePostModelHooksInConfigWithCount
):
    pass


class TestPrePostModelHooksInConfigKwargs(
    ModelHooks, model_hooks.BasePrePostModelHooksInConfigKwargs
):
    pass


class TestPrePostSnapshotHooksInConfigKwargs(
    Delta, model_hooks.BasePrePostSnapshotHooksInConfigKwargs
):
    pass


class TestDuplicateHooksInConfigs(model_hooks.BaseDuplicateHooksInConfigs):
    pass


class TestPrePostRunHooks(TableOfHooks, BasePrePostRunHooks):
    @pytest.fixture(scope="class")
    def dbt_project_yml(self, dbt_project_yml, project_root):
        # Spark's target has no database, and hooks find None.
        database = """{{ "'" ~ db ~ "'" if db else "null" }}"""
        dbt_project_yml["on-run-end"] = [
            with_strings(hook).replace("'{{ db }}'", database)
            for hook in dbt_project_yml["on-run-end"]
        ]
        write_file(yaml.safe_dump(dbt_project_yml), project_root, "dbt_project.yml")
        return dbt_project_yml

    def check_hooks(self, state, project, host):
        """dbt's method looks for Postgres' target: host, database, user."""
        check_context(self.get_ctx_vars(state, project), state, project)


class TestAfterRunHooks(BaseAfterRunHooks):
    pass
