-- Queries with ACID names at every place of Spark's grammar where a relation can stand.

-- group: names
select * from {tables}.orders;
select * from spark_catalog.{tables}.orders;
select * from `spark_catalog`.`{tables}`.`orders`;
select * from {TABLES}.Orders;
select * from `{TABLES}` . `ORDERS`;
select * from orders;
select * from OrDeRs;
select * from {tables} . /* {tables}.customers */ orders;
select*from`{tables}`.`orders`;
select * from {tables}.customers;
select * from {tables}.lines;
select * from {tables}.grown;
select * from {tables}.`odd name`;
select `odd name`.id from {tables}.`odd name`;
select `{tables}`.`odd name`.`id` from {tables}.`odd name`;
select * from {tables}.`select`;
select * from `select`;
select `select`.id from `select`;
select id from {tables}.plain;
select o.id, p.id from {tables}.plain p join {tables}.orders o on o.id = p.id;
use {targets};
  select * from {tables}.orders;
  select o.id from {tables}.orders o;
  use {tables};
use {tables};
  select * from orders where id in (select id from customers);
set spark.sql.ansi.doubleQuotedIdentifiers = true;
  set spark.sql.ansi.enabled = true;
  select "id", 'it' from "{tables}"."orders";
  reset spark.sql.ansi.doubleQuotedIdentifiers;
  set spark.sql.ansi.enabled = false;

-- group: case
set spark.sql.caseSensitive = true;
  select * from {TABLES}.Orders;
  select Orders.id from {tables}.Orders;
  select * from {tables}.orders where exists (select 1 from {tables}.Customers);
  reset spark.sql.caseSensitive;

-- group: select list
select (select max(id) from {tables}.orders);
select (select max(id) from {tables}.orders) as m, o.id from {tables}.orders o;
select id, (select max(quantity) from {tables}.lines l where l.order_id = o.id) q from {tables}.orders o;
select id, exists (select 1 from {tables}.lines l where l.order_id = o.id) e from {tables}.orders o;
select id, id in (select order_id from {tables}.lines) i from {tables}.orders;
select id, customer_id not in (select id from {tables}.customers where id is not null) n from {tables}.orders;
select case when (select count(*) from {tables}.orders) > 3 then 'many' else 'few' end;
select coalesce((select name from {tables}.customers where id = 1), (select min(status) from {tables}.orders));
select struct((select min(id) from {tables}.orders) as a, (select max(id) from {tables}.orders) as b);
select named_struct('o', (select max(amount) from {tables}.orders), 'c', array(1, 2)) s;
select array((select min(id) from {tables}.orders), (select max(id) from {tables}.orders));
select map('n', (select count(*) from {tables}.lines));
select (select max((select count(*) from {tables}.customers) + id) from {tables}.orders);
select if((select count(*) from {tables}.customers) > 1, id, -id) from {tables}.orders;
select sum(id) + (select sum(id) from {tables}.customers) from {tables}.orders;
select (select count(*) from {tables}.orders where customer_id = c.id) n, c.name from {tables}.customers c;
select cast((select max(id) from {tables}.orders) as string) || '!' as s;
select id + 1 as a, a + 1 as b from {tables}.orders;
select (values (1) tab(x) |> select x) + (select max(id) from {tables}.orders) as v;

-- group: where
select id from {tables}.orders where amount > (select avg(amount) from {tables}.orders);
select id from {tables}.orders o where exists (select * from {tables}.customers c where c.id = o.customer_id);
select id from {tables}.orders o
  where not exists (select 1 from {tables}.lines where lines.order_id = o.id);
select id from {tables}.orders where customer_id in (select id from {tables}.customers where country = 'de');
select id from {tables}.orders where customer_id not in (select id from {tables}.customers);
select id from {tables}.orders where (id, customer_id) in (select order_id, line from {tables}.lines);
select id from {tables}.orders o where amount = (select max(amount) from {tables}.orders i
  where i.customer_id = o.customer_id);
select id from {tables}.orders where id between (select min(id) from {tables}.orders) and 4;
select id from {tables}.orders where exists (select 1 from {tables}.customers) and id in
  (select order_id from {tables}.lines where day in (select max(day) from {tables}.lines));
