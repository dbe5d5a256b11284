{#-- dbt-spark's macro gives the rows of DESCRIBE, which have no `name`: a snapshot with `hard_deletes:
     new_record` then takes every column for one that is new, and its record of a deletion has NULLs. --#}
{% macro hiveacid__get_columns_in_relation(relation) %}
  {%- do return(adapter.get_columns_in_relation(relation)) -%}
{% endmacro %}
