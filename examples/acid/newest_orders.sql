{{ config(
    materialized='incremental',
    file_format='acid',
    incremental_strategy='merge',
    unique_key='id'
) }}

select id, amount
from {{ ref('orders_by_country') }}
{% if is_incremental() %}
where id > (select max(id) from {{ this }})
{% endif %}