select id from {tables}.orders where id in (select order_id from {tables}.lines) or
  exists (select 1 from {tables}.customers c where c.id = orders.customer_id and c.country = 'fr');
select day, sum(quantity) from {tables}.lines group by day
  having sum(quantity) > (select min(quantity) from {tables}.lines);
select customer_id, count(*) from {tables}.orders o group by customer_id
  having exists (select 1 from {tables}.customers c where c.id = o.customer_id);
select id from {tables}.orders order by (select count(*) from {tables}.customers), id limit 2;
select * from {tables}.lines where day = '2026-01-02';
select * from {tables}.lines where day > (select min(day) from {tables}.lines);
select id from {tables}.orders where status like any ('n%', 's%');
select id from {tables}.orders where array_contains(array(1, 2), id) or
  id in (select id from {tables}.customers);
select id from {tables}.orders where exists
  (with c as (select * from {tables}.customers) select 1 from c where c.id = orders.customer_id);

-- group: joins
select o.id, c.name from {tables}.orders o join {tables}.customers c on o.customer_id = c.id;
select o.id, c.name from {tables}.orders o inner join {tables}.customers c on o.customer_id = c.id;
select o.id, c.name from {tables}.orders o left join {tables}.customers c on o.customer_id = c.id;
select o.id, c.name from {tables}.orders as o right outer join {tables}.customers as c on customer_id = c.id;
select o.id, c.name from {tables}.orders o full outer join {tables}.customers c on o.customer_id = c.id;
select * from {tables}.customers c left semi join {tables}.orders o on o.customer_id = c.id;
select * from {tables}.customers c semi join {tables}.orders o on o.customer_id = c.id;
select * from {tables}.customers c left anti join {tables}.orders o on o.customer_id = c.id;
select * from {tables}.customers anti join {tables}.orders on orders.customer_id = customers.id;
select o.id, c.id from {tables}.orders o cross join {tables}.customers c;
select o.id, c.id from {tables}.orders o, {tables}.customers c where o.customer_id = c.id;
select * from {tables}.customers natural join {tables}.`select`;
select id, orders.status, customers.name from {tables}.orders join {tables}.customers using (id);
select orders.id, customers.name from orders join customers on orders.customer_id = customers.id;
select orders.id, customers.name from {tables}.orders join {tables}.customers on orders.id = customers.id;
select {tables}.orders.id, {tables}.customers.name from {tables}.orders join {tables}.customers
  on {tables}.orders.customer_id = {tables}.customers.id;
select a.id, b.id from {tables}.orders a join {tables}.orders b on a.id = b.customer_id;
select orders.id, b.id from {tables}.orders join {tables}.orders b on orders.id = b.customer_id;
select o.id, p.name from {tables}.orders o join {targets}.names p on o.id = p.id;
select orders.id, names.name from {tables}.orders join {targets}.names on {tables}.orders.id = {targets}.names.id;
select {tables}.`select`.id, {targets}.`select`.id from {tables}.`select` join {targets}.`select`
  on {tables}.`select`.id = {targets}.`select`.id;
select o.id, c.name, l.quantity from {tables}.orders o join {tables}.customers c on o.customer_id = c.id
  left join {tables}.lines l on l.order_id = o.id;
select * from (({tables}.customers join {tables}.`select` using (id)) join {targets}.names using (id));
select x.id from ({tables}.customers) x;
select * from ({tables}.customers join {tables}.`select` using (id)) as j;
select o.id from {tables}.orders o join (select id from {tables}.customers) c on c.id = o.customer_id;
select o.id from {tables}.orders o join {tables}.customers c on o.customer_id = c.id and exists
  (select 1 from {tables}.lines l where l.order_id = o.id);
select * from {tables}.customers c join {tables}.lines l on c.id = l.order_id and l.day = '2026-01-01';

-- group: lateral
select o.id, x.quantity from {tables}.orders o, lateral
  (select quantity from {tables}.lines l where l.order_id = o.id) x;
select c.id, m from {tables}.customers c, lateral
  (select max(amount) m from {tables}.orders where customer_id = c.id);
select c.id, n from {tables}.customers c left join lateral
  (select count(*) n from {tables}.orders where customer_id = c.id having count(*) > 1) on true;
