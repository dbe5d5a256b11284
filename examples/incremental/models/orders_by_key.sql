{{ config(
    materialized='incremental',
    incremental_strategy='acid_changes',
    unique_key='id'
) }}

select id, amount * 2 as twice, status
from {{ acid_changes(source('shop', 'orders')) }}
where status <> 'hidden'
