"""Talking to the Hive metastore: plain models, transport, client."""

from dbt.adapters.hiveacid.metastore.client import MetastoreClient
from dbt.adapters.hiveacid.metastore.models import TableName

__all__ = ["MetastoreClient", "TableName"]
