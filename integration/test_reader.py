"""Types and names of columns as Hive shows them, and what the reader refuses."""

from __future__ import annotations

import pytest

from hiveacid.errors import UnreadableTableError
from integration.support.differential import Differential
from integration.support.hive import HiveClient


def test_nested_types(differential: Differential, hive_client: HiveClient, database: str) -> None:
    table = f"{database}.nested"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, items array<int>, by_name map<string,int>, "
        "place struct<x:int,y:string>) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )
    hive_client.execute(
        f"INSERT INTO {table} SELECT 1, array(1, 2), map('a', 1), named_struct('x', 1, 'y', 'b')"
    )
    read = differential.read(table)
    ((identity, items, by_name, place),) = read.rows
    assert (identity, items, by_name, tuple(place)) == (1, [1, 2], {"a": 1}, (1, "b"))


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        (
            "(a int) ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.OpenCSVSerde' "
            "STORED AS TEXTFILE TBLPROPERTIES ({insert_only})",
            r"org\.apache\.hadoop\.hive\.serde2\.OpenCSVSerde reads struct<a:string>",
        ),
        (
            "(a timestamp with local time zone) STORED AS ORC TBLPROPERTIES ({full_acid})",
            r"column a \(timestamp with local time zone\) cannot be read: Spark's readers do not ",
        ),
    ],
)
def test_what_cannot_be_read_right_is_refused(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    definition: str,
    message: str,
) -> None:
    full_acid = "'transactional'='true'"
    properties = definition.format(
        full_acid=full_acid, insert_only=f"{full_acid}, 'transactional_properties'='insert_only'"
    )
    table = f"{database}.refused"
    hive_client.execute(f"CREATE TABLE {table} {properties}")
    hive_client.execute(f"INSERT INTO {table} SELECT cast(null as string)")
    with pytest.raises(UnreadableTableError, match=message):
        differential.read(table)
