{#-- dbt-spark's clone materialization with three differences. A relation that would be cloned from
     itself is unchanged (dbt-spark replaces it). A relation that --full-refresh replaces stays until
     its clone is built, since Delta refuses a shallow clone over a table with rows. --#}
{% materialization clone, adapter='hiveacid' %}
  {%- set own_materialization = adapter.hiveacid_own_materialization(context, 'clone') -%}
  {%- if own_materialization is not none -%}
    {{ return(own_materialization()) }}
  {%- endif -%}
  {%- set existing_relation = load_cached_relation(this) -%}
  {%- if config.get('file_format') == 'acid' and defer_relation
      and (flags.FULL_REFRESH or not existing_relation) -%}
    {#-- Spark cannot clone a Hive ACID table. As dbt says of such databases, the clone is a view. --#}
    {{ return(materialization_view_hiveacid()) }}
  {%- endif -%}
  {%- if not (defer_relation and flags.FULL_REFRESH and existing_relation) -%}
    {{ return(materialization_clone_spark()) }}
  {%- endif -%}
  {%- if defer_relation.render() | lower == this.render() | lower -%}
    {{ log('Target relation and defer relation are the same, skipping clone for relation: ' ~ this) }}
    {{ return({'relations': [this]}) }}
  {%- endif -%}
  {%- set original = load_cached_relation(defer_relation) -%}
  {%- if config.get('file_format') != 'delta' or not original or original.type != 'table'
      or not can_clone_table() -%}
    {{ return(materialization_clone_spark()) }}
  {%- endif -%}

  {%- set target_relation = this.incorporate(type='table') -%}
  {%- set stage_relation = adapter.hiveacid_stage(target_relation) -%}
  {%- call statement('main') -%}
    {{ spark__create_or_replace_clone(stage_relation, defer_relation) }}
  {%- endcall -%}
  {% do adapter.hiveacid_switch(existing_relation) %}
  {% do apply_grants(
      target_relation, config.get('grants'), should_revoke(existing_relation, full_refresh_mode=True)) %}
  {% do persist_docs(target_relation, model) %}
  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
