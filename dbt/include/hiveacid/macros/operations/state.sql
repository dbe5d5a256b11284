{#-- Print the state of an incremental model, which is the state of the source of its rows:
     dbt run-operation hiveacid_state --args '{model: orders}' --#}
{% macro hiveacid_state(model) %}
  {% do adapter.hiveacid_show_state(hiveacid_node(model)) %}
{% endmacro %}


{#-- Remove the state of an incremental model, so that the next run builds the whole table:
     dbt run-operation hiveacid_reset_state --args '{model: orders}' --#}
{% macro hiveacid_reset_state(model) %}
  {% do adapter.hiveacid_remove_state(hiveacid_node(model)) %}
{% endmacro %}


{% macro hiveacid_node(model) %}
  {%- if not execute -%}
    {%- do return({}) -%}
  {%- endif -%}
  {%- set models = graph.nodes.values() | selectattr('resource_type', 'equalto', 'model') | list -%}
  {%- set found = models | selectattr('unique_id', 'equalto', model) | list
      or models | selectattr('name', 'equalto', model) | list -%}
  {%- if not found -%}
    {% do exceptions.raise_compiler_error("There is no model named " ~ model ~ " in this project. Check the argument `model`.") %}
  {%- elif found | length > 1 -%}
    {% do exceptions.raise_compiler_error(
        "There are several models named " ~ model ~ ". Give one of these ids instead of the name: "
        ~ found | map(attribute='unique_id') | sort | join(', ')) %}
  {%- endif -%}
  {%- do return(found[0]) -%}
{% endmacro %}
