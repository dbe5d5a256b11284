{{ config(materialized='incremental', incremental_strategy='merge', unique_key='day', file_format='delta') }}
select day, sum(paid) as paid from {{ ref('stg_payments') }} group by day
