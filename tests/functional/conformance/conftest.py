"""dbt's adapter tests (dbt.tests.adapter), class by class, on a local Spark.

A class of dbt's stands here with its own methods; the fixtures that are Postgres' have Spark's
form. What the methods themselves send to the database is translated (`spark_sql`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.hiveacid import HiveAcidAdapter
from tests.functional.conformance.spark_sql import as_spark
from tests.functional.conformance.suites import UNKNOWN_FILES

HERE = Path(__file__).parent

collect_ignore = UNKNOWN_FILES


_ONE_STATEMENT = "one statement updates and inserts, whatever the keys"
_OURS_OF_SCHEMAS = "our own is in test_incremental_schema.py"
_IN_REVIVES = "a new version and a row that is gone are in the test of a row that comes back"

ONLY_IN_CONFORMANCE: Mapping[str, str] = {
    "test__bad_unique_key_list": _ONE_STATEMENT,
    "test__constraints_correct_column_data_types": "dbt-core compares the types before our macros",
    "test__empty_unique_key_list": _ONE_STATEMENT,
    "test__empty_str_unique_key": _ONE_STATEMENT,
    "test__unary_unique_key_list": _ONE_STATEMENT,
    "test__duplicated_unary_unique_key_list": _ONE_STATEMENT,
    "test__no_unique_keys": _ONE_STATEMENT,
    "test__trinary_unique_key_list": _ONE_STATEMENT,
    "test__trinary_unique_key_list_no_update": _ONE_STATEMENT,
    "test_clone_no_state": "dbt-core refuses it before our macros are called",
    "test_deletes_are_captured_by_snapshot": _IN_REVIVES,
    "test_empty_mode": "our own is in test_python_models.py",
    "test_inserts_are_captured_by_snapshot": _IN_REVIVES,
    "test_multi_column_unique_key": "dbt-core makes one key of several columns",
    "test_new_column_captured_by_snapshot": _OURS_OF_SCHEMAS,
    "test_run_incremental_ignore": _OURS_OF_SCHEMAS,
    "test_run_incremental_sync_all_columns": _OURS_OF_SCHEMAS,
    "test_updates_are_captured_by_snapshot": _IN_REVIVES,
}
"""Methods of dbt's classes that repeat another one of the class, or of ours, and which."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `make test` leaves out, and all as not measured.

    Measured, dbt would take twice the time, and the other tests meet the same code. What our own
    tests build on is in dbt's basic tests.
    """
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.no_cover)
            if item.name in ONLY_IN_CONFORMANCE:
                item.add_marker(pytest.mark.conformance(ONLY_IN_CONFORMANCE[item.name]))


@pytest.fixture(scope="class", autouse=True)
def tests_speak_postgres() -> Iterator[None]:
    """Translate what dbt's tests execute between dbt's commands.

    For a class at a time: the other functional tests of the process speak Spark's SQL.
    """
    untranslated = HiveAcidAdapter.run_sql_for_tests

    def run_sql_for_tests(self: HiveAcidAdapter, sql: str, fetch: str | None, conn: Any) -> Any:
        answer = None
        for statement in as_spark(sql):
            answer = untranslated(self, statement, fetch, conn)
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HiveAcidAdapter, "run_sql_for_tests", run_sql_for_tests)
        yield
