"""The Spark of a process, and a second target in it."""

import pytest
from dbt.adapters.exceptions import FailedToConnectError

from dbt.adapters.hiveacid.spark import driver
from dbt.adapters.hiveacid.spark.driver import root_session

URI = "thrift://metastore:9083"
WAREHOUSE = "spark.sql.warehouse.dir"


def use(parameters):
    return root_session(parameters, URI, lambda: "unused", None)


@pytest.mark.parametrize("is_ours", [True, False], ids=["started here", "of others"])
def test_a_warehouse_may_be_spelled_otherwise(is_ours, spark, spark_parameters, monkeypatch):
    if not is_ours:
        monkeypatch.setattr(driver, "_started", None)
    given = spark_parameters[WAREHOUSE]
    parameters = {**spark_parameters, "spark.ui.enabled": "false"}
    for spelled in (given, f"{given}/", f"file:{given}", f"file://{given}"):
        assert use({**parameters, WAREHOUSE: spelled}).sparkContext is spark.sparkContext
    for another in (f"{given}2", f"hdfs://host{given}", f"unknown:{given}"):
        with pytest.raises(FailedToConnectError, match=f"other values of {WAREHOUSE} than"):
            use({**parameters, WAREHOUSE: another})
