{#-- dbt-spark's. It is named here, too, since dbt-spark's clone of a view asks for the materialization
     by the type of the adapter. --#}
{% materialization view, adapter='hiveacid' %}
  {{ return(materialization_view_spark()) }}
{% endmaterialization %}


{#-- dbt-spark leaves a view's `sql_header` out. Spark keeps the session's settings with a view. --#}
{% macro hiveacid__create_view_as(relation, sql) %}
  {%- do hiveacid_run_sql_header() -%}
  {{ spark__create_view_as(relation, sql) }}
{% endmacro %}
