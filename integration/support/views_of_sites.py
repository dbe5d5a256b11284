r"""Tables and views as sites have them: the rows of a view are those of Hive's `SELECT *`."""

from __future__ import annotations

from integration.support.small_tables import ACID

SETUP = f"""
CREATE TABLE accounts (id bigint, name string, segment char(4), country varchar(10), opened date,
  closed string, balance decimal(18,4), score double, flags int, tier tinyint, parent bigint,
  phone string) {ACID};
INSERT INTO accounts VALUES
  (1, 'Ann Lee', 'A', 'CH', '2020-02-29', '', 1234.5, 0.75, 5, 1, null, '+41 31 123 45 67'),
  (2, 'bob', 'B', 'ch', '2021-12-31', '2024-01-15', -20.25, -1.5, 3, 2, 1, '031-555'),
  (3, "O'Neil", 'A', 'DE', '2019-01-01', null, 0, 1e10, 0, null, 1, null),
  (4, null, null, null, null, 'never', null, null, null, 3, 9, ''),
  (5, '  Zoë ', 'C1', 'AT', '2024-02-29', '2024-02-30', 99999999.9999, 0.1, 12, 127, 5, '12345'),
  (6, 'Ann Lee', 'B', 'DE', '2020-02-29', '2023-06-01 10:00:00', 10, 2.5, 8, -1, 2, 'n/a');
CREATE TABLE payments (id bigint, account bigint, paid_at timestamp, value decimal(12,2),
  currency string, kind string, note string, batch int) PARTITIONED BY (month string) {ACID};
INSERT INTO payments PARTITION (month = '2024-01') VALUES
  (10, 1, '2024-01-31 23:59:59.5', 100.00, 'CHF', 'card', 'first; "quoted"', 1),
  (11, 1, '2024-01-01 00:00:00', 50.25, 'EUR', 'cash', 'back\\\\slash', 1),
  (12, 2, '2024-01-15 12:30:00', -10.00, 'USD', 'card', 'a|b|c', 2),
  (13, 9, null, 7.77, null, 'card', null, null);
INSERT INTO payments PARTITION (month = '2024-02') VALUES
  (20, 3, '2024-02-29 08:00:00', 1000.10, 'CHF', 'wire', 'x=1&y=2', 3),
  (21, 3, '2024-02-29 08:00:00', 0.01, 'EUR', 'wire', 'tab\there', 3),
  (22, 5, '2024-02-10 10:00:00.123456', null, 'CHF', 'x', '2024-02-11', 4);
CREATE TABLE events (id string, account_id string, at_text string, epoch bigint, payload string,
  tags array<string>, attrs map<string,string>,
  lines array<struct<sku:string,qty:int,price:decimal(8,2)>>) {ACID};
INSERT INTO events SELECT '1', '1', '2024-01-05 10:11:12', 1704449472,
  '{{"type":"click","n":3,"deep":{{"k":["a","b"]}}}}', array('new', 'vip'),
  map('os', 'ios', 'v', '12'),
  array(named_struct('sku', 's1', 'qty', 2, 'price', cast(9.99 AS decimal(8,2))),
    named_struct('sku', 's2', 'qty', cast(null AS int), 'price', cast(1 AS decimal(8,2))));
INSERT INTO events SELECT '2', '2', '2024-01-06', 1704499200, '{{"type":"view","n":"x"}}',
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
DELETE FROM payments WHERE id = 13
"""

