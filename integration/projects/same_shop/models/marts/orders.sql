{{ config(post_hook="insert into {{ target.schema }}.run_log select 'raw_orders', 'rows', count(*) from {{ source('shop', 'raw_orders') }}") }}
select o.id, o.customer_id, o.amount, o.status, o.updated_at, coalesce(p.paid, 0) as paid, p.payments
from {{ ref('stg_orders') }} as o
left join {{ ref('int_order_payments') }} as p on o.id = p.order_id
