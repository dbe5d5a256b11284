{#-- dbt-spark's macro gives the rows of DESCRIBE, which have no `name`: a snapshot with `hard_deletes:
     new_record` then takes every column for one that is new, and its record of a deletion has NULLs. --#}
{% macro hiveacid__get_columns_in_relation(relation) %}
  {%- do return(adapter.get_columns_in_relation(relation)) -%}
{% endmacro %}


{#-- With --empty a relation's text is a subquery, which has neither columns to describe nor to alter. --#}
{% macro hiveacid__get_columns_in_relation_raw(relation) %}
  {%- do return(spark__get_columns_in_relation_raw(relation.replace(limit=none, event_time_filter=none))) -%}
{% endmacro %}


{% macro hiveacid__alter_column_type(relation, column_name, new_column_type) %}
  {%- do spark__alter_column_type(relation.replace(limit=none, event_time_filter=none), column_name, new_column_type) -%}
{% endmacro %}


{#-- dbt-spark sets every comment in every run: a commit a column, also where nothing has changed. --#}
{% macro hiveacid__alter_column_comment(relation, column_dict) %}
  {%- do spark__alter_column_comment(relation, adapter.hiveacid_new_comments(relation, column_dict)) -%}
{% endmacro %}
