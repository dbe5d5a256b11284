{#-- dbt's is_incremental(), but false once an incremental run has found that it must build its table
     as a whole. dbt does not dispatch this macro: the same name in this package replaces it. Only a
     command that changes the model repairs what a dead run has left of it. --#}
{% macro is_incremental() %}
  {%- if not execute or adapter.hiveacid_is_full_load() -%}
    {%- do return(False) -%}
  {%- endif -%}
  {%- if flags.WHICH in ['run', 'build'] -%}
    {%- do adapter.hiveacid_recover(this) -%}
  {%- endif -%}
  {%- set relation = adapter.get_relation(this.database, this.schema, this.table) -%}
  {%- do return(
      relation is not none
      and relation.type == 'table'
      and model.config.materialized == 'incremental'
      and not should_full_refresh()
  ) -%}
{% endmacro %}
