{#-- A model's `sql_header`: statements for the model's session, such as `set time zone …`. dbt puts them
     before the query in one text, of which Spark takes one statement, and dbt-spark leaves them out. --#}
{% macro hiveacid_run_sql_header() %}
  {%- for text in (config.get('sql_header') or '').split(';') if text.strip() -%}
    {%- call statement() -%}
      {{ text }}
    {%- endcall -%}
  {%- endfor -%}
{% endmacro %}


{#-- The header has been run by now. --#}
{% macro hiveacid__get_empty_subquery_sql(select_sql, select_sql_header=none) %}
  {%- do return(default__get_empty_subquery_sql(select_sql)) -%}
{% endmacro %}
