from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.versions import restore_statement, version_query

DELTA = HiveAcidRelation.create(schema="marts", identifier="orders", is_delta=True)
ICEBERG = HiveAcidRelation.create(schema="marts", identifier="orders", is_iceberg=True)


def test_delta():
    assert version_query(DELTA) == "describe history marts.orders limit 1"
    assert restore_statement(DELTA, 7) == "restore table marts.orders to version as of 7"


def test_iceberg():
    assert version_query(ICEBERG) == (
        "select snapshot_id from marts.orders.refs where name = 'main'"
    )
    assert restore_statement(ICEBERG, 7) == (
        "call spark_catalog.system.set_current_snapshot(table => 'marts.orders', snapshot_id => 7)"
    )
