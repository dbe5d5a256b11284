"""Texts in SQL."""

from __future__ import annotations


def text_literal(value: str) -> str:
    """A text as a literal of Spark's SQL, with its quotes."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
