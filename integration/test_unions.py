"""Columns of `uniontype`, compared with what Hive takes out of them.

The client of these tests knows no union, so Hive is asked for the members one by one.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException

import hiveacid
from hiveacid.errors import UnreadableTableError
from integration.support.differential import Differential, canonical
from integration.support.hive import HiveClient, HiveSqlError
from integration.support.tables import FULL_ACID, INSERT_ONLY

_UNION = "create_union({tag}, {i}, 't{i}', array({i}, 2), named_struct('a', {i}, 'b', 'x'))"
_HIVES = (
    "id, u IS NULL, extract_union(u, 0), extract_union(u, 1), extract_union(u, 2)[0], "
    "extract_union(u, 3).b, extract_union(l[0], 1), extract_union(s.x, 0), name"
)
_OURS = (
    *("id", "u IS NULL", "u.member0", "u.member1", "u.member2[0]", "u.member3.b"),
    *("l[0].member1", "s.x.member0", "name"),
)


@pytest.mark.parametrize("format", ["AVRO", "TEXTFILE"])
def test_unions_are_structs_of_tag_and_members(
    differential: Differential, hive_client: HiveClient, database: str, format: str
) -> None:
    table = f"{database}.unions"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, u uniontype<int,string,array<int>,struct<a:int,b:string>>, "
        "l array<uniontype<double,varchar(2)>>, s struct<x:uniontype<bigint,boolean>>, name string"
        f") STORED AS {format} TBLPROPERTIES ({INSERT_ONLY})"
    )

    def insert(*rows: tuple[int, str]) -> None:
        selects = [
            f"SELECT {i}, {union}, array(create_union(1, cast(1.5 as double), cast('ab' as "
            f"varchar(2)))), named_struct('x', create_union(0, cast({i} as bigint), true)), 'n'"
            for i, union in rows
        ]
        hive_client.execute(f"INSERT INTO {table} {' UNION ALL '.join(selects)}")

    def compare(where: str = "true", ours: str = "true") -> None:
        hives = hive_client.query(f"SELECT {_HIVES} FROM {table} WHERE {where}")
        with differential.pinned_frame(table) as (_, frame):
            found = frame.where(ours).selectExpr(*_OURS).collect()
        assert canonical(found) == canonical(hives)

    insert(*((tag, _UNION.format(tag=tag, i=7 + tag)) for tag in range(4)))
    uri = differential.hive.metastore_uri
    with hiveacid.snapshot(differential.spark, uri, [table]) as snapshot:
        rows = snapshot.table(table)
        assert rows.schema["l"].dataType.simpleString() == (
            "array<struct<tag:tinyint,member0:double,member1:string>>"
        )
        assert sorted(rows.select("id", "u.tag").collect()) == [(tag, tag) for tag in range(4)]
        state = snapshot.changes(table).state
    null = _UNION.format(tag=0, i="cast(null as int)")
    null = "create_union(0, cast(null as int), 'x', array(1), named_struct('a', 1, 'b', 'c'))"
    insert((4, f"if(true, null, {null})"))
    insert((5, null))
    compare()
    compare("extract_union(u, 0) = 7 OR u IS NULL", "u.member0 = 7 OR u IS NULL")
    with hiveacid.snapshot(differential.spark, uri, [table]) as snapshot:
        changed = snapshot.changes(table, state).rows.selectExpr(*_OURS).collect()
    hives = hive_client.query(f"SELECT {_HIVES} FROM {table} WHERE id > 3")
    assert canonical(changed) == canonical(hives)


GOOD = [
    "1,0|5",
    "2,1|a|b",
    "3,1|a!|b",
    "4,1|",
    "5,0|x",
    "6,\\N",
    "7",
    "8,1|\\N",
    "9,1|!,c",
    "10,0|",
]


def test_odd_texts_of_unions(
    differential: Differential, hive_client: HiveClient, database: str, tmp_path: Path
) -> None:
    hive_client.execute(
        "CREATE TABLE odd (id int, u uniontype<int,string>) ROW FORMAT DELIMITED FIELDS TERMINATED "
        "BY ',' ESCAPED BY '!' COLLECTION ITEMS TERMINATED BY '|' STORED AS TEXTFILE "
        f"TBLPROPERTIES ({INSERT_ONLY})"
    )
    lines = tmp_path / "lines"

    def load(text: str) -> None:
        lines.write_text(f"{text}\n")
        hive_client.execute(f"LOAD DATA LOCAL INPATH '{lines}' OVERWRITE INTO TABLE odd")

    load("\n".join(GOOD))
    query = "SELECT id, u IS NULL, extract_union(u, 0), extract_union(u, 1) FROM odd"
    with differential.pinned_frame(f"{database}.odd") as (_, frame):
        found = frame.selectExpr("id", "u IS NULL", "u.member0", "u.member1").collect()
    assert canonical(found) == canonical(hive_client.query(query))
    for text in ("1,2|x", "1,x|1", "1,"):
        load(text)
        with pytest.raises(HiveSqlError, match="Error evaluating extract_union"):
            hive_client.query(query)
        with differential.pinned_frame(f"{database}.odd") as (_, frame):
            assert frame.select("id").collect() == [(1,)]
            with pytest.raises(PySparkException, match="does not begin with its tag, 0 to 1"):
                frame.collect()


def test_unions_in_orc_are_refused(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    for kind in (FULL_ACID, INSERT_ONLY):
        name = "full_acid" if kind == FULL_ACID else "insert_only"
        hive_client.execute(
            f"CREATE TABLE {name} (id int, u uniontype<int,string>) STORED AS ORC "
            f"TBLPROPERTIES ({kind})"
        )
        hive_client.execute(f"INSERT INTO {name} SELECT 1, create_union(1, 2, 'a')")
        assert hive_client.query(f"SELECT id FROM {name}") == [(1,)]
        with pytest.raises(
            UnreadableTableError, match=r"column u \(uniontype<int,string>\) cannot"
        ):
            differential.read(f"{database}.{name}")
        hive_client.execute(
            f"CREATE TABLE {name}_copy STORED AS AVRO TBLPROPERTIES ({INSERT_ONLY}) "
            f"AS SELECT * FROM {name}"
        )
        assert differential.read(f"{database}.{name}_copy").rows == [(1, (1, None, "a"))]
