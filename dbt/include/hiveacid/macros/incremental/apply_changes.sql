{#-- Bring a target up to date from the changes of its source. What changed is staged in full and the
     run's snapshot checked, before one statement, or one switch, changes the target together with
     its state. --#}
{% macro hiveacid_apply_changes(
    target_relation, existing_relation, strategy, on_schema_change, own_strategy) %}
  {%- set step = adapter.hiveacid_decide(existing_relation, compiled_code) -%}
  {%- if step == 'full' -%}
    {% do hiveacid_build_table(target_relation, existing_relation, hiveacid_full_code()) %}
    {%- do return(none) -%}
  {%- elif step in ['nothing', 'check'] -%}
    {%- if on_schema_change != 'ignore' or config.get('contract').enforced -%}
      {%- set no_rows = adapter.hiveacid_no_rows(compiled_code, target_relation) -%}
      {% do hiveacid_check_contract(no_rows) %}
      {%- if step == 'nothing' or on_schema_change == 'fail' -%}
        {%- do process_schema_changes(on_schema_change, no_rows, existing_relation) -%}
      {%- endif -%}
    {%- endif -%}
    {% do hiveacid_nothing_to_do() %}
    {%- do return(none) -%}
  {%- endif -%}

  {%- set views = adapter.hiveacid_changed_rows(compiled_code, target_relation) -%}
  {% do hiveacid_check_contract(views['rows']) %}
  {%- set columns = process_schema_changes(on_schema_change, views['rows'], existing_relation) or [] -%}
  {%- set stage_relation = adapter.hiveacid_stage(target_relation, role='changes') -%}
  {%- call statement('read_rows') -%}
    create table {{ stage_relation }} using parquet as select * from {{ views['changes'] }}
  {%- endcall -%}
  {% do adapter.hiveacid_check_snapshot() %}

  {#-- The ways are those of the adapter's hiveacid_way. --#}
  {%- set way = adapter.hiveacid_way(stage_relation) -%}
  {%- if way == 'again' -%}
    {% do adapter.drop_relation(stage_relation) %}
    {% do hiveacid_apply_changes(
        target_relation, existing_relation, strategy, on_schema_change, own_strategy) %}
    {%- do return(none) -%}
  {%- elif way == 'nothing' -%}
    {% do hiveacid_nothing_to_do() %}
  {%- elif way == 'strategy' -%}
    {%- set written = adapter.hiveacid_begin_commit(existing_relation) -%}
    {% do hiveacid_commit(hiveacid_incremental_sql(
        strategy, stage_relation, written, written, columns, own_strategy)) %}
  {%- elif way == 'merge' -%}
    {%- set written = adapter.hiveacid_begin_commit(existing_relation) -%}
    {%- set update_columns = get_merge_update_columns(
        config.get('merge_update_columns'), config.get('merge_exclude_columns'),
        columns or adapter.get_columns_in_relation(existing_relation)) -%}
    {% do hiveacid_commit(adapter.hiveacid_statement(
        way, stage_relation, written, columns, update_columns,
        config.get('predicates') or config.get('incremental_predicates'))) %}
  {%- else -%}
    {%- set rows_relation = adapter.hiveacid_stage(target_relation, config.get('location_root')) -%}
    {%- call statement('main') -%}
      {{ hiveacid_table_of_rows(rows_relation, adapter.hiveacid_statement(
          way, stage_relation, existing_relation, columns)) }}
    {%- endcall -%}
    {%- if way == 'append' -%}
      {% do adapter.hiveacid_append() %}
    {%- else -%}
      {% do adapter.hiveacid_switch(existing_relation) %}
    {%- endif -%}
  {%- endif -%}
  {%- if way != 'nothing' -%}
    {#-- What dbt shows of the model: what was applied, whichever way it went. --#}
    {%- do store_result('main', response=adapter.hiveacid_applied()) -%}
  {%- endif -%}
{% endmacro %}


{#-- A contract is for what the model selects. --#}
{% macro hiveacid_check_contract(rows) %}
  {%- if config.get('contract').enforced -%}
    {% do get_assert_columns_equivalent('select * from ' ~ rows) %}
  {%- endif -%}
{% endmacro %}


{#-- As dbt-spark's create_table_as, without the contract, which is for what the model selects: the
     rows have the target's columns, those that the model has no longer among them. --#}
{% macro hiveacid_table_of_rows(relation, sql) %}
  create table {{ relation }}
  {{ file_format_clause() }}
  {{ options_clause() }}
  {{ tblproperties_clause() }}
  {{ partition_cols(label='partitioned by') }}
  {{ clustered_cols(label='clustered by') }}
  {{ location_clause() }}
  {{ comment_clause() }}
  as
  {{ sql }}
{% endmacro %}


{% macro hiveacid_nothing_to_do() %}
  {%- call noop_statement('main', 'OK, no changes') -%}
    -- nothing has changed
  {%- endcall -%}
{% endmacro %}


{#-- Run the statement that changes a target, or builds it in a stage; its new state goes into the
     same commit, if the format has commits. As a statement block does, it keeps the SQL in target/run
     and the response as the model's. --#}
{% macro hiveacid_commit(sql, stage_relation=none) %}
  {%- do write(sql) -%}
  {%- do store_result('main', response=adapter.hiveacid_commit(
      sql, stage_relation, config.get('location_root'))) -%}
{% endmacro %}


{#-- The model's SQL as a full refresh has it. dbt compiled it for an incremental run. --#}
{% macro hiveacid_full_code() %}
  {%- set incremental_code = render(model['raw_code']) if model.get('extra_ctes') -%}
  {% do adapter.hiveacid_load_in_full() %}
  {%- set full_code = render(model['raw_code']) -%}
  {%- set names_ephemerals = '__dbt__cte__' in full_code -%}
  {%- if not model.get('extra_ctes') and not names_ephemerals -%}
    {%- do return(full_code) -%}
  {%- endif -%}
  {%- if full_code != incremental_code -%}
    {% do adapter.hiveacid_refuse_ephemerals(model) %}
  {%- endif -%}
  {%- do return(compiled_code) -%}
{% endmacro %}
