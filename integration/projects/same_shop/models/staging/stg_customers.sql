select id as customer_id, name as customer_name, country from {{ source('shop', 'raw_customers') }}
