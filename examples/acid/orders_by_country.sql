{{ config(materialized='table', file_format='acid', partition_by='country') }}

select id, amount, country
from {{ source('shop', 'orders') }}
