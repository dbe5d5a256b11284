select
    order_id,
    customer_id,
    amount,
    status,
    order_date
from {{ source('shop', 'orders') }}
where status != 'test'
