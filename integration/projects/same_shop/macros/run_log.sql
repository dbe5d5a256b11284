{#-- What happened in a run, kept as observability packages keep it: by hooks, and by a test
     materialization that runs dbt's own and looks at its result. --#}

{% macro create_run_log() %}
  create table if not exists {{ target.schema }}.run_log (name string, status string, failures bigint)
  using delta
{% endmacro %}


{% macro write_run_log(results) %}
  {%- if results -%}
  insert into {{ target.schema }}.run_log values
  {%- for result in results | sort(attribute='node.unique_id') %}
    ('{{ result.node.name }}', '{{ result.status }}', {{ result.failures if result.failures is not none else 'null' }})
    {%- if not loop.last %},{% endif -%}
  {%- endfor -%}
  {%- endif -%}
{% endmacro %}


{% materialization test, default %}
  {%- set result = dbt.materialization_test_default() -%}
  {%- set failures = load_result('main')['data'][0][0] -%}
  {%- call statement('log') -%}
    insert into {{ target.schema }}.run_log values ('{{ model.name }}', 'materialized', {{ failures }})
  {%- endcall -%}
  {{ return(result) }}
{% endmaterialization %}
