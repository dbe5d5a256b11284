-- What Hive writes before the first `dbt build`.
CREATE DATABASE shop;

CREATE TABLE shop.orders (order_id int, customer_id int, amount decimal(10,2), status string)
PARTITIONED BY (order_date date)
STORED AS ORC TBLPROPERTIES ('transactional'='true');

INSERT INTO shop.orders VALUES
    (1, 1, 20.00, 'paid', '2026-11-01'), (2, 2, 35.50, 'open', '2026-11-01'),
    (3, 1, 12.25, 'open', '2026-11-02'), (4, 3, 99.99, 'paid', '2026-11-02'),
    (5, 2, 0.01, 'test', '2026-11-02'), (6, 4, 48.00, 'open', '2026-11-03');

UPDATE shop.orders SET status = 'paid' WHERE order_id = 2;

DELETE FROM shop.orders WHERE order_id = 3;

CREATE TABLE shop.customers (customer_id int, name string, country string)
STORED AS ORC TBLPROPERTIES ('transactional'='false');

INSERT INTO shop.customers VALUES
    (1, 'Ada', 'uk'), (2, 'Grace', 'us'), (3, 'Linus', 'fi'), (4, 'Edsger', 'nl'), (5, 'Bot', 'xx');

ALTER TABLE shop.customers SET TBLPROPERTIES ('transactional'='true');

DELETE FROM shop.customers WHERE name = 'Bot';

CREATE TABLE shop.events (event_id bigint, customer_id int, kind string, happened_at timestamp)
STORED AS PARQUET
TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only');

INSERT INTO shop.events VALUES
    (1, 1, 'visit', '2026-11-01 09:00:00'), (2, 1, 'order', '2026-11-01 09:10:00'),
    (3, 2, 'order', '2026-11-01 11:30:00'), (4, 3, 'visit', '2026-11-02 08:00:00');

CREATE TABLE shop.shipments (shipment_id int, tracking_code string, state string)
STORED AS ORC TBLPROPERTIES ('transactional'='true');

-- 20,000 rows, and 200 of today.
INSERT INTO shop.shipments
SELECT n, md5(CAST(n AS string)), 'arrived'
FROM (SELECT posexplode(split(space(19999), ' ')) AS (n, nothing)) numbers;

INSERT INTO shop.shipments
SELECT 20000 + n, md5(CAST(n AS string)), if(n % 10 = 0, 'lost', 'sent')
FROM (SELECT posexplode(split(space(199), ' ')) AS (n, nothing)) numbers;
