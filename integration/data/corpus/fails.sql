-- Statements that Spark itself refuses: over ACID tables with the same message, names included.
-- 
-- `other_words` names a line of Spark in which both sides fail, in other words. Spark 3.5 resolves no
-- subquery in VALUES. It then says that there is no such table, which there is; where the name has been
-- swapped for the snapshot, it names the column next to the name.

-- group: errors of Spark
select missing from {tables}.orders;
replace table lake.{targets}.{name} using iceberg as select id from {tables}.customers;
select * from corpus_rows(table {tables}.customers);
create temporary view {name} as select id from {tables}.orders;
  create or replace temporary view {name} as select id from {name} where id > 1;
-- other_words: 3.5
select * from values ((select max(id) from {tables}.orders)) as t(m);
-- other_words: 3.5
values (1, (select count(*) from {tables}.customers));
select o.missing from {tables}.orders o;
select orders.id from {tables}.orders o;
select {tables}.orders.id from {tables}.orders o;
select {tables}.orders.id from orders o, {tables}.customers;
select id from {tables}.orders join {tables}.customers on true;
select orders.id from {tables}.orders join {tables}.orders on true;
select customers.id from {tables}.orders;
select {targets}.orders.id from {tables}.orders;
select * from {tables}.missing;
select * from {tables}.orders, {tables}.missing;
select * from missing.orders;
select * from {tables}.orders.id;
select * from `{tables}.orders`;
select sum(id), status from {tables}.orders;
select (select id from {tables}.orders);
select id from {tables}.orders where (select max(id), 1 from {tables}.customers) = 1;
select id from {tables}.orders union select id, name from {tables}.customers;
select * from {tables}.customers as c(a, b);
select a from {tables}.customers as c(a, b, c) where customers.id = 1;
select id from {tables}.orders where amount = 'x' group by;
selec id from {tables}.orders;
insert into {views}.over_orders select 1, 'a', 2;
create table {tables}.orders using parquet as select 1 as id;
create or replace view {tables}.orders as select 1 as id;
create materialized view {targets}.{name} as select * from {tables}.orders;
create function {targets}.{name}(i int default (select max(id) from {tables}.orders)) returns int return i;
select * from {tables}.orders o o2;
select unknown_function(id) from {tables}.orders;
select orders from {tables}.orders;
insert into {targets}.names select id from {tables}.orders;
insert into {targets}.missing select id from {tables}.orders;
create temporary view {targets}.{name} as select * from {tables}.orders;
with x as (select * from x) select * from x;
with x(a, b) as (select id from {tables}.orders) select * from x;
select * from {tables}.customers lateral view explode(name) t as x;
select * from {tables}.customers pivot (max(id) for missing in (1));
select tags.missing.x from {tables}.orders;
select /*+ broadcast(missing) */ id + missing from {tables}.orders;
update {targets}.names set name = (select max(name) from {tables}.customers);
select id from {tables}.orders limit (select max(id) from {tables}.customers);
describe {tables}.orders missing;
export table {tables}.orders to '/export';
select * from {tables}.customers tablesample (200 percent);
set var missing = (select max(id) from {tables}.orders);
