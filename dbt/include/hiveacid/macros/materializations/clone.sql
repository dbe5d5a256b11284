{#-- Delta refuses a shallow clone over a table that holds rows, and dbt replaces an existing one only
     with --full-refresh. --#}
{% macro hiveacid__create_or_replace_clone(this_relation, defer_relation) %}
  {% do adapter.drop_relation(this_relation) %}
  create table {{ this_relation }} shallow clone {{ defer_relation }}
{% endmacro %}