select * from lateral (select * from {tables}.customers);
select o.id, s from {tables}.orders o, lateral (select o.id + 1 as s);
select customers.id, s from {tables}.customers, lateral (select customers.id + {tables}.customers.id as s);
select o.id, t.tag from {tables}.orders o, lateral explode(o.tags) t(tag);
select o.id, t.tag from {tables}.orders o left join lateral explode_outer(tags) t(tag) on true;
select id, tag from {tables}.orders lateral view explode(tags) x as tag;
select id, tag from {tables}.orders lateral view outer explode(tags) x as tag;
select id, p, tag from {tables}.orders lateral view posexplode(tags) x as p, tag where p = 0;
select id, k, v, tag from {tables}.orders lateral view explode(extra) e as k, v
  lateral view explode(tags) x as tag;
select orders.id, x.tag from {tables}.orders lateral view explode(orders.tags) x as tag;
select c.id, x.id from {tables}.customers c, lateral (select * from {tables}.orders where customer_id = c.id
  order by id limit 1) x;
select * from (select id c from {tables}.customers), lateral (select id from {tables}.orders
  where customer_id = c union all select order_id from {tables}.lines where line = c);
select r.id, o.id from range(1, 4) r, lateral (select id from {tables}.orders where id > r.id) o;

-- group: set operations
select id from {tables}.orders union select id from {tables}.customers;
select id from {tables}.orders union all select order_id from {tables}.lines;
select id from {tables}.orders intersect select id from {tables}.customers;
select id from {tables}.orders intersect all select order_id from {tables}.lines;
select id from {tables}.orders except select id from {tables}.customers;
select order_id from {tables}.lines except all select id from {tables}.orders;
select id from {tables}.orders minus select id from {tables}.customers;
(select id from {tables}.orders union select id from {tables}.customers) except select order_id from {tables}.lines;
table {tables}.customers;
table customers;
table {tables}.customers union all table {tables}.customers;
(table {tables}.customers) order by id limit 2;
table {tables}.customers order by name;
(select id from {tables}.orders order by id limit 1) union all (select id from {tables}.customers limit 0);
select id from {tables}.orders union all values (100), (101);
values (1), (2) union all select id from {tables}.orders;
select * from values (1, 'x'), (2, 'y') as v(id, x) join {tables}.customers c using (id);
select distinct status from {tables}.orders;
select all status from {tables}.orders;
select id from {tables}.orders order by id limit 2 offset 1;
select status from {tables}.orders sort by status;
select id from {tables}.orders distribute by id sort by id;
select id from {tables}.orders cluster by id;
from {tables}.orders select id, status;
from {tables}.orders select *;
from {tables}.orders o select o.id where o.id > 1;
from orders select orders.id, {tables}.orders.status;
from {tables}.orders o join {tables}.customers c on o.customer_id = c.id select o.id, c.name;
from (select * from {tables}.customers) c select c.name;
from {tables}.orders select id union all select id from {tables}.customers;

-- group: common table expressions
with x as (select * from {tables}.orders) select id from x;
with orders as (select 1 as id) select * from orders;
with orders as (select 1 as id) select * from {tables}.orders;
with orders as (select 1 as id) select o.id, orders.id from {tables}.orders o join orders using (id);
with orders as (select id from {tables}.orders where id > 1) select * from orders;
with orders as (select id from orders where id > 1) select * from orders;
with Orders as (select 7 as id) select * from ORDERS;
with `{tables}` as (select 1 as id) select * from {tables}.orders;
with `{tables}` as (select 1 as id) select * from `{tables}`;
with `{tables}.orders` as (select 1 as id) select * from `{tables}.orders`;
with `{tables}.orders` as (select 1 as id) select x.id from `{tables}.orders` x join {tables}.orders y using (id);
with a as (select * from {tables}.orders), orders as (select id from a where id < 3)
  select * from orders;
with orders as (select 1 as id), a as (select * from orders) select * from a, {tables}.customers;
with a as (select * from orders), orders as (select 9 as id) select a.id, o.id from a, orders o;
with a as (with orders as (select 5 as id) select * from orders) select a.id, o.id
  from a, {tables}.orders o;
