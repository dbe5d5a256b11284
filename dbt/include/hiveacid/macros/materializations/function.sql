{#-- SQL functions in Spark's session catalog. A function that reads an ACID source is refused,
     because it would outlive the snapshot. --#}
{% macro hiveacid__scalar_function_sql(target_relation) %}
  {% do adapter.hiveacid_refuse_function(model['compiled_code']) %}
  {{ default__scalar_function_sql(target_relation) }}
{% endmacro %}


{% macro hiveacid__scalar_function_create_replace_signature_sql(target_relation) %}
  CREATE OR REPLACE FUNCTION {{ target_relation.render() }} ({{ formatted_scalar_function_args_sql() }})
  RETURNS {{ model['returns']['data_type'] }}
  {{ scalar_function_volatility_sql() }}
{% endmacro %}


{% macro hiveacid__formatted_scalar_function_args_sql() %}
  {%- for argument in model['arguments'] -%}
    {{ argument['name'] }} {{ argument['data_type'] }}
    {%- if argument.get('default_value') is not none %} DEFAULT {{ argument['default_value'] }}{% endif %}
    {%- if not loop.last %}, {% endif %}
  {%- endfor -%}
{% endmacro %}


{% macro hiveacid__scalar_function_volatility_sql() %}
  {%- set volatility = model['config'].get('volatility') -%}
  {%- if volatility == 'deterministic' -%}
    DETERMINISTIC
  {%- elif volatility == 'non-deterministic' -%}
    NOT DETERMINISTIC
  {%- elif volatility is not none -%}
    {% do unsupported_volatility_warning(volatility) %}
  {%- endif -%}
{% endmacro %}


{% macro hiveacid__scalar_function_body_sql() %}
  RETURN ({{ model['compiled_code'] }})
{% endmacro %}
