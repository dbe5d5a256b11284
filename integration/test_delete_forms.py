"""The ways to leave out deleted rows, and to scan ACID files, show the same: Hive's own rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from dbt.adapters.hiveacid.reader import acid_scan, deletes
from integration.differential import Differential
from integration.hive import HiveClient

FORMS: Mapping[str, Mapping[str, Any]] = {
    "bitmaps": {},
    "bitmaps, as the footers tell that they are small": {"_FEW_DELETES": 0},
    "bitmaps, after a look at their extent": {"_FEW_DELETES": 0, "are_near": lambda _: False},
    "broadcast join, too many writes": {"_MAX_WRITES": 1, "_FEW_DELETES": 0},
    "broadcast join, too many blocks": {"_MAX_BLOCKS": 1},
    "shuffled join": {"_MAX_WRITES": 1, "_MAX_BROADCAST_DELETES": 0},
}


def test_all_forms_show_hives_rows(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain, days = f"{database}.plain", f"{database}.days"
    kind = "STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"
    values = ", ".join(f"({i}, 'name {i}', {i % 3})" for i in range(300))
    hive_client.script(f"""
        CREATE TABLE {plain} (id int, name string, day int) {kind};
        CREATE TABLE {days} (id int, name string) PARTITIONED BY (day int) {kind};
        INSERT INTO {plain} VALUES {values};
        INSERT INTO {plain} SELECT id + 300, name, day FROM {plain};
        INSERT INTO {days} SELECT * FROM {plain};
        DELETE FROM {plain} WHERE id IN (0, 63, 64, 127, 128, 299, 300, 363, 364, 599);
        DELETE FROM {days} WHERE id IN (0, 1, 2, 192, 193, 597) OR (day = 1 AND id % 5 = 0);
        UPDATE {days} SET name = 'changed' WHERE id IN (3, 4, 194);
        DELETE FROM {days} WHERE id = 4
    """)
    for name, limits in FORMS.items():
        with monkeypatch.context() as patched:
            for limit, value in limits.items():
                patched.setattr(deletes, limit, value)
            for table in (plain, days):
                read = differential.check(table, where="id > 250")
                used = read.plan.deleted_rows.bitmaps((), pytest.fail)
                assert (used is not None) == name.startswith("bitmaps"), (table, name)
    monkeypatch.setattr(acid_scan, "_WHOLE_SCHEMA_VERSIONS", ())
    for table in (plain, days):
        differential.check(table, where="id > 250")
