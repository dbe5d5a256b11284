-- What Hive changes between the first and the second `dbt build`.
UPDATE shop.orders SET status = 'cancelled' WHERE order_id = 6;

UPDATE shop.orders SET amount = 40.00 WHERE order_id = 2;

DELETE FROM shop.orders WHERE order_id = 4;

INSERT INTO shop.orders VALUES (7, 4, 15.75, 'open', '2026-11-04');

DELETE FROM shop.customers WHERE name = 'Linus';

UPDATE shop.customers SET country = 'de' WHERE name = 'Edsger';

INSERT INTO shop.events VALUES (5, 4, 'order', '2026-11-04 10:00:00');

ALTER TABLE shop.orders PARTITION (order_date='2026-11-01') COMPACT 'major' AND WAIT;

ALTER TABLE shop.customers COMPACT 'major' AND WAIT;

UPDATE shop.shipments SET state = 'found' WHERE state = 'lost';

DELETE FROM shop.shipments WHERE shipment_id >= 20000 AND shipment_id % 4 = 1;

INSERT INTO shop.shipments
SELECT 20200 + n, md5(CAST(n AS string)), 'sent'
FROM (SELECT posexplode(split(space(129), ' ')) AS (n, nothing)) numbers;
