"""Queries with ACID names at every place of Spark's grammar where a relation can stand."""

NAMES = """
select * from {d}.orders
select * from spark_catalog.{d}.orders
select * from `spark_catalog`.`{d}`.`orders`
select * from {D}.Orders
select * from `{D}` . `ORDERS`
select * from orders
select * from OrDeRs
select * from {d} . /* {d}.customers */ orders
select*from{b}{d}{b}.{b}orders{b}
select * from {d}.customers
select * from {d}.lines
select * from {d}.grown
select * from {d}.`odd name`
select `odd name`.id from {d}.`odd name`
select `{d}`.`odd name`.`id` from {d}.`odd name`
select * from {d}.`select`
select * from `select`
select `select`.id from `select`
select id from {d}.plain
select o.id, p.id from {d}.plain p join {d}.orders o on o.id = p.id
use {t} ;; select * from {d}.orders ;; select o.id from {d}.orders o ;; use {d}
use {d} ;; select * from orders where id in (select id from customers)
set spark.sql.ansi.doubleQuotedIdentifiers = true
  ;; set spark.sql.ansi.enabled = true
  ;; select "id", 'it' from "{d}"."orders"
  ;; reset spark.sql.ansi.doubleQuotedIdentifiers
  ;; set spark.sql.ansi.enabled = false
"""

CASE = """
set spark.sql.caseSensitive = true ;; select * from {D}.Orders ;; select Orders.id from {d}.Orders
  ;; select * from {d}.orders where exists (select 1 from {d}.Customers)
  ;; reset spark.sql.caseSensitive
"""

SELECT_LIST = """
select (select max(id) from {d}.orders)
select (select max(id) from {d}.orders) as m, o.id from {d}.orders o
select id, (select max(quantity) from {d}.lines l where l.order_id = o.id) q from {d}.orders o
select id, exists (select 1 from {d}.lines l where l.order_id = o.id) e from {d}.orders o
select id, id in (select order_id from {d}.lines) i from {d}.orders
select id, customer_id not in (select id from {d}.customers where id is not null) n from {d}.orders
select case when (select count(*) from {d}.orders) > 3 then 'many' else 'few' end
select coalesce((select name from {d}.customers where id = 1), (select min(status) from {d}.orders))
select struct((select min(id) from {d}.orders) as a, (select max(id) from {d}.orders) as b)
select named_struct('o', (select max(amount) from {d}.orders), 'c', array(1, 2)) s
select array((select min(id) from {d}.orders), (select max(id) from {d}.orders))
select map('n', (select count(*) from {d}.lines))
select (select max((select count(*) from {d}.customers) + id) from {d}.orders)
select if((select count(*) from {d}.customers) > 1, id, -id) from {d}.orders
select sum(id) + (select sum(id) from {d}.customers) from {d}.orders
select (select count(*) from {d}.orders where customer_id = c.id) n, c.name from {d}.customers c
select cast((select max(id) from {d}.orders) as string) || '!' as s
select id + 1 as a, a + 1 as b from {d}.orders
select (values (1) tab(x) |> select x) + (select max(id) from {d}.orders) as v
"""

WHERE = """
select id from {d}.orders where amount > (select avg(amount) from {d}.orders)
select id from {d}.orders o where exists (select * from {d}.customers c where c.id = o.customer_id)
select id from {d}.orders o
  where not exists (select 1 from {d}.lines where lines.order_id = o.id)
select id from {d}.orders where customer_id in (select id from {d}.customers where country = 'de')
select id from {d}.orders where customer_id not in (select id from {d}.customers)
select id from {d}.orders where (id, customer_id) in (select order_id, line from {d}.lines)
select id from {d}.orders o where amount = (select max(amount) from {d}.orders i
  where i.customer_id = o.customer_id)
select id from {d}.orders where id between (select min(id) from {d}.orders) and 4
select id from {d}.orders where exists (select 1 from {d}.customers) and id in
  (select order_id from {d}.lines where day in (select max(day) from {d}.lines))
select id from {d}.orders where id in (select order_id from {d}.lines) or
  exists (select 1 from {d}.customers c where c.id = orders.customer_id and c.country = 'fr')
select day, sum(quantity) from {d}.lines group by day
  having sum(quantity) > (select min(quantity) from {d}.lines)
select customer_id, count(*) from {d}.orders o group by customer_id
  having exists (select 1 from {d}.customers c where c.id = o.customer_id)
select id from {d}.orders order by (select count(*) from {d}.customers), id limit 2
select * from {d}.lines where day = '2026-01-02'
select * from {d}.lines where day > (select min(day) from {d}.lines)
select id from {d}.orders where status like any ('n%', 's%')
select id from {d}.orders where array_contains(array(1, 2), id) or
  id in (select id from {d}.customers)
select id from {d}.orders where exists
  (with c as (select * from {d}.customers) select 1 from c where c.id = orders.customer_id)
"""

