"""Statements that read ACID tables on their way to something else: a table, a view, a plan."""

TABLES = """
create table {t}.{n} using parquet as select id, status from {d}.orders ;; select * from {t}.{n}
create table {t}.{n} as select * from {d}.customers ;; select * from {t}.{n}
create table {t}.{n} stored as orc as select * from {d}.customers ;; select * from {t}.{n}
create table if not exists {t}.{n} using parquet partitioned by (country)
  as select * from {d}.customers ;; select * from {t}.{n}
create table {t}.{n} using parquet as with x as (select id from {d}.orders), y as (table x)
  select * from y ;; select * from {t}.{n}
create table {t}.{n} using parquet comment 'from {d}.orders' tblproperties ('a' = '{d}.orders')
  as select orders.id, (select max(id) from {d}.customers) m from {d}.orders ;; table {t}.{n}
create table {t}.{n} using parquet as table {d}.customers ;; table {t}.{n}
create table {t}.{n} using parquet as from {d}.customers select name ;; table {t}.{n}
create table {t}.{n} using parquet as from {d}.customers |> where id > 1 ;; table {t}.{n}
create table {t}.orders using parquet as select id from {d}.orders
  ;; select orders.id, {t}.orders.id from {t}.orders
  ;; select a.id, b.status from {t}.orders a join {d}.orders b using (id)
  ;; drop table {t}.orders
create table {t}.{n} (i int, s string) using parquet
  ;; insert into {t}.{n} select id, status from {d}.orders
  ;; insert into {t}.{n} (s, i) select name, id from {d}.customers
  ;; insert into {t}.{n} table {d}.`select`
  ;; insert into table {t}.{n} values (7, 'seven') ;; insert into {t}.{n} select max(id), 'max'
    from {d}.orders
  ;; insert into {t}.{n} from {d}.customers select id, country
  ;; with x as (select id, status from {d}.orders) insert into {t}.{n} select * from x
  ;; insert into {t}.{n} with x as (select id, status from {d}.orders) select * from x
  ;; insert into {t}.{n} by name select name as s, id as i from {d}.customers
  ;; select * from {t}.{n}
  ;; insert overwrite {t}.{n} select orders.id, orders.status from {d}.orders where id < 3
  ;; insert overwrite table {t}.{n} select o.id, c.name from {t}.names o join {d}.customers c
    on c.id = o.id ;; select * from {t}.{n}
create table {t}.{n} (i int, s string) using parquet
  ;; insert overwrite table {t}.{n} select o.id, c.name from {d}.orders o join {d}.customers c
    on c.id = o.customer_id
  ;; select * from {t}.{n}
create table {t}.{n} (i int, p string) using parquet partitioned by (p)
  ;; insert into {t}.{n} partition (p = 'a') select id from {d}.orders
  ;; insert into {t}.{n} partition (p) select id, country from {d}.customers
  ;; insert overwrite {t}.{n} partition (p = 'a') select id from {d}.customers
  ;; insert into {t}.{n} partition (p = 'b') (i) select max(id) from {d}.orders
  ;; select * from {t}.{n}
create table {t}.{n} (i int) using parquet
  ;; create table {t}.{n}_b (s string) using parquet
  ;; from {d}.orders insert into {t}.{n} select id insert into {t}.{n}_b select status where id > 1
  ;; with x as (select * from {d}.customers) from x insert into {t}.{n} select id
    insert overwrite table {t}.{n}_b select name
  ;; select * from {t}.{n}
  ;; select * from {t}.{n}_b
insert overwrite directory '{tmp}/{n}' using parquet select id, status from {d}.orders
  ;; select * from parquet.`{tmp}/{n}`
insert overwrite local directory '{local_tmp}/{n}' stored as orc select id, name from {d}.customers
insert overwrite directory using json options (path '{tmp}/{n}') select name from {d}.customers
  ;; select * from json.`{tmp}/{n}`
create temporary view {n} as select id from {d}.orders
  ;; create table {t}.{n} using parquet as select * from {n}
  ;; table {t}.{n}
"""

