"""One small table of each kind that a Hive writes, for readers that are compared with that Hive."""

from __future__ import annotations

from integration.support.hive import HiveClient

_NO_AUTO = "'NO_AUTO_COMPACTION'='true'"
ACID = f"STORED AS ORC TBLPROPERTIES ('transactional'='true', {_NO_AUTO})"
PLAIN = "STORED AS ORC TBLPROPERTIES ('transactional'='false')"
_CONVERT = f"ALTER TABLE {{t}} SET TBLPROPERTIES ('transactional'='true', {_NO_AUTO})"


def _insert_only(format: str) -> str:
    return (
        f"STORED AS {format} TBLPROPERTIES ('transactional'='true', "
        f"'transactional_properties'='insert_only', {_NO_AUTO})"
    )


TYPES = (
    "id int, t tinyint, s smallint, b bigint, f float, d double, n decimal(20,4), v varchar(5), "
    "c string, k boolean, y binary, ts timestamp, dt date"
)
VALUES = (
    "(1, 1, 2, 3, 1.5, 2.25, 12345678901.1234, 'ab', 'x', true, 'bin', "
    "'2020-01-31 12:00:00.123456', '2020-02-29'), "
    "(2, null, null, null, null, null, null, null, null, null, null, null, null), "
    "(3, -128, -32768, -9223372036854775807, -0.5, 1e300, -0.0001, '', 'é', false, '', "
    "'1900-01-01 00:00:00', '1900-01-01')"
)