JOINS = """
select o.id, c.name from {d}.orders o join {d}.customers c on o.customer_id = c.id
select o.id, c.name from {d}.orders o inner join {d}.customers c on o.customer_id = c.id
select o.id, c.name from {d}.orders o left join {d}.customers c on o.customer_id = c.id
select o.id, c.name from {d}.orders as o right outer join {d}.customers as c on customer_id = c.id
select o.id, c.name from {d}.orders o full outer join {d}.customers c on o.customer_id = c.id
select * from {d}.customers c left semi join {d}.orders o on o.customer_id = c.id
select * from {d}.customers c semi join {d}.orders o on o.customer_id = c.id
select * from {d}.customers c left anti join {d}.orders o on o.customer_id = c.id
select * from {d}.customers anti join {d}.orders on orders.customer_id = customers.id
select o.id, c.id from {d}.orders o cross join {d}.customers c
select o.id, c.id from {d}.orders o, {d}.customers c where o.customer_id = c.id
select * from {d}.customers natural join {d}.`select`
select id, orders.status, customers.name from {d}.orders join {d}.customers using (id)
select orders.id, customers.name from orders join customers on orders.customer_id = customers.id
select orders.id, customers.name from {d}.orders join {d}.customers on orders.id = customers.id
select {d}.orders.id, {d}.customers.name from {d}.orders join {d}.customers
  on {d}.orders.customer_id = {d}.customers.id
select a.id, b.id from {d}.orders a join {d}.orders b on a.id = b.customer_id
select orders.id, b.id from {d}.orders join {d}.orders b on orders.id = b.customer_id
select o.id, p.name from {d}.orders o join {t}.names p on o.id = p.id
select orders.id, names.name from {d}.orders join {t}.names on {d}.orders.id = {t}.names.id
select {d}.`select`.id, {t}.`select`.id from {d}.`select` join {t}.`select`
  on {d}.`select`.id = {t}.`select`.id
select o.id, c.name, l.quantity from {d}.orders o join {d}.customers c on o.customer_id = c.id
  left join {d}.lines l on l.order_id = o.id
select * from (({d}.customers join {d}.`select` using (id)) join {t}.names using (id))
select x.id from ({d}.customers) x
select * from ({d}.customers join {d}.`select` using (id)) as j
select o.id from {d}.orders o join (select id from {d}.customers) c on c.id = o.customer_id
select o.id from {d}.orders o join {d}.customers c on o.customer_id = c.id and exists
  (select 1 from {d}.lines l where l.order_id = o.id)
select * from {d}.customers c join {d}.lines l on c.id = l.order_id and l.day = '2026-01-01'
"""

