-- depends_on: {{ ref('stg_payments') }}
select {{ row_count('raw_orders') }} as raw_orders,
    {{ row_count('stg_payments') }} as stg_payments,
    {{ row_count('not_there') }} as not_there
