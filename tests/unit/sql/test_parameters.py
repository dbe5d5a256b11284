"""Errors of statements with values for their parameters."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from hiveacid.sql.parameters import parse_with


class StackOverflow(Py4JJavaError):
    """Error of Spark's that PySpark has no class for."""

    def __init__(self) -> None:
        Exception.__init__(self, "java.lang.StackOverflowError")


def test_an_error_of_spark_is_not_hidden_by_that_of_the_text_without_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Running the text would fail, too: with UNBOUND_SQL_PARAMETER."""

    def overflow(*_: Any) -> None:
        raise StackOverflow

    statement = "hiveacid.sql.statement"
    monkeypatch.setattr("hiveacid.sql.parameters.check_syntax", lambda *_: SimpleNamespace())
    monkeypatch.setattr(f"{statement}.active", lambda _: nullcontext())
    monkeypatch.setattr(f"{statement}._substituted", overflow)
    session: Any = SimpleNamespace(version="3.5.9", sparkContext=None)
    with pytest.raises(StackOverflow):
        parse_with(session, "with t as (select :a) select * from t", {"a": 1})
