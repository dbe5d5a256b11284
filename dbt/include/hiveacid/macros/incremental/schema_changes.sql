{#-- dbt compares names case-sensitively, Spark does not: a column with an alias in another case would
     be dropped, and added again without its values. --#}
{% macro diff_columns(source_columns, target_columns) %}
  {%- set target_names = target_columns | map(attribute='name') | map('lower') | list -%}
  {%- set missing = [] -%}
  {%- for column in source_columns if column.name | lower not in target_names -%}
    {%- do missing.append(column) -%}
  {%- endfor -%}
  {%- do return(missing) -%}
{% endmacro %}


{% macro hiveacid__diff_column_data_types(source_columns, target_columns) %}
  {%- set of_target = {} -%}
  {%- for column in target_columns -%}
    {%- do of_target.update({column.name | lower: column}) -%}
  {%- endfor -%}
  {%- set changed = [] -%}
  {%- for column in source_columns if column.name | lower in of_target -%}
    {%- set target = of_target[column.name | lower] -%}
    {#- Names of struct fields count in neither case. -#}
    {%- if column.expanded_data_type | lower != target.expanded_data_type | lower and not column.can_expand_to(other_column=target) -%}
      {%- do changed.append({'column_name': target.name, 'new_type': column.expanded_data_type}) -%}
    {%- endif -%}
  {%- endfor -%}
  {%- do return(changed) -%}
{% endmacro %}


{#-- dbt-spark refuses to drop columns. Iceberg can drop them, and Delta with
     `delta.columnMapping.mode: name`; for other tables Spark raises an error. Columns are dropped
     first, so that nothing has changed if that fails. --#}
{% macro hiveacid__alter_relation_add_remove_columns(relation, add_columns, remove_columns) %}
  {%- if config.get('file_format') == 'acid' -%}
    {%- do return(adapter.hiveacid_change_acid_columns(relation, add_columns, remove_columns)) -%}
  {%- endif -%}
  {%- if remove_columns -%}
    {%- call statement() -%}
      alter table {{ relation }} drop columns ({{ remove_columns | map(attribute='quoted') | join(', ') }})
    {%- endcall -%}
  {%- endif -%}
  {%- if add_columns -%}
    {% do spark__alter_relation_add_remove_columns(relation, add_columns, none) %}
  {%- endif -%}
{% endmacro %}


{#-- The statement that writes new rows into the target. dbt-spark's statement needs every column of the
     target in the new rows. Here, in columns that the model no longer selects
     (`on_schema_change: append_new_columns`), added rows have NULL, and updated rows keep their values.

     `columns` are the columns of the new rows, which dbt looks up only with `on_schema_change`.
     `own_strategy` is the macro of the user's own strategy. --#}
{% macro hiveacid_incremental_sql(
    strategy, new_rows, target_relation, existing_relation, columns, own_strategy=none) %}
  {%- set predicates = config.get('predicates') or config.get('incremental_predicates') -%}
  {%- set unique_key = config.get('unique_key') -%}
  {%- if own_strategy -%}
    {%- do return(own_strategy({
        'target_relation': target_relation, 'temp_relation': new_rows, 'unique_key': unique_key,
        'dest_columns': columns or adapter.get_columns_in_relation(existing_relation),
        'incremental_predicates': predicates})) -%}
  {%- endif -%}
  {%- set kept = adapter.get_columns_in_relation(target_relation) if columns else [] -%}
  {%- if strategy not in ['append', 'merge'] or kept | length <= columns | length -%}
    {%- do return(dbt_spark_get_incremental_sql(
        strategy, new_rows, target_relation, existing_relation, unique_key, predicates)) -%}
  {%- elif strategy == 'append' -%}
    {%- set names = columns | map(attribute='quoted') | join(', ') -%}
    {%- do return('insert into ' ~ target_relation ~ ' (' ~ names ~ ') select ' ~ names ~ ' from ' ~ new_rows) -%}
  {%- endif -%}
  {%- do return(hiveacid_merge_of_columns(target_relation, new_rows, unique_key, columns, predicates)) -%}
{% endmacro %}


{#-- dbt-spark's MERGE, for new rows with only some of the target's columns. --#}
{% macro hiveacid_merge_of_columns(target_relation, new_rows, unique_key, columns, predicates) %}
  {%- set names = columns | map(attribute='quoted') | list -%}
  {%- set updates = get_merge_update_columns(
      config.get('merge_update_columns'), config.get('merge_exclude_columns'), columns) or names -%}
  {%- set keys = [unique_key] if unique_key is string else unique_key or [] -%}
  merge into {{ target_relation }} as DBT_INTERNAL_DEST
  using {{ new_rows }} as DBT_INTERNAL_SOURCE
  on {% for predicate in predicates or [] %}{{ predicate }} and {% endfor %}
  {%- for key in keys %}DBT_INTERNAL_SOURCE.{{ key }} = DBT_INTERNAL_DEST.{{ key }}{{ ' and ' if not loop.last }}{% else %}false{% endfor %}
  when matched then update set
    {% for name in updates %}{{ name }} = DBT_INTERNAL_SOURCE.{{ name }}{{ ', ' if not loop.last }}{% endfor %}
  when not matched then insert ({{ names | join(', ') }})
    values ({% for name in names %}DBT_INTERNAL_SOURCE.{{ name }}{{ ', ' if not loop.last }}{% endfor %})
{% endmacro %}
