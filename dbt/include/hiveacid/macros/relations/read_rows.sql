{#-- Read the rows of a temporary view that are about to be written into a target, and return the
     relation with the rows. A statement that writes into the target from the view itself would read
     while it writes, and the check of the run's snapshot would be too early or too late. So rows of
     ACID sources are first written into a table, which is removed after the model. A target that is
     itself a Hive ACID table is written in a transaction, which does both. --#}
{% macro hiveacid_read_rows(view, target_relation) %}
  {%- if config.get('file_format') == 'acid' or not adapter.hiveacid_has_read() -%}
    {%- do return(view) -%}
  {%- endif -%}
  {%- do adapter.hiveacid_refuse_acid_by_default(target_relation, config) -%}
  {%- set stage_relation, location = adapter.hiveacid_stage_rows(
      target_relation, config.get('location_root'), model.get('batch')) -%}
  {%- call statement('read_rows') -%}
    create table {{ stage_relation }} {{ file_format_clause() }}
    {% if location %} location '{{ location }}' {% endif %}
    as select * from {{ view }}
  {%- endcall -%}
  {% do adapter.hiveacid_check_snapshot() %}
  {%- do return(stage_relation) -%}
{% endmacro %}
