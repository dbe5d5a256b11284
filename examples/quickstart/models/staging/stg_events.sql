select
    event_id,
    customer_id,
    kind,
    happened_at
from {{ source('shop', 'events') }}
