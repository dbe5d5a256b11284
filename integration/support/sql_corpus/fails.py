"""Statements that Spark itself refuses: over ACID tables with the same message, names included."""

GROUPS = {
    "errors of Spark": """
select missing from {d}.orders
replace table lake.{t}.{n} using iceberg as select id from {d}.customers
select * from corpus_rows(table {d}.customers)
create temporary view {n} as select id from {d}.orders
  ;; create or replace temporary view {n} as select id from {n} where id > 1
select * from values ((select max(id) from {d}.orders)) as t(m)
values (1, (select count(*) from {d}.customers))
select o.missing from {d}.orders o
select orders.id from {d}.orders o
select {d}.orders.id from {d}.orders o
select {d}.orders.id from orders o, {d}.customers
select id from {d}.orders join {d}.customers on true
select orders.id from {d}.orders join {d}.orders on true
select customers.id from {d}.orders
select {t}.orders.id from {d}.orders
select * from {d}.missing
select * from {d}.orders, {d}.missing
select * from missing.orders
select * from {d}.orders.id
select * from `{d}.orders`
select sum(id), status from {d}.orders
select (select id from {d}.orders)
select id from {d}.orders where (select max(id), 1 from {d}.customers) = 1
select id from {d}.orders union select id, name from {d}.customers
select * from {d}.customers as c(a, b)
select a from {d}.customers as c(a, b, c) where customers.id = 1
select id from {d}.orders where amount = 'x' group by
selec id from {d}.orders
insert into {v}.over_orders select 1, 'a', 2
create table {d}.orders using parquet as select 1 as id
create or replace view {d}.orders as select 1 as id
create materialized view {t}.{n} as select * from {d}.orders
create function {t}.{n}(i int default (select max(id) from {d}.orders)) returns int return i
select * from {d}.orders o o2
select unknown_function(id) from {d}.orders
select orders from {d}.orders
insert into {t}.names select id from {d}.orders
insert into {t}.missing select id from {d}.orders
create temporary view {t}.{n} as select * from {d}.orders
with x as (select * from x) select * from x
with x(a, b) as (select id from {d}.orders) select * from x
select * from {d}.customers lateral view explode(name) t as x
select * from {d}.customers pivot (max(id) for missing in (1))
select tags.missing.x from {d}.orders
select /*+ broadcast(missing) */ id + missing from {d}.orders
update {t}.names set name = (select max(name) from {d}.customers)
select id from {d}.orders limit (select max(id) from {d}.customers)
describe {d}.orders missing
export table {d}.orders to '/export'
select * from {d}.customers tablesample (200 percent)
set var missing = (select max(id) from {d}.orders)
""",
}

#: Cases by the line of Spark in which both fail, in other words.
#:
#: Spark 3.5 resolves no subquery in VALUES. It then says that there is no such table, which there
#: is; where the name has been swapped for the snapshot, it tells of the column next to the name.
IN_OTHER_WORDS = {
    "3.5": (
        "select * from values ((select max(id) from {d}.orders)) as t(m)",
        "values (1, (select count(*) from {d}.customers))",
    ),
}