READ = {
    # Joins
    "joined_three": "SELECT p.id, a.name, c.label FROM payments p JOIN accounts a"
    " ON (p.account = a.id) LEFT OUTER JOIN codes c ON (a.segment = c.code)",
    "joined_using": "SELECT p.id AS pid, f.rate FROM payments p JOIN fx f USING (currency)",
    "joined_on_range": "SELECT p.id, f.rate FROM payments p JOIN fx f ON p.currency = f.currency"
    " AND p.paid_at >= f.since AND p.value > 1",
    "right_joined": "SELECT a.id, p.id AS p FROM payments p RIGHT OUTER JOIN accounts a"
    " ON p.account = a.id",
    "self_joined": "SELECT c.id, c.name, p.name AS parent FROM accounts c LEFT JOIN accounts p"
    " ON c.parent = p.id",
    "semi": "SELECT a.id FROM accounts a LEFT SEMI JOIN payments p"
    " ON (a.id = p.account AND p.kind = 'card')",
    "anti": "SELECT a.id, a.name FROM accounts a WHERE NOT EXISTS"
    " (SELECT 1 FROM payments p WHERE p.account = a.id)",
    "left_anti_by_null": "SELECT a.id FROM accounts a LEFT JOIN payments p ON a.id = p.account"
    " WHERE p.id IS NULL",
    "cross_with_filter": "SELECT a.id, c.day FROM accounts a CROSS JOIN calendar c"
    " WHERE c.day > a.opened",
    "old_commas": "SELECT a.name, p.value, c.label FROM accounts a, payments p, codes c"
    " WHERE a.id = p.account AND a.segment = c.code AND c.rank_of <> 3",
    "null_safe_join": "SELECT a.id, b.id AS other FROM accounts a JOIN accounts b"
    " ON a.country <=> b.country AND a.id < b.id",
    "subquery_join": "SELECT a.id, t.total, t.n FROM accounts a JOIN (SELECT account, sum(value) AS"
    " total, count(*) AS n FROM payments GROUP BY account) t ON t.account = a.id",
    # With clauses, unions
    "ctes": "WITH paid AS (SELECT account, sum(value) AS s FROM payments GROUP BY account),"
    " big AS (SELECT * FROM paid WHERE s > 10) SELECT a.name, b.s FROM big b JOIN accounts a"
    " ON a.id = b.account",
    "cte_twice": "WITH p AS (SELECT id, value FROM payments WHERE value IS NOT NULL)"
    " SELECT x.id, y.id AS above FROM p x JOIN p y ON x.value < y.value",
    "unions": "SELECT 'a' AS src, cast(id AS string) AS k, name AS v FROM accounts UNION ALL"
    " SELECT 'p', cast(id AS string), note FROM payments UNION ALL"
    " SELECT 'e', id, payload FROM events",
    "union_types": "SELECT tier AS n FROM accounts UNION ALL SELECT batch FROM payments UNION ALL"
    " SELECT rank_of FROM codes",
    "union_decimals": "SELECT balance AS n FROM accounts UNION ALL SELECT value FROM payments",
    "union_distinct": "SELECT country FROM accounts UNION DISTINCT SELECT currency FROM payments",
    "union_sub": "SELECT u.k, count(*) AS n FROM (SELECT country AS k FROM accounts UNION ALL"
    " SELECT currency AS k FROM payments) u GROUP BY u.k",
    "minus_like": "SELECT id FROM accounts EXCEPT SELECT account FROM payments",
    # Lateral views
    "tags_of": "SELECT e.id, t.tag FROM events e LATERAL VIEW explode(e.tags) t AS tag",
    "tags_outer": "SELECT e.id, t.pos, t.tag FROM events e"
    " LATERAL VIEW OUTER posexplode(e.tags) t AS pos, tag",
    "lines_of": "SELECT e.id, l.item.sku, l.item.qty * l.item.price AS cost FROM events e"
    " LATERAL VIEW explode(e.lines) l AS item",
    "lines_inline": "SELECT e.id, sku, qty, price FROM events e"
    " LATERAL VIEW inline(e.lines) l AS sku, qty, price",
    "attrs_of": "SELECT e.id, k, v FROM events e LATERAL VIEW explode(e.attrs) x AS k, v",
    "words": "SELECT id, word FROM payments LATERAL VIEW explode(split(note, '[|]')) w AS word",
    "unpivoted": "SELECT id, what, n FROM accounts"
    " LATERAL VIEW stack(2, 'flags', flags, 'tier', cast(tier AS int)) s AS what, n",
    "stacked_numbers": "SELECT s.n, count(*) AS c FROM accounts"
    " LATERAL VIEW stack(2, id, parent) s AS n GROUP BY s.n",
    "two_laterals": "SELECT e.id, tag, k FROM events e LATERAL VIEW explode(e.tags) t AS tag"
    " LATERAL VIEW explode(e.attrs) a AS k, v",
    "lateral_filter": "SELECT tag, count(DISTINCT e.id) AS n FROM events e"
    " LATERAL VIEW explode(tags) t AS tag WHERE tag IS NOT NULL GROUP BY tag",
    # CASE and conditions
    "buckets": "SELECT id, CASE WHEN balance < 0 THEN 'debt' WHEN balance = 0 THEN 'zero' WHEN"
    " balance BETWEEN 1 AND 2000 THEN 'some' ELSE 'much' END AS bucket FROM accounts",
    "simple_case": "SELECT id, CASE kind WHEN 'card' THEN 1 WHEN 'cash' THEN 2 ELSE 0 END AS k,"
    " CASE WHEN currency IN ('CHF', 'EUR') THEN currency END AS c FROM payments",
    "decode_like": "SELECT id, if(closed = '', 'open', if(closed IS NULL, 'unknown', 'closed')) AS"
    " state, nvl(name, 'nobody') AS n, coalesce(phone, name, 'x') AS p FROM accounts",
    "not_equal": "SELECT id FROM accounts WHERE country != 'CH' AND NOT (segment = 'A')",
    "pattern_match": "SELECT id FROM accounts WHERE name LIKE 'A%' OR phone RLIKE '^[+]?[0-9 ]+$'",
    "not_like": "SELECT id FROM accounts WHERE name NOT LIKE '%n%' AND phone NOT RLIKE 'x'",
    "flags": "SELECT id, flags & 1 AS odd, (flags & 4) > 0 AS third, flags | 8 AS e, flags ^ 1 AS x"
    " FROM accounts",
    "in_text_numbers": "SELECT id FROM events WHERE account_id IN ('1', '2', 'x')",
    "between_dates": "SELECT id FROM accounts WHERE opened BETWEEN '2020-01-01' AND '2021-12-31'",
    "between_times": "SELECT id FROM payments WHERE paid_at BETWEEN '2024-01-01 00:00:00' AND"
    " '2024-01-31 23:59:59'",
    "year_filter": "SELECT id FROM payments WHERE year(paid_at) = 2024 AND month(paid_at) = 2",
    "month_text": "SELECT id, month FROM payments WHERE month >= '2024-02'",
    "number_of_text": "SELECT id, cast(account_id AS int) AS a, cast(id AS bigint) AS b,"
    " cast(attrs['v'] AS double) AS v FROM events",
    "text_of_number": "SELECT id, concat(cast(id AS string), '-', batch) AS k,"
    " concat('v', value) AS v FROM payments",
    # Dates
    "month_ends": "SELECT id, last_day(opened) AS e, trunc(opened, 'MM') AS s,"
    " add_months(opened, 12) AS next_year, date_add(opened, 30) AS later,"
    " datediff('2024-12-31', opened) AS days FROM accounts",
    "age": "SELECT id, floor(months_between('2024-06-30', opened) / 12) AS years,"
    " cast(months_between(date '2024-06-30', opened) AS int) AS months FROM accounts",
    "parts": "SELECT id, year(paid_at) AS y, quarter(paid_at) AS q, month(paid_at) AS m,"
    " day(paid_at) AS d, hour(paid_at) AS h, minute(paid_at) AS mi, weekofyear(paid_at) AS w,"
    " dayofweek(paid_at) AS dw FROM payments",
    "formatted": "SELECT id, date_format(paid_at, 'yyyyMMdd') AS k,"
    " cast(date_format(paid_at, 'yyyyMM') AS int) AS period,"
    " concat(year(paid_at), '-', lpad(cast(month(paid_at) AS string), 2, '0')) AS ym FROM payments",
    "day_of_time": "SELECT to_date(paid_at) AS d, count(*) AS n FROM payments GROUP BY"
    " to_date(paid_at)",
    "text_dates": "SELECT id, to_date(closed) AS d, cast(substr(closed, 1, 10) AS date) AS e,"
    " datediff(to_date(closed), opened) AS n FROM accounts",
    "text_times": "SELECT id, cast(at_text AS timestamp) AS t, to_date(at_text) AS d,"
    " year(at_text) AS y, substr(at_text, 1, 7) AS m FROM events",
    "date_compares": "SELECT a.id, c.label FROM accounts a JOIN calendar c ON a.opened = c.day OR"
    " to_date(a.closed) = c.day",
    # Texts
    "cleaned": "SELECT id, trim(name) AS t, upper(trim(name)) AS u, regexp_replace(phone,"
    " '[^0-9]', '') AS digits, length(name) AS n, reverse(country) AS r FROM accounts",
    "extracted": "SELECT id, regexp_extract(note, '(\\\\w+)=(\\\\d+)', 2) AS n,"
    " split(note, '[|]')[1] AS second, instr(note, '=') AS at_place,"
    " substring_index(note, '&', 1) AS front FROM payments",
    "keys_of": "SELECT md5(concat_ws('|', cast(id AS string), kind, coalesce(currency, ''))) AS k,"
    " sha2(kind, 256) AS h FROM payments",
    "json_of": "SELECT id, get_json_object(payload, '$.type') AS type,"
    " cast(get_json_object(payload, '$.n') AS int) AS n,"
    " get_json_object(payload, '$.deep.k[1]') AS k FROM events",
    "escapes": "SELECT id, 'it\\'s' AS a, \"a \\\"b\\\"\" AS b, 'tab\\tend' AS c, 'x\\\\y' AS d,"
    " ';' AS e, '--no comment' AS f, '/* nor this */' AS g, 'ü' AS h FROM accounts",
    "quotes": "SELECT id FROM payments WHERE note LIKE '%\"%' OR note = 'back\\\\slash'",
    "commented": "SELECT /* all of them */ id, -- the key\n name -- the name's text\nFROM accounts"
    " /* no more */ WHERE id > 0 -- end",
    "quoted_names": "SELECT `id` AS `the id`, `name` AS `from`, `balance` AS `Balance in CHF`,"
    " `tier` AS `select` FROM `accounts` AS `order`",
    "concats": "SELECT id, name || ' (' || country || ')' AS label, concat_ws(', ', name, country,"
    " phone) AS all_of, concat(country, ':', segment) AS s FROM accounts",
    # Numbers
    "rates": "SELECT p.id, round(p.value * f.rate, 2) AS chf, cast(p.value * f.rate AS"
    " decimal(12,2)) AS d, p.value / 3 AS third, round(p.value, 0) AS r FROM payments p JOIN fx f"
    " ON p.currency = f.currency",
    "decimals": "SELECT id, balance * 1.5 AS a, balance * 2.0 AS b, balance / 2.00 AS c, balance +"
    " 100.0 AS d, balance - 0.50 AS e, 1 - balance AS f, balance % 7 AS g, 0.0 AS z FROM accounts",
    "integers": "SELECT id, flags / 2 AS half, flags DIV 2 AS whole, flags % 3 AS rest, flags *"
    " tier AS product, -flags AS negated, pmod(flags - 10, 3) AS p, id * 10 AS big FROM accounts",
    "small_integers": "SELECT id, abs(tier) AS a, tier + tier AS s, tier * tier AS m, -tier AS n,"
    " tier DIV 2 AS d, tier % 2 AS r, tier & 3 AS b, ~tier AS i, tier - 1 AS o,"
    " coalesce(tier, 0) AS c, if(tier > 1, tier, 0) AS f, greatest(tier, 2) AS g FROM accounts",
    "doubles": "SELECT id, score * 2 AS a, score / 3 AS b, round(score, 1) AS c, floor(score) AS d,"
    " ceil(score) AS e, cast(score AS int) AS f, abs(score) AS g, score > 0.5 AS h,"
    " cast(score AS decimal(20,3)) AS i FROM accounts",
    "percentages": "SELECT kind, count(*) AS n, round(100 * count(*) / sum(count(*)) OVER (), 1) AS"
    " share FROM payments GROUP BY kind",
    # Groups
    "totals": "SELECT currency, month, count(*) AS n, count(value) AS paid, sum(value) AS s,"
    " avg(value) AS mean, min(paid_at) AS f, max(paid_at) AS l FROM payments"
    " GROUP BY currency, month HAVING count(*) >= 1 AND sum(value) IS NOT NULL",
    "distinct_counts": "SELECT month, count(DISTINCT account) AS accounts, count(DISTINCT kind,"
    " currency) AS kinds, sum(DISTINCT batch) AS b FROM payments GROUP BY month",
    "conditional_sums": "SELECT account, sum(CASE WHEN kind = 'card' THEN value ELSE 0 END) AS"
    " card, sum(if(kind <> 'card', value, 0)) AS other, max(CASE WHEN month = '2024-01' THEN 1 ELSE"
    " 0 END) AS january FROM payments GROUP BY account",
    "grouping_sets": "SELECT month, kind, sum(value) AS s FROM payments GROUP BY month, kind"
    " GROUPING SETS ((month, kind), month, ())",
    "cubes": "SELECT month, currency, count(*) AS n FROM payments GROUP BY month, currency"
    " WITH CUBE",
    "rollups": "SELECT country, segment, sum(balance) AS s FROM accounts GROUP BY"
    " ROLLUP (country, segment)",
    "by_case": "SELECT CASE WHEN value > 50 THEN 'big' ELSE 'small' END AS size_of, count(*) AS n"
    " FROM payments GROUP BY CASE WHEN value > 50 THEN 'big' ELSE 'small' END",
    "distinct_rows": "SELECT DISTINCT country, segment FROM accounts",
    "having_alone": "SELECT country FROM accounts GROUP BY country HAVING max(balance) > 100",
    "sets": "SELECT account, sort_array(collect_set(kind)) AS kinds, size(collect_list(id)) AS n"
    " FROM payments GROUP BY account",
    # Windows
    "latest": "SELECT id, account, value FROM (SELECT p.*, row_number() OVER (PARTITION BY account"
    " ORDER BY paid_at DESC, id DESC) AS rn FROM payments p) t WHERE t.rn = 1",
    "running": "SELECT id, sum(value) OVER (PARTITION BY account ORDER BY paid_at, id ROWS BETWEEN"
    " UNBOUNDED PRECEDING AND CURRENT ROW) AS s, lag(value, 1) OVER (PARTITION BY account ORDER BY"
    " paid_at, id) AS before, lead(paid_at) OVER (PARTITION BY account ORDER BY paid_at, id) AS"
    " next_at FROM payments",
    "ranks": "SELECT id, rank() OVER (PARTITION BY currency ORDER BY value DESC) AS r,"
    " dense_rank() OVER (ORDER BY kind) AS d, ntile(2) OVER (ORDER BY id) AS half,"
    " count(*) OVER (PARTITION BY month) AS n FROM payments",
    "first_of": "SELECT DISTINCT account, first_value(value) OVER (PARTITION BY account ORDER BY"
    " paid_at, id) AS f FROM payments",
    "named_window": "SELECT id, sum(value) OVER w AS s, max(value) OVER w AS m FROM payments"
    " WINDOW w AS (PARTITION BY currency ORDER BY id)",
    # Views over views, order, limits
    "base_view": "SELECT id, name, balance, opened FROM accounts WHERE id < 6",
    "over_base": "SELECT b.name, b.balance * 2 AS twice FROM base_view b WHERE b.balance > 0",
    "over_over": "SELECT o.name, count(*) AS n, max(o.twice) AS m FROM over_base o"
    " JOIN payments p ON p.value < o.twice GROUP BY o.name",
    "top_two": "SELECT id, balance FROM accounts ORDER BY balance DESC LIMIT 2",
    "top_by_number": "SELECT name, id FROM accounts ORDER BY 2 DESC LIMIT 3",
    "paged": "SELECT id FROM accounts ORDER BY id LIMIT 2 OFFSET 1",
    "distributed": "SELECT id, account FROM payments DISTRIBUTE BY account SORT BY account,"
    " id DESC",
    "clustered": "SELECT id, account FROM payments CLUSTER BY account",
    "smallest_nulls": "SELECT id, name FROM accounts ORDER BY name, id LIMIT 3",
    "scalar_sub": "SELECT id, value, value > (SELECT avg(value) FROM payments) AS above"
    " FROM payments",
    "correlated": "SELECT a.id FROM accounts a WHERE a.balance > (SELECT sum(p.value) FROM payments"
    " p WHERE p.account = a.id)",
    "in_query": "SELECT id FROM payments WHERE account IN (SELECT id FROM accounts WHERE country ="
    " 'DE') AND currency NOT IN (SELECT currency FROM fx WHERE rate < 0.9)",
    "stars": "SELECT a.*, p.value FROM accounts a JOIN payments p ON a.id = p.account",
    "codes_view": "SELECT c.code, c.label, c.rank_of, a.id FROM codes c JOIN accounts a"
    " ON c.code = a.segment",
    "everything_twice": "SELECT *, id AS again FROM codes_view",
    "codes_text": "SELECT a.id, concat(c.code, '|') AS k, length(c.code) AS n, c.code = 'A' AS"
    " is_a, c.code LIKE 'A' AS like_a, upper(c.label) AS l, c.code FROM codes c JOIN accounts a"
    " ON c.rank_of = a.id",
    "no_table_but_acid_below": "SELECT x.n FROM (SELECT max(id) AS n FROM accounts) x",
    "constants": "SELECT 1 AS one, 2.50 AS d, 3.0 AS whole, 1e3 AS dbl, 'a' AS s, true AS t,"
    " cast(null AS string) AS n, 10L AS l FROM fx WHERE currency = 'CHF'",
    "implicit": "SELECT p.id FROM payments p WHERE p.batch = '1' AND p.batch < '20'",
    "implicit_dates": "SELECT id FROM accounts WHERE opened > '2020-03-01' AND opened <>"
    " '2024-01-01'",
    "text_arithmetic": "SELECT id, account_id + 1 AS n, account_id * 2 AS m FROM events",
    "nested_structs": "SELECT id, lines[0].sku AS sku, lines[0] AS item, size(lines) AS n,"
    " attrs['os'] AS os, tags[0] AS tag, array_contains(tags, 'vip') AS vip FROM events",
    "struct_made": "SELECT id, named_struct('n', name, 'b', balance) AS s, array(id, parent) AS a,"
    " map('x', country) AS m FROM accounts",
}
"""Views that are read, and their queries. A view comes after those that it names."""
