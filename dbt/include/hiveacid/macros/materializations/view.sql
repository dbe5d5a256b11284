{#-- dbt-spark's view materialization. It is declared for this adapter, too, since dbt-spark's clone of a
     view looks it up by the adapter's type. To replace a table by a view, dbt drops the table first.
     So a view over ACID tables that cannot be created is refused before anything else happens. --#}
{% materialization view, adapter='hiveacid' %}
  {%- set own_materialization = adapter.hiveacid_own_materialization(context, 'view') -%}
  {%- if own_materialization is not none -%}
    {{ return(own_materialization()) }}
  {%- endif -%}
  {% do adapter.hiveacid_check_view(compiled_code) %}
  {{ return(materialization_view_spark()) }}
{% endmaterialization %}


{#-- dbt-spark ignores a view's `sql_header`. Spark stores the session's settings with a view. --#}
{% macro hiveacid__create_view_as(relation, sql) %}
  {%- do hiveacid_run_sql_header() -%}
  {{ spark__create_view_as(relation, sql) }}
{% endmacro %}