with a as (with orders as (select 5 as id) select * from orders) select a.id, o.id from a, orders o;
with orders as (select 1 as id) select (select max(id) from orders) as m;
with orders as (select 1 as id) select id from {tables}.customers where id in (select id from orders);
select * from (with orders as (select 3 as id) select * from orders) x, {tables}.customers c;
select (with orders as (select 2 as id) select id from orders) i, max(id) from orders;
select (with orders as (select id from {tables}.orders) select max(id) from orders) as i;
with customers(a, b, c) as (select * from {tables}.customers) select a, b from customers;
with x(a) as (select id from {tables}.orders) select x.a, y.a from x join x y on x.a = y.a;
with x as (select id from {tables}.orders), y as (select id from x where id > 1), z as (table y)
  select * from x except select * from z;
with x as (select id from {tables}.orders) select * from x where exists
  (with x as (select id from {tables}.customers) select 1 from x where x.id = 1);
with recursive r(n) as (select min(id) from {tables}.orders union all select n + 1 from r where n < 3)
  select * from r;
with recursive r(n) as (select 1 union all select r.n + 1 from r join {tables}.orders o on o.id = r.n
  where r.n < 5) select * from r;
with recursive orders(n) as (select 1 union all select n + 1 from orders where n < 4)
  select orders.n, c.id from orders join {tables}.customers c on c.id = orders.n;
with x as (from {tables}.orders select id) from x select *;
with orders as (select 1 as id) table orders;
with orders as (select 1 as id) from orders select *;
with orders as (select 1 as id) select orders.id from orders where orders.id in
  (select orders.id from {tables}.orders);
set spark.sql.legacy.ctePrecedencePolicy = LEGACY;
  with orders as (select 1 as id), a as (with orders as (select id from {tables}.orders)
    select * from orders) select * from a;
  with orders as (select 1 as id) select * from (with orders as (select 2 as id)
    select * from orders) x, {tables}.customers;
  reset spark.sql.legacy.ctePrecedencePolicy;

-- group: pipes
table {tables}.orders |> select id, status;
from {tables}.orders |> where id > 1 |> select id;
from {tables}.orders |> aggregate count(*) as n group by status |> order by n, status;
table {tables}.orders |> where orders.id = 1 |> select id;
table {tables}.orders |> where spark_catalog.{tables}.orders.id < 3 |> select id;
from {tables}.orders o |> where exists (select 1 from {tables}.customers c where c.id = o.customer_id)
  |> select id;
from {tables}.customers |> join {tables}.orders o on o.customer_id = customers.id |> select o.id, name;
from {tables}.customers |> left join {tables}.`select` using (id);
from {tables}.customers |> union all table {tables}.customers;
from {tables}.customers |> except table {tables}.customers;
from {tables}.customers |> as c |> select c.name;
from {tables}.customers |> extend length(name) as n |> drop country |> set name = upper(name);
from {tables}.customers |> select id, (select max(amount) from {tables}.orders) as m;
from {tables}.customers |> join lateral (select count(*) n from {tables}.orders where customer_id =
    customers.id);
from {tables}.orders |> tablesample (100 percent) |> select id;
with x as (from {tables}.orders |> where id > 1) from x |> select id;
values (1), (2) t(i) |> join {tables}.orders o on o.id = t.i |> select o.id, o.status;
(select id from {tables}.orders) |> select id + 1 as i |> limit 10;
from {tables}.lines |> pivot (sum(quantity) for day in ('2026-01-01', '2026-01-02'));