LAKE_TABLES = """
create or replace table {t}.{n} using delta as select id, status from {d}.orders
  ;; create or replace table {t}.{n} using delta as select orders.id, status from {d}.orders where
    id > 1
  ;; insert into {t}.{n} by name select 'c' as status, id from {d}.customers
  ;; insert into {t}.{n} replace where id = 1 select id, status from {d}.orders where id = 1
  ;; delete from {t}.{n} where id = 2
  ;; select * from {t}.{n}
create table {t}.{n} using delta as select id, name from {d}.customers
  ;; merge into {t}.{n} t using {d}.orders s on t.id = s.id when matched then update set name =
    s.status
    when not matched then insert (id, name) values (s.id, 'new')
  ;; merge into {t}.{n} using {d}.orders on {n}.id = orders.id
    when matched and orders.id > 1 then delete
  ;; merge into {t}.{n} as t using (with x as (select * from {d}.customers) select id, name from
    x) s
    on s.id = t.id when not matched then insert * when not matched by source then delete
  ;; select * from {t}.{n}
create table lake.{t}.{n} using iceberg as select id, name from {d}.customers
  ;; create or replace table lake.{t}.{n} using iceberg as select id, country as name from
    {d}.customers
  ;; insert into lake.{t}.{n} select customers.id, name from {d}.customers
  ;; insert overwrite lake.{t}.{n} select id, status from {d}.orders
  ;; select * from lake.{t}.{n}
use lake.{t}
  ;; select orders.id from spark_catalog.{d}.orders
  ;; with orders as (select 1 as id) select * from orders
  ;; use spark_catalog.{d}
"""

TEMPORARY_VIEWS = """
create temporary view {n} as select * from {d}.orders ;; select * from {n}
create or replace temporary view {n} as select id, name from {d}.customers
  ;; create or replace temporary view {n} as select id from {d}.`select`
  ;; create or replace temp view {n}_b as select o.id, {n}.id as c from {d}.orders o join {n}
    on {n}.id = o.customer_id
  ;; select * from {n}_b
create temporary view {n} (a comment 'the id of {d}.orders', b) as select id, status from {d}.orders
  ;; select a, b from {n}
  ;; describe {n}
create global temporary view {n} as select id from {d}.orders
  ;; select * from global_temp.{n}
  ;; select {n}.id from global_temp.{n}
  ;; drop view global_temp.{n}
create temporary view orders as select 42 as id
  ;; select * from orders
  ;; select orders.id from orders
  ;; select o.id, orders.id from {d}.orders o, orders
  ;; select * from {d}.orders
  ;; with x as (select * from orders) select * from x
  ;; drop view orders
  ;; select id from orders
create temporary view customers as select id from {d}.customers where id > 1
  ;; select customers.id from customers
  ;; drop view customers
create temporary view {n} as with orders as (select 1 as id) select orders.id, c.id as c
  from orders, {d}.customers c ;; select * from {n}
create temporary view {n} as select (select max(id) from {d}.orders) as m ;; select m from {n}
create temporary view {n} as select * from orders
  ;; use {t} ;; select id from {n} ;; use {d}
cache table {n} as select id, status from {d}.orders ;; select * from {n} ;; uncache table {n}
cache lazy table {n} options ('storageLevel' 'DISK_ONLY') as select id from {d}.customers
  ;; select * from {n} ;; uncache table {n} ;; select * from {n}
cache table {d}.orders ;; select id from {d}.orders ;; select {d}.orders.id from orders
  ;; uncache table {d}.orders
cache lazy table customers ;; select * from {d}.customers
create temporary view {n} as select id from {d}.orders ;; cache table {n} ;; select * from {n}
  ;; refresh table {n} ;; select * from {n} ;; uncache table {n}
"""