LATERAL = """
select o.id, x.quantity from {d}.orders o, lateral
  (select quantity from {d}.lines l where l.order_id = o.id) x
select c.id, m from {d}.customers c, lateral
  (select max(amount) m from {d}.orders where customer_id = c.id)
select c.id, n from {d}.customers c left join lateral
  (select count(*) n from {d}.orders where customer_id = c.id having count(*) > 1) on true
select * from lateral (select * from {d}.customers)
select o.id, s from {d}.orders o, lateral (select o.id + 1 as s)
select customers.id, s from {d}.customers, lateral (select customers.id + {d}.customers.id as s)
select o.id, t.tag from {d}.orders o, lateral explode(o.tags) t(tag)
select o.id, t.tag from {d}.orders o left join lateral explode_outer(tags) t(tag) on true
select id, tag from {d}.orders lateral view explode(tags) x as tag
select id, tag from {d}.orders lateral view outer explode(tags) x as tag
select id, p, tag from {d}.orders lateral view posexplode(tags) x as p, tag where p = 0
select id, k, v, tag from {d}.orders lateral view explode(extra) e as k, v
  lateral view explode(tags) x as tag
select orders.id, x.tag from {d}.orders lateral view explode(orders.tags) x as tag
select c.id, x.id from {d}.customers c, lateral (select * from {d}.orders where customer_id = c.id
  order by id limit 1) x
select * from (select id c from {d}.customers), lateral (select id from {d}.orders
  where customer_id = c union all select order_id from {d}.lines where line = c)
select r.id, o.id from range(1, 4) r, lateral (select id from {d}.orders where id > r.id) o
"""

SETS = """
select id from {d}.orders union select id from {d}.customers
select id from {d}.orders union all select order_id from {d}.lines
select id from {d}.orders intersect select id from {d}.customers
select id from {d}.orders intersect all select order_id from {d}.lines
select id from {d}.orders except select id from {d}.customers
select order_id from {d}.lines except all select id from {d}.orders
select id from {d}.orders minus select id from {d}.customers
(select id from {d}.orders union select id from {d}.customers) except select order_id from {d}.lines
table {d}.customers
table customers
table {d}.customers union all table {d}.customers
(table {d}.customers) order by id limit 2
table {d}.customers order by name
(select id from {d}.orders order by id limit 1) union all (select id from {d}.customers limit 0)
select id from {d}.orders union all values (100), (101)
values (1), (2) union all select id from {d}.orders
select * from values (1, 'x'), (2, 'y') as v(id, x) join {d}.customers c using (id)
select distinct status from {d}.orders
select all status from {d}.orders
select id from {d}.orders order by id limit 2 offset 1
select status from {d}.orders sort by status
select id from {d}.orders distribute by id sort by id
select id from {d}.orders cluster by id
from {d}.orders select id, status
from {d}.orders select *
from {d}.orders o select o.id where o.id > 1
from orders select orders.id, {d}.orders.status
from {d}.orders o join {d}.customers c on o.customer_id = c.id select o.id, c.name
from (select * from {d}.customers) c select c.name
from {d}.orders select id union all select id from {d}.customers
"""

