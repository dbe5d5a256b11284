"""What pytest takes from the top-level conftest only."""

import gc
import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis
import pytest
from dbt.contracts.graph.manifest import Manifest
from dbt.parser.manifest import ManifestLoader
from dbt_common.behavior_flags import BehaviorFlagRendered
from dbt_common.tests import enable_test_caching
from dbt_common.utils.encoding import JSONEncoder
from py4j.java_gateway import JavaPackage, JVMView

# dbt's fixtures of a project and a profile; the page on dbt's own tests.
pytest_plugins = ["dbt.tests.fixtures.project", "tests.functional.conformance.report"]

# So that their assertions show what differs.
pytest.register_assert_rewrite(
    "integration.support.changes",
    "integration.support.differential",
    "integration.support.dbt_project",
)

# Each test's project has dbt's and our macros: dbt keeps what it has parsed of them.
enable_test_caching()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a test that `make test` leaves out without a reason.

    `make test` runs each test that has no mark `long` or `conformance`.
    """
    unreasoned = [
        item.nodeid
        for item in items
        for mark in item.iter_markers()
        if mark.name in ("long", "conformance")
        and not (len(mark.args) == 1 and isinstance(mark.args[0], str) and mark.args[0].strip())
    ]
    if unreasoned:
        raise pytest.UsageError("a mark needs one reason: " + ", ".join(unreasoned))


def pytest_collection_finish() -> None:
    """Exempt what is loaded by now from garbage collection.

    dbt's modules and the tests are 250,000 objects that live until the end. Each full
    collection would go through all of them.
    """
    gc.collect()
    gc.freeze()


# What CI says of a commit must not depend on luck; a developer's runs look for new examples.
# Nor on what else its machine has to do.
hypothesis.settings.register_profile(
    "ci", derandomize=True, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
if os.environ.get("CI"):
    hypothesis.settings.load_profile("ci")


@pytest.fixture(scope="session", autouse=True)
def parsing_is_not_measured() -> Iterator[None]:
    """dbt would take twice the time to parse a project, and nearly all of that code is its own."""
    measured = ManifestLoader.get_full_manifest

    def get_full_manifest(*arguments: Any, **named: Any) -> Manifest:
        tracing = sys.gettrace()
        sys.settrace(None)
        try:
            return measured(*arguments, **named)
        finally:
            sys.settrace(tracing)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ManifestLoader, "get_full_manifest", get_full_manifest)
        yield


@pytest.fixture(scope="session", autouse=True)
def dbt_begins_and_ends_sooner() -> Iterator[None]:
    """What no test is about takes a fifth of dbt's time for a project of few models.

    For each flag of an adapter dbt looks through all modules for the one that declares the flag;
    and of Python's two encoders of JSON it writes a manifest with the slow one.
    """

    def iterencode(encoder: JSONEncoder, value: Any, _one_shot: bool = True) -> Iterator[str]:
        return json.JSONEncoder.iterencode(encoder, value, _one_shot=True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BehaviorFlagRendered, "_default_source", staticmethod(lambda: "a test"))
        patch.setattr(JSONEncoder, "iterencode", iterencode)
        yield


@pytest.fixture(scope="session", autouse=True)
def names_of_java_are_looked_up_once() -> Iterator[None]:
    """For each use of a name, `spark._jvm.PythonUtils`, Java looks in every jar, and several times.

    So PySpark itself does with each DataFrame.
    """

    def remembering(look_up: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
        found: dict[tuple[Any, str], Any] = {}

        def look_up_once(owner: Any, name: str) -> Any:
            key = owner, name
            if key not in found:
                found[key] = look_up(owner, name)
            return found[key]

        return look_up_once

    with pytest.MonkeyPatch.context() as patch:
        for owner in (JVMView, JavaPackage):
            patch.setattr(owner, "__getattr__", remembering(owner.__getattr__))
        yield
