{#-- Read the rows of a temporary view that are about to be written into a target, and return the
     relation that holds them. A statement that writes into the target from the view itself would read
     while it writes, so that the check of the run's snapshot comes too early or too late. Hence rows of
     ACID sources go into a table first, which is removed after the model. --#}
{% macro hiveacid_read_rows(view, target_relation) %}
  {%- if not adapter.hiveacid_has_read() -%}
    {%- do return(view) -%}
  {%- endif -%}
  {%- set stage_relation = adapter.hiveacid_stage(target_relation, batch=model.get('batch')) -%}
  {%- call statement('read_rows') -%}
    create table {{ stage_relation }} {{ file_format_clause() }} as select * from {{ view }}
  {%- endcall -%}
  {% do adapter.hiveacid_check_snapshot() %}
  {%- do return(stage_relation) -%}
{% endmacro %}
