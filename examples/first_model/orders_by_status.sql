{{ config(materialized='table') }}

select
    status,
    count(*) as orders
from {{ source('shop', 'orders') }}
group by status
