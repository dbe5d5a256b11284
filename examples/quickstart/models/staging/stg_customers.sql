select
    customer_id,
    name,
    upper(country) as country
from {{ source('shop', 'customers') }}
