-- Statements whose explained plan is shown.

-- group: explained
explain select id from {tables}.orders;
explain extended select o.id from {tables}.orders o where exists (select 1 from {tables}.customers);
explain formatted with x as (select id from {tables}.orders) select (select max(id) from x) from
    {tables}.lines;
explain cost select * from {tables}.lines where day = '2026-01-01';
explain codegen select id from {tables}.customers;
explain extended create table {targets}.{name} using parquet as select id from {tables}.orders;
explain extended insert into {targets}.names select id, status from {tables}.orders;
explain extended create temporary view {name} as select * from {tables}.orders;
explain extended table {tables}.customers;
explain extended select * from {views}.over_view;
explain extended describe query select id from {tables}.orders;
explain explain select id from {tables}.orders;
