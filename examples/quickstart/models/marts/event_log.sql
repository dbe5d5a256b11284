{{ config(materialized='incremental', incremental_strategy='append') }}

select
    event_id,
    customer_id,
    kind,
    happened_at
from {{ ref('stg_events') }}
{% if is_incremental() %}
where event_id > (select coalesce(max(event_id), 0) from {{ this }})
{% endif %}
