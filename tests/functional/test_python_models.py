"""Python models: what a user meets who makes a mistake, and what goes to Spark's workers."""

import pytest
from dbt.cli.main import dbtRunner
from dbt.tests.util import run_dbt

from integration.support.dbt_project import node_results

SOURCES = """
sources:
  - name: raw
    schema: "{{ target.schema }}"
    tables:
      - name: numbers
"""

OF_SOURCE = """
def model(dbt, session):
    return dbt.source("raw", "numbers")
"""


class TestEmptySource:
    @pytest.fixture(scope="class")
    def models(self):
        return {"sources.yml": SOURCES, "of_source.py": OF_SOURCE}

    def test_a_source_has_no_rows(self, project):
        project.run_sql(f"create table {project.test_schema}.numbers as select 1 as n")
        for arguments, expected in (([], 1), (["--empty"], 0)):
            run_dbt(["run", *arguments])
            query = f"select count(*) from {project.test_schema}.of_source"
            assert project.run_sql(query, fetch="one")[0] == expected


NO_COLUMN = """
def model(dbt, session):
    return session.range(3).select("nothing")
"""

FAILING = """\
def divided(number):
    return 1 / number


def model(dbt, session):
    frame = session.range(3)
    return frame.where(f"id = {divided(0)}")
"""

EXITING = """\
import sys


def model(dbt, session):
    sys.exit(3)
    return session.range(3)
"""

OF_CHANGES = """
def model(dbt, session):
    dbt.config(materialized="incremental", incremental_strategy="acid_changes")
    assert dbt is None, "it must not run"
    return session.range(3)
"""

WITH_UDF = """
from dataclasses import dataclass

import pandas as pd
from pyspark.sql.functions import pandas_udf, udf


@dataclass
class Shift:
    by: int


def model(dbt, session):
    shift = Shift(10)

    @pandas_udf("long")
    def plus_one(values: pd.Series) -> pd.Series:
        return values + 1

    shifted = udf(lambda value: value + shift.by, "long")
    return session.range(3).select(plus_one("id").alias("one"), shifted("id").alias("ten"))
"""


class TestFunctions:
    @pytest.fixture(scope="class")
    def models(self):
        return {"with_udf.py": WITH_UDF}

    def test_functions_go_to_sparks_workers(self, project):
        run_dbt(["run"])
        query = f"select * from {project.test_schema}.with_udf order by one"
        rows = project.run_sql(query, fetch="all")
        assert [tuple(row) for row in rows] == [(1, 10), (2, 11), (3, 12)]


NO_TABLE = """
def model(dbt, session):
    return [1, 2, 3]
"""


class TestMistakes:
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "exiting.py": EXITING,
            "failing.py": FAILING,
            "of_changes.py": OF_CHANGES,
            "no_column.py": NO_COLUMN,
            "no_table.py": NO_TABLE,
            "view.py": NO_TABLE.replace("return", "dbt.config(materialized='view')\n    return"),
        }

    def test_what_is_wrong_is_told(self, project):
        result = dbtRunner().invoke(["run"])
        messages = {node.node.name: str(node.message) for node in node_results(result)}
        assert (
            "Python model failing failed in models/failing.py, line 2: ZeroDivisionError: "
            "division by zero" in messages.pop("failing")
        )
        assert "failed in models/exiting.py, line 5: SystemExit: 3" in messages.pop("exiting")
        assert "has `incremental_strategy: acid_changes`, which takes SQL" in (
            messages.pop("of_changes")
        )
        assert "[UNRESOLVED_COLUMN.WITH_SUGGESTION]" in messages.pop("no_column")
        assert "Python model no_table returned builtins.list. It must return a DataFrame of" in (
            messages.pop("no_table")
        )
        assert "only supports languages ['sql']" in messages.pop("view")
        assert not messages
