"""Statements that must be refused: they write ACID tables, or would read the tables' files raw."""

WRITES = """
insert into {d}.orders select * from {d}.orders
insert into {d}.customers values (9, 'x', 'y')
insert into orders (id) values (9)
insert overwrite {d}.customers select * from {d}.customers
insert overwrite table {d}.lines partition (day = '2026-01-01') select 1, 1, 1
insert into {d}.customers by name select 1 as id
insert into {d}.customers replace where id = 1 select * from {d}.customers
insert into {d}.customers table {d}.customers
with x as (select 1, 'a', 'b') insert into {d}.customers select * from x
from {d}.customers insert into {d}.customers select * insert into {t}.names select id, name
from {t}.names insert into {t}.names select id, name insert overwrite table {d}.`select` select
    id, name
update {d}.orders set status = 'x'
update orders o set o.status = 'x' where o.id = 1
delete from {d}.orders
delete from {d}.orders as o where o.id in (select id from {d}.customers)
merge into {d}.customers t using {t}.names s on t.id = s.id when matched then delete
merge into {d}.customers using {d}.orders on customers.id = orders.id when matched then
  update set name = 'x'
merge with schema evolution into {d}.customers t using {t}.names s on t.id = s.id
  when not matched then insert *
"""

DEFINITIONS = """
drop table {d}.orders
drop table if exists spark_catalog.{d}.orders purge
drop table orders
truncate table {d}.orders
truncate table {d}.lines partition (day = '2026-01-01')
alter table {d}.orders rename to {d}.other
alter table {d}.orders set location '{tmp}/other'
alter table {d}.orders set tblproperties ('transactional' = 'false')
alter table {d}.orders unset tblproperties ('transactional')
alter table {d}.orders add columns (x int)
alter table {d}.orders replace columns (x int)
alter table {d}.orders change column status status string comment 'x'
alter table {d}.orders set serdeproperties ('a' = 'b')
alter table {d}.orders set serde 'org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe'
alter table {d}.lines add partition (day = '2026-09-09')
alter table {d}.lines drop partition (day = '2026-01-01')
alter table {d}.lines partition (day = '2026-01-01') rename to partition (day = '2026-01-09')
alter table {d}.lines partition (day = '2026-01-01') set location '{tmp}/other'
alter table {d}.lines recover partitions
msck repair table {d}.lines
repair table {d}.lines
create or replace table {d}.orders using parquet as select 1 as id
replace table {d}.orders using parquet as select 1 as id
alter view {d}.orders as select 1
comment on table {d}.orders is 'x'
drop database {d} cascade
drop schema if exists {d} cascade
load data inpath '{tmp}/nothing' into table {d}.orders
load data local inpath '{local_tmp}/nothing' overwrite into table {d}.lines partition (day = '1')
analyze table {d}.orders compute statistics
analyze table {d}.orders compute statistics noscan
analyze table {d}.orders compute statistics for columns id, status
analyze table {d}.customers compute statistics for all columns
analyze table {d}.lines partition (day) compute statistics
analyze tables in {d} compute statistics
"""

PATHS = """
select * from orc.`{path:orders}`
select * from orc.`{local:orders}`
select * from ORC.`{path:orders}/`
select * from `orc`.`{path:orders}/*`
select * from orc.`{path:orders}/delta_*`
select * from orc.`{path:orders}/../orders`
select * from orc.`{path:orders}//`
select * from parquet.`{path:customers}`
select * from parquet.`{path:customers}/*/*`
select * from text.`{path:customers}`
select * from binaryFile.`{path:orders}/*`
select * from `org.apache.spark.sql.execution.datasources.orc`.`{path:orders}`
select * from orc.`{path:lines}/day=2026-01-01`
select * from orc.`{warehouse}/*/orders/*`
select * from {t}.names where id in (select id from parquet.`{path:customers}`)
with x as (select * from orc.`{path:orders}`) select * from x
create table {t}.{n} using orc location '{path:orders}'
create table {t}.{n} (id int) using orc location '{path:orders}'
create table {t}.{n} (id int) using orc options (path '{path:orders}')
create table {t}.{n} using orc options ('path' '{local:orders}')
create external table {t}.{n} (id int) stored as orc location '{path:orders}'
create external table {t}.{n} (id int) stored as parquet location '{local:customers}'
create table {t}.{n} using parquet location '{path:customers}/delta_0000001_0000001'
create or replace table {t}.{n} using parquet location '{path:customers}' as select 1 as id
create table {t}.{n} using delta location '{path:customers}'
create table {t}.{n} like {t}.names location '{path:customers}'
create temporary view {n} using orc options (path '{path:orders}')
create or replace temporary view {n} (id int) using parquet options (path '{local:customers}')
create global temporary view {n} using org.apache.spark.sql.parquet options ('path'
    '{path:customers}')
alter table {t}.names set location '{path:customers}'
create database {n} location '{path:customers}'
create schema if not exists {n} location '{local:lines}/day=2026-01-01'
alter database {t} set location '{path:orders}'
alter table {t}.by_day add partition (day = '2026-05-05') location '{path:lines}/day=2026-01-01'
alter table {t}.by_day partition (day = '2026-01-01') set location '{path:orders}'
insert overwrite directory '{path:orders}' using parquet select 1 as id
insert overwrite local directory '{local:orders}' stored as orc select 1 as id
insert overwrite directory using parquet options (path '{path:orders}') select 1 as id
load data inpath '{path:customers}' into table {t}.loaded
load data inpath '{path:orders}/delta_0000001_0000001_0000' into table {t}.loaded
load data local inpath '{local:customers}/*' into table {t}.loaded
"""

