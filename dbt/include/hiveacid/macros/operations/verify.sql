{#-- Check that a table's files are as Hive writes them and that its rows are read right:
     dbt run-operation hiveacid_verify --args '{table: shop.orders}' --#}
{% macro hiveacid_verify(table) %}
  {% do adapter.hiveacid_verify(table) %}
{% endmacro %}
