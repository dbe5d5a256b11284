-- Views as sites have them: their rows are those of Hive's `SELECT *`.
-- A view comes after those that it names.

-- Joins

-- name: joined_three
SELECT p.id, a.name, c.label FROM payments p JOIN accounts a
  ON (p.account = a.id) LEFT OUTER JOIN codes c ON (a.segment = c.code);

-- name: joined_using
SELECT p.id AS pid, f.rate FROM payments p JOIN fx f USING (currency);

-- name: joined_on_range
SELECT p.id, f.rate FROM payments p JOIN fx f ON p.currency = f.currency
  AND p.paid_at >= f.since AND p.value > 1;

-- name: right_joined
SELECT a.id, p.id AS p FROM payments p RIGHT OUTER JOIN accounts a
  ON p.account = a.id;

-- name: self_joined
SELECT c.id, c.name, p.name AS parent FROM accounts c LEFT JOIN accounts p
  ON c.parent = p.id;

-- name: semi
SELECT a.id FROM accounts a LEFT SEMI JOIN payments p
  ON (a.id = p.account AND p.kind = 'card');

-- name: anti
SELECT a.id, a.name FROM accounts a WHERE NOT EXISTS
  (SELECT 1 FROM payments p WHERE p.account = a.id);

-- name: left_anti_by_null
SELECT a.id FROM accounts a LEFT JOIN payments p ON a.id = p.account
  WHERE p.id IS NULL;

-- name: cross_with_filter
SELECT a.id, c.day FROM accounts a CROSS JOIN calendar c
  WHERE c.day > a.opened;

-- name: old_commas
SELECT a.name, p.value, c.label FROM accounts a, payments p, codes c
  WHERE a.id = p.account AND a.segment = c.code AND c.rank_of <> 3;

-- name: null_safe_join
SELECT a.id, b.id AS other FROM accounts a JOIN accounts b
  ON a.country <=> b.country AND a.id < b.id;

-- name: subquery_join
SELECT a.id, t.total, t.n FROM accounts a JOIN (SELECT account, sum(value) AS
  total, count(*) AS n FROM payments GROUP BY account) t ON t.account = a.id;

-- With clauses, unions

-- name: ctes
WITH paid AS (SELECT account, sum(value) AS s FROM payments GROUP BY account),
  big AS (SELECT * FROM paid WHERE s > 10) SELECT a.name, b.s FROM big b JOIN accounts a
  ON a.id = b.account;

-- name: cte_twice
WITH p AS (SELECT id, value FROM payments WHERE value IS NOT NULL)
  SELECT x.id, y.id AS above FROM p x JOIN p y ON x.value < y.value;

-- name: unions
SELECT 'a' AS src, cast(id AS string) AS k, name AS v FROM accounts UNION ALL
  SELECT 'p', cast(id AS string), note FROM payments UNION ALL
  SELECT 'e', id, payload FROM events;

-- name: union_types
SELECT tier AS n FROM accounts UNION ALL SELECT batch FROM payments UNION ALL
  SELECT rank_of FROM codes;

-- name: union_decimals
SELECT balance AS n FROM accounts UNION ALL SELECT value FROM payments;

-- name: union_distinct
SELECT country FROM accounts UNION DISTINCT SELECT currency FROM payments;

-- name: union_sub
SELECT u.k, count(*) AS n FROM (SELECT country AS k FROM accounts UNION ALL
  SELECT currency AS k FROM payments) u GROUP BY u.k;

-- name: minus_like
SELECT id FROM accounts EXCEPT SELECT account FROM payments;

-- Lateral views

-- name: tags_of
SELECT e.id, t.tag FROM events e LATERAL VIEW explode(e.tags) t AS tag;

-- name: tags_outer
SELECT e.id, t.pos, t.tag FROM events e
  LATERAL VIEW OUTER posexplode(e.tags) t AS pos, tag;

-- name: lines_of
SELECT e.id, l.item.sku, l.item.qty * l.item.price AS cost FROM events e
  LATERAL VIEW explode(e.lines) l AS item;

-- name: lines_inline
SELECT e.id, sku, qty, price FROM events e
  LATERAL VIEW inline(e.lines) l AS sku, qty, price;

-- name: attrs_of
SELECT e.id, k, v FROM events e LATERAL VIEW explode(e.attrs) x AS k, v;

-- name: words
SELECT id, word FROM payments LATERAL VIEW explode(split(note, '[|]')) w AS word;

-- name: unpivoted
SELECT id, what, n FROM accounts
  LATERAL VIEW stack(2, 'flags', flags, 'tier', cast(tier AS int)) s AS what, n;

-- name: stacked_numbers
SELECT s.n, count(*) AS c FROM accounts
  LATERAL VIEW stack(2, id, parent) s AS n GROUP BY s.n;

