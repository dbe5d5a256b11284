-- One small table of each kind that a Hive writes. `{table}` is the name of the table.
-- `compacted`: how the table is compacted at its end; `selected`: what is selected in place of *.

-- name: empty
CREATE TABLE {table} (id int, v string)
  STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');

-- name: plain
CREATE TABLE {table} (id int, v string)
  STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (3, null);
  INSERT INTO {table} VALUES (4, 'd');

-- name: deleted
CREATE TABLE {table} (id int, v string)
  STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (3, 'c');
  DELETE FROM {table} WHERE id = 2;

-- name: deleted_all
CREATE TABLE {table} (id int, v string)
  STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} VALUES (1, 'a'), (2, 'b');
  DELETE FROM {table};

-- name: updated
CREATE TABLE {table} (id int, v string)
  STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (3, 'c');
  UPDATE {table} SET v = 'z' WHERE id > 1;
  UPDATE {table} SET v = null WHERE id = 3;

-- name: merged
CREATE TABLE {table} (id int, v string)
  STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
  CREATE TABLE {table}_new (id int, v string)
    STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (3, 'c');
  INSERT INTO {table}_new VALUES (2, 'delete'), (3, 'x'), (4, 'y');
  MERGE INTO {table} USING {table}_new n ON {table}.id = n.id
    WHEN MATCHED AND n.v = 'delete' THEN DELETE
    WHEN MATCHED THEN UPDATE SET v = n.v
    WHEN NOT MATCHED THEN INSERT VALUES (n.id, n.v);

-- name: minor
-- compacted: minor
CREATE TABLE {table} (id int, v string)
  STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} VALUES (1, 'a'), (2, 'b');
  UPDATE {table} SET v = 'z' WHERE id = 1;
  DELETE FROM {table} WHERE id = 2;
  INSERT INTO {table} VALUES (3, 'c');

-- name: major
-- compacted: major
CREATE TABLE {table} (id int, v string)
  STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} VALUES (1, 'a'), (2, 'b');
  UPDATE {table} SET v = 'z' WHERE id = 1;
  DELETE FROM {table} WHERE id = 2;

-- name: bucketed
CREATE TABLE {table} (id int, v string) CLUSTERED BY (id) INTO 3 BUCKETS
  STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e');
  DELETE FROM {table} WHERE id IN (2, 4);
  UPDATE {table} SET v = 'z' WHERE id = 5;

-- name: partitioned
CREATE TABLE {table} (id int, v string) PARTITIONED BY (p int)
  STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} PARTITION (p = 1) VALUES (1, 'a'), (2, 'b');
  INSERT INTO {table} PARTITION (p = 2) VALUES (1, 'c'), (2, 'd');
  DELETE FROM {table} WHERE id = 2 AND p = 1;

-- name: two_keys
CREATE TABLE {table} (id int) PARTITIONED BY (p string, q date)
  CLUSTERED BY (id) INTO 2 BUCKETS
    STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} VALUES (1, 'a b', '2020-01-01'), (2, 'é', '2020-01-02'), (3, 'x=y', null);

-- name: partition_dropped
CREATE TABLE {table} (id int) PARTITIONED BY (p int)
  STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} VALUES (1, 1), (2, 2);
  ALTER TABLE {table} DROP PARTITION (p = 1);

-- name: overwritten
CREATE TABLE {table} (id int, v string)
  STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} VALUES (1, 'a');
  INSERT OVERWRITE TABLE {table} SELECT 2, 'b';
  INSERT INTO {table} VALUES (3, 'c');

-- name: truncated
CREATE TABLE {table} (id int, v string)
  STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} VALUES (1, 'a');
  TRUNCATE TABLE {table};
  INSERT INTO {table} VALUES (2, 'b');

-- name: union_all
CREATE TABLE {table} (id int, v string)
  STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} SELECT 1, 'a' UNION ALL SELECT 2, 'b';
  DELETE FROM {table} WHERE id = 1;

-- name: converted
CREATE TABLE {table} (id int, v string) STORED AS ORC TBLPROPERTIES ('transactional'='false');
  INSERT INTO {table} VALUES (1, 'a'), (2, 'b');
  INSERT INTO {table} VALUES (3, 'c');
  ALTER TABLE {table} SET TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
  DELETE FROM {table} WHERE id = 2;
  INSERT INTO {table} VALUES (4, 'd');

