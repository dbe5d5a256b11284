{#-- Build a table so that nothing read after the loss of the run's snapshot stays in its target, nor
     rows that break a constraint.

     A table of Spark's own formats is built beside its target, and takes the target's place while
     the snapshot still holds. Delta and Iceberg replace a table in one commit that keeps its history,
     so there the checks come after the commit, and a failure brings the former version back. A run
     that is killed cannot do that: the state counts once hiveacid_confirm_state has said so.

     hiveacid_know_state looks at the state that the new one follows: just before the commit, or just
     before the switch. --#}
{% macro hiveacid_build_table(target_relation, old_relation, compiled_code) %}
  {%- if hiveacid_builds_in_place(old_relation) -%}
    {%- set former_version = adapter.hiveacid_version(old_relation) -%}
    {% do adapter.hiveacid_know_state(old_relation) %}
    {% do hiveacid_commit(create_table_as(False, target_relation, compiled_code)) %}
    {%- call adapter.hiveacid_or_restore(target_relation, old_relation, former_version) -%}
      {% do adapter.hiveacid_check_snapshot() %}
      {% do adapter.hiveacid_check_unique_key(target_relation) %}
      {% do persist_constraints(target_relation, model) %}
    {%- endcall -%}
    {#-- Outside of the block: what has come since must not be undone. --#}
    {% do adapter.hiveacid_confirm_state() %}
  {%- else -%}
    {%- set stage_relation = adapter.hiveacid_stage(target_relation, config.get('location_root')) -%}
    {% do hiveacid_commit(create_table_as(False, stage_relation, compiled_code), stage_relation) %}
    {% do adapter.hiveacid_check_unique_key(stage_relation) %}
    {% do persist_constraints(stage_relation, model) %}
    {% do adapter.hiveacid_check_snapshot() %}
    {% do adapter.hiveacid_know_state(old_relation) %}
    {% do adapter.hiveacid_switch(old_relation) %}
  {%- endif -%}
{% endmacro %}


{% macro hiveacid_builds_in_place(old_relation) %}
  {%- set file_format = config.get('file_format') -%}
  {%- do return(
      (file_format == 'delta' and (old_relation is none or old_relation.is_delta))
      or (file_format == 'iceberg' and (old_relation is none or old_relation.is_iceberg))
  ) -%}
{% endmacro %}


{#-- Spark creates a table of its own formats in an empty directory only, so every build of an
     external table gets a directory of its own below <location_root>/<model>. --#}
{% macro hiveacid__location_clause() %}
  {%- set location_root = config.get('location_root', validator=validation.any[basestring]) -%}
  {%- if location_root is none or config.get('file_format') in ['delta', 'iceberg', 'hudi'] -%}
    {{ spark__location_clause() }}
  {%- else -%}
    location '{{ adapter.hiveacid_build_location(
        location_root, model['schema'], model['alias']) }}'
  {%- endif -%}
{%- endmacro -%}
