{#-- Build a target that is a Hive ACID table (`file_format: acid`), in a transaction of Hive. --#}
{% macro hiveacid_build_acid_table(target_relation, old_relation, query) %}
  {%- if config.get('contract').enforced -%}
    {% do get_assert_columns_equivalent(query) %}
    {%- set query = get_select_subquery(query) -%}
  {%- endif -%}
  {%- do write(query) -%}
  {%- do store_result(
      'main', response=adapter.hiveacid_build_acid(target_relation, old_relation, query, model)) -%}
{% endmacro %}


{#-- Add the rows of an incremental run to a Hive ACID table. --#}
{% macro hiveacid_add_to_acid_table(target_relation, existing_relation, query, on_schema_change) %}
  {%- set new_rows = make_temp_relation(target_relation).include(database=false, schema=false) -%}
  {%- call statement('create_tmp_relation') -%}
    {{ create_table_as(True, new_rows, query) }}
  {%- endcall -%}
  {%- set columns = process_schema_changes(on_schema_change, new_rows, existing_relation) -%}
  {%- if columns -%}
    {#-- Columns may have been added, for which the run's reads of the table have ended. --#}
    {%- call statement('create_tmp_relation') -%}
      {{ create_table_as(True, new_rows, query) }}
    {%- endcall -%}
  {%- endif -%}
  {%- do write(query) -%}
  {%- do store_result(
      'main', response=adapter.hiveacid_add_to_acid(target_relation, new_rows, columns, model)) -%}
{% endmacro %}