CTES = """
with x as (select * from {d}.orders) select id from x
with orders as (select 1 as id) select * from orders
with orders as (select 1 as id) select * from {d}.orders
with orders as (select 1 as id) select o.id, orders.id from {d}.orders o join orders using (id)
with orders as (select id from {d}.orders where id > 1) select * from orders
with orders as (select id from orders where id > 1) select * from orders
with Orders as (select 7 as id) select * from ORDERS
with `{d}` as (select 1 as id) select * from {d}.orders
with `{d}` as (select 1 as id) select * from `{d}`
with `{d}.orders` as (select 1 as id) select * from `{d}.orders`
with `{d}.orders` as (select 1 as id) select x.id from `{d}.orders` x join {d}.orders y using (id)
with a as (select * from {d}.orders), orders as (select id from a where id < 3)
  select * from orders
with orders as (select 1 as id), a as (select * from orders) select * from a, {d}.customers
with a as (select * from orders), orders as (select 9 as id) select a.id, o.id from a, orders o
with a as (with orders as (select 5 as id) select * from orders) select a.id, o.id
  from a, {d}.orders o
with a as (with orders as (select 5 as id) select * from orders) select a.id, o.id from a, orders o
with orders as (select 1 as id) select (select max(id) from orders) as m
with orders as (select 1 as id) select id from {d}.customers where id in (select id from orders)
select * from (with orders as (select 3 as id) select * from orders) x, {d}.customers c
select (with orders as (select 2 as id) select id from orders) i, max(id) from orders
select (with orders as (select id from {d}.orders) select max(id) from orders) as i
with customers(a, b, c) as (select * from {d}.customers) select a, b from customers
with x(a) as (select id from {d}.orders) select x.a, y.a from x join x y on x.a = y.a
with x as (select id from {d}.orders), y as (select id from x where id > 1), z as (table y)
  select * from x except select * from z
with x as (select id from {d}.orders) select * from x where exists
  (with x as (select id from {d}.customers) select 1 from x where x.id = 1)
with recursive r(n) as (select min(id) from {d}.orders union all select n + 1 from r where n < 3)
  select * from r
with recursive r(n) as (select 1 union all select r.n + 1 from r join {d}.orders o on o.id = r.n
  where r.n < 5) select * from r
with recursive orders(n) as (select 1 union all select n + 1 from orders where n < 4)
  select orders.n, c.id from orders join {d}.customers c on c.id = orders.n
with x as (from {d}.orders select id) from x select *
with orders as (select 1 as id) table orders
with orders as (select 1 as id) from orders select *
with orders as (select 1 as id) select orders.id from orders where orders.id in
  (select orders.id from {d}.orders)
set spark.sql.legacy.ctePrecedencePolicy = LEGACY
  ;; with orders as (select 1 as id), a as (with orders as (select id from {d}.orders)
    select * from orders) select * from a
  ;; with orders as (select 1 as id) select * from (with orders as (select 2 as id)
    select * from orders) x, {d}.customers
  ;; reset spark.sql.legacy.ctePrecedencePolicy
"""

PIPES = """
table {d}.orders |> select id, status
from {d}.orders |> where id > 1 |> select id
from {d}.orders |> aggregate count(*) as n group by status |> order by n, status
table {d}.orders |> where orders.id = 1 |> select id
table {d}.orders |> where spark_catalog.{d}.orders.id < 3 |> select id
from {d}.orders o |> where exists (select 1 from {d}.customers c where c.id = o.customer_id)
  |> select id
from {d}.customers |> join {d}.orders o on o.customer_id = customers.id |> select o.id, name
from {d}.customers |> left join {d}.`select` using (id)
from {d}.customers |> union all table {d}.customers
from {d}.customers |> except table {d}.customers
from {d}.customers |> as c |> select c.name
from {d}.customers |> extend length(name) as n |> drop country |> set name = upper(name)
from {d}.customers |> select id, (select max(amount) from {d}.orders) as m
from {d}.customers |> join lateral (select count(*) n from {d}.orders where customer_id =
    customers.id)
from {d}.orders |> tablesample (100 percent) |> select id
with x as (from {d}.orders |> where id > 1) from x |> select id
values (1), (2) t(i) |> join {d}.orders o on o.id = t.i |> select o.id, o.status
(select id from {d}.orders) |> select id + 1 as i |> limit 10
from {d}.lines |> pivot (sum(quantity) for day in ('2026-01-01', '2026-01-02'))
"""

