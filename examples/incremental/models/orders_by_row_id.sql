{{ config(
    materialized='incremental',
    incremental_strategy='acid_changes',
    file_format='delta',
    on_history_loss='reconcile'
) }}

select id, amount * 2 as twice, status, _row_id
from {{ acid_changes(source('shop', 'orders')) }}
where status <> 'hidden'
