-- Statements that read ACID tables on their way to something else: a table, a view, a plan.

-- group: tables
create table {targets}.{name} using parquet as select id, status from {tables}.orders;
  select * from {targets}.{name};
create table {targets}.{name} as select * from {tables}.customers;
  select * from {targets}.{name};
create table {targets}.{name} stored as orc as select * from {tables}.customers;
  select * from {targets}.{name};
create table if not exists {targets}.{name} using parquet partitioned by (country)
  as select * from {tables}.customers;
  select * from {targets}.{name};
create table {targets}.{name} using parquet as with x as (select id from {tables}.orders), y as (table x)
  select * from y;
  select * from {targets}.{name};
create table {targets}.{name} using parquet comment 'from {tables}.orders' tblproperties ('a' = '{tables}.orders')
  as select orders.id, (select max(id) from {tables}.customers) m from {tables}.orders;
  table {targets}.{name};
create table {targets}.{name} using parquet as table {tables}.customers;
  table {targets}.{name};
create table {targets}.{name} using parquet as from {tables}.customers select name;
  table {targets}.{name};
create table {targets}.{name} using parquet as from {tables}.customers |> where id > 1;
  table {targets}.{name};
create table {targets}.orders using parquet as select id from {tables}.orders;
  select orders.id, {targets}.orders.id from {targets}.orders;
  select a.id, b.status from {targets}.orders a join {tables}.orders b using (id);
  drop table {targets}.orders;
create table {targets}.{name} (i int, s string) using parquet;
  insert into {targets}.{name} select id, status from {tables}.orders;
  insert into {targets}.{name} (s, i) select name, id from {tables}.customers;
  insert into {targets}.{name} table {tables}.`select`;
  insert into table {targets}.{name} values (7, 'seven');
  insert into {targets}.{name} select max(id), 'max'
    from {tables}.orders;
  insert into {targets}.{name} from {tables}.customers select id, country;
  with x as (select id, status from {tables}.orders) insert into {targets}.{name} select * from x;
  insert into {targets}.{name} with x as (select id, status from {tables}.orders) select * from x;
  insert into {targets}.{name} by name select name as s, id as i from {tables}.customers;
  select * from {targets}.{name};
  insert overwrite {targets}.{name} select orders.id, orders.status from {tables}.orders where id < 3;
  insert overwrite table {targets}.{name} select o.id, c.name from {targets}.names o join {tables}.customers c
    on c.id = o.id;
  select * from {targets}.{name};
create table {targets}.{name} (i int, s string) using parquet;
  insert overwrite table {targets}.{name} select o.id, c.name from {tables}.orders o join {tables}.customers c
    on c.id = o.customer_id;
  select * from {targets}.{name};
create table {targets}.{name} (i int, p string) using parquet partitioned by (p);
  insert into {targets}.{name} partition (p = 'a') select id from {tables}.orders;
  insert into {targets}.{name} partition (p) select id, country from {tables}.customers;
  insert overwrite {targets}.{name} partition (p = 'a') select id from {tables}.customers;
  insert into {targets}.{name} partition (p = 'b') (i) select max(id) from {tables}.orders;
  select * from {targets}.{name};
create table {targets}.{name} (i int) using parquet;
  create table {targets}.{name}_b (s string) using parquet;
  from {tables}.orders insert into {targets}.{name} select id insert into {targets}.{name}_b select status where id > 1;
  with x as (select * from {tables}.customers) from x insert into {targets}.{name} select id
    insert overwrite table {targets}.{name}_b select name;
  select * from {targets}.{name};
  select * from {targets}.{name}_b;
insert overwrite directory '{directory}/{name}' using parquet select id, status from {tables}.orders;
  select * from parquet.`{directory}/{name}`;
insert overwrite local directory '{local_directory}/{name}' stored as orc select id, name from {tables}.customers;
insert overwrite directory using json options (path '{directory}/{name}') select name from {tables}.customers;
  select * from json.`{directory}/{name}`;
create temporary view {name} as select id from {tables}.orders;
  create table {targets}.{name} using parquet as select * from {name};
  table {targets}.{name};

