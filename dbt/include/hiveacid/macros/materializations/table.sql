{#-- dbt-spark's table materialization, but the old relation stays until the new table is built: see
     hiveacid_build_table. --#}
{% materialization table, adapter='hiveacid', supported_languages=['sql', 'python'] %}
  {%- set own_materialization = adapter.hiveacid_own_materialization(context, 'table') -%}
  {%- if own_materialization is not none -%}
    {{ return(own_materialization()) }}
  {%- endif -%}
  {%- set grant_config = config.get('grants') -%}
  {%- set target_relation = api.Relation.create(
      identifier=model['alias'], schema=schema, database=database, type='table') -%}
  {%- if config.get('file_format') == 'acid' -%}
    {% do adapter.hiveacid_check_acid(target_relation, model) %}
  {%- endif -%}
  {%- do adapter.hiveacid_recover(target_relation) -%}
  {%- set old_relation = adapter.get_relation(database=database, schema=schema, identifier=model['alias']) -%}

  {{ run_hooks(pre_hooks) }}
  {% do hiveacid_run_sql_header() %}

  {%- set query = adapter.hiveacid_model_query(model, compiled_code, target_relation) -%}
  {% do hiveacid_build_table(target_relation, old_relation, query) %}

  {% set should_revoke = should_revoke(old_relation, full_refresh_mode=True) %}
  {% do apply_grants(target_relation, grant_config, should_revoke) %}
  {% do persist_docs(target_relation, model) %}

  {{ run_hooks(post_hooks) }}

  {% do adapter.hiveacid_remove_leftovers(target_relation) %}

  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
