-- Views over the tables of `shop.sql` that cannot be read exactly, and words of the reasons.

-- name: hashed
-- reason: it is Java's hash
SELECT hash(id) AS h FROM orders;

-- name: now
-- reason: it depends on the moment
SELECT id FROM orders WHERE placed < current_timestamp;

-- name: zone
-- reason: it depends on the time zone of Hive
SELECT from_unixtime(id) AS u FROM orders;

-- name: unknown
-- reason: it differs for texts with letters
SELECT soundex(status) AS s FROM orders;

-- name: untried
-- reason: was not compared between Hive and Spark
SELECT reflect('java.lang.Math', 'abs', id) AS r FROM orders;

-- name: spread
-- reason: it is that of the population in Hive
SELECT stddev(id) AS s FROM orders;

-- name: any_order
-- reason: the order in its result is arbitrary
SELECT collect_set(id) AS s FROM orders;

-- name: any_rows
-- reason: LIMIT without ORDER BY shows arbitrary rows
SELECT id FROM orders LIMIT 2;

-- name: later
-- reason: it was not compared between Hive and Spark
SELECT placed + interval '1' day AS p FROM orders;

-- name: sampled
-- reason: cannot parse it
SELECT id FROM orders TABLESAMPLE (BUCKET 1 OUT OF 2 ON id) s;

-- name: scripted
-- reason: was not compared between Hive and Spark
SELECT transform(id) USING 'cat' AS (a) FROM orders;

-- name: file_names
-- reason: only Hive has virtual columns
SELECT INPUT__FILE__NAME AS f FROM orders;

-- name: compared
-- reason: Hive compares or converts a string
SELECT id FROM orders WHERE status > id;

-- name: flag
-- reason: a string with boolean differently
SELECT cast(status AS boolean) AS b FROM orders;

-- name: flag_text
-- reason: from boolean to string differs
SELECT cast(vip AS string) AS s FROM customers;

-- name: blanks
-- reason: ignores blanks at the end
SELECT id FROM customers WHERE grade = 'a ';

-- name: joined_array
-- reason: Hive writes a NULL in an array as text
SELECT concat_ws(',', tags) AS t FROM orders;

-- name: in_place
-- reason: Hive sorts the array in place
SELECT tags, sort_array(tags) AS s FROM orders;

-- name: shared
-- reason: other columns of the view that compute it
SELECT split(status, 'e')[0] AS f, sort_array(split(status, 'e')) AS s FROM orders;

-- name: many_digits
-- reason: of products that may have more than 38 digits
SELECT cast(amount AS decimal(38,10)) * amount AS m FROM orders;

-- name: mixed
-- reason: in a UNION, INTERSECT or EXCEPT with decimals, Hive makes NULL of whole numbers
SELECT amount AS m FROM orders UNION ALL SELECT id FROM orders;

-- name: mixed_less
-- reason: in a UNION, INTERSECT or EXCEPT with decimals, Hive makes NULL of whole numbers
SELECT id FROM orders EXCEPT SELECT amount FROM orders;

-- name: mixed_small
-- reason: in a UNION, INTERSECT or EXCEPT with decimals, Hive makes NULL of whole numbers
SELECT amount FROM orders UNION ALL SELECT cast(id AS smallint) FROM orders;

-- name: mixed_sets
-- reason: in a UNION, INTERSECT or EXCEPT with decimals, Hive makes NULL of whole numbers
SELECT cast(id AS tinyint) AS n FROM orders INTERSECT SELECT amount FROM orders;

-- name: inner_type
-- reason: in a query inside of the view it has another type in Hive than in Spark
SELECT q.x FROM (SELECT amount / cast(id AS bigint) AS x FROM orders) q;

-- name: around
-- reason: in a range around the present value
SELECT sum(id) OVER (ORDER BY id RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS s
  FROM orders;

-- name: by_number
-- reason: hive.groupby.position.alias
SELECT count(*) AS n FROM orders GROUP BY 1;

-- name: above_hashed
-- reason: it is Java's hash
SELECT h FROM hashed WHERE h > 1;

-- name: unions
-- reason: was not compared between Hive and Spark
SELECT create_union(0, id, 'a') AS u FROM orders;

-- name: whole_number
-- reason: Hive treats it as a decimal of its own digits
SELECT amount / cast('3' AS int) AS x FROM orders;

-- name: quotient
-- reason: Hive calculates with more digits of a quotient of constants than its type has
SELECT amount * (1.0 / 3) AS x FROM orders;

-- name: quotient_as_text
-- reason: Hive calculates with more digits of a quotient of constants than its type has
SELECT concat(1.5 / 7, '') AS x FROM orders;

-- name: inner_quotient
-- reason: Hive calculates with more digits of a quotient of constants than its type has
SELECT amount * q.k AS x FROM orders CROSS JOIN (SELECT 1.0 / 3 AS k) q;

-- name: quotient_of_columns
-- reason: Hive calculates with more digits of a quotient of constants than its type has
SELECT amount * (q.k / 7) AS x FROM orders CROSS JOIN (SELECT 1.5 AS k) q;

-- name: rounded
-- reason: Hive calculates with all digits of the constant
SELECT amount * cast(1.25 AS decimal(10,1)) AS x FROM orders;

-- name: factor
-- reason: Hive multiplies wrongly by a constant with zeros at its end
SELECT sum(amount * (1.5 + 1.5)) AS x FROM orders;

-- name: longer_constant
-- reason: as text Hive shows the sum or choice without its zeros at the end
SELECT concat(amount + cast(3 AS decimal(10,4)), '') AS x FROM orders;

-- name: fixed_longer_constant
-- reason: as text Hive shows the sum or choice without its zeros at the end
SELECT concat(o.amount + o.k, '') AS x
  FROM (SELECT amount, cast(id AS decimal(10,4)) AS k FROM orders) o WHERE o.k = 3;

-- name: longer_constant_of_unions
-- reason: as text Hive shows the sum or choice without its zeros at the end
SELECT concat(u.amount + u.k, '') AS x
  FROM (SELECT amount, cast(3 AS decimal(10,4)) AS k FROM orders
    UNION ALL SELECT amount, cast(3 AS decimal(10,4)) AS k FROM flat) u;

-- name: longer_choice
-- reason: as text Hive shows the sum or choice without its zeros at the end
SELECT concat(coalesce(amount, cast(0 AS decimal(10,4))), '') AS x FROM orders;

-- name: long_choice
-- reason: in a division Hive takes the choice between a bigint and a decimal
SELECT 7 / coalesce(amount, cast(id AS bigint)) AS x FROM orders;

-- name: long_mean
-- reason: has fewer digits behind the point
SELECT avg(amount * cast(id AS bigint)) AS x FROM orders;

-- name: small_factor
-- reason: Hive multiplies wrongly by a constant with zeros at its end
SELECT sum(amount * cast(3 AS decimal(4,2))) AS x FROM orders;

-- name: inner_longer_constant
-- reason: as text Hive shows the sum or choice without its zeros at the end
SELECT concat(o.amount + q.k, '') AS x FROM orders o
  CROSS JOIN (SELECT cast(3 AS decimal(10,4)) AS k) q;
