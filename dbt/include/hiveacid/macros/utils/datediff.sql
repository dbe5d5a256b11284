{#-- The number of boundaries of `datepart` between two dates or timestamps. Weeks begin on Sunday, as
     with dbt's other adapters. dbt-spark's macro counts two months from 2024-01-31 to 2024-02-29, and
     for parts of a day its SQL is so long that a model with many calls cannot be a view. --#}
{% macro hiveacid__datediff(first_date, second_date, datepart) %}
  {%- set datepart = datepart | lower -%}
  {%- if datepart not in
      ['year', 'quarter', 'month', 'week', 'day', 'hour', 'minute', 'second', 'millisecond', 'microsecond'] -%}
    {{ exceptions.raise_compiler_error("datediff does not support the part " ~ datepart ~ " on Spark.") }}
  {%- endif -%}
  {#-- Spark's weeks begin on Monday. --#}
  {%- set day_later = ' + interval 1 day' if datepart == 'week' else '' -%}
  timestampdiff(
    {{ datepart }},
    date_trunc('{{ datepart }}', cast({{ first_date }} as timestamp){{ day_later }}),
    date_trunc('{{ datepart }}', cast({{ second_date }} as timestamp){{ day_later }})
  )
{%- endmacro %}
