"""dbt-hiveacid: dbt on Spark with Hive ACID tables among the sources."""

# ruff: noqa: I001
# The library comes first: it refuses a PySpark that the adapter's modules cannot import.
import hiveacid as _library  # noqa: F401

from dbt.adapters.base import AdapterPlugin
from dbt.adapters.hiveacid.connections import HiveAcidConnectionManager
from dbt.adapters.hiveacid.credentials import HiveAcidCredentials
from dbt.adapters.hiveacid.impl import HiveAcidAdapter
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.include import hiveacid

__all__ = [
    "HiveAcidAdapter",
    "HiveAcidConnectionManager",
    "HiveAcidCredentials",
    "HiveAcidRelation",
    "Plugin",
]

Plugin = AdapterPlugin(
    adapter=HiveAcidAdapter,  # type: ignore[arg-type]
    credentials=HiveAcidCredentials,
    include_path=hiveacid.PACKAGE_PATH,
    dependencies=["spark"],
)
