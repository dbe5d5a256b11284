{#-- dbt's test materialization, but the previous run's table of failures stays until this run's
     table is built and the snapshot is checked: see hiveacid_build_table. A view of failures is
     replaced in one statement. --#}
{% materialization test, adapter='hiveacid' %}
  {%- set own_materialization = adapter.hiveacid_own_materialization(context, 'test') -%}
  {%- if own_materialization is not none -%}
    {{ return(own_materialization()) }}
  {%- endif -%}
  {%- set form = config.get('store_failures_as') or 'table' -%}
  {%- if not should_store_failures() or form not in ['table', 'view'] -%}
    {{ return(materialization_test_default()) }}
  {%- endif -%}
  {%- set target_relation = api.Relation.create(
      identifier=model['alias'], schema=schema, database=database, type=form) -%}
  {%- do adapter.hiveacid_recover(target_relation) -%}
  {%- set old_relation = adapter.get_relation(database=database, schema=schema, identifier=model['alias']) -%}

  {%- if flags.REQUIRE_SQL_HEADER_IN_TEST_CONFIGS -%}
    {% do hiveacid_run_sql_header() %}
  {%- endif -%}
  {%- set failures = get_limit_subquery_sql(sql, config.get('limit')) -%}
  {%- if form == 'view' -%}
    {%- if old_relation is not none and not old_relation.is_view -%}
      {% do adapter.drop_relation(old_relation) %}
    {%- endif -%}
    {%- call statement(auto_begin=True) -%}
      {{ spark__create_view_as(target_relation, failures) }}
    {%- endcall -%}
  {%- else -%}
    {% do hiveacid_build_table(target_relation, old_relation, failures) %}
  {%- endif -%}

  {% do adapter.hiveacid_remove_leftovers(target_relation) %}

  {%- call statement('main', fetch_result=True) -%}
    {{ get_test_sql(
        'select * from ' ~ target_relation,
        config.get('fail_calc'), config.get('warn_if'), config.get('error_if'), limit=none) }}
  {%- endcall -%}

  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
