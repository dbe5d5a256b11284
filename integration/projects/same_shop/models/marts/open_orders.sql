{{ config(materialized='view') }}
select o.id, o._dbt_source_relation, o.amount, c.customer_name
from {{ ref('stg_orders') }} as o
join {{ ref('stg_customers') }} as c using (customer_id)
where o.status = 'open'