LAKES = """
convert to delta parquet.`{path:customers}`
convert to delta {d}.customers
create table {t}.{n} shallow clone parquet.`{path:customers}`
create table {t}.{n} shallow clone {d}.customers
create or replace table {t}.{n} shallow clone {d}.customers
vacuum {d}.customers
optimize {d}.customers
delete from delta.`{path:customers}`
update delta.`{path:customers}` set id = 1
insert into delta.`{path:customers}` select 1, 'a', 'b'
select * from delta.`{path:customers}`
call lake.system.snapshot('spark_catalog.{d}.customers', 'lake.{t}.{n}')
call lake.system.snapshot(source_table => '{d}.customers', table => '{t}.{n}')
call lake.system.migrate('{d}.customers')
call lake.system.add_files(table => '{t}.x', source_table => '`parquet`.`{path:customers}`')
call lake.system.add_files('{t}.x', '{d}.customers')
"""

LAKES_THEMSELVES = """
vacuum '{path:customers}'
optimize '{path:customers}'
describe history {d}.customers
restore table {d}.customers to version as of 1
"""
"""Statements that Delta itself refuses, before it reads a file."""

STREAMS = """
select * from stream {d}.orders
select * from stream({d}.orders)
select * from stream {d}.orders with (maxFilesPerTrigger = 1)
create streaming table {t}.{n} as select * from stream {d}.orders
"""

OPTIONS = """
select * from {d}.orders with (nonsense = 'x')
select * from {d}.orders with (read = 'nonsense')
select * from {d}.orders with (`fetchsize` = 10) o where o.id > 1
select * from {d}.orders version as of 'abc'
select * from {d}.orders for version as of 999999
select * from (select id from {d}.customers where id in (select id from {d}.orders version as of
    999999))
insert into {d}.customers with (a = 'b') select * from {d}.customers
"""

FUNCTIONS = """
select {v}.largest()
select {v}.largest() + id, {v}.named(id) from {d}.orders
select {v}.largest_of_view()
select id from {t}.names where id < {v}.largest()
select * from {v}.by_function
select m from {t}.names, {v}.by_function
create temporary view {n} as select {v}.largest() as m
create view {t}.{n} as select {v}.largest() as m
create table {t}.{n} using parquet as select {v}.named(id) as name from {t}.names
insert into {t}.names select {v}.largest(), 'x'
use {v} ;; select largest() ;; use {d}
use {v} ;; select * from rows_of(1) ;; use {d}
use {v} ;; select c.id, r.status from {d}.customers c, lateral rows_of(c.id) r ;; use {d}
use {v} ;; select id from {t}.names lateral view explode(array(largest())) e as m ;; use {d}
create temporary function {n}() returns int return (select max(id) from {d}.orders)
create temporary function {n}(c int) returns table (i int, s string)
  return select id, status from {d}.orders where customer_id = c
create function {t}.{n}() returns int return (select max(id) from {d}.orders)
create or replace function {t}.{n}(i int) returns table (id int)
  return select id from {d}.orders where id > i
create function {t}.{n}() returns int return {v}.largest() + 1
alter view {t}.plain_view as select * from {d}.orders
"""
"""What reads tables by a text that Spark keeps. A view over them is followed, a function is not."""

OPAQUE = """
select * from identifier('{d}.orders')
select * from identifier('{d}' || '.orders')
select * from identifier('orders')
with x as (select * from identifier('{d}.orders')) select * from x
select id from {t}.names where id in (select id from identifier('{d}.orders'))
table identifier('{d}.orders')
create temporary view {n} as select * from identifier('{d}.orders')
create table {t}.{n} using parquet as select * from identifier('{d}.orders')
insert into {t}.names select id, status from identifier('{d}.orders')
truncate table identifier('{d}.orders')
drop table identifier('{d}.orders')
declare or replace variable q = 'select * from {d}.orders' ;; execute immediate q
execute immediate 'select * from {d}.orders'
execute immediate 'select * from {d}.orders where id = ?' using 1
execute immediate 'drop table {d}.orders'
explain execute immediate 'select * from {d}.orders'
begin select id from {d}.orders; end
begin declare x int default (select max(id) from {d}.orders); select x; end
begin use {d}; select id from orders; end
begin if exists (select 1 from {d}.orders) then drop table {d}.orders; end if; end
begin for r as select id from {d}.orders do select r.id; end for; end
explain select * from identifier('{d}.orders')
select * from {v}.of_identifier
select identifier('{v}.largest')()
"""
"""Statements whose relations nobody knows before they run: the error names the construct."""

GROUPS = {
    "paths": PATHS,
    "streams": STREAMS,
    "options and time travel": OPTIONS,
    "functions that read tables": FUNCTIONS,
    "writes": WRITES,
    "opaque": OPAQUE,
    "definitions": DEFINITIONS,
    "lakes": LAKES,
}