-- group: shapes
select * from {tables}.lines pivot (sum(quantity) for day in ('2026-01-01' as a, '2026-01-02' as b));
select * from (select day, quantity from {tables}.lines) pivot (max(quantity) for day in ('2026-01-01'));
select * from {tables}.lines unpivot (v for k in (line, quantity));
select * from {tables}.lines unpivot include nulls (v for k in (line as l, quantity as q)) as u;
select u.k, u.v from {tables}.lines as x unpivot (v for k in (line, quantity)) as u;
select id from {tables}.orders tablesample (100 percent);
select o.id from {tables}.orders tablesample (100 percent) o;
select orders.id from {tables}.orders tablesample (100 percent);
select count(*) from {tables}.orders tablesample (2 rows);
select count(*), min(o.a) is null from {tables}.customers tablesample (2 rows) as o(a, b, c);
select id from {tables}.orders tablesample (bucket 1 out of 1);
select x.id from (select id from {tables}.orders) tablesample (100 percent) x;
select id from ({tables}.customers) tablesample (100 percent) repeatable (7) c;
select a, b from {tables}.customers as c(a, b, d);
select c.a, c.d from {tables}.customers c(a, b, d) where c.b is not null;
select customers.id from {tables}.customers customers;
select orders.id from {tables}.customers orders;
select `o x`.id from {tables}.orders `o x`;
select orders.* from {tables}.orders;
select {tables}.orders.* from {tables}.orders;
select spark_catalog.{tables}.orders.* from {tables}.orders;
select o.* from {tables}.orders o;
select orders.*, customers.name from {tables}.orders join {tables}.customers on customers.id = customer_id;
select * except (tags, extra) from {tables}.orders;
select orders.* except (tags, extra, address) from {tables}.orders;
select o.* except (address.zip, extra) from {tables}.orders o;
select id, {tables}.orders.id as a, orders.id as b, spark_catalog.{tables}.orders.id as c from {tables}.orders;
select orders.address.city, {tables}.orders.address.zip, address.city as c from {tables}.orders;
select {tables}.orders.tags[0], orders.extra['a'], extra.a from {tables}.orders;
select struct(orders.*) s from {tables}.customers as orders;
select struct({tables}.customers.*) s, to_json(struct(customers.*)) j from {tables}.customers;
select named_struct('a', {tables}.orders.id, 'b', named_struct('c', orders.status)) from {tables}.orders;
select count(*), count(1), count(distinct customers.country, {tables}.customers.id) from {tables}.customers;
select max(struct({tables}.orders.amount, orders.id)) from {tables}.orders;
select {TABLES}.ORDERS.ID from {tables}.orders;
select `{tables}`.`orders`.`id` from {tables}.orders where `{tables}`.`orders`.`id` > 1;
select {tables}.orders.id from {tables}.orders group by {tables}.orders.id having max({tables}.orders.id) > 1;
select id from {tables}.orders order by {tables}.orders.amount desc nulls last, orders.id;
select day, line, grouping_id() g, sum(quantity) from {tables}.lines group by cube (day, line);
select day, line, sum(quantity) from {tables}.lines group by rollup (day, lines.line);
select day, line, sum(quantity) from {tables}.lines group by grouping sets ((day), ({tables}.lines.line), ());
select day, line, sum(quantity) from {tables}.lines group by day, line with rollup;
select status, count(*) n from {tables}.orders group by all order by all;
select status, count(*) filter (where id > 1) from {tables}.orders group by 1;
select id, row_number() over (partition by customer_id order by id) from {tables}.orders;
select orders.id, sum({tables}.orders.amount) over w from {tables}.orders
  window w as (partition by orders.customer_id order by orders.id);
select id, lag(amount) over (order by id) l, first(status) ignore nulls over (order by id) f
  from {tables}.orders;
select * from (select *, rank() over (partition by order_id order by quantity, line, day) r
  from {tables}.lines) where r = 1;
select id, transform(tags, t -> concat(t, status)) from {tables}.orders;
select id, filter(orders.tags, x -> x > 'a'), aggregate(tags, 0, (acc, t) -> acc + 1) from
    {tables}.orders;
select id, exists(tags, t -> t = 'a') e, map_filter(extra, (k, v) -> v > 1) m from {tables}.orders;
select id, transform(array(1, 2), orders -> orders + 1) t from {tables}.orders;
select percentile_approx(amount, 0.5), collect_set(status) from {tables}.orders where status = 'new';
select listagg(name, ',') within group (order by name) from {tables}.customers;
select inline(array(struct(id, name))) from {tables}.customers;
select stack(2, id, name, -id, country) from {tables}.customers;
select explode(tags) from {tables}.orders;
select date_trunc('month', at), extract(year from at), due + interval 1 day from {tables}.orders;
select transform(id, status) using 'cat' as (id int, status string) from {tables}.orders;
set spark.sql.parser.quotedRegexColumnNames = true;
  select `(tags|extra|address)?+.+` from {tables}.orders;
  select orders.`i.`, {tables}.orders.`am.*` from {tables}.orders;
  reset spark.sql.parser.quotedRegexColumnNames;

