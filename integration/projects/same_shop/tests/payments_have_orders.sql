select p.payment_id
from {{ ref('stg_payments') }} as p
left anti join {{ source('shop', 'raw_orders') }} on p.order_id = raw_orders.id
