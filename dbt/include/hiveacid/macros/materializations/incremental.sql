{#-- dbt-spark's incremental materialization with four differences:
     - A whole table is built as in the table materialization.
     - New rows are read in full and the run's snapshot is checked before the target changes.
     - A model over acid_changes stores the state of its source with its rows.
     - A strategy may be the user's own. --#}
{% materialization incremental, adapter='hiveacid', supported_languages=['sql', 'python'] -%}
  {%- set own_materialization = adapter.hiveacid_own_materialization(context, 'incremental') -%}
  {%- if own_materialization is not none -%}
    {{ return(own_materialization()) }}
  {%- endif -%}
  {%- set file_format = hiveacid_file_format() -%}
  {%- set strategy = config.get('incremental_strategy') or 'append' -%}
  {%- if file_format != 'acid' and strategy in ['append', 'merge', 'insert_overwrite', 'microbatch', 'delete+insert'] -%}
    {%- set strategy = dbt_spark_validate_get_incremental_strategy(strategy, file_format) -%}
  {%- elif file_format != 'acid' and strategy != 'acid_changes' -%}
    {%- set own_strategy = adapter.get_incremental_strategy_macro(context, strategy) -%}
  {%- endif -%}
  {%- set on_schema_change = incremental_validate_on_schema_change(
      config.get('on_schema_change'), default='ignore') -%}
  {%- set grant_config = config.get('grants') -%}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- if file_format == 'acid' -%}
    {% do adapter.hiveacid_check_acid(target_relation, model) %}
  {%- endif -%}
  {%- do adapter.hiveacid_recover(target_relation) -%}
  {%- set existing_relation = load_relation(this) -%}

  {%- if file_format != 'acid' and strategy in ['insert_overwrite', 'microbatch'] and config.get('partition_by') -%}
    {%- call statement() -%}
      set spark.sql.sources.partitionOverwriteMode = DYNAMIC
    {%- endcall -%}
  {%- endif -%}

  {{ run_hooks(pre_hooks) }}
  {% do hiveacid_run_sql_header() %}

  {%- set query = adapter.hiveacid_model_query(model, compiled_code, target_relation) -%}
  {%- set model_run = adapter.hiveacid_begin_run(model, query) -%}
  {%- if existing_relation is none or existing_relation.is_view or should_full_refresh() -%}
    {% do hiveacid_build_table(target_relation, existing_relation, query, model_run) %}
  {%- elif model_run is not none -%}
    {% do hiveacid_apply_changes(
        model_run, target_relation, existing_relation, strategy, on_schema_change, own_strategy) %}
  {%- elif file_format == 'acid' -%}
    {% do hiveacid_add_to_acid_table(target_relation, existing_relation, query, on_schema_change) %}
  {%- else -%}
    {%- set new_rows = make_temp_relation(target_relation, '__dbt_tmp') -%}
    {%- call statement('create_tmp_relation') -%}
      {{ create_table_as(True, new_rows, query) }}
    {%- endcall -%}
    {%- set columns = process_schema_changes(on_schema_change, new_rows, existing_relation) -%}
    {%- set new_rows = hiveacid_read_rows(new_rows, target_relation) -%}
    {% do adapter.hiveacid_forget_state(existing_relation) %}
    {%- if strategy == 'microbatch' and file_format == 'iceberg' -%}
      {%- do adapter.hiveacid_serialize_writes(target_relation) -%}
    {%- endif -%}
    {%- call statement('main') -%}
      {{ hiveacid_incremental_sql(
          strategy, new_rows, target_relation, existing_relation, columns, own_strategy) }}
    {%- endcall -%}
  {%- endif -%}

  {% set should_revoke = should_revoke(existing_relation, full_refresh_mode=should_full_refresh()) %}
  {% do apply_grants(target_relation, grant_config, should_revoke) %}
  {% do persist_docs(target_relation, model) %}

  {%- if model_run is not none -%}
    {% do model_run.end() %}
  {%- endif -%}
  {{ run_hooks(post_hooks) }}

  {% do adapter.hiveacid_remove_leftovers(target_relation) %}

  {{ return({'relations': [target_relation]}) }}
{%- endmaterialization %}


{#-- The model's file format; dbt-spark does not know `acid`. --#}
{% macro hiveacid_file_format() %}
  {%- set file_format = config.get('file_format', default='parquet') -%}
  {%- do return(file_format if file_format == 'acid' else dbt_spark_validate_get_file_format(file_format)) -%}
{% endmacro %}
