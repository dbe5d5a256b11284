"""SQL of dbt's own tests, which is Postgres', for Spark."""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp

_TEXT_TYPE = re.compile(r"\bTEXT\b|\bVARCHAR\b(\s*\(\d+\))?", re.IGNORECASE)
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")

# What dbt's tests make of the database that a Spark target has not.
_NO_DATABASE = re.compile(r"(?<!\S)(`None`|None)\.")


def as_spark(sql: str) -> list[str]:
    """The statements of a text; the text itself if it is none that Postgres has.

    A table that a test makes is one of Delta's: tests go on to update its rows. One in a catalog of
    its own (`lake.s.t`) is what that catalog makes of it.
    """
    sql = _NO_DATABASE.sub("", sql)
    try:
        statements = sqlglot.parse(sql, read="postgres")
    except sqlglot.errors.SqlglotError:
        return [sql]
    if any(isinstance(statement, exp.Command) for statement in statements):
        return [sql]
    return [_of_spark(statement) for statement in statements if statement is not None]


def _of_spark(statement: exp.Expression) -> str:
    if isinstance(statement, exp.Create) and statement.kind == "TABLE":
        properties = statement.args.get("properties") or exp.Properties(expressions=[])
        catalog = statement.find(exp.Table).catalog
        if not catalog and not properties.find(exp.FileFormatProperty):
            properties.append("expressions", exp.FileFormatProperty(this=exp.Var(this="delta")))
        statement.set("properties", properties)
    for kind in statement.find_all(exp.DataType):
        # Spark has them in columns only, where they would be another type than a model's strings.
        if kind.this in (exp.DataType.Type.VARCHAR, exp.DataType.Type.CHAR):
            kind.replace(exp.DataType.build("text", dialect="postgres"))
    for default in statement.find_all(exp.DefaultColumnConstraint):
        # What a column has without one; Delta refuses to add a column with any.
        if isinstance(default.this, exp.Null):
            default.parent.pop()
    if isinstance(statement, exp.Insert):
        # Iceberg does not take a text for a timestamp, as Postgres and Delta do.
        for text in statement.find_all(exp.Literal):
            if text.is_string and _TIME.fullmatch(text.this):
                text.replace(exp.cast(text.copy(), "timestamp"))
    return statement.sql(dialect="spark")


def with_strings(fixture: str) -> str:
    """A fixture (a model, a snapshot, YAML) with Spark's name for the type of a text."""
    return _TEXT_TYPE.sub("string", fixture)


def without_database(fixture: str) -> str:
    """A fixture that names its tables by their schema alone: Spark's target has no database."""
    return fixture.replace("{{target.database}}.", "")