-- name: two_laterals
SELECT e.id, tag, k FROM events e LATERAL VIEW explode(e.tags) t AS tag
  LATERAL VIEW explode(e.attrs) a AS k, v;

-- name: lateral_filter
SELECT tag, count(DISTINCT e.id) AS n FROM events e
  LATERAL VIEW explode(tags) t AS tag WHERE tag IS NOT NULL GROUP BY tag;

-- CASE and conditions

-- name: buckets
SELECT id, CASE WHEN balance < 0 THEN 'debt' WHEN balance = 0 THEN 'zero' WHEN
  balance BETWEEN 1 AND 2000 THEN 'some' ELSE 'much' END AS bucket FROM accounts;

-- name: simple_case
SELECT id, CASE kind WHEN 'card' THEN 1 WHEN 'cash' THEN 2 ELSE 0 END AS k,
  CASE WHEN currency IN ('CHF', 'EUR') THEN currency END AS c FROM payments;

-- name: decode_like
SELECT id, if(closed = '', 'open', if(closed IS NULL, 'unknown', 'closed')) AS
  state, nvl(name, 'nobody') AS n, coalesce(phone, name, 'x') AS p FROM accounts;

-- name: not_equal
SELECT id FROM accounts WHERE country != 'CH' AND NOT (segment = 'A');

-- name: pattern_match
SELECT id FROM accounts WHERE name LIKE 'A%' OR phone RLIKE '^[+]?[0-9 ]+$';

-- name: not_like
SELECT id FROM accounts WHERE name NOT LIKE '%n%' AND phone NOT RLIKE 'x';

-- name: flags
SELECT id, flags & 1 AS odd, (flags & 4) > 0 AS third, flags | 8 AS e, flags ^ 1 AS x
  FROM accounts;

-- name: in_text_numbers
SELECT id FROM events WHERE account_id IN ('1', '2', 'x');

-- name: between_dates
SELECT id FROM accounts WHERE opened BETWEEN '2020-01-01' AND '2021-12-31';

-- name: between_times
SELECT id FROM payments WHERE paid_at BETWEEN '2024-01-01 00:00:00' AND
  '2024-01-31 23:59:59';

-- name: year_filter
SELECT id FROM payments WHERE year(paid_at) = 2024 AND month(paid_at) = 2;

-- name: month_text
SELECT id, month FROM payments WHERE month >= '2024-02';

-- name: number_of_text
SELECT id, cast(account_id AS int) AS a, cast(id AS bigint) AS b,
  cast(attrs['v'] AS double) AS v FROM events;

-- name: text_of_number
SELECT id, concat(cast(id AS string), '-', batch) AS k,
  concat('v', value) AS v FROM payments;

-- Dates

-- name: month_ends
SELECT id, last_day(opened) AS e, trunc(opened, 'MM') AS s,
  add_months(opened, 12) AS next_year, date_add(opened, 30) AS later,
  datediff('2024-12-31', opened) AS days FROM accounts;

-- name: age
SELECT id, floor(months_between('2024-06-30', opened) / 12) AS years,
  cast(months_between(date '2024-06-30', opened) AS int) AS months FROM accounts;

-- name: parts
SELECT id, year(paid_at) AS y, quarter(paid_at) AS q, month(paid_at) AS m,
  day(paid_at) AS d, hour(paid_at) AS h, minute(paid_at) AS mi, weekofyear(paid_at) AS w,
  dayofweek(paid_at) AS dw FROM payments;

-- name: formatted
SELECT id, date_format(paid_at, 'yyyyMMdd') AS k,
  cast(date_format(paid_at, 'yyyyMM') AS int) AS period,
  concat(year(paid_at), '-', lpad(cast(month(paid_at) AS string), 2, '0')) AS ym FROM payments;

-- name: day_of_time
SELECT to_date(paid_at) AS d, count(*) AS n FROM payments GROUP BY
  to_date(paid_at);

-- name: text_dates
SELECT id, to_date(closed) AS d, cast(substr(closed, 1, 10) AS date) AS e,
  datediff(to_date(closed), opened) AS n FROM accounts;

-- name: text_times
SELECT id, cast(at_text AS timestamp) AS t, to_date(at_text) AS d,
  year(at_text) AS y, substr(at_text, 1, 7) AS m FROM events;

-- name: date_compares
SELECT a.id, c.label FROM accounts a JOIN calendar c ON a.opened = c.day OR
  to_date(a.closed) = c.day;

-- Texts

-- name: cleaned
SELECT id, trim(name) AS t, upper(trim(name)) AS u, regexp_replace(phone,
  '[^0-9]', '') AS digits, length(name) AS n, reverse(country) AS r FROM accounts;

-- name: extracted
SELECT id, regexp_extract(note, '(\\w+)=(\\d+)', 2) AS n,
  split(note, '[|]')[1] AS second, instr(note, '=') AS at_place,
  substring_index(note, '&', 1) AS front FROM payments;

