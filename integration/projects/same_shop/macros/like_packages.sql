{#-- What macros of widely used packages do with relations. --#}

{% macro relations_by_prefix(schema, prefix) %}
  {%- set relations = [] -%}
  {%- if execute -%}
    {%- for row in run_query("show tables in " ~ schema ~ " like '" ~ prefix ~ "*'") -%}
      {%- do relations.append(
          api.Relation.create(database=none, schema=row[0], identifier=row[1], type='table')) -%}
    {%- endfor -%}
  {%- endif -%}
  {{ return(relations) }}
{% endmacro %}


{% macro union_relations(relations) %}
  {%- for relation in relations %}
    (
      select cast({{ dbt.string_literal(relation) }} as {{ dbt.type_string() }}) as _dbt_source_relation
        {%- for column in adapter.get_columns_in_relation(relation) %},
        cast({{ adapter.quote(column.column) }} as {{ column.data_type }}) as {{ column.quoted }}
        {%- endfor %}
      from {{ relation }}
    )
    {% if not loop.last %}union all{% endif %}
  {%- else %}
    select 1 as _dbt_source_relation
  {%- endfor -%}
{% endmacro %}


{% macro described(relation) %}
  {%- for column in adapter.get_columns_in_relation(relation) %}
  select {{ dbt.string_literal(relation.identifier) }} as relation,
    '{{ column.name }}' as name, '{{ column.data_type }}' as type
  {% if not loop.last %}union all{% endif %}
  {%- endfor -%}
{% endmacro %}


{% macro row_count(identifier) %}
  {%- set relation = adapter.get_relation(
      database=target.database, schema=target.schema, identifier=identifier) -%}
  {%- if relation is none -%}
    null
  {%- else -%}
    {%- set counted -%}
      select count(*) as n from {{ relation }}
    {%- endset -%}
    {{ run_query(counted).columns[0].values()[0] if execute else 0 }}
  {%- endif -%}
{% endmacro %}


{% macro surrogate_key(columns) %}
  {{- return(adapter.dispatch('surrogate_key', 'same_shop')(columns)) -}}
{% endmacro %}


{% macro default__surrogate_key(columns) %}
  {% do exceptions.raise_compiler_error("The macro for Spark is the one to call") %}
{% endmacro %}


{% macro spark__surrogate_key(columns) -%}
  md5(concat_ws('-', {{ columns | join(', ') }}))
{%- endmacro %}


{% test is_at_most(model, column_name, most) %}
select {{ column_name }} from {{ model }} where {{ column_name }} > {{ most }}
{% endtest %}
