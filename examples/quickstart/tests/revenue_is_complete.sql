-- Both marts read the orders at the same snapshot, so they add up, whatever Hive commits meanwhile.
with by_customer as (
    select sum(revenue) as revenue from {{ ref('customer_orders') }}
),

by_order as (
    select sum(amount) as revenue
    from {{ ref('stg_orders') }}
    where customer_id in (select customer_id from {{ ref('stg_customers') }})
)

select by_customer.revenue, by_order.revenue as expected
from by_customer
cross join by_order
where by_customer.revenue != by_order.revenue
