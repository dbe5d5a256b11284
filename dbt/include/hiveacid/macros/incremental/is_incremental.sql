{#-- dbt's is_incremental(), but false once an incremental run has become a full load. dbt does not
     dispatch this macro: the same name in this package overrides it. Only a command that changes the
     model restores it after a dead run. --#}
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
