{#-- A contract's constraints. Only Delta enforces them; dbt-spark treats a model without `file_format`
     as a Delta table. --#}
{% macro hiveacid__persist_constraints(relation, model) %}
  {%- if config.get('file_format') == 'delta' -%}
    {% do spark__persist_constraints(relation, model) %}
  {%- endif -%}
{% endmacro %}


{#-- dbt-spark ignores all constraints except checks, and also checks when an incremental run builds the
     whole table. --#}
{% macro hiveacid__alter_table_add_constraints(relation, constraints) %}
  {%- for constraint in constraints -%}
    {%- if constraint.type == 'not_null' -%}
      {%- set conditions = [] -%}
      {%- for column in constraint.columns -%}
        {%- do conditions.append(adapter.quote(column) ~ ' is not null') -%}
      {%- endfor -%}
      {% do hiveacid_add_check(relation, constraint, conditions | join(' and '), ';' ~ loop.index) %}
    {%- elif constraint.type == 'check' -%}
      {% do hiveacid_add_check(relation, constraint, constraint.expression, ';' ~ loop.index) %}
    {%- else -%}
      {% do exceptions.warn('Invalid constraint for ' ~ relation ~ '. Only `not_null` and `check` are supported.') %}
    {%- endif -%}
  {%- endfor -%}
{% endmacro %}


{#-- `number` distinguishes constraints with the same expression. --#}
{% macro hiveacid_add_check(relation, constraint, expression, number) %}
  {%- call statement() -%}
    alter table {{ relation }} add constraint {{ constraint.name or local_md5(expression ~ ';' ~ number) }}
    check ({{ expression }})
  {%- endcall -%}
{% endmacro %}


{#-- dbt-spark makes a column NOT NULL after the table is created, which works on Databricks and not in
     open-source Delta. A check is equivalent. --#}
{% macro hiveacid__alter_column_set_constraints(relation, column_dict) %}
  {%- for name, column in column_dict.items() -%}
    {%- for constraint in column['constraints'] -%}
      {%- set number = name ~ ';' ~ loop.index -%}
      {%- if constraint.type == 'not_null' -%}
        {% do hiveacid_add_check(relation, constraint, adapter.quote(name) ~ ' is not null', number) %}
      {%- elif constraint.type == 'check' -%}
        {% do hiveacid_add_check(relation, constraint, constraint.expression, number) %}
      {%- else -%}
        {% do exceptions.warn('Invalid constraint for column ' ~ name ~ '. Only `not_null` and `check` are supported.') %}
      {%- endif -%}
    {%- endfor -%}
  {%- endfor -%}
{% endmacro %}
