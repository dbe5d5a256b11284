"""dbt's adapter tests (dbt.tests.adapter), class by class, on a local Spark.

A class of dbt's stands here with its own methods; the fixtures that are Postgres' have Spark's
form. What the methods themselves send to the database is translated (`spark_sql`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dbt.adapters.hiveacid import HiveAcidAdapter
from tests.functional.conformance.spark_sql import as_spark


@pytest.fixture(scope="session", autouse=True)
def tests_speak_postgres() -> Iterator[None]:
    """What dbt's tests execute between dbt's commands is translated."""
    untranslated = HiveAcidAdapter.run_sql_for_tests

    def run_sql_for_tests(self: HiveAcidAdapter, sql: str, fetch: str | None, conn: Any) -> Any:
        answer = None
        for statement in as_spark(sql):
            answer = untranslated(self, statement, fetch, conn)
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HiveAcidAdapter, "run_sql_for_tests", run_sql_for_tests)
        yield
