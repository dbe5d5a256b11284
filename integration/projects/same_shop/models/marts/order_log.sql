{{ config(materialized='incremental') }}
select id, status, updated_at from {{ source('shop', 'raw_orders') }} as source
{% if is_incremental() %}
where updated_at > (select max(updated_at) from {{ this }})
{% endif %}