-- group: temporary views
create temporary view {name} as select * from {tables}.orders;
  select * from {name};
create or replace temporary view {name} as select id, name from {tables}.customers;
  create or replace temporary view {name} as select id from {tables}.`select`;
  create or replace temp view {name}_b as select o.id, {name}.id as c from {tables}.orders o join {name}
    on {name}.id = o.customer_id;
  select * from {name}_b;
create temporary view {name} (a comment 'the id of {tables}.orders', b) as select id, status from {tables}.orders;
  select a, b from {name};
  describe {name};
create global temporary view {name} as select id from {tables}.orders;
  select * from global_temp.{name};
  select {name}.id from global_temp.{name};
  drop view global_temp.{name};
create temporary view orders as select 42 as id;
  select * from orders;
  select orders.id from orders;
  select o.id, orders.id from {tables}.orders o, orders;
  select * from {tables}.orders;
  with x as (select * from orders) select * from x;
  drop view orders;
  select id from orders;
create temporary view customers as select id from {tables}.customers where id > 1;
  select customers.id from customers;
  drop view customers;
create temporary view {name} as with orders as (select 1 as id) select orders.id, c.id as c
  from orders, {tables}.customers c;
  select * from {name};
create temporary view {name} as select (select max(id) from {tables}.orders) as m;
  select m from {name};
create temporary view {name} as select * from orders;
  use {targets};
  select id from {name};
  use {tables};
cache table {name} as select id, status from {tables}.orders;
  select * from {name};
  uncache table {name};
cache lazy table {name} options ('storageLevel' 'DISK_ONLY') as select id from {tables}.customers;
  select * from {name};
  uncache table {name};
  select * from {name};
cache table {tables}.orders;
  select id from {tables}.orders;
  select {tables}.orders.id from orders;
  uncache table {tables}.orders;
cache lazy table customers;
  select * from {tables}.customers;
create temporary view {name} as select id from {tables}.orders;
  cache table {name};
  select * from {name};
  refresh table {name};
  select * from {name};
  uncache table {name};

-- group: stored views and functions
create view {targets}.{name} as select * from {tables}.orders;
  select * from {targets}.{name};
  select {name}.id from
    {targets}.{name};
create or replace view {targets}.{name} (a comment 'x', b) comment 'over {tables}.orders' as select o.id, c.name
  from {tables}.orders o left join customers c on c.id = o.customer_id -- the {tables}.lines;
  select * from {targets}.{name};
  describe {targets}.{name};
create view {targets}.{name} as select a.id, b.name from {views}.over_view a join {views}.one_part b on a.id = b.id;
  select * from {targets}.{name};
  select {targets}.{name}.name from {targets}.{name} where id in (select id from {targets}.{name});
create view {targets}.{name} as select id from {targets}.names;
  create or replace view {targets}.{name} as
  select id from {tables}.`select`;
  select * from {targets}.{name};
  create or replace view {targets}.{name} as select id + 1 as i from {targets}.names;
  select * from {targets}.{name};
set spark.sql.session.timeZone = Asia/Tokyo;
  create view {targets}.{name} as select id,
  cast(at as string) s from orders;
  reset spark.sql.session.timeZone;
  set spark.sql.session.timeZone = UTC;
  use {targets};
  select * from {name};
  use {tables};
select * from {views}.over_orders;
select over_orders.id from {views}.over_orders;
select {views}.over_orders.id, o.id from {views}.over_orders join {tables}.orders o using (id);
select * from {views}.one_part;
use {views};
  select * from one_part;
  select one_part.id from one_part;
  use {tables};
use {targets};
  select * from {views}.one_part;
  select * from {views}.one_part_mixed;
  use {tables};
