-- Statements that must be refused: they write ACID tables, or would read the tables' files raw.

-- group: paths
select * from orc.`{path:orders}`;
select * from orc.`{local:orders}`;
select * from ORC.`{path:orders}/`;
select * from `orc`.`{path:orders}/*`;
select * from orc.`{path:orders}/delta_*`;
select * from orc.`{path:orders}/../orders`;
select * from orc.`{path:orders}//`;
select * from parquet.`{path:customers}`;
select * from parquet.`{path:customers}/*/*`;
select * from text.`{path:customers}`;
select * from binaryFile.`{path:orders}/*`;
select * from `org.apache.spark.sql.execution.datasources.orc`.`{path:orders}`;
select * from orc.`{path:lines}/day=2026-01-01`;
select * from orc.`{warehouse}/*/orders/*`;
select * from {targets}.names where id in (select id from parquet.`{path:customers}`);
with x as (select * from orc.`{path:orders}`) select * from x;
create table {targets}.{name} using orc location '{path:orders}';
create table {targets}.{name} (id int) using orc location '{path:orders}';
create table {targets}.{name} (id int) using orc options (path '{path:orders}');
create table {targets}.{name} using orc options ('path' '{local:orders}');
create external table {targets}.{name} (id int) stored as orc location '{path:orders}';
create external table {targets}.{name} (id int) stored as parquet location '{local:customers}';
create table {targets}.{name} using parquet location '{path:customers}/delta_0000001_0000001';
create or replace table {targets}.{name} using parquet location '{path:customers}' as select 1 as id;
create table {targets}.{name} using delta location '{path:customers}';
create table {targets}.{name} like {targets}.names location '{path:customers}';
create temporary view {name} using orc options (path '{path:orders}');
create or replace temporary view {name} (id int) using parquet options (path '{local:customers}');
create global temporary view {name} using org.apache.spark.sql.parquet options ('path'
    '{path:customers}');
alter table {targets}.names set location '{path:customers}';
create database {name} location '{path:customers}';
create schema if not exists {name} location '{local:lines}/day=2026-01-01';
alter database {targets} set location '{path:orders}';
alter table {targets}.by_day add partition (day = '2026-05-05') location '{path:lines}/day=2026-01-01';
alter table {targets}.by_day partition (day = '2026-01-01') set location '{path:orders}';
insert overwrite directory '{path:orders}' using parquet select 1 as id;
insert overwrite local directory '{local:orders}' stored as orc select 1 as id;
insert overwrite directory using parquet options (path '{path:orders}') select 1 as id;
load data inpath '{path:customers}' into table {targets}.loaded;
load data inpath '{path:orders}/delta_0000001_0000001_0000' into table {targets}.loaded;
load data local inpath '{local:customers}/*' into table {targets}.loaded;

-- group: streams
select * from stream {tables}.orders;
select * from stream({tables}.orders);
select * from stream {tables}.orders with (maxFilesPerTrigger = 1);
create streaming table {targets}.{name} as select * from stream {tables}.orders;

-- group: options and time travel
select * from {tables}.orders with (nonsense = 'x');
select * from {tables}.orders with (read = 'nonsense');
select * from {tables}.orders with (`fetchsize` = 10) o where o.id > 1;
select * from {tables}.orders version as of 'abc';
select * from {tables}.orders for version as of 999999;
select * from (select id from {tables}.customers where id in (select id from {tables}.orders version as of
    999999));
insert into {tables}.customers with (a = 'b') select * from {tables}.customers;

-- group: functions that read tables
-- What reads tables by a text that Spark keeps. A view over them is followed, a function is not.
select {views}.largest();
select {views}.largest() + id, {views}.named(id) from {tables}.orders;
select {views}.largest_of_view();
select id from {targets}.names where id < {views}.largest();
select * from {views}.by_function;
select m from {targets}.names, {views}.by_function;
create temporary view {name} as select {views}.largest() as m;
create view {targets}.{name} as select {views}.largest() as m;
create table {targets}.{name} using parquet as select {views}.named(id) as name from {targets}.names;
insert into {targets}.names select {views}.largest(), 'x';
use {views};
  select largest();
  use {tables};
use {views};
  select * from rows_of(1);
  use {tables};
use {views};
  select c.id, r.status from {tables}.customers c, lateral rows_of(c.id) r;
  use {tables};
use {views};
  select id from {targets}.names where id in (select largest());
  use {tables};
create temporary function {name}() returns int return (select max(id) from {tables}.orders);
create temporary function {name}(c int) returns table (i int, s string)
  return select id, status from {tables}.orders where customer_id = c;
create function {targets}.{name}() returns int return (select max(id) from {tables}.orders);
create or replace function {targets}.{name}(i int) returns table (id int)
  return select id from {tables}.orders where id > i;
create function {targets}.{name}() returns int return {views}.largest() + 1;
alter view {targets}.plain_view as select * from {tables}.orders;

