{#-- dbt-spark's materialization accepts Delta, Iceberg and Hudi. This is dbt's, for Hive ACID tables. --#}
{% materialization snapshot, adapter='hiveacid' %}
  {%- set own_materialization = adapter.hiveacid_own_materialization(context, 'snapshot') -%}
  {%- if own_materialization is not none -%}
    {{ return(own_materialization()) }}
  {%- endif -%}
  {%- if config.get('file_format') != 'acid' -%}
    {{ return(materialization_snapshot_spark()) }}
  {%- endif -%}
  {% do adapter.hiveacid_check_acid(this, model) %}
  {%- set exists, target_relation = get_or_create_relation(
      database=none, schema=model.schema, identifier=model['alias'], type='table') -%}
  {%- if not target_relation.is_table -%}
    {% do exceptions.relation_wrong_type(target_relation, 'table') %}
  {%- endif -%}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {%- set strategy = strategy_dispatch(config.get('strategy'))(
      model, 'snapshotted_data', 'source_data', model['config'], exists) -%}
  {%- if not exists -%}
    {% do hiveacid_build_acid_table(
        target_relation, none, default__build_snapshot_table(strategy, model['compiled_code'])) %}
  {%- else -%}
    {%- set names = config.get('snapshot_table_column_names') or get_snapshot_table_column_names() -%}
    {% do adapter.valid_snapshot_target(target_relation, names) %}
    {%- set changes = spark_build_snapshot_staging_table(strategy, sql, target_relation) -%}
    {%- set missing_columns = adapter.get_missing_columns(changes, target_relation)
        | rejectattr('name', 'in', ['dbt_change_type', 'dbt_unique_key']) | list -%}
    {%- if missing_columns -%}
      {% do create_columns(target_relation, missing_columns) %}
      {#-- For that the run's reads of the table have ended. --#}
      {%- set changes = spark_build_snapshot_staging_table(strategy, sql, target_relation) -%}
    {%- endif -%}
    {%- do store_result('main', response=adapter.hiveacid_merge_acid_snapshot(
        target_relation, changes, names, config.get('dbt_valid_to_current'), model)) -%}
  {%- endif -%}

  {% do apply_grants(target_relation, config.get('grants'), should_revoke(exists, false)) %}
  {% do persist_docs(target_relation, model) %}
  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}


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
  {%- set columns = columns | rejectattr('name', 'in', keys) | list -%}
  {%- if config.get('file_format') != 'acid' -%}
    {%- do spark__create_columns(relation, columns) -%}
  {%- elif columns -%}
    {% do adapter.hiveacid_change_acid_columns(relation, columns, none) %}
  {%- endif -%}
{% endmacro %}