SHAPES = """
select * from {d}.lines pivot (sum(quantity) for day in ('2026-01-01' as a, '2026-01-02' as b))
select * from (select day, quantity from {d}.lines) pivot (max(quantity) for day in ('2026-01-01'))
select * from {d}.lines unpivot (v for k in (line, quantity))
select * from {d}.lines unpivot include nulls (v for k in (line as l, quantity as q)) as u
select u.k, u.v from {d}.lines as x unpivot (v for k in (line, quantity)) as u
select id from {d}.orders tablesample (100 percent)
select o.id from {d}.orders tablesample (100 percent) o
select orders.id from {d}.orders tablesample (100 percent)
select count(*) from {d}.orders tablesample (2 rows)
select count(*), min(o.a) is null from {d}.customers tablesample (2 rows) as o(a, b, c)
select id from {d}.orders tablesample (bucket 1 out of 1)
select x.id from (select id from {d}.orders) tablesample (100 percent) x
select id from ({d}.customers) tablesample (100 percent) repeatable (7) c
select a, b from {d}.customers as c(a, b, d)
select c.a, c.d from {d}.customers c(a, b, d) where c.b is not null
select customers.id from {d}.customers customers
select orders.id from {d}.customers orders
select `o x`.id from {d}.orders `o x`
select orders.* from {d}.orders
select {d}.orders.* from {d}.orders
select spark_catalog.{d}.orders.* from {d}.orders
select o.* from {d}.orders o
select orders.*, customers.name from {d}.orders join {d}.customers on customers.id = customer_id
select * except (tags, extra) from {d}.orders
select orders.* except (tags, extra, address) from {d}.orders
select o.* except (address.zip, extra) from {d}.orders o
select id, {d}.orders.id as a, orders.id as b, spark_catalog.{d}.orders.id as c from {d}.orders
select orders.address.city, {d}.orders.address.zip, address.city as c from {d}.orders
select {d}.orders.tags[0], orders.extra['a'], extra.a from {d}.orders
select struct(orders.*) s from {d}.customers as orders
select struct({d}.customers.*) s, to_json(struct(customers.*)) j from {d}.customers
select named_struct('a', {d}.orders.id, 'b', named_struct('c', orders.status)) from {d}.orders
select count(*), count(1), count(distinct customers.country, {d}.customers.id) from {d}.customers
select max(struct({d}.orders.amount, orders.id)) from {d}.orders
select {D}.ORDERS.ID from {d}.orders
select `{d}`.`orders`.`id` from {d}.orders where `{d}`.`orders`.`id` > 1
select {d}.orders.id from {d}.orders group by {d}.orders.id having max({d}.orders.id) > 1
select id from {d}.orders order by {d}.orders.amount desc nulls last, orders.id
select day, line, grouping_id() g, sum(quantity) from {d}.lines group by cube (day, line)
select day, line, sum(quantity) from {d}.lines group by rollup (day, lines.line)
select day, line, sum(quantity) from {d}.lines group by grouping sets ((day), ({d}.lines.line), ())
select day, line, sum(quantity) from {d}.lines group by day, line with rollup
select status, count(*) n from {d}.orders group by all order by all
select status, count(*) filter (where id > 1) from {d}.orders group by 1
select id, row_number() over (partition by customer_id order by id) from {d}.orders
select orders.id, sum({d}.orders.amount) over w from {d}.orders
  window w as (partition by orders.customer_id order by orders.id)
select id, lag(amount) over (order by id) l, first(status) ignore nulls over (order by id) f
  from {d}.orders
select * from (select *, rank() over (partition by order_id order by quantity, line, day) r
  from {d}.lines) where r = 1
select id, transform(tags, t -> concat(t, status)) from {d}.orders
select id, filter(orders.tags, x -> x > 'a'), aggregate(tags, 0, (acc, t) -> acc + 1) from
    {d}.orders
select id, exists(tags, t -> t = 'a') e, map_filter(extra, (k, v) -> v > 1) m from {d}.orders
select id, transform(array(1, 2), orders -> orders + 1) t from {d}.orders
select percentile_approx(amount, 0.5), collect_set(status) from {d}.orders where status = 'new'
select listagg(name, ',') within group (order by name) from {d}.customers
select inline(array(struct(id, name))) from {d}.customers
select stack(2, id, name, -id, country) from {d}.customers
select explode(tags) from {d}.orders
select date_trunc('month', at), extract(year from at), due + interval 1 day from {d}.orders
select transform(id, status) using 'cat' as (id int, status string) from {d}.orders
set spark.sql.parser.quotedRegexColumnNames = true
  ;; select `(tags|extra|address)?+.+` from {d}.orders
  ;; select orders.`i.`, {d}.orders.`am.*` from {d}.orders
  ;; reset spark.sql.parser.quotedRegexColumnNames
"""

