"""dbt's adapter tests (dbt.tests.adapter), class by class, on a local Spark.

A class of dbt's stands here with its own methods; the fixtures that are Postgres' have Spark's
form. What the methods themselves send to the database is translated (`spark_sql`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.hiveacid import HiveAcidAdapter
from tests.functional.conformance.spark_sql import as_spark
from tests.functional.conformance.suites import UNKNOWN_FILES

HERE = Path(__file__).parent

collect_ignore = UNKNOWN_FILES


#: Tests that repeat what another test has shown: an empty key is no key, a list of keys makes a
#: longer condition of the same statement, and one statement updates and inserts; a new version of
#: a row and a row that is gone are also in the test of a row that comes back. Our own tests add
#: columns, ignore them, and read a source as empty. `make test` leaves them out.
AGAIN = (
    "test__bad_unique_key_list",
    "test__constraints_correct_column_data_types",
    "test__empty_unique_key_list",
    "test__empty_str_unique_key",
    "test__unary_unique_key_list",
    "test__duplicated_unary_unique_key_list",
    "test__no_unique_keys",
    "test__trinary_unique_key_list",
    "test__trinary_unique_key_list_no_update",
    "test_clone_no_state",
    "test_deletes_are_captured_by_snapshot",
    "test_empty_mode",
    "test_inserts_are_captured_by_snapshot",
    "test_multi_column_unique_key",
    "test_new_column_captured_by_snapshot",
    "test_run_incremental_ignore",
    "test_run_incremental_sync_all_columns",
    "test_updates_are_captured_by_snapshot",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `make test` leaves out, what it takes samples of, and all as not measured.

    Measured, dbt would take twice the time, and the other tests meet the same code. What our own
    tests build on is in dbt's basic tests.
    """
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.no_cover)
            if item.path.name != "test_basic.py":
                item.add_marker(pytest.mark.sampled(3))
            if item.name in AGAIN:
                item.add_marker(pytest.mark.long)


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
