{{ described(source('shop', 'raw_orders')) }}
union all
{{ described(source('shop', 'raw_payments')) }}
union all
{{ described(ref('stg_payments')) }}
