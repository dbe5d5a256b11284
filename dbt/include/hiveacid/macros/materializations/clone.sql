{#-- dbt-spark's, but a relation that would be its own clone stays as it is: dbt-spark replaces it. --#}
{% materialization clone, adapter='hiveacid' %}
  {%- set is_same = defer_relation and defer_relation.render() | lower == this.render() | lower -%}
  {%- if is_same and flags.FULL_REFRESH and load_cached_relation(this) -%}
    {{ log('Target relation and defer relation are the same, skipping clone for relation: ' ~ this) }}
    {{ return({'relations': [this]}) }}
  {%- endif -%}
  {{ return(materialization_clone_spark()) }}
{% endmaterialization %}


{#-- Delta refuses a shallow clone over a table that holds rows, and dbt replaces an existing one only
     with --full-refresh. --#}
{% macro hiveacid__create_or_replace_clone(this_relation, defer_relation) %}
  {% do adapter.drop_relation(this_relation) %}
  create table {{ this_relation }} shallow clone {{ defer_relation }}
{% endmacro %}
