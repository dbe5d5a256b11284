{#-- Changes of an ACID source since the last run of the model:

         select id, amount from {{ acid_changes(source('shop', 'orders')) }}

     In a first run and with --full-refresh: all rows, as inserts. In a dbt unit test: the given
     rows, as inserts. --#}
{% macro acid_changes(source_relation) %}
  {%- if not execute -%}
    {%- do return(source_relation) -%}
  {%- elif model.resource_type == 'unit_test' -%}
    {%- do return("(select *, 'insert' as _change_type, cast(null as bigint) as _write_id, cast(null as " ~
        "struct<write_id: bigint, bucket: int, row: bigint, partition: string>) as _row_id from " ~
        source_relation ~ ")") -%}
  {%- endif -%}
  {#- is_incremental() looks the table up in Spark, which `dbt compile` and `dbt docs generate` need
      not start. -#}
  {%- set is_incremental_run = flags.WHICH not in ['compile', 'generate'] and is_incremental() -%}
  {%- do return(adapter.hiveacid_changes(source_relation, this, model, is_incremental_run)) -%}
{% endmacro %}
