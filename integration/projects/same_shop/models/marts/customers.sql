select c.customer_id, c.customer_name, n.country_name, count(o.id) as orders, sum(o.amount) as amount
from {{ ref('stg_customers') }} as c
left join {{ ref('countries') }} as n on c.country = n.code
left join {{ ref('orders') }} as o on c.customer_id = o.customer_id
group by all
