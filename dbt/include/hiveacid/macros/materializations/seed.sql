{#-- dbt-spark's macro asks for the type of a column at each of its values, which looks at the whole
     column: a seed of 20,000 rows takes many minutes. --#}
{% macro hiveacid__load_csv_rows(model, agate_table) %}
  {%- set column_types = model['config'].get('column_types', {}) -%}
  {%- set rows = adapter.hiveacid_seed_rows(this, agate_table, column_types) -%}
  {%- set sql = 'insert into ' ~ this.render() ~ ' select * from ' ~ rows -%}
  {% do adapter.add_query(sql) %}
  {%- do return(sql) -%}
{% endmacro %}