HINTS = """
select /*+ broadcast(orders) */ orders.id from {d}.orders join {d}.customers using (id)
select /*+ broadcast({d}.orders) */ orders.id from {d}.orders join {d}.customers using (id)
select /*+ broadcast(spark_catalog.{d}.orders) */ orders.id from {d}.orders, {d}.customers
select /*+ mapjoin(c) */ o.id from {d}.orders o join {d}.customers c on o.customer_id = c.id
select /*+ merge(o, c) */ o.id from {d}.orders o join {d}.customers c on o.customer_id = c.id
select /*+ shuffle_hash(customers), repartition(2) */ customers.id from {d}.orders join
    {d}.customers
  using (id)
select /*+ shuffle_replicate_nl(c) */ o.id from {d}.orders o join {d}.customers c on o.id > c.id
select /*+ coalesce(1) */ id from {d}.orders
select /*+ repartition(2, id) */ id from {d}.orders
select /*+ rebalance(id) */ id from {d}.orders
select /*+ broadcastjoin(x) */ x.id from (select /*+ repartition(1) */ * from {d}.orders) x
  join {d}.customers c on x.customer_id = c.id
"""

TEXT = """
select 'from {d}.customers' as s, id from {d}.orders
select "{d}.customers; drop table {d}.orders" as s, id from {d}.orders
select id from {d}.orders -- from {d}.customers
select id from {d}.orders -- a ' quote
select id /* from {d}.customers /* nested {d}.lines */ */ from {d}.orders
select id -- the name of the table:
  from -- {d}.customers
  {d}.orders -- {d}.lines
select id from {d}.orders;
select id from {d}.orders ; ;
select '😀' as e, id from {d}.orders where '😀' <> '{d}.orders 😀'
select '😀😀', o.id from /* 😀 */ {d}.orders o join /* é */ {d}.customers c on o.customer_id = c.id
select id as `{d}.orders`, status as `from {d}.customers` from {d}.orders
select r'\\{d}.orders', 'it''s', 'a\\'b', id from {d}.orders
select id as orders, status as customers from {d}.orders
select orders from (select id as orders from {d}.orders) orders
select orders.orders from (select id as orders from {d}.orders) orders
select '${spark.sql.ansi.enabled}' as a, id from {d}.orders -- ${spark.sql.ansi.enabled}
select '${spark.sql.session.timeZone} {d}.orders' as z, o.id from {d}.orders o
set corpus.db = {d} ;; select id, '${corpus.db}' <> '' as b from ${corpus.db}.orders
set corpus.relation = {d}.orders o ;; select o.id from ${corpus.relation} where o.id > 1
set corpus.where = id in (select id from {d}.customers) ;; select id from {d}.orders where
    ${corpus.where}
set spark.sql.variable.substitute = false
  ;; select '${spark.sql.ansi.enabled}' as a, id from {d}.orders
  ;; reset spark.sql.variable.substitute
select\tid\r
\tfrom\t{d}.orders
"""

FUNCTIONS = """
select * from range(3) r join {d}.orders o on o.id = r.id
select * from explode((select collect_list(id) from {d}.orders where id = 1)) as t(x)
select * from explode(array((select max(id) from {d}.orders), 2))
select * from posexplode((select tags from {d}.orders where id = 1))
select * from stack(2, (select max(id) from {d}.orders), 5)
select * from inline((select collect_list(struct(id, name)) from {d}.customers where id = 2))
select * from json_tuple((select '{"a": 1}' from {d}.customers where id = 1), 'a')
select * from corpus_rows(table({d}.customers))
select * from corpus_rows(table(select id from {d}.orders where id > 1)) r
select * from corpus_rows(row => table({d}.orders) partition by customer_id order by id)
select c.id, r.names from {d}.customers c, corpus_rows(table(select max(id) from {d}.lines join
  {d}.orders on id = order_id)) r
"""

GROUPS = {
    "names": NAMES,
    "case": CASE,
    "select list": SELECT_LIST,
    "where": WHERE,
    "joins": JOINS,
    "lateral": LATERAL,
    "set operations": SETS,
    "common table expressions": CTES,
    "pipes": PIPES,
    "shapes": SHAPES,
    "hints": HINTS,
    "text": TEXT,
    "functions": FUNCTIONS,
}
