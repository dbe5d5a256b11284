"""The ways to leave out deleted rows, and to scan ACID files, show the same: Hive's own rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyorc
import pyspark
import pytest

from hiveacid.reader import deletes, scan
from hiveacid.spark_versions import version_of
from integration.support.differential import SPLITS, Differential, canonical, divided
from integration.support.hive import HiveClient, HiveServer
from integration.support.tables import FULL_ACID

FORMS: Mapping[str, Mapping[str, Any]] = {
    "bitmaps": {},
    "bitmaps, as the footers tell that they are small": {"_FEW_DELETES": 0},
    "bitmaps, after a look at their extent": {"_FEW_DELETES": 0, "are_near": lambda *_: False},
    "broadcast join, too many writes": {"_MAX_WRITES": 0, "_FEW_DELETES": 0},
    "broadcast join, too many blocks": {"_MAX_BLOCKS": 1},
    "shuffled join": {"_MAX_WRITES": 0, "_MAX_BROADCAST_DELETES": 0},
}


@contextmanager
def left_out(form: str) -> Iterator[None]:
    """Deleted rows are left out in one of the `FORMS`."""
    with pytest.MonkeyPatch.context() as patched:
        for limit, value in FORMS[form].items():
            patched.setattr(deletes, limit, value)
        yield


def test_all_forms_show_hives_rows(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain, days, converted = (f"{database}.{name}" for name in ("plain", "days", "converted"))
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
        DELETE FROM {days} WHERE id = 4;
        CREATE TABLE {converted} (id int, name string, day int) STORED AS ORC
          TBLPROPERTIES ('transactional'='false');
        INSERT INTO {converted} SELECT * FROM {days} WHERE day < 2;
        INSERT INTO {converted} SELECT * FROM {days} WHERE day > 0;
        ALTER TABLE {converted} SET TBLPROPERTIES ({FULL_ACID});
        DELETE FROM {converted} WHERE id BETWEEN 60 AND 70 OR id % 19 = 0
    """)
    for form in FORMS:
        with left_out(form):
            for table in (plain, days, converted):
                counts = form == "bitmaps"
                read = differential.check(table, where="id > 250", hive_counts=counts)
                used = read.plan.deleted_rows.bitmaps((), pytest.fail)
                assert (used is not None) == form.startswith("bitmaps"), (table, form)
    line = replace(version_of(pyspark.__version__), whole_schema=False)
    monkeypatch.setattr(scan, "version_of", lambda version: line)
    for table in (plain, days, converted):
        differential.check(table, where="id > 250")


@pytest.mark.long("a minute of files with several stripes")
def test_all_forms_in_files_of_several_stripes(
    differential: Differential, hive_client: HiveClient, hive: HiveServer, database: str
) -> None:
    """Rows keep their ids however Spark divides the files of an ACID table."""
    table = f"{database}.striped"
    hive_client.script(f"""
        CREATE TABLE {table} (id int, name string) PARTITIONED BY (p int) STORED AS ORC
          TBLPROPERTIES ({FULL_ACID}, 'orc.stripe.size'='16384', 'orc.compress'='NONE');
        INSERT INTO {table} SELECT i, concat('name ', i * 7919 % 6007), i % 4
          FROM (SELECT 1) s LATERAL VIEW posexplode(split(space(59999), ' ')) n AS i, x;
        DELETE FROM {table} WHERE id % 7 = 0 OR id BETWEEN 20000 AND 30000;
        UPDATE {table} SET name = 'changed' WHERE id % 6 = 0
    """)
    for path in (hive.warehouse / f"{database}.db" / "striped").glob("*/delta_0000001_*/bucket*"):
        with path.open("rb") as file:
            assert pyorc.Reader(file).num_of_stripes > 2
    shown = canonical(hive_client.query(f"SELECT * FROM {table}"))
    assert len(shown) == 42_855
    for form in FORMS:
        for split in SPLITS:
            with left_out(form), divided(differential.spark, split):
                assert canonical(differential.read(table).rows) == shown, (form, split)
