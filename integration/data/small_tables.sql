-- One small table for each thing that a reader can get wrong. Tests share them and only read.
-- `{table}` is the name of the table.

-- name: partitioned
CREATE TABLE {table} (id int) PARTITIONED BY (p int)
  STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} VALUES (1, 1), (2, 1), (3, 2), (4, 2);
  DELETE FROM {table} WHERE id IN (2, 3);

-- name: aborted
CREATE TABLE {table} (id int)
  STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} VALUES (1);

-- name: streamed
CREATE TABLE {table} (id int)
  STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');

-- name: originals
CREATE TABLE {table} (id int) STORED AS ORC TBLPROPERTIES ('transactional'='false');
  INSERT INTO {table} VALUES (1), (2);
  INSERT INTO {table} VALUES (3), (4);
  ALTER TABLE {table} SET TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
  DELETE FROM {table} WHERE id = 3;

-- name: truncated
CREATE TABLE {table} (id int)
  STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} VALUES (1);
  TRUNCATE TABLE {table};

-- name: renamed
CREATE TABLE {table} (id int, name string)
  STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
  INSERT INTO {table} VALUES (1, 'a');
  ALTER TABLE {table} CHANGE COLUMN name label string;
