{#-- Run a model's `sql_header`: statements for the model's session, such as `set time zone …`. dbt puts
     them before the query in one text, but Spark runs only one statement; dbt-spark ignores them. --#}
{% macro hiveacid_run_sql_header() %}
  {%- for text in (config.get('sql_header') or '').split(';') if text.strip() -%}
    {%- call statement() -%}
      {{ text }}
    {%- endcall -%}
  {%- endfor -%}
{% endmacro %}


{#-- Without the header, which has already run. --#}
{% macro hiveacid__get_empty_subquery_sql(select_sql, select_sql_header=none) %}
  {%- do return(default__get_empty_subquery_sql(select_sql)) -%}
{% endmacro %}
