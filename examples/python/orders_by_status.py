def model(dbt, session):
    dbt.config(materialized="table")
    orders = dbt.source("shop", "orders")
    return orders.where("status <> 'test'").groupBy("status").count()
