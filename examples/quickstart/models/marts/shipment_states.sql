{{ config(
    materialized='incremental',
    incremental_strategy='acid_changes',
    unique_key='shipment_id'
) }}

select
    shipment_id,
    tracking_code,
    upper(state) as state
from {{ acid_changes(source('shop', 'shipments')) }}