-- name: keys_of
SELECT md5(concat_ws('|', cast(id AS string), kind, coalesce(currency, ''))) AS k,
  sha2(kind, 256) AS h FROM payments;

-- name: json_of
SELECT id, get_json_object(payload, '$.type') AS type,
  cast(get_json_object(payload, '$.n') AS int) AS n,
  get_json_object(payload, '$.deep.k[1]') AS k FROM events;

-- name: escapes
SELECT id, 'it\'s' AS a, "a \"b\"" AS b, 'tab\tend' AS c, 'x\\y' AS d,
  ';' AS e, '--no comment' AS f, '/* nor this */' AS g, 'ü' AS h FROM accounts;

-- name: quotes
SELECT id FROM payments WHERE note LIKE '%"%' OR note = 'back\\slash';

-- name: commented
SELECT /* all of them */ id, -- the key
 name -- the name's text
FROM accounts
  /* no more */ WHERE id > 0 -- end;

-- name: quoted_names
SELECT `id` AS `the id`, `name` AS `from`, `balance` AS `Balance in CHF`,
  `tier` AS `select` FROM `accounts` AS `order`;

-- name: concats
SELECT id, name || ' (' || country || ')' AS label, concat_ws(', ', name, country,
  phone) AS all_of, concat(country, ':', segment) AS s FROM accounts;

-- Numbers

-- name: rates
SELECT p.id, round(p.value * f.rate, 2) AS chf, cast(p.value * f.rate AS
  decimal(12,2)) AS d, p.value / 3 AS third, round(p.value, 0) AS r FROM payments p JOIN fx f
  ON p.currency = f.currency;

-- name: decimals
SELECT id, balance * 1.5 AS a, balance * 2.0 AS b, balance / 2.00 AS c, balance +
  100.0 AS d, balance - 0.50 AS e, 1 - balance AS f, balance % 7 AS g, 0.0 AS z FROM accounts;

-- name: integers
SELECT id, flags / 2 AS half, flags DIV 2 AS whole, flags % 3 AS rest, flags *
  tier AS product, -flags AS negated, pmod(flags - 10, 3) AS p, id * 10 AS big FROM accounts;

-- name: small_integers
SELECT id, abs(tier) AS a, tier + tier AS s, tier * tier AS m, -tier AS n,
  tier DIV 2 AS d, tier % 2 AS r, tier & 3 AS b, ~tier AS i, tier - 1 AS o,
  coalesce(tier, 0) AS c, if(tier > 1, tier, 0) AS f, greatest(tier, 2) AS g FROM accounts;

-- name: doubles
SELECT id, score * 2 AS a, score / 3 AS b, round(score, 1) AS c, floor(score) AS d,
  ceil(score) AS e, cast(score AS int) AS f, abs(score) AS g, score > 0.5 AS h,
  cast(score AS decimal(20,3)) AS i FROM accounts;

-- name: percentages
SELECT kind, count(*) AS n, round(100 * count(*) / sum(count(*)) OVER (), 1) AS
  share FROM payments GROUP BY kind;

-- Groups

-- name: totals
SELECT currency, month, count(*) AS n, count(value) AS paid, sum(value) AS s,
  avg(value) AS mean, min(paid_at) AS f, max(paid_at) AS l FROM payments
  GROUP BY currency, month HAVING count(*) >= 1 AND sum(value) IS NOT NULL;

-- name: distinct_counts
SELECT month, count(DISTINCT account) AS accounts, count(DISTINCT kind,
  currency) AS kinds, sum(DISTINCT batch) AS b FROM payments GROUP BY month;

-- name: conditional_sums
SELECT account, sum(CASE WHEN kind = 'card' THEN value ELSE 0 END) AS
  card, sum(if(kind <> 'card', value, 0)) AS other, max(CASE WHEN month = '2024-01' THEN 1 ELSE
  0 END) AS january FROM payments GROUP BY account;

-- name: grouping_sets
SELECT month, kind, sum(value) AS s FROM payments GROUP BY month, kind
  GROUPING SETS ((month, kind), month, ());

-- name: cubes
SELECT month, currency, count(*) AS n FROM payments GROUP BY month, currency
  WITH CUBE;

-- name: rollups
SELECT country, segment, sum(balance) AS s FROM accounts GROUP BY
  ROLLUP (country, segment);

-- name: by_case
SELECT CASE WHEN value > 50 THEN 'big' ELSE 'small' END AS size_of, count(*) AS n
  FROM payments GROUP BY CASE WHEN value > 50 THEN 'big' ELSE 'small' END;

-- name: distinct_rows
SELECT DISTINCT country, segment FROM accounts;

-- name: having_alone
SELECT country FROM accounts GROUP BY country HAVING max(balance) > 100;

