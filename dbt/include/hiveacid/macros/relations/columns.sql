{#-- dbt-spark's macro returns the rows of DESCRIBE, which have no `name`: a snapshot with `hard_deletes:
     new_record` then treats every column as new, and its record of a deletion has NULLs. --#}
{% macro hiveacid__get_columns_in_relation(relation) %}
  {%- do return(adapter.get_columns_in_relation(relation)) -%}
{% endmacro %}


{#-- With --empty a relation renders as a subquery, which cannot be described or altered. --#}
{% macro hiveacid__get_columns_in_relation_raw(relation) %}
  {%- do return(spark__get_columns_in_relation_raw(relation.replace(limit=none, event_time_filter=none))) -%}
{% endmacro %}


{% macro hiveacid__alter_column_type(relation, column_name, new_column_type) %}
  {%- if config.get('file_format') == 'acid' -%}
    {%- do return(adapter.hiveacid_refuse_acid_type(relation, column_name)) -%}
  {%- endif -%}
  {%- do spark__alter_column_type(relation.replace(limit=none, event_time_filter=none), column_name, new_column_type) -%}
{% endmacro %}


{#-- dbt-spark sets every comment in every run, one commit for each column, even if nothing has changed.
     And it skips Spark's own formats, whose columns have comments as well. --#}
{% macro hiveacid__alter_column_comment(relation, column_dict) %}
  {%- if config.get('file_format') == 'acid' -%}
    {#-- A Hive ACID table gets its comments when it is built. --#}
    {%- do return('') -%}
  {%- endif -%}
  {%- set table = relation.replace(limit=none, event_time_filter=none) -%}
  {%- for name, comment in adapter.hiveacid_new_comments(table, column_dict).items() -%}
    {%- call statement() -%}
      alter table {{ table }} alter column {{ adapter.quote(name) }}
      comment {{ comment }}
    {%- endcall -%}
  {%- endfor -%}
{% endmacro %}
