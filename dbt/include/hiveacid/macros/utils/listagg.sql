{#-- dbt-spark's macro is older than Spark's listagg and ignores the order. `limit_num` keeps the first
     values in the order; they are split at a character that no value should contain. --#}
{% macro hiveacid__listagg(measure, delimiter_text, order_by_clause, limit_num) -%}
  {%- set order = ' within group (' ~ order_by_clause ~ ')' if order_by_clause else '' -%}
  {%- if limit_num -%}
    array_join(
      slice(split(listagg({{ measure }}, '\u001f'){{ order }}, '\u001f'), 1, {{ limit_num }}),
      {{ delimiter_text }}
    )
  {%- else -%}
    listagg({{ measure }}, {{ delimiter_text }}){{ order }}
  {%- endif -%}
{%- endmacro %}