-- name: converted_partitions
CREATE TABLE {table} (id int, v string) PARTITIONED BY (p int)
  STORED AS ORC TBLPROPERTIES ('transactional'='false');
  INSERT INTO {table} PARTITION (p = 1) VALUES (1, 'a'), (2, 'b');
  ALTER TABLE {table} SET TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} PARTITION (p = 2) VALUES (3, 'c');
  UPDATE {table} SET v = 'z' WHERE id = 1;

-- name: converted_major
-- compacted: major
CREATE TABLE {table} (id int, v string) STORED AS ORC TBLPROPERTIES ('transactional'='false');
  INSERT INTO {table} VALUES (1, 'a'), (2, 'b');
  ALTER TABLE {table} SET TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
  DELETE FROM {table} WHERE id = 2;
  INSERT INTO {table} VALUES (3, 'c');

-- name: widened
CREATE TABLE {table} (id int, n int)
  STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} VALUES (1, 1);
  ALTER TABLE {table} CHANGE COLUMN n n bigint;
  INSERT INTO {table} VALUES (2, 5000000000);

-- name: column_added
CREATE TABLE {table} (id int)
  STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} VALUES (1);
  ALTER TABLE {table} ADD COLUMNS (v string);
  INSERT INTO {table} VALUES (2, 'b');

-- name: types
CREATE TABLE {table} (id int, t tinyint, s smallint, b bigint, f float, d double,
  n decimal(20,4), v varchar(5), c string, k boolean, y binary, ts timestamp, dt date)
  STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} VALUES
    (1, 1, 2, 3, 1.5, 2.25, 12345678901.1234, 'ab', 'x', true, 'bin',
      '2020-01-31 12:00:00.123456', '2020-02-29'),
    (2, null, null, null, null, null, null, null, null, null, null, null, null),
    (3, -128, -32768, -9223372036854775807, -0.5, 1e300, -0.0001, '', 'é', false, '',
      '1900-01-01 00:00:00', '1900-01-01');

-- name: nested
-- selected: id, to_json(a) as a, to_json(m) as m, to_json(s) as s
CREATE TABLE {table} (id int, a array<int>, m map<string,int>, s struct<x:int,y:string>)
  STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} SELECT 1, array(1, 2), map('k', 1), named_struct('x', 1, 'y', 'b');

-- name: insert_only_orc
CREATE TABLE {table} (id int, v string)
  STORED AS ORC TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only',
    'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} VALUES (1, 'a');
  INSERT INTO {table} VALUES (2, null);

-- name: insert_only_parquet
CREATE TABLE {table} (id int, t tinyint, s smallint, b bigint, f float, d double,
  n decimal(20,4), v varchar(5), c string, k boolean, y binary, ts timestamp, dt date)
  STORED AS PARQUET TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only',
    'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} VALUES
    (1, 1, 2, 3, 1.5, 2.25, 12345678901.1234, 'ab', 'x', true, 'bin',
      '2020-01-31 12:00:00.123456', '2020-02-29'),
    (2, null, null, null, null, null, null, null, null, null, null, null, null),
    (3, -128, -32768, -9223372036854775807, -0.5, 1e300, -0.0001, '', 'é', false, '',
      '1900-01-01 00:00:00', '1900-01-01');

-- name: insert_only_text
CREATE TABLE {table} (id int, v string)
  STORED AS TEXTFILE TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only',
    'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} VALUES (1, 'a'), (2, null), (3, '');

-- name: insert_only_partitions
CREATE TABLE {table} (id int) PARTITIONED BY (p string)
  STORED AS PARQUET TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only',
    'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} VALUES (1, 'a'), (2, 'b');
  INSERT OVERWRITE TABLE {table} PARTITION (p = 'b') SELECT 3;

-- name: insert_only_overwritten
CREATE TABLE {table} (id int, v string)
  STORED AS ORC TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only',
    'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} VALUES (1, 'a');
  INSERT OVERWRITE TABLE {table} SELECT 2, 'b';

-- name: insert_only_union
CREATE TABLE {table} (id int, v string)
  STORED AS ORC TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only',
    'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} SELECT 1, 'a' UNION ALL SELECT 2, 'b';

-- name: insert_only_converted
CREATE TABLE {table} (id int, v string) STORED AS PARQUET
  TBLPROPERTIES ('transactional'='false');
  INSERT INTO {table} VALUES (1, 'a');
  ALTER TABLE {table} SET TBLPROPERTIES ('transactional'='true',
    'transactional_properties'='insert_only');
  INSERT INTO {table} VALUES (2, 'b');
