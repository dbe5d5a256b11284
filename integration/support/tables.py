"""What tests of tables share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from integration.support.hive import HiveClient, HiveSqlError

#: Table properties. Hive must compact only when a test says so.
FULL_ACID = "'transactional'='true', 'NO_AUTO_COMPACTION'='true'"
INSERT_ONLY = f"{FULL_ACID}, 'transactional_properties'='insert_only'"

#: Format and properties of every kind of table that can be read.
STORAGES = {
    "full acid": ("ORC", FULL_ACID),
    "originals": ("ORC", "'transactional'='false'"),
    "orc": ("ORC", INSERT_ONLY),
    "parquet": ("PARQUET", INSERT_ONLY),
    "avro": ("AVRO", INSERT_ONLY),
    "json": ("JSONFILE", INSERT_ONLY),
    "text": ("TEXTFILE", INSERT_ONLY),
}


def in_storages(*storages: str, in_long: tuple[str, ...] = ()) -> pytest.MarkDecorator:
    """The parameters `format` and `properties` of a test, for some of `STORAGES`.

    For those `in_long` only `make long` runs it: they take the same way through the reader.
    """
    return pytest.mark.parametrize(
        ("format", "properties"),
        [
            *(pytest.param(*STORAGES[name], id=name) for name in storages),
            *(pytest.param(*STORAGES[n], id=n, marks=pytest.mark.long) for n in in_long),
        ],
    )


def in_long(*values: object) -> list[object]:
    """Values of a parameter with which only `make long` runs a test."""
    return [pytest.param(value, marks=pytest.mark.long) for value in values]


def make_table(client: HiveClient, table: str, columns: str, rows: str, storage: str) -> None:
    """A table of one of `STORAGES` with the rows of a query, or of VALUES.

    `columns` are in parentheses, and a PARTITIONED BY may follow. Originals become full ACID.
    """
    format, properties = STORAGES[storage]
    client.execute(
        f"CREATE TABLE {table} {columns} STORED AS {format} TBLPROPERTIES ({properties})"
    )
    client.execute(f"INSERT INTO {table} {rows}")
    if storage == "originals":
        client.execute(f"ALTER TABLE {table} SET TBLPROPERTIES ({FULL_ACID})")


@contextmanager
def setting(client: HiveClient, name: str, value: bool, *, default: bool) -> Iterator[None]:
    """A setting of Hive's has this value for a while."""
    client.execute(f"SET {name}={value}")
    try:
        yield
    finally:
        client.execute(f"SET {name}={default}")


def compact_everywhere(client: HiveClient, table: str, kind: str, partitioned: bool) -> None:
    """Compact the table, or each of its partitions that Hive thinks worth it."""
    if not partitioned:
        client.compact(table, kind)
        return
    compacted = 0
    for (name,) in client.query(f"SHOW PARTITIONS {table}"):
        key, _, value = name.partition("=")
        try:
            client.compact(table, kind, partition=f"{key}='{value}'")
            compacted += 1
        except HiveSqlError as error:
            assert "None of the compaction thresholds met" in str(error)
    assert compacted


def swap_partitions(client: HiveClient, table: str) -> None:
    """Give partition p=x the name of p=y, and the other way round."""
    for old, new in (("x", "z"), ("y", "x"), ("z", "y")):
        client.execute(f"ALTER TABLE {table} PARTITION (p='{old}') RENAME TO PARTITION (p='{new}')")