-- group: hints
select /*+ broadcast(orders) */ orders.id from {tables}.orders join {tables}.customers using (id);
select /*+ broadcast({tables}.orders) */ orders.id from {tables}.orders join {tables}.customers using (id);
select /*+ broadcast(spark_catalog.{tables}.orders) */ orders.id from {tables}.orders, {tables}.customers;
select /*+ mapjoin(c) */ o.id from {tables}.orders o join {tables}.customers c on o.customer_id = c.id;
select /*+ merge(o, c) */ o.id from {tables}.orders o join {tables}.customers c on o.customer_id = c.id;
select /*+ shuffle_hash(customers), repartition(2) */ customers.id from {tables}.orders join
    {tables}.customers
  using (id);
select /*+ shuffle_replicate_nl(c) */ o.id from {tables}.orders o join {tables}.customers c on o.id > c.id;
select /*+ coalesce(1) */ id from {tables}.orders;
select /*+ repartition(2, id) */ id from {tables}.orders;
select /*+ rebalance(id) */ id from {tables}.orders;
select /*+ broadcastjoin(x) */ x.id from (select /*+ repartition(1) */ * from {tables}.orders) x
  join {tables}.customers c on x.customer_id = c.id;

-- group: text
select 'from {tables}.customers' as s, id from {tables}.orders;
select "{tables}.customers; drop table {tables}.orders" as s, id from {tables}.orders;
select id from {tables}.orders -- from {tables}.customers;
select id from {tables}.orders -- a ' quote;
select id /* from {tables}.customers /* nested {tables}.lines */ */ from {tables}.orders;
select id -- the name of the table:
  from -- {tables}.customers
  {tables}.orders -- {tables}.lines;
select id from {tables}.orders;;
select id from {tables}.orders ; ;;
select '😀' as e, id from {tables}.orders where '😀' <> '{tables}.orders 😀';
select '😀😀', o.id from /* 😀 */ {tables}.orders o join /* é */ {tables}.customers c on o.customer_id = c.id;
select id as `{tables}.orders`, status as `from {tables}.customers` from {tables}.orders;
select r'\{tables}.orders', 'it''s', 'a\'b', id from {tables}.orders;
select id as orders, status as customers from {tables}.orders;
select orders from (select id as orders from {tables}.orders) orders;
select orders.orders from (select id as orders from {tables}.orders) orders;
select '${spark.sql.ansi.enabled}' as a, id from {tables}.orders -- ${spark.sql.ansi.enabled};
select '${spark.sql.session.timeZone} {tables}.orders' as z, o.id from {tables}.orders o;
set corpus.db = {tables};
  select id, '${corpus.db}' <> '' as b from ${corpus.db}.orders;
set corpus.relation = {tables}.orders o;
  select o.id from ${corpus.relation} where o.id > 1;
set corpus.where = id in (select id from {tables}.customers);
  select id from {tables}.orders where
    ${corpus.where};
set spark.sql.variable.substitute = false;
  select '${spark.sql.ansi.enabled}' as a, id from {tables}.orders;
  reset spark.sql.variable.substitute;
select{tab}id{return}
{tab}from{tab}{tables}.orders;

-- group: functions
select * from range(3) r join {tables}.orders o on o.id = r.id;
select * from explode((select collect_list(id) from {tables}.orders where id = 1)) as t(x);
select * from explode(array((select max(id) from {tables}.orders), 2));
select * from posexplode((select tags from {tables}.orders where id = 1));
select * from stack(2, (select max(id) from {tables}.orders), 5);
select * from inline((select collect_list(struct(id, name)) from {tables}.customers where id = 2));
select * from json_tuple((select '{"a": 1}' from {tables}.customers where id = 1), 'a');
select * from corpus_rows(table({tables}.customers));
select * from corpus_rows(table(select id from {tables}.orders where id > 1)) r;
select * from corpus_rows(row => table({tables}.orders) partition by customer_id order by id);
select c.id, r.names from {tables}.customers c, corpus_rows(table(select max(id) from {tables}.lines join
  {tables}.orders on id = order_id)) r;
