-- Views over the tables of `shop.sql`, and their queries.

-- name: two_columns
SELECT id, status FROM orders;

-- name: everything
SELECT * FROM orders;

-- name: later_days
SELECT day, id FROM orders WHERE day >= '2024-11-02';

-- name: renamed (number, state)
SELECT id, upper(status) FROM orders;

-- name: unnamed
SELECT id, id + 1, upper(status), 'x' FROM orders;

-- name: typed
SELECT id, cast(amount AS varchar(4)) AS short, cast(status AS char(6)) AS padded,
  cast(id AS bigint) AS big, cast(day AS date) AS on_day FROM orders;

-- name: joined
SELECT o.id, c.name, c.grade FROM orders o JOIN customers c ON o.customer_id = c.id;

-- name: left_joined
SELECT o.id, c.name FROM orders o LEFT OUTER JOIN customers c
  ON o.customer_id = c.id AND c.vip;

-- name: full_joined
SELECT o.id, c.id AS c FROM orders o FULL OUTER JOIN customers c
  ON o.customer_id = c.id;

-- name: semi_joined
SELECT c.id FROM customers c LEFT SEMI JOIN orders o ON o.customer_id = c.id;

-- name: crossed
SELECT o.id, r.currency, o.amount * r.rate AS money FROM orders o
  CROSS JOIN rates r;

-- name: comma
SELECT o.id, c.name FROM orders o, customers c WHERE o.customer_id = c.id;

-- name: three
SELECT o.id, c.name, g.region FROM orders o JOIN customers c ON o.customer_id = c.id
  LEFT JOIN regions g ON o.address.city = g.city;

-- name: grouped
SELECT customer_id, count(*) AS n, sum(amount) AS total, avg(amount) AS mean,
  min(placed) AS first_one FROM orders GROUP BY customer_id;

-- name: of_days
SELECT day, count(DISTINCT customer_id) AS n FROM orders GROUP BY day
  HAVING count(*) > 1;

-- name: by_expression
SELECT substr(day, 1, 7) AS month, count(*) FROM orders
  GROUP BY substr(day, 1, 7);

-- name: rolled
SELECT day, status, count(*) AS n, max(amount) AS m FROM orders
  GROUP BY day, status WITH ROLLUP;

-- name: in_sets
SELECT day, status, count(*) AS n FROM orders GROUP BY day, status
  GROUPING SETS ((day), (day, status), ());

-- name: no_group
SELECT count(*) AS n, max(amount) AS most FROM orders;

-- name: different
SELECT DISTINCT status, day FROM orders;

-- name: numbered
SELECT id, row_number() OVER (PARTITION BY day ORDER BY amount DESC) AS r,
  sum(amount) OVER (PARTITION BY customer_id) AS s, lag(id) OVER (ORDER BY id) AS before
  FROM orders;

-- name: ranked
SELECT * FROM (SELECT id, day, rank() OVER (PARTITION BY day ORDER BY amount) AS r
  FROM orders) x WHERE r = 1;

-- name: all_of_two
SELECT id, status FROM orders UNION ALL SELECT id, grade FROM customers;

-- name: decimals_in_union
SELECT amount FROM orders UNION ALL SELECT 1.123456 FROM orders UNION ALL
  SELECT cast(1.5 AS decimal(20,10)) FROM orders UNION ALL SELECT 100.00 FROM orders;

-- name: either
SELECT id FROM orders UNION SELECT id FROM customers;

-- name: in_both
SELECT id FROM orders INTERSECT SELECT id FROM customers;

-- name: one_only
SELECT id FROM orders EXCEPT SELECT id FROM customers;

-- name: with_ctes
WITH late AS (SELECT * FROM orders WHERE day > '2024-11-01'),
  few AS (SELECT id, status FROM late WHERE id < 5) SELECT f.id, f.status FROM few f;

-- name: shadowed
WITH customers AS (SELECT 7 AS id) SELECT c.id, o.id AS o FROM customers c
  CROSS JOIN orders o;

-- name: inside
SELECT id FROM orders WHERE customer_id IN (SELECT id FROM customers WHERE vip);

-- name: not_inside
SELECT id FROM orders WHERE customer_id NOT IN
  (SELECT id FROM customers WHERE grade = 'b');

-- name: existing
SELECT c.id FROM customers c WHERE EXISTS
  (SELECT 1 FROM orders o WHERE o.customer_id = c.id AND o.amount > 5);

-- name: exploded
SELECT id, tag FROM orders LATERAL VIEW explode(tags) t AS tag;

-- name: outer_exploded
SELECT id, pos, tag FROM orders
  LATERAL VIEW OUTER posexplode(tags) t AS pos, tag;

-- name: exploded_map
SELECT o.id, k, v FROM orders o LATERAL VIEW explode(lines) t AS k, v;

-- name: stacked
SELECT id, what, much FROM orders
  LATERAL VIEW stack(2, 'id', id, 'amount', cast(amount AS int)) t AS what, much;

-- name: inlined
SELECT id, a, b FROM orders
  LATERAL VIEW inline(array(struct(id, 'x'), struct(id + 1, 'y'))) t AS a, b;

-- name: nested
SELECT id, address.city, tags[0] AS tag, lines['x'] AS x, address FROM orders;

-- name: made
SELECT id, array(id, 2) AS a, map('k', id) AS m, named_struct('n', id) AS s,
  struct(id, status) AS t FROM orders;

-- name: topmost
SELECT id, amount FROM orders ORDER BY amount DESC, id LIMIT 3;

-- name: sorted
SELECT id FROM orders SORT BY id;

-- name: cases
SELECT id, CASE WHEN amount > 5 THEN 'much' WHEN amount IS NULL THEN 'none' ELSE
  'few' END AS c, if(status = 'open', 1, 0) AS o, nvl(status, '-') AS s FROM orders;

-- name: dates
SELECT id, to_date(day) AS d, year(placed) AS y, date_format(placed, 'yyyyMM') AS m,
  datediff(placed, '2024-10-01') AS n, date_add(day, 1) AS next_one FROM orders;

-- name: with_constants
SELECT id, amount, 3 AS k, cast(7 AS decimal(10,2)) AS d, 19 AS tax FROM orders;

-- name: over_constants
SELECT c.id, c.amount / c.k AS a, 7 / (c.amount + c.k) AS b, c.amount * c.tax / 100 AS p,
  c.amount / c.d AS d, c.amount / cast(3 AS int) AS i, concat(c.amount + c.d, '') AS t
  FROM with_constants c WHERE c.amount / cast(3 AS int) <> 0.816667;

-- name: above
SELECT a.id, a.name FROM joined a WHERE a.id > 1;

-- name: above_above (x)
SELECT max(b.id) FROM above b JOIN renamed r ON b.id = r.number;

-- name: quoted
SELECT id AS `a b`, status AS `select` FROM orders WHERE status = 'it\'s'
  OR status LIKE '%e_' OR status = "paid";

-- name: constants
SELECT c.id, 1.50 AS d, 10L AS l, 1e2 AS e, date '2024-01-05' AS day, true AS t
  FROM customers c;

-- name: windowed_groups
SELECT day, sum(amount) AS s, rank() OVER (ORDER BY sum(amount) DESC) AS r
  FROM orders GROUP BY day;

-- name: scalar
SELECT id, (SELECT max(rate) FROM rates) AS most FROM orders;

-- name: partitioned
SELECT id, status, day FROM orders WHERE day = '2024-11-01' AND placed >
  '2024-11-01 12:00:00';
