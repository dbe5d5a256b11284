{#-- Update a target from the changes of its source. All changes are staged and the run's
     snapshot is checked. Then one statement, or one switch, changes the target together with its
     state. --#}
{% macro hiveacid_apply_changes(
    model_run, target_relation, existing_relation, strategy, on_schema_change, own_strategy) %}
  {%- set step = model_run.prepare_changes(
      existing_relation, compiled_code, hiveacid_check_rows) -%}
  {%- if step.kind == 'full load' -%}
    {% do hiveacid_build_table(target_relation, existing_relation, hiveacid_full_code(step), step) %}
  {%- elif step.kind == 'no changes' -%}
    {% do hiveacid_leave_target(step, existing_relation, on_schema_change) %}
  {%- else -%}
    {%- if step.kind == 'strategy' -%}
      {%- set sql = hiveacid_incremental_sql(
          strategy, step.staged.stage, step.relation, step.relation, step.staged.new_columns,
          own_strategy) -%}
    {%- elif step.kind == 'merge' -%}
      {%- set sql = hiveacid_merge_of_changes(step, existing_relation) -%}
    {%- elif step.kind == 'files' -%}
      {%- set sql = hiveacid_table_of_rows(step.relation, step.query()) -%}
    {%- endif -%}
    {%- do write(sql) -%}
    {#-- dbt shows the rows that were applied, however they were applied. --#}
    {%- do store_result('main', response=step.finish(sql).report()) -%}
  {%- endif -%}
{% endmacro %}


{#-- End a run that has nothing to apply. The model's columns are still compared with the target's. --#}
{% macro hiveacid_leave_target(quiet_run, existing_relation, on_schema_change) %}
  {%- if not quiet_run.is_checked and (on_schema_change != 'ignore' or config.get('contract').enforced) -%}
    {%- set no_rows = quiet_run.no_rows() -%}
    {% do hiveacid_check_contract(no_rows) %}
    {%- if not quiet_run.is_partial or on_schema_change == 'fail' -%}
      {%- do process_schema_changes(on_schema_change, no_rows, existing_relation) -%}
    {%- endif -%}
  {%- endif -%}
  {%- call noop_statement('main', 'OK, no changes') -%}
    -- nothing has changed
  {%- endcall -%}
{% endmacro %}


{% macro hiveacid_merge_of_changes(apply, existing_relation) %}
  {%- set columns = apply.staged.new_columns or adapter.get_columns_in_relation(existing_relation) -%}
  {%- set update_columns = get_merge_update_columns(
      config.get('merge_update_columns'), config.get('merge_exclude_columns'), columns) -%}
  {%- do return(apply.merge_sql(
      update_columns, config.get('predicates') or config.get('incremental_predicates'))) -%}
{% endmacro %}


{#-- Check new rows before they are staged, and adapt the target's columns to the new rows'. Return the
     columns of the new rows, which dbt looks up only with `on_schema_change`. --#}
{% macro hiveacid_check_rows(rows, existing_relation) %}
  {% do hiveacid_check_contract(rows) %}
  {%- set on_schema_change = incremental_validate_on_schema_change(
      config.get('on_schema_change'), default='ignore') -%}
  {%- do return(process_schema_changes(on_schema_change, rows, existing_relation) or []) -%}
{% endmacro %}


{#-- Check a contract against the columns that the model selects. --#}
{% macro hiveacid_check_contract(rows) %}
  {%- if config.get('contract').enforced -%}
    {% do get_assert_columns_equivalent('select * from ' ~ rows) %}
  {%- endif -%}
{% endmacro %}


{#-- Like dbt-spark's create_table_as, without the contract. The contract applies to the columns that
     the model selects, but the rows here have all columns of the target, including columns that the
     model no longer selects. --#}
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


{#-- The model's SQL rendered for a full refresh. dbt has compiled it for an incremental run. --#}
{% macro hiveacid_full_code(full_run) %}
  {%- set incremental_code = render(model['raw_code']) if model.get('extra_ctes') -%}
  {% do full_run.load_in_full() %}
  {%- set full_code = render(model['raw_code']) -%}
  {%- set names_ephemerals = '__dbt__cte__' in full_code -%}
  {%- if not model.get('extra_ctes') and not names_ephemerals -%}
    {%- do full_run.check_row_wise(full_code) -%}
    {%- do return(full_code) -%}
  {%- endif -%}
  {%- if full_code != incremental_code -%}
    {% do full_run.refuse_ephemerals() %}
  {%- endif -%}
  {%- do return(compiled_code) -%}
{% endmacro %}
