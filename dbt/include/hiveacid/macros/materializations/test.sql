{#-- dbt's test materialization, but the table of a previous run's failures stays until this run's
     is there and the snapshot still holds: see hiveacid_build_table. --#}
{% materialization test, adapter='hiveacid' %}
  {%- set own_materialization = adapter.hiveacid_own_materialization(context, 'test') -%}
  {%- if own_materialization is not none -%}
    {{ return(own_materialization()) }}
  {%- endif -%}
  {%- if not should_store_failures() or config.get('store_failures_as') not in [none, 'table'] -%}
    {{ return(materialization_test_default()) }}
  {%- endif -%}
  {%- set target_relation = api.Relation.create(
      identifier=model['alias'], schema=schema, database=database, type='table') -%}
  {%- do adapter.hiveacid_recover(target_relation) -%}
  {%- set old_relation = adapter.get_relation(database=database, schema=schema, identifier=model['alias']) -%}

  {%- if flags.REQUIRE_SQL_HEADER_IN_TEST_CONFIGS -%}
    {% do hiveacid_run_sql_header() %}
  {%- endif -%}
  {% do hiveacid_build_table(target_relation, old_relation, get_limit_subquery_sql(sql, config.get('limit'))) %}

  {% do adapter.hiveacid_remove_leftovers(target_relation) %}

  {%- call statement('main', fetch_result=True) -%}
    {{ get_test_sql(
        'select * from ' ~ target_relation,
        config.get('fail_calc'), config.get('warn_if'), config.get('error_if'), limit=none) }}
  {%- endcall -%}

  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
