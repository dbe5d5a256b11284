{#-- Build a table so that its target keeps no rows that were read after the run's snapshot was lost,
     and no rows that violate a constraint.

     A table in one of Spark's own formats is built next to its target, and replaces the target after
     the snapshot is checked. Delta and Iceberg replace a table in one commit that keeps its history.
     There the checks come after the commit, and a failure restores the previous version.

     `model_run` is the run of a model over acid_changes, which stores its state with the rows. --#}
{% macro hiveacid_build_table(target_relation, old_relation, compiled_code, model_run=none) %}
  {%- if config.get('file_format') == 'acid' -%}
    {%- do return(hiveacid_build_acid_table(target_relation, old_relation, compiled_code)) -%}
  {%- endif -%}
  {%- do adapter.hiveacid_refuse_acid_by_default(target_relation, config) -%}
  {%- if hiveacid_builds_in_place(old_relation) -%}
    {%- set build = adapter.hiveacid_build_in_place(target_relation, old_relation, model_run) -%}
    {%- set built = hiveacid_commit(build, create_table_as(False, target_relation, compiled_code)) -%}
    {%- call built.run_or_restore() -%}
      {% do adapter.hiveacid_check_snapshot() %}
      {% do built.check_unique_key() %}
      {% do persist_constraints(target_relation, model) %}
    {%- endcall -%}
    {#-- Outside of the block: a commit that another run has made since must not be undone. --#}
    {% do built.confirm() %}
  {%- else -%}
    {%- set build = adapter.hiveacid_build_in_stage(
        target_relation, config.get('location_root'), model_run) -%}
    {%- set built = hiveacid_commit(build, create_table_as(False, build.relation, compiled_code)) -%}
    {% do built.check_unique_key() %}
    {% do persist_constraints(built.relation, model) %}
    {% do adapter.hiveacid_check_snapshot() %}
    {% do built.switch(old_relation) %}
  {%- endif -%}
{% endmacro %}


{#-- Run the statement of a build. Like a statement block, write the SQL to target/run, and store the
     response as the model's. --#}
{% macro hiveacid_commit(build, sql) %}
  {%- do write(sql) -%}
  {%- set built = build.commit(sql) -%}
  {%- do store_result('main', response=built.response) -%}
  {%- do return(built) -%}
{% endmacro %}


{% macro hiveacid_builds_in_place(old_relation) %}
  {%- set file_format = config.get('file_format') -%}
  {%- do return(
      (file_format == 'delta' and (old_relation is none or old_relation.is_delta))
      or (file_format == 'iceberg' and (old_relation is none or old_relation.is_iceberg))
  ) -%}
{% endmacro %}


{#-- Spark creates a table in its own formats only in an empty directory, so every build of an
     external table gets its own directory below <location_root>/<model>. --#}
{% macro hiveacid__location_clause() %}
  {%- set location_root = config.get('location_root', validator=validation.any[basestring]) -%}
  {%- if location_root is none or config.get('file_format') in ['delta', 'iceberg', 'hudi'] -%}
    {{ spark__location_clause() }}
  {%- else -%}
    location '{{ adapter.hiveacid_build_location(
        location_root, model['schema'], model['alias']) }}'
  {%- endif -%}
{%- endmacro -%}


{#-- In text, delimiters, line breaks and `\N` in strings are escaped. Else Hive and Spark read other
     rows than were written. --#}
{% macro hiveacid__file_format_clause() %}
  {{- spark__file_format_clause() -}}
  {%- if config.get('file_format') | lower == 'hive' and not config.get('options')
      and adapter.hiveacid_hive_tables_are_text() %}
    options (fileFormat 'textfile', escapeDelim '\\', `serialization.escape.crlf` 'true')
  {%- endif -%}
{%- endmacro -%}
