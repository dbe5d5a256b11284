-- Views and functions that are stored in `{views}`, while `{tables}` is the current database.
-- `settings` are those of Spark while it stores a view.

-- group: by Spark
create view {views}.over_orders as select id, status, amount from {tables}.orders;
create view {views}.one_part as select id, name from customers where id in (select customer_id from orders);
create view {views}.aliased (a, b comment 'x') as select id, upper(status) as u from {tables}.orders o;
create view {views}.over_view as select v.id, c.name from {views}.over_orders v left join {tables}.customers c on c.id = v.id;
create view {views}.over_all as select w.*, x.a from {views}.over_view w join {views}.aliased x on x.a = w.id;
create view {views}.star_of_grown as select * from {tables}.grown;
create view {views}.two_of_grown as select g.id, {tables}.grown.name from {tables}.grown, {tables}.grown g where g.id = {tables}.grown.id;
create view {views}.evolving_grown with schema evolution as select * from {tables}.grown;
-- Without ANSI the size of NULL is -1.
-- settings: spark.sql.ansi.enabled=true
create view {views}.in_ansi as select id, '1' + id as s, size(if(id > 1, null, tags)) as n from {tables}.orders;
create view {views}.one_part_mixed as select o.id, p.name from orders o left join plain p on p.id = o.id;
-- settings: spark.sql.session.timeZone=Asia/Tokyo
create view {views}.in_tokyo as select id, cast(at as string) s, date(at) d from {tables}.orders;
create view {views}.with_cte as with x as (select * from orders), customers as (select id from x) select * from customers;
create view {views}.with_shadow as with orders as (select 1 as id) select orders.id, o.status from orders join {tables}.orders o using (id);
create view {views}.with_subquery as select id from {tables}.orders where id in (select order_id from {tables}.lines) or (select count(*) from {tables}.customers) > 1;
create function {views}.largest() returns int return (select max(id) from {tables}.orders);
create function {views}.named(c int) returns string return (select max(name) from {tables}.customers where id = c);
create function {views}.largest_of_view() returns int return (select max(id) from {views}.over_orders);
create view {views}.by_function as select {views}.largest() as m, id from {tables}.customers;
create view {views}.of_identifier as select * from identifier('{tables}.orders');
create function {views}.rows_of(c int) returns table (id int, status string) return select id, status from {tables}.orders where customer_id = c;

-- group: by Hive
create view {views}.by_hive as select id, amount from {tables}.orders where amount > 5;
create view {views}.by_hive_with_qualifiers as select o.id, customers.name as n from {tables}.orders o join {tables}.customers on o.customer_id = customers.id;
create view {views}.by_hive_over_view as select by_hive.id + 1 as i from {views}.by_hive;
create view {views}.by_hive_star_of_grown as select * from {tables}.grown;
