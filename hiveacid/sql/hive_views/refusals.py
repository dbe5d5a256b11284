"""Refusals: of a view as a whole, of a part of its text, and of a value while rows are computed."""

from __future__ import annotations

import logging
import re
from functools import cache

from hiveacid.errors import UnreadableTableError
from hiveacid.metastore.models import HiveView

_OF_TRINO = re.compile(r"\s*/\* Presto (Materialized )?View\b", re.IGNORECASE)
"""Text that Trino and Presto store in the metastore for a view (`ViewReaderUtil` in Trino)."""

_MOST_LETTERS = 100
"""Characters of a value that an error shows."""

logger = logging.getLogger("hiveacid")


class DiffersError(Exception):
    """A part of a view's text that Spark evaluates differently from Hive, and the reason."""


def refusal(view: HiveView, part: str, reason: str) -> UnreadableTableError:
    """Return the error for a view that cannot be read exactly."""
    return UnreadableTableError(
        f"{view.name} is a Hive view that cannot be read exactly. {part}: {reason}. Put its "
        "query into a model or a statement, in Spark's SQL, over the tables behind it. Its "
        f"text in Hive: {view.text}",
        code="HIVEACID_HIVE_VIEW_NOT_EXACT",
    )


def refuse_of_trino(view: HiveView) -> None:
    """Refuse a view that Trino or Presto made: its text is a comment.

    Raises:
        UnreadableTableError: naming the view.
    """
    if _OF_TRINO.match(view.text):
        raise UnreadableTableError(
            f"{view.name} is a view of Trino or Presto. Its query is in their SQL, which "
            "neither Hive nor Spark runs. So the statement was not run. Put the query, which "
            "SHOW CREATE VIEW in Trino shows, into a model or a statement, in Spark's SQL, "
            "over the tables behind the view.",
            code="HIVEACID_VIEW_OF_TRINO",
        )


def without_sqlglot(view: HiveView) -> UnreadableTableError:
    """Return the error for a view where the library that parses it is not installed."""
    return UnreadableTableError(
        f"{view.name} is a Hive view, and sqlglot, which parses the queries of Hive views, is "
        "not installed. So the statement was not run. Install it: pip install "
        "'hiveacid[views]'.",
        code="HIVEACID_SQLGLOT_MISSING",
    )


def fail_for_value(problem: str, where: str) -> str:
    """Return Spark SQL that fails for a value `x` of a view, while rows are computed.

    The error names the view, the column and the value, as other errors do. `problem` follows the
    value in the message: "has characters …".
    """
    before = _literal(f"[HIVEACID_HIVE_VIEW_VALUE] {where}: '")
    after = _literal(
        f"' {problem}. Put the view's query into a model or a statement, in Spark's SQL."
    )
    value = f"substring(cast(x as string), 1, {_MOST_LETTERS})"
    return f"raise_error(concat({before}, {value}, {after}))"


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


@cache
def warn_of_release(version: str, release: str) -> None:
    """Warn, once per process, that views are read as another release of Hive shows them."""
    logger.warning(
        "[HIVEACID_WARN_HIVE_RELEASE] Hive views are read as Hive %s shows them, but the "
        "metastore is that of Hive %s, which was not compared with Spark. Compare the rows of "
        "a view with Hive. Set `hive_views` to choose another release, or to refuse Hive "
        "views.",
        release,
        version,
    )
