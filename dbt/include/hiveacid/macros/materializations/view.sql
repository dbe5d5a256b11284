{#-- dbt-spark's. It is named here, too, since dbt-spark's clone of a view asks for the materialization
     by the type of the adapter. dbt replaces a table by a view by dropping the table first. So what keeps
     a view over ACID tables from being made is found before anything else happens. --#}
{% materialization view, adapter='hiveacid' %}
  {%- set own_materialization = adapter.hiveacid_own_materialization(context, 'view') -%}
  {%- if own_materialization is not none -%}
    {{ return(own_materialization()) }}
  {%- endif -%}
  {% do adapter.hiveacid_check_view(compiled_code) %}
  {{ return(materialization_view_spark()) }}
{% endmaterialization %}


{#-- dbt-spark leaves a view's `sql_header` out. Spark keeps the session's settings with a view. --#}
{% macro hiveacid__create_view_as(relation, sql) %}
  {%- do hiveacid_run_sql_header() -%}
  {{ spark__create_view_as(relation, sql) }}
{% endmacro %}
