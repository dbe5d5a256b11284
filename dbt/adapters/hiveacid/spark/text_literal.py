"""Texts in SQL."""

from __future__ import annotations


def text_literal(value: str) -> str:
    """A text as a literal of Spark's SQL, with its quotes."""
    # Spark puts its own settings in the place of `${…}`, in literals, too.
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("${", "\\u0024{")
    return f"'{escaped}'"


def text_of_bytes(digits: str) -> str:
    """A text, whose bytes are given in hex digits, as a value in SQL.

    No setting of Spark's parser (`spark.sql.parser.escapedStringLiterals`) makes another of it.
    """
    return f"cast(X'{digits}' as string)"
