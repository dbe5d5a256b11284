{#-- dbt-spark's macro computes a column's type again for each value, from the whole column: a seed of
     20,000 rows takes many minutes. --#}
{% macro hiveacid__load_csv_rows(model, agate_table) %}
  {%- if config.get('file_format') == 'acid' -%}
    {%- do return('') -%}
  {%- endif -%}
  {%- set column_types = model['config'].get('column_types', {}) -%}
  {%- set rows = adapter.hiveacid_seed_rows(this, agate_table, column_types) -%}
  {#-- Name the columns: the table has its partition columns last. --#}
  {%- set columns = [] -%}
  {%- for name in agate_table.column_names -%}
    {%- do columns.append(adapter.quote(name)) -%}
  {%- endfor -%}
  {%- set sql = 'insert into ' ~ this.render() ~ ' (' ~ columns | join(', ') ~ ') select * from ' ~ rows -%}
  {% do adapter.add_query(sql) %}
  {%- do return(sql) -%}
{% endmacro %}


{#-- Delta keeps rows that it finds in a new table's directory, here the rows of the seed's previous
     table, and the seed would have its rows twice. So an empty query replaces the rows first. Then
     the columns get their types, with lengths, which a query cannot declare. --#}
{% macro hiveacid__create_csv_table(model, agate_table) %}
  {%- if config.get('file_format') == 'acid' -%}
    {%- do return(hiveacid_build_acid_seed(none, agate_table)) -%}
  {%- endif -%}
  {%- do adapter.hiveacid_refuse_acid_by_default(this, config) -%}
  {%- if config.get('file_format') != 'delta' or not config.get('location_root') -%}
    {%- do return(spark__create_csv_table(model, agate_table)) -%}
  {%- endif -%}
  {%- call statement('_') -%}
    create or replace table {{ this.render() }}
    {{ file_format_clause() }}
    {{ location_clause() }}
    as select 1 as no_column where false
  {%- endcall -%}
  {%- set column_types = model['config'].get('column_types', {}) -%}
  {%- set columns = [] -%}
  {%- for name in agate_table.column_names -%}
    {%- set type = column_types.get(name, adapter.convert_type(agate_table, loop.index0)) -%}
    {%- do columns.append(
        adapter.quote_seed_column(name | string, model['config'].get('quote_columns')) ~ ' ' ~ type) -%}
  {%- endfor -%}
  {%- set sql -%}
    create or replace table {{ this.render() }} ({{ columns | join(', ') }})
    {{ file_format_clause() }}
    {{ partition_cols(label='partitioned by') }}
    {{ clustered_cols(label='clustered by') }}
    {{ location_clause() }}
    {{ comment_clause() }}
  {%- endset -%}
  {%- call statement('_') -%}
    {{ sql }}
  {%- endcall -%}
  {%- do return(sql) -%}
{% endmacro %}


{#-- dbt-spark drops the table first. A Hive ACID table keeps its rows until others are committed. --#}
{% macro hiveacid__reset_csv_table(model, full_refresh, old_relation, agate_table) %}
  {%- if config.get('file_format') == 'acid' -%}
    {%- do return(hiveacid_build_acid_seed(old_relation, agate_table)) -%}
  {%- endif -%}
  {%- do return(spark__reset_csv_table(model, full_refresh, old_relation, agate_table)) -%}
{% endmacro %}


{#-- Make a Hive ACID table and load its rows, in one transaction. --#}
{% macro hiveacid_build_acid_seed(old_relation, agate_table) %}
  {%- set column_types = model['config'].get('column_types', {}) -%}
  {%- do adapter.hiveacid_recover(this) -%}
  {%- set columns = [] -%}
  {%- for name in agate_table.column_names -%}
    {%- do columns.append('c' ~ loop.index0 ~ ' as ' ~ adapter.quote(name)) -%}
  {%- endfor -%}
  {%- set query = 'select ' ~ columns | join(', ') ~ ' from '
      ~ adapter.hiveacid_seed_rows(this, agate_table, column_types) -%}
  {% do adapter.hiveacid_build_acid(this, old_relation, query, model) %}
  {% do adapter.hiveacid_remove_leftovers(this) %}
  {%- do return(query) -%}
{% endmacro %}
