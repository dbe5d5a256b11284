{#-- dbt-spark's macro asks for the type of a column at each of its values, which looks at the whole
     column: a seed of 20,000 rows takes many minutes. --#}
{% macro hiveacid__load_csv_rows(model, agate_table) %}
  {%- set column_types = model['config'].get('column_types', {}) -%}
  {%- set rows = adapter.hiveacid_seed_rows(this, agate_table, column_types) -%}
  {#-- The table has its partition columns last. --#}
  {%- set columns = [] -%}
  {%- for name in agate_table.column_names -%}
    {%- do columns.append(adapter.quote(name)) -%}
  {%- endfor -%}
  {%- set sql = 'insert into ' ~ this.render() ~ ' (' ~ columns | join(', ') ~ ') select * from ' ~ rows -%}
  {% do adapter.add_query(sql) %}
  {%- do return(sql) -%}
{% endmacro %}
