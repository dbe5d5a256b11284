-- Tables as sites have them, for `views_of_sites.sql`.

CREATE TABLE accounts (id bigint, name string, segment char(4), country varchar(10), opened date,
  closed string, balance decimal(18,4), score double, flags int, tier tinyint, parent bigint,
  phone string) STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
INSERT INTO accounts VALUES
  (1, 'Ann Lee', 'A', 'CH', '2020-02-29', '', 1234.5, 0.75, 5, 1, null, '+41 31 123 45 67'),
  (2, 'bob', 'B', 'ch', '2021-12-31', '2024-01-15', -20.25, -1.5, 3, 2, 1, '031-555'),
  (3, "O'Neil", 'A', 'DE', '2019-01-01', null, 0, 1e10, 0, null, 1, null),
  (4, null, null, null, null, 'never', null, null, null, 3, 9, ''),
  (5, '  Zoë ', 'C1', 'AT', '2024-02-29', '2024-02-30', 99999999.9999, 0.1, 12, 127, 5, '12345'),
  (6, 'Ann Lee', 'B', 'DE', '2020-02-29', '2023-06-01 10:00:00', 10, 2.5, 8, -1, 2, 'n/a');
CREATE TABLE payments (id bigint, account bigint, paid_at timestamp, value decimal(12,2),
  currency string, kind string, note string, batch int) PARTITIONED BY (month string)
    STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
INSERT INTO payments PARTITION (month = '2024-01') VALUES
  (10, 1, '2024-01-31 23:59:59.5', 100.00, 'CHF', 'card', 'first; "quoted"', 1),
  (11, 1, '2024-01-01 00:00:00', 50.25, 'EUR', 'cash', 'back\\slash', 1),
  (12, 2, '2024-01-15 12:30:00', -10.00, 'USD', 'card', 'a|b|c', 2),
  (13, 9, null, 7.77, null, 'card', null, null);
INSERT INTO payments PARTITION (month = '2024-02') VALUES
  (20, 3, '2024-02-29 08:00:00', 1000.10, 'CHF', 'wire', 'x=1&y=2', 3),
  (21, 3, '2024-02-29 08:00:00', 0.01, 'EUR', 'wire', 'tab	here', 3),
  (22, 5, '2024-02-10 10:00:00.123456', null, 'CHF', 'x', '2024-02-11', 4);
CREATE TABLE events (id string, account_id string, at_text string, epoch bigint, payload string,
  tags array<string>, attrs map<string,string>,
  lines array<struct<sku:string,qty:int,price:decimal(8,2)>>)
    STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
INSERT INTO events SELECT '1', '1', '2024-01-05 10:11:12', 1704449472,
  '{"type":"click","n":3,"deep":{"k":["a","b"]}}', array('new', 'vip'),
  map('os', 'ios', 'v', '12'),
  array(named_struct('sku', 's1', 'qty', 2, 'price', cast(9.99 AS decimal(8,2))),
    named_struct('sku', 's2', 'qty', cast(null AS int), 'price', cast(1 AS decimal(8,2))));
INSERT INTO events SELECT '2', '2', '2024-01-06', 1704499200, '{"type":"view","n":"x"}',
  array('old'), map('os', 'android'), array(named_struct('sku', 's1', 'qty', 1, 'price',
    cast(0.5 AS decimal(8,2))));
INSERT INTO events SELECT '03', '3', '2024-02-07T08:00:00', null, 'no json',
  if(1 = 0, array('x'), null), if(1 = 0, map('x', 'y'), null),
  if(1 = 0, array(named_struct('sku', 'x', 'qty', 1, 'price', cast(1 AS decimal(8,2)))), null);
INSERT INTO events SELECT null, 'x', null, 0, null, array('vip', cast(null AS string)),
  map('v', cast(null AS string)), array(named_struct('sku', cast(null AS string), 'qty', 4, 'price',
    cast(2.25 AS decimal(8,2))));
CREATE TABLE fx (currency string, since date, rate double) STORED AS TEXTFILE
  TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only');
INSERT INTO fx VALUES ('CHF', '2024-01-01', 1), ('EUR', '2024-01-01', 0.95),
  ('EUR', '2024-02-01', 0.97), ('USD', '2024-01-01', 0.85);
CREATE TABLE codes (code char(4), label varchar(30), rank_of int) STORED AS ORC
  TBLPROPERTIES ('transactional'='false');
INSERT INTO codes VALUES ('A', 'gold', 1), ('B', 'silver', 2), ('C1', 'lead ', 3),
  (null, 'none', 4);
CREATE TABLE calendar (day date, label string) STORED AS PARQUET
  TBLPROPERTIES ('transactional'='false');
INSERT INTO calendar VALUES ('2024-01-15', 'mid'), ('2024-01-31', 'end'), ('2024-02-29', 'leap');
UPDATE accounts SET balance = balance + 1 WHERE id = 2;
DELETE FROM payments WHERE id = 13;