-- group: writes
insert into {tables}.orders select * from {tables}.orders;
insert into {tables}.customers values (9, 'x', 'y');
insert into orders (id) values (9);
insert overwrite {tables}.customers select * from {tables}.customers;
insert overwrite table {tables}.lines partition (day = '2026-01-01') select 1, 1, 1;
insert into {tables}.customers by name select 1 as id;
insert into {tables}.customers replace where id = 1 select * from {tables}.customers;
insert into {tables}.customers table {tables}.customers;
with x as (select 1, 'a', 'b') insert into {tables}.customers select * from x;
from {tables}.customers insert into {tables}.customers select * insert into {targets}.names select id, name;
from {targets}.names insert into {targets}.names select id, name insert overwrite table {tables}.`select` select
    id, name;
update {tables}.orders set status = 'x';
update orders o set o.status = 'x' where o.id = 1;
delete from {tables}.orders;
delete from {tables}.orders as o where o.id in (select id from {tables}.customers);
merge into {tables}.customers t using {targets}.names s on t.id = s.id when matched then delete;
merge into {tables}.customers using {tables}.orders on customers.id = orders.id when matched then
  update set name = 'x';
merge with schema evolution into {tables}.customers t using {targets}.names s on t.id = s.id
  when not matched then insert *;

-- group: opaque
-- Statements whose relations nobody knows before they run: the error names the construct.
select * from identifier('{tables}.orders');
select * from identifier('{tables}' || '.orders');
select * from identifier('orders');
with x as (select * from identifier('{tables}.orders')) select * from x;
select id from {targets}.names where id in (select id from identifier('{tables}.orders'));
table identifier('{tables}.orders');
create temporary view {name} as select * from identifier('{tables}.orders');
create table {targets}.{name} using parquet as select * from identifier('{tables}.orders');
insert into {targets}.names select id, status from identifier('{tables}.orders');
truncate table identifier('{tables}.orders');
drop table identifier('{tables}.orders');
declare or replace variable q = 'select * from {tables}.orders';
  execute immediate q;
execute immediate 'select * from {tables}.orders';
execute immediate 'select * from {tables}.orders where id = ?' using 1;
execute immediate 'drop table {tables}.orders';
explain execute immediate 'select * from {tables}.orders';
begin select id from {tables}.orders; end;
begin declare x int default (select max(id) from {tables}.orders); select x; end;
begin use {tables}; select id from orders; end;
begin if exists (select 1 from {tables}.orders) then drop table {tables}.orders; end if; end;
begin for r as select id from {tables}.orders do select r.id; end for; end;
explain select * from identifier('{tables}.orders');
select * from {views}.of_identifier;
select identifier('{views}.largest')();

-- group: definitions
drop table {tables}.orders;
drop table if exists spark_catalog.{tables}.orders purge;
drop table orders;
truncate table {tables}.orders;
truncate table {tables}.lines partition (day = '2026-01-01');
alter table {tables}.orders rename to {tables}.other;
alter table {tables}.orders set location '{directory}/other';
alter table {tables}.orders set tblproperties ('transactional' = 'false');
alter table {tables}.orders unset tblproperties ('transactional');
alter table {tables}.orders add columns (x int);
alter table {tables}.orders replace columns (x int);
alter table {tables}.orders change column status status string comment 'x';
alter table {tables}.orders set serdeproperties ('a' = 'b');
alter table {tables}.orders set serde 'org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe';
alter table {tables}.lines add partition (day = '2026-09-09');
alter table {tables}.lines drop partition (day = '2026-01-01');
alter table {tables}.lines partition (day = '2026-01-01') rename to partition (day = '2026-01-09');
alter table {tables}.lines partition (day = '2026-01-01') set location '{directory}/other';
alter table {tables}.lines recover partitions;
msck repair table {tables}.lines;
repair table {tables}.lines;
create or replace table {tables}.orders using parquet as select 1 as id;
replace table {tables}.orders using parquet as select 1 as id;
alter view {tables}.orders as select 1;
comment on table {tables}.orders is 'x';
drop database {tables} cascade;
drop schema if exists {tables} cascade;
load data inpath '{directory}/nothing' into table {tables}.orders;
load data local inpath '{local_directory}/nothing' overwrite into table {tables}.lines partition (day = '1');
analyze table {tables}.orders compute statistics;
analyze table {tables}.orders compute statistics noscan;
analyze table {tables}.orders compute statistics for columns id, status;
analyze table {tables}.customers compute statistics for all columns;
analyze table {tables}.lines partition (day) compute statistics;
analyze tables in {tables} compute statistics;

-- group: lakes
convert to delta parquet.`{path:customers}`;
convert to delta {tables}.customers;
create table {targets}.{name} shallow clone parquet.`{path:customers}`;
create table {targets}.{name} shallow clone {tables}.customers;
create or replace table {targets}.{name} shallow clone {tables}.customers;
vacuum {tables}.customers;
optimize {tables}.customers;
delete from delta.`{path:customers}`;
update delta.`{path:customers}` set id = 1;
insert into delta.`{path:customers}` select 1, 'a', 'b';
select * from delta.`{path:customers}`;
call lake.system.snapshot('spark_catalog.{tables}.customers', 'lake.{targets}.{name}');
call lake.system.snapshot(source_table => '{tables}.customers', table => '{targets}.{name}');
call lake.system.migrate('{tables}.customers');
call lake.system.add_files(table => '{targets}.x', source_table => '`parquet`.`{path:customers}`');
call lake.system.add_files('{targets}.x', '{tables}.customers');
