{#-- A view over an ACID source is refused before anything else happens: replacing a table by a view
     starts with dropping the table. --#}
{% materialization view, adapter='hiveacid' %}
  {% do adapter.hiveacid_refuse_view(compiled_code) %}
  {{ return(create_or_replace_view()) }}
{% endmaterialization %}