VIEWS = """
create view {t}.{n} as select * from {d}.orders ;; select * from {t}.{n} ;; select {n}.id from
    {t}.{n}
create or replace view {t}.{n} (a comment 'x', b) comment 'over {d}.orders' as select o.id, c.name
  from {d}.orders o left join customers c on c.id = o.customer_id -- the {d}.lines
  ;; select * from {t}.{n} ;; describe {t}.{n}
create view {t}.{n} as select a.id, b.name from {v}.over_view a join {v}.one_part b on a.id = b.id
  ;; select * from {t}.{n} ;; select {t}.{n}.name from {t}.{n} where id in (select id from {t}.{n})
create view {t}.{n} as select id from {t}.names ;; create or replace view {t}.{n} as
  select id from {d}.`select` ;; select * from {t}.{n}
  ;; create or replace view {t}.{n} as select id + 1 as i from {t}.names ;; select * from {t}.{n}
set spark.sql.session.timeZone = Asia/Tokyo ;; create view {t}.{n} as select id,
  cast(at as string) s from orders ;; reset spark.sql.session.timeZone
  ;; set spark.sql.session.timeZone = UTC ;; use {t} ;; select * from {n} ;; use {d}
select * from {v}.over_orders
select over_orders.id from {v}.over_orders
select {v}.over_orders.id, o.id from {v}.over_orders join {d}.orders o using (id)
select * from {v}.one_part
use {v} ;; select * from one_part ;; select one_part.id from one_part ;; use {d}
use {t} ;; select * from {v}.one_part ;; select * from {v}.one_part_mixed ;; use {d}
select a.id, b.status from {v}.over_orders a join {v}.over_orders b on a.id = b.id
select * from {v}.aliased
select * from {v}.over_view
select * from {v}.over_all
select * from {v}.star_of_grown
select * from {v}.two_of_grown
select * from {v}.evolving_grown
select * from {v}.in_ansi
select * from {v}.in_tokyo
select * from {v}.with_cte
select * from {v}.with_shadow
select * from {v}.with_subquery
select * from {v}.by_hive
select by_hive.id from {v}.by_hive
select * from {v}.by_hive_with_qualifiers
select * from {v}.by_hive_over_view
select * from {v}.by_hive_star_of_grown
select a.id from {v}.over_orders a join {v}.by_hive b on a.id = b.id where exists
  (select 1 from {v}.over_view c where c.id = a.id)
with over_orders as (select 1 as id) select * from over_orders, {v}.over_orders o
create temporary view {n} as select * from {v}.over_view ;; select * from {n}
create table {t}.{n} using parquet as select * from {v}.over_all ;; table {t}.{n}
table {v}.over_orders
from {v}.over_orders |> select id
select * from {v}.over_orders tablesample (100 percent)
select * from {v}.over_orders as v(a, b, c)
describe {v}.over_orders
describe {v}.by_hive
show columns in {v}.over_orders
"""

INSPECTION = """
describe {d}.orders
describe table {d}.customers
describe {d}.orders amount
describe query select id, (select max(name) from {d}.customers) m from {d}.orders
describe select orders.id, amount from {d}.orders
describe query table {d}.customers
create table {t}.{n} like {d}.orders using parquet ;; describe {t}.{n} ;; select * from {t}.{n}
desc query with x as (select * from {d}.orders) from x select status
show columns in {d}.orders
show columns from orders in {d}
show partitions {d}.lines
refresh table {d}.orders
select current_database() = '{d}' as b
show tables in {t} like 'names'
set spark.sql.shuffle.partitions
"""

EXPLAINED = """
explain select id from {d}.orders
explain extended select o.id from {d}.orders o where exists (select 1 from {d}.customers)
explain formatted with x as (select id from {d}.orders) select (select max(id) from x) from
    {d}.lines
explain cost select * from {d}.lines where day = '2026-01-01'
explain codegen select id from {d}.customers
explain extended create table {t}.{n} using parquet as select id from {d}.orders
explain extended insert into {t}.names select id, status from {d}.orders
explain extended create temporary view {n} as select * from {d}.orders
explain extended table {d}.customers
explain extended select * from {v}.over_view
explain extended describe query select id from {d}.orders
explain explain select id from {d}.orders
"""

VARIABLES = """
declare or replace variable v1 int default 0
  ;; set var v1 = (select max(id) from {d}.orders) ;; select v1, id from {d}.orders where id < v1
declare or replace variable v1 int ;; declare or replace variable v2 string
  ;; set var (v1, v2) = (select id, name from {d}.customers where id = 2) ;; select v1, v2
declare or replace variable v1 = 2
  ;; set variable v1 = v1 + (select count(*) from {d}.lines) ;; select v1
declare or replace variable id = 2 ;; select orders.id, session.id from {d}.orders
  ;; drop temporary variable id
declare or replace variable v1 int default 3 ;; set var v1 = default ;; select v1
create temporary function {n}(c int) returns int return c + 1 ;; select {n}(id) from {d}.orders
"""

