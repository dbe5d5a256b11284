{#-- dbt-spark stages a snapshot's changes in a permanent view, which could not read an ACID source.
     Here it is a temporary view, which only the snapshot's own connection sees.
     dbt-spark does not dispatch this macro: the same name in this package overrides it. --#}
{% macro spark_build_snapshot_staging_table(strategy, sql, target_relation) %}
  {%- set changes = make_temp_relation(target_relation).incorporate(type='view') -%}
  {%- set staged_sql = snapshot_staging_table(strategy, sql, target_relation) -%}
  {#-- With --empty or --sample every row that is left out would be treated as deleted. --#}
  {%- if strategy.hard_deletes in ['invalidate', 'new_record'] and (flags.EMPTY or adapter.hiveacid_is_sample_run()) -%}
    {%- set staged_sql = 'select * from (' ~ staged_sql ~ ') where false' -%}
  {%- endif -%}
  {%- call statement('build_snapshot_staging_relation') -%}
    {{ create_temporary_view(changes, staged_sql) }}
  {%- endcall -%}
  {%- set staged = hiveacid_read_rows(changes, target_relation) -%}
  {#-- Now, not after the target has changed: the rest of a snapshot is dbt-spark's code. --#}
  {% do adapter.hiveacid_remove_leftovers(target_relation) %}
  {% do return(staged) %}
{% endmacro %}


{#-- The rows of a snapshot's first version. --#}
{% macro hiveacid__build_snapshot_table(strategy, sql) %}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- set first_rows = make_temp_relation(target_relation).incorporate(type='view') -%}
  {%- call statement('build_snapshot_staging_relation') -%}
    {{ create_temporary_view(first_rows, default__build_snapshot_table(strategy, sql)) }}
  {%- endcall -%}
  select * from {{ hiveacid_read_rows(first_rows, target_relation) }}
{% endmacro %}


{#-- dbt-spark names an Iceberg snapshot's changes without their schema, since there they are a
     temporary view. Here they may be in a table. --#}
{% macro hiveacid__snapshot_merge_sql(target, source, insert_cols) %}
  {%- do return(spark__snapshot_merge_sql(target.incorporate(is_iceberg=false), source, insert_cols)) -%}
{% endmacro %}


{#-- With more than one unique key, dbt-spark treats dbt's own columns in the changes
     (`dbt_unique_key_1`, ...) as new columns of the source. --#}
{% macro hiveacid__create_columns(relation, columns) %}
  {%- set unique_key = config.get('unique_key') -%}
  {%- set keys = [] -%}
  {%- if unique_key is not string -%}
    {%- for key in unique_key or [] -%}
      {%- do keys.append('dbt_unique_key_' ~ loop.index) -%}
    {%- endfor -%}
  {%- endif -%}
  {%- do spark__create_columns(relation, columns | rejectattr('name', 'in', keys) | list) -%}
{% endmacro %}