select a.id, b.status from {views}.over_orders a join {views}.over_orders b on a.id = b.id;
select * from {views}.aliased;
select * from {views}.over_view;
select * from {views}.over_all;
select * from {views}.star_of_grown;
select * from {views}.two_of_grown;
select * from {views}.evolving_grown;
select * from {views}.in_ansi;
select * from {views}.in_tokyo;
select * from {views}.with_cte;
select * from {views}.with_shadow;
select * from {views}.with_subquery;
select * from {views}.by_hive;
select by_hive.id from {views}.by_hive;
select * from {views}.by_hive_with_qualifiers;
select * from {views}.by_hive_over_view;
select * from {views}.by_hive_star_of_grown;
select a.id from {views}.over_orders a join {views}.by_hive b on a.id = b.id where exists
  (select 1 from {views}.over_view c where c.id = a.id);
with over_orders as (select 1 as id) select * from over_orders, {views}.over_orders o;
create temporary view {name} as select * from {views}.over_view;
  select * from {name};
create table {targets}.{name} using parquet as select * from {views}.over_all;
  table {targets}.{name};
table {views}.over_orders;
from {views}.over_orders |> select id;
select * from {views}.over_orders tablesample (100 percent);
select * from {views}.over_orders as v(a, b, c);
describe {views}.over_orders;
describe {views}.by_hive;
show columns in {views}.over_orders;

-- group: inspection
describe {tables}.orders;
describe table {tables}.customers;
describe {tables}.orders amount;
describe query select id, (select max(name) from {tables}.customers) m from {tables}.orders;
describe select orders.id, amount from {tables}.orders;
describe query table {tables}.customers;
create table {targets}.{name} like {tables}.orders using parquet;
  describe {targets}.{name};
  select * from {targets}.{name};
desc query with x as (select * from {tables}.orders) from x select status;
show columns in {tables}.orders;
show columns from orders in {tables};
show partitions {tables}.lines;
refresh table {tables}.orders;
select current_database() = '{tables}' as b;
show tables in {targets} like 'names';
set spark.sql.shuffle.partitions;

-- group: variables
declare or replace variable v1 int default 0;
  set var v1 = (select max(id) from {tables}.orders);
  select v1, id from {tables}.orders where id < v1;
declare or replace variable v1 int;
  declare or replace variable v2 string;
  set var (v1, v2) = (select id, name from {tables}.customers where id = 2);
  select v1, v2;
declare or replace variable v1 = 2;
  set variable v1 = v1 + (select count(*) from {tables}.lines);
  select v1;
declare or replace variable id = 2;
  select orders.id, session.id from {tables}.orders;
  drop temporary variable id;
declare or replace variable v1 int default 3;
  set var v1 = default;
  select v1;
create temporary function {name}(c int) returns int return c + 1;
  select {name}(id) from {tables}.orders;

-- group: lake tables
create or replace table {targets}.{name} using delta as select id, status from {tables}.orders;
  create or replace table {targets}.{name} using delta as select orders.id, status from {tables}.orders where
    id > 1;
  insert into {targets}.{name} by name select 'c' as status, id from {tables}.customers;
  insert into {targets}.{name} replace where id = 1 select id, status from {tables}.orders where id = 1;
  delete from {targets}.{name} where id = 2;
  select * from {targets}.{name};
create table {targets}.{name} using delta as select id, name from {tables}.customers;
  merge into {targets}.{name} t using {tables}.orders s on t.id = s.id when matched then update set name =
    s.status
    when not matched then insert (id, name) values (s.id, 'new');
  merge into {targets}.{name} using {tables}.orders on {name}.id = orders.id
    when matched and orders.id > 1 then delete;
  merge into {targets}.{name} as t using (with x as (select * from {tables}.customers) select id, name from
    x) s
    on s.id = t.id when not matched then insert * when not matched by source then delete;
  select * from {targets}.{name};
create table lake.{targets}.{name} using iceberg as select id, name from {tables}.customers;
  create or replace table lake.{targets}.{name} using iceberg as select id, country as name from
    {tables}.customers;
  insert into lake.{targets}.{name} select customers.id, name from {tables}.customers;
  insert overwrite lake.{targets}.{name} select id, status from {tables}.orders;
  select * from lake.{targets}.{name};
use lake.{targets};
  select orders.id from spark_catalog.{tables}.orders;
  with orders as (select 1 as id) select * from orders;
  use spark_catalog.{tables};
