"""Statements that Spark cannot parse. Other tests of statements need Spark's parser."""

from contextlib import nullcontext
from unittest.mock import MagicMock

import pytest
from pyspark.errors import ParseException

from hiveacid.errors import InvalidSettingError
from hiveacid.sql import statement

WITH_OPTIONS = "select * from `shop`.orders\n WITH ( Partitions = '{\"day\": 1}')"


@pytest.fixture
def session(monkeypatch):
    """A session of a Spark whose parser refuses everything."""
    monkeypatch.setattr(statement, "active", nullcontext)
    session = MagicMock(version="3.5.9")
    parser = session._jsparkSession.sessionState.return_value.sqlParser.return_value
    parser.parsePlan.side_effect = ParseException("Syntax error at or near 'with'.")
    return session


def test_options_on_spark_3_are_refused_with_the_function_that_takes_them(session):
    for parse in (statement.parse, statement.check_syntax):
        with pytest.raises(InvalidSettingError) as error:
            parse(session, WITH_OPTIONS)
        assert str(error.value) == (
            "[HIVEACID_NO_OPTIONS_CLAUSE] Spark 3.5 has no `with (…)` behind a table. In place of "
            "shop.orders with (partitions = …) write acid_table('shop.orders', partitions => …)."
        )


@pytest.mark.parametrize("sql", ["selec 1", "with read as (select 1) selec", "x with (other = 1)"])
def test_any_other_error_of_the_parser_is_sparks(session, sql):
    assert statement.parse(session, sql) == statement.Statement(sql)
    with pytest.raises(ParseException):
        statement.check_syntax(session, sql)


def test_spark_4_has_the_clause(session):
    session.version = "4.1.4"
    assert statement.parse(session, WITH_OPTIONS) == statement.Statement(WITH_OPTIONS)
