with source as (
    select * from {{ source('shop', 'raw_payments') }}
),

renamed as (
    select id as payment_id, order_id, method, paid, day from source
)

select {{ surrogate_key(['payment_id', 'day']) }} as payment_key, renamed.* from renamed