GROUPS = {
    "tables": TABLES,
    "temporary views": TEMPORARY_VIEWS,
    "stored views and functions": VIEWS,
    "inspection": INSPECTION,
    "variables": VARIABLES,
    "lake tables": LAKE_TABLES,
}

#: What plain Spark stores in `{v}`, while `{d}` is the current database; the settings of a view
#: stand before it.
STORED_BY_SPARK: tuple[tuple[dict[str, str], str], ...] = (
    ({}, "create view {v}.over_orders as select id, status, amount from {d}.orders"),
    (
        {},
        "create view {v}.one_part as select id, name from customers where id in "
        "(select customer_id from orders)",
    ),
    (
        {},
        "create view {v}.aliased (a, b comment 'x') as select id, upper(status) as u "
        "from {d}.orders o",
    ),
    (
        {},
        "create view {v}.over_view as select v.id, c.name from {v}.over_orders v left join "
        "{d}.customers c on c.id = v.id",
    ),
    (
        {},
        "create view {v}.over_all as select w.*, x.a from {v}.over_view w join {v}.aliased x "
        "on x.a = w.id",
    ),
    ({}, "create view {v}.star_of_grown as select * from {d}.grown"),
    (
        {},
        "create view {v}.two_of_grown as select g.id, {d}.grown.name from {d}.grown, {d}.grown g "
        "where g.id = {d}.grown.id",
    ),
    ({}, "create view {v}.evolving_grown with schema evolution as select * from {d}.grown"),
    # Without ANSI the size of NULL is -1.
    (
        {"spark.sql.ansi.enabled": "true"},
        "create view {v}.in_ansi as select id, '1' + id as s, size(if(id > 1, null, tags)) as n "
        "from {d}.orders",
    ),
    (
        {},
        "create view {v}.one_part_mixed as select o.id, p.name from orders o left join plain p "
        "on p.id = o.id",
    ),
    (
        {"spark.sql.session.timeZone": "Asia/Tokyo"},
        "create view {v}.in_tokyo as select id, cast(at as string) s, date(at) d from {d}.orders",
    ),
    (
        {},
        "create view {v}.with_cte as with x as (select * from orders), customers as (select id "
        "from x) select * from customers",
    ),
    (
        {},
        "create view {v}.with_shadow as with orders as (select 1 as id) select orders.id, o.status "
        "from orders join {d}.orders o using (id)",
    ),
    (
        {},
        "create view {v}.with_subquery as select id from {d}.orders where id in (select order_id "
        "from {d}.lines) or (select count(*) from {d}.customers) > 1",
    ),
    ({}, "create function {v}.largest() returns int return (select max(id) from {d}.orders)"),
    (
        {},
        "create function {v}.named(c int) returns string return (select max(name) from "
        "{d}.customers where id = c)",
    ),
    (
        {},
        "create function {v}.largest_of_view() returns int return (select max(id) from "
        "{v}.over_orders)",
    ),
    ({}, "create view {v}.by_function as select {v}.largest() as m, id from {d}.customers"),
    ({}, "create view {v}.of_identifier as select * from identifier('{d}.orders')"),
    (
        {},
        "create function {v}.rows_of(c int) returns table (id int, status string) return select "
        "id, status from {d}.orders where customer_id = c",
    ),
)

#: What Hive stores there.
STORED_BY_HIVE = (
    "create view {v}.by_hive as select id, amount from {d}.orders where amount > 5",
    "create view {v}.by_hive_with_qualifiers as select o.id, customers.name as n from {d}.orders o "
    "join {d}.customers on o.customer_id = customers.id",
    "create view {v}.by_hive_over_view as select by_hive.id + 1 as i from {v}.by_hive",
    "create view {v}.by_hive_star_of_grown as select * from {d}.grown",
)