-- name: sets
SELECT account, sort_array(collect_set(kind)) AS kinds, size(collect_list(id)) AS n
  FROM payments GROUP BY account;

-- Windows

-- name: latest
SELECT id, account, value FROM (SELECT p.*, row_number() OVER (PARTITION BY account
  ORDER BY paid_at DESC, id DESC) AS rn FROM payments p) t WHERE t.rn = 1;

-- name: running
SELECT id, sum(value) OVER (PARTITION BY account ORDER BY paid_at, id ROWS BETWEEN
  UNBOUNDED PRECEDING AND CURRENT ROW) AS s, lag(value, 1) OVER (PARTITION BY account ORDER BY
  paid_at, id) AS before, lead(paid_at) OVER (PARTITION BY account ORDER BY paid_at, id) AS
  next_at FROM payments;

-- name: ranks
SELECT id, rank() OVER (PARTITION BY currency ORDER BY value DESC) AS r,
  dense_rank() OVER (ORDER BY kind) AS d, ntile(2) OVER (ORDER BY id) AS half,
  count(*) OVER (PARTITION BY month) AS n FROM payments;

-- name: first_of
SELECT DISTINCT account, first_value(value) OVER (PARTITION BY account ORDER BY
  paid_at, id) AS f FROM payments;

-- name: named_window
SELECT id, sum(value) OVER w AS s, max(value) OVER w AS m FROM payments
  WINDOW w AS (PARTITION BY currency ORDER BY id);

-- Views over views, order, limits

-- name: base_view
SELECT id, name, balance, opened FROM accounts WHERE id < 6;

-- name: over_base
SELECT b.name, b.balance * 2 AS twice FROM base_view b WHERE b.balance > 0;

-- name: over_over
SELECT o.name, count(*) AS n, max(o.twice) AS m FROM over_base o
  JOIN payments p ON p.value < o.twice GROUP BY o.name;

-- name: top_two
SELECT id, balance FROM accounts ORDER BY balance DESC LIMIT 2;

-- name: top_by_number
SELECT name, id FROM accounts ORDER BY 2 DESC LIMIT 3;

-- name: paged
SELECT id FROM accounts ORDER BY id LIMIT 2 OFFSET 1;

-- name: distributed
SELECT id, account FROM payments DISTRIBUTE BY account SORT BY account,
  id DESC;

-- name: clustered
SELECT id, account FROM payments CLUSTER BY account;

-- name: smallest_nulls
SELECT id, name FROM accounts ORDER BY name, id LIMIT 3;

-- name: scalar_sub
SELECT id, value, value > (SELECT avg(value) FROM payments) AS above
  FROM payments;

-- name: correlated
SELECT a.id FROM accounts a WHERE a.balance > (SELECT sum(p.value) FROM payments
  p WHERE p.account = a.id);

-- name: in_query
SELECT id FROM payments WHERE account IN (SELECT id FROM accounts WHERE country =
  'DE') AND currency NOT IN (SELECT currency FROM fx WHERE rate < 0.9);

-- name: stars
SELECT a.*, p.value FROM accounts a JOIN payments p ON a.id = p.account;

-- name: codes_view
SELECT c.code, c.label, c.rank_of, a.id FROM codes c JOIN accounts a
  ON c.code = a.segment;

-- name: everything_twice
SELECT *, id AS again FROM codes_view;

-- name: codes_text
SELECT a.id, concat(c.code, '|') AS k, length(c.code) AS n, c.code = 'A' AS
  is_a, c.code LIKE 'A' AS like_a, upper(c.label) AS l, c.code FROM codes c JOIN accounts a
  ON c.rank_of = a.id;

-- name: no_table_but_acid_below
SELECT x.n FROM (SELECT max(id) AS n FROM accounts) x;

-- name: constants
SELECT 1 AS one, 2.50 AS d, 3.0 AS whole, 1e3 AS dbl, 'a' AS s, true AS t,
  cast(null AS string) AS n, 10L AS l FROM fx WHERE currency = 'CHF';

-- name: implicit
SELECT p.id FROM payments p WHERE p.batch = '1' AND p.batch < '20';

-- name: implicit_dates
SELECT id FROM accounts WHERE opened > '2020-03-01' AND opened <>
  '2024-01-01';

-- name: text_arithmetic
SELECT id, account_id + 1 AS n, account_id * 2 AS m FROM events;

-- name: nested_structs
SELECT id, lines[0].sku AS sku, lines[0] AS item, size(lines) AS n,
  attrs['os'] AS os, tags[0] AS tag, array_contains(tags, 'vip') AS vip FROM events;

-- name: struct_made
SELECT id, named_struct('n', name, 'b', balance) AS s, array(id, parent) AS a,
  map('x', country) AS m FROM accounts;
