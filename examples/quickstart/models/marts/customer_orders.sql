select
    customers.customer_id,
    customers.name,
    customers.country,
    count(orders.order_id) as orders,
    coalesce(sum(orders.amount), 0) as revenue
from {{ ref('stg_customers') }} as customers
left join {{ ref('stg_orders') }} as orders using (customer_id)
group by 1, 2, 3
