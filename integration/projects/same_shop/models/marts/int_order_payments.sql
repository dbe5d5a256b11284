{{ config(materialized='ephemeral') }}
select order_id, sum(paid) as paid, count(*) as payments from {{ ref('stg_payments') }} group by 1