#: What Hive does to each table; `{t}` is its name.
TABLES = {
    "empty": f"CREATE TABLE {{t}} (id int, v string) {ACID}",
    "plain": f"""
        CREATE TABLE {{t}} (id int, v string) {ACID};
        INSERT INTO {{t}} VALUES (1, 'a'), (2, 'b'), (3, null);
        INSERT INTO {{t}} VALUES (4, 'd');
        """,
    "deleted": f"""
        CREATE TABLE {{t}} (id int, v string) {ACID};
        INSERT INTO {{t}} VALUES (1, 'a'), (2, 'b'), (3, 'c');
        DELETE FROM {{t}} WHERE id = 2;
        """,
    "deleted_all": f"""
        CREATE TABLE {{t}} (id int, v string) {ACID};
        INSERT INTO {{t}} VALUES (1, 'a'), (2, 'b');
        DELETE FROM {{t}};
        """,
    "updated": f"""
        CREATE TABLE {{t}} (id int, v string) {ACID};
        INSERT INTO {{t}} VALUES (1, 'a'), (2, 'b'), (3, 'c');
        UPDATE {{t}} SET v = 'z' WHERE id > 1;
        UPDATE {{t}} SET v = null WHERE id = 3;
        """,
    "merged": f"""
        CREATE TABLE {{t}} (id int, v string) {ACID};
        CREATE TABLE {{t}}_new (id int, v string) {ACID};
        INSERT INTO {{t}} VALUES (1, 'a'), (2, 'b'), (3, 'c');
        INSERT INTO {{t}}_new VALUES (2, 'delete'), (3, 'x'), (4, 'y');
        MERGE INTO {{t}} USING {{t}}_new n ON {{t}}.id = n.id
          WHEN MATCHED AND n.v = 'delete' THEN DELETE
          WHEN MATCHED THEN UPDATE SET v = n.v
          WHEN NOT MATCHED THEN INSERT VALUES (n.id, n.v);
        """,
    "minor": f"""
        CREATE TABLE {{t}} (id int, v string) {ACID};
        INSERT INTO {{t}} VALUES (1, 'a'), (2, 'b');
        UPDATE {{t}} SET v = 'z' WHERE id = 1;
        DELETE FROM {{t}} WHERE id = 2;
        INSERT INTO {{t}} VALUES (3, 'c');
        """,
    "major": f"""
        CREATE TABLE {{t}} (id int, v string) {ACID};
        INSERT INTO {{t}} VALUES (1, 'a'), (2, 'b');
        UPDATE {{t}} SET v = 'z' WHERE id = 1;
        DELETE FROM {{t}} WHERE id = 2;
        """,
    "bucketed": f"""
        CREATE TABLE {{t}} (id int, v string) CLUSTERED BY (id) INTO 3 BUCKETS {ACID};
        INSERT INTO {{t}} VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e');
        DELETE FROM {{t}} WHERE id IN (2, 4);
        UPDATE {{t}} SET v = 'z' WHERE id = 5;
        """,
    "partitioned": f"""
        CREATE TABLE {{t}} (id int, v string) PARTITIONED BY (p int) {ACID};
        INSERT INTO {{t}} PARTITION (p = 1) VALUES (1, 'a'), (2, 'b');
        INSERT INTO {{t}} PARTITION (p = 2) VALUES (1, 'c'), (2, 'd');
        DELETE FROM {{t}} WHERE id = 2 AND p = 1;
        """,
    "two_keys": f"""
        CREATE TABLE {{t}} (id int) PARTITIONED BY (p string, q date)
          CLUSTERED BY (id) INTO 2 BUCKETS {ACID};
        INSERT INTO {{t}} VALUES (1, 'a b', '2020-01-01'), (2, 'é', '2020-01-02'), (3, 'x=y', null);
        """,
    "partition_dropped": f"""
        CREATE TABLE {{t}} (id int) PARTITIONED BY (p int) {ACID};
        INSERT INTO {{t}} VALUES (1, 1), (2, 2);
        ALTER TABLE {{t}} DROP PARTITION (p = 1);
        """,
    "overwritten": f"""
        CREATE TABLE {{t}} (id int, v string) {ACID};
        INSERT INTO {{t}} VALUES (1, 'a');
        INSERT OVERWRITE TABLE {{t}} SELECT 2, 'b';
        INSERT INTO {{t}} VALUES (3, 'c');
        """,
    "truncated": f"""
        CREATE TABLE {{t}} (id int, v string) {ACID};
        INSERT INTO {{t}} VALUES (1, 'a');
        TRUNCATE TABLE {{t}};
        INSERT INTO {{t}} VALUES (2, 'b');
        """,
    "union_all": f"""
        CREATE TABLE {{t}} (id int, v string) {ACID};
        INSERT INTO {{t}} SELECT 1, 'a' UNION ALL SELECT 2, 'b';
        DELETE FROM {{t}} WHERE id = 1;
        """,
    "converted": f"""
        CREATE TABLE {{t}} (id int, v string) {PLAIN};
        INSERT INTO {{t}} VALUES (1, 'a'), (2, 'b');
        INSERT INTO {{t}} VALUES (3, 'c');
        {_CONVERT};
        DELETE FROM {{t}} WHERE id = 2;
        INSERT INTO {{t}} VALUES (4, 'd');
        """,
    "converted_partitions": f"""
        CREATE TABLE {{t}} (id int, v string) PARTITIONED BY (p int) {PLAIN};
        INSERT INTO {{t}} PARTITION (p = 1) VALUES (1, 'a'), (2, 'b');
        {_CONVERT};
        INSERT INTO {{t}} PARTITION (p = 2) VALUES (3, 'c');
        UPDATE {{t}} SET v = 'z' WHERE id = 1;
        """,
    "converted_major": f"""
        CREATE TABLE {{t}} (id int, v string) {PLAIN};
        INSERT INTO {{t}} VALUES (1, 'a'), (2, 'b');
        {_CONVERT};
        DELETE FROM {{t}} WHERE id = 2;
        INSERT INTO {{t}} VALUES (3, 'c');
        """,
    "widened": f"""
        CREATE TABLE {{t}} (id int, n int) {ACID};
        INSERT INTO {{t}} VALUES (1, 1);
        ALTER TABLE {{t}} CHANGE COLUMN n n bigint;
        INSERT INTO {{t}} VALUES (2, 5000000000);
        """,
    "column_added": f"""
        CREATE TABLE {{t}} (id int) {ACID};
        INSERT INTO {{t}} VALUES (1);
        ALTER TABLE {{t}} ADD COLUMNS (v string);
        INSERT INTO {{t}} VALUES (2, 'b');
        """,
    "types": f"CREATE TABLE {{t}} ({TYPES}) {ACID};\nINSERT INTO {{t}} VALUES {VALUES};",
    "nested": f"""
        CREATE TABLE {{t}} (id int, a array<int>, m map<string,int>, s struct<x:int,y:string>)
          {ACID};
        INSERT INTO {{t}} SELECT 1, array(1, 2), map('k', 1), named_struct('x', 1, 'y', 'b');
        """,
    "insert_only_orc": f"""
        CREATE TABLE {{t}} (id int, v string) {_insert_only("ORC")};
        INSERT INTO {{t}} VALUES (1, 'a');
        INSERT INTO {{t}} VALUES (2, null);
        """,
    "insert_only_parquet": f"""
        CREATE TABLE {{t}} ({TYPES}) {_insert_only("PARQUET")};
        INSERT INTO {{t}} VALUES {VALUES};
        """,
    "insert_only_text": f"""
        CREATE TABLE {{t}} (id int, v string) {_insert_only("TEXTFILE")};
        INSERT INTO {{t}} VALUES (1, 'a'), (2, null), (3, '');
        """,
    "insert_only_partitions": f"""
        CREATE TABLE {{t}} (id int) PARTITIONED BY (p string) {_insert_only("PARQUET")};
        INSERT INTO {{t}} VALUES (1, 'a'), (2, 'b');
        INSERT OVERWRITE TABLE {{t}} PARTITION (p = 'b') SELECT 3;
        """,
    "insert_only_overwritten": f"""
        CREATE TABLE {{t}} (id int, v string) {_insert_only("ORC")};
        INSERT INTO {{t}} VALUES (1, 'a');
        INSERT OVERWRITE TABLE {{t}} SELECT 2, 'b';
        """,
    "insert_only_union": f"""
        CREATE TABLE {{t}} (id int, v string) {_insert_only("ORC")};
        INSERT INTO {{t}} SELECT 1, 'a' UNION ALL SELECT 2, 'b';
        """,
    "insert_only_converted": """
        CREATE TABLE {t} (id int, v string) STORED AS PARQUET
          TBLPROPERTIES ('transactional'='false');
        INSERT INTO {t} VALUES (1, 'a');
        ALTER TABLE {t} SET TBLPROPERTIES ('transactional'='true',
          'transactional_properties'='insert_only');
        INSERT INTO {t} VALUES (2, 'b');
        """,
}

#: The tables that are compacted at their end, and how.
COMPACTED = {"minor": "minor", "major": "major", "converted_major": "major"}

#: What is selected of a table; all columns without.
SELECTED = {"nested": "id, to_json(a) as a, to_json(m) as m, to_json(s) as s"}


def make_all_kinds(client: HiveClient, database: str) -> None:
    """Create and fill them all."""
    client.execute(f"CREATE DATABASE {database}")
    client.execute(f"USE {database}")
    for table, script in TABLES.items():
        client.script(script.format(t=table))
        if table in COMPACTED:
            client.compact(table, COMPACTED[table])
