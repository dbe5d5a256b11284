{#-- A contract's constraints. Delta alone enforces any; dbt-spark takes a model without `file_format`
     for one of Delta's. --#}
{% macro hiveacid__persist_constraints(relation, model) %}
  {%- if config.get('file_format') == 'delta' -%}
    {% do spark__persist_constraints(relation, model) %}
  {%- endif -%}
{% endmacro %}


{#-- dbt-spark makes a column NOT NULL once the table is there, which Databricks can and Delta cannot.
     A check says the same. --#}
{% macro hiveacid__alter_column_set_constraints(relation, column_dict) %}
  {%- for name, column in column_dict.items() -%}
    {%- set quoted_name = adapter.quote(name) -%}
    {%- for constraint in column['constraints'] -%}
      {%- if constraint.type == 'not_null' -%}
        {%- set expression = quoted_name ~ ' is not null' -%}
      {%- elif constraint.type == 'check' -%}
        {%- set expression = constraint.expression -%}
      {%- else -%}
        {%- set expression = none -%}
        {% do exceptions.warn('Invalid constraint for column ' ~ name ~ '. Only `not_null` and `check` are supported.') %}
      {%- endif -%}
      {%- if expression is not none -%}
        {%- call statement() -%}
          alter table {{ relation }} add constraint {{ constraint.name or local_md5(name ~ ';' ~ expression ~ ';' ~ loop.index) }}
          check ({{ expression }})
        {%- endcall -%}
      {%- endif -%}
    {%- endfor -%}
  {%- endfor -%}
{% endmacro %}
