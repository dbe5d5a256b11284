"""The bounds in a MERGE hold for every key, whatever is in its text."""

from __future__ import annotations

from typing import Any

import pytest

from dbt.adapters.hiveacid.incremental.stage import by_key, key_parts, summary
from hiveacid.formatting import text_literal

KEYS = ["${spark.master}", "it's", "back\\slash", "", "ü€😀", "a\nb"]


@pytest.mark.parametrize("key", [*KEYS, b"\xff\xfe"])
def test_a_key_lies_between_its_bounds(spark: Any, key: str | bytes) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.parser.escapedStringLiterals", "true")
    digits = (key if isinstance(key, bytes) else key.encode()).hex()
    rows = session.sql(
        f"select cast(X'{digits}' as string) as k, 'insert' as _hiveacid_change "
        "union all select null, 'delete'"
    )
    rows.createOrReplaceTempView("stage")
    parts = key_parts(["k"], {"k": "string"})
    (counted,) = session.sql(by_key("stage", ["k"], parts)).collect()
    predicates = summary(counted, parts).predicates
    assert len(predicates) == (0 if isinstance(key, bytes) else 1)
    condition = " and ".join(predicates) or "true"
    found = session.sql(f"select * from stage as DBT_INTERNAL_DEST where {condition}")
    assert found.count() == 2


def test_a_literal_is_its_text(spark: Any) -> None:
    (found,) = spark.newSession().sql(f"select {', '.join(map(text_literal, KEYS))}").collect()
    assert list(found) == KEYS
