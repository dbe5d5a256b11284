{#-- dbt replaces a table by a view by dropping the table first. So what keeps a view over ACID tables
     from being made is found before anything else happens. --#}
{% materialization view, adapter='hiveacid' %}
  {% do adapter.hiveacid_check_view(compiled_code) %}
  {{ return(create_or_replace_view()) }}
{% endmaterialization %}
