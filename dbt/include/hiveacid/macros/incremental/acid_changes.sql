{#-- What changed in an ACID source since the last run of the model:

         select id, amount from {{ acid_changes(source('shop', 'orders')) }}

     In a first run and with --full-refresh: all rows, as inserts. --#}
{% macro acid_changes(source_relation) %}
  {%- if not execute -%}
    {%- do return(source_relation) -%}
  {%- endif -%}
  {%- do return(adapter.hiveacid_changes(source_relation, this, model, is_incremental())) -%}
{% endmacro %}
