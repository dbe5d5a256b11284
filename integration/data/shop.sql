-- A shop, for `views_of_shop.sql` and `refused_views.sql`.

CREATE TABLE orders (id int, customer_id int, status string, amount decimal(9,2), placed timestamp,
  tags array<string>, lines map<string,int>, address struct<city:string,zip:int>)
  PARTITIONED BY (day string)
    STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
CREATE TABLE flat (id int, customer_id int, status string, amount decimal(9,2), placed timestamp,
  city string, zip int, day string)
    STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
INSERT INTO flat VALUES
  (1, 1, 'new', 10.5, '2024-11-01 08:00:00', 'Bern', 3000, '2024-11-01'),
  (2, 1, 'open', 7, '2024-11-01 23:30:00', 'Basel', 4000, '2024-11-01'),
  (3, 2, 'open', 3.25, '2024-11-02 10:00:00', null, null, '2024-11-02'),
  (4, null, 'lost', 1, null, 'Chur', 7000, '2024-11-02'),
  (5, 3, null, null, '2024-11-03 00:00:00', null, 0, '2024-11-03');
INSERT INTO orders PARTITION (day) SELECT id, customer_id, status, amount, placed,
  CASE id WHEN 1 THEN array('a', 'b') WHEN 4 THEN array('c', cast(null AS string))
    WHEN 5 THEN array('a') END,
  CASE id WHEN 1 THEN map('x', 1) WHEN 2 THEN map('y', 2) WHEN 4 THEN map('z', cast(null AS int))
    END,
  CASE WHEN id <> 3 THEN named_struct('city', city, 'zip', zip) END, day FROM flat;
CREATE TABLE customers (id int, name varchar(20), grade char(3), vip boolean)
  CLUSTERED BY (id) INTO 2 BUCKETS
    STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
INSERT INTO customers VALUES (1, 'Ann', 'a', true), (2, 'Bob', 'b', false), (3, 'Cy', 'a', null),
  (4, 'Di', null, true);
CREATE TABLE rates (currency string, rate double) STORED AS TEXTFILE
  TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only');
INSERT INTO rates VALUES ('CHF', 1), ('EUR', 1.25), ('USD', 0.5);
CREATE TABLE regions (city string, region string) STORED AS PARQUET
  TBLPROPERTIES ('transactional'='false');
INSERT INTO regions VALUES ('Bern', 'middle'), ('Chur', 'east');
UPDATE orders SET status = 'paid' WHERE id = 1;
DELETE FROM customers WHERE id = 4;
