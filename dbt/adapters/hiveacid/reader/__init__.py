"""From a pinned table to a Spark DataFrame.

::

    footers = OrcFooters()                      # share one: it remembers what files say
    plan = plan_read(spark, pinned, footers)    # lists, selects, reads footers; no Spark job
    frame = to_dataframe(spark, plan)           # a lazy DataFrame of exactly the planned files
"""

from dbt.adapters.hiveacid.reader.orc_footers import OrcFooters
from dbt.adapters.hiveacid.reader.plan import DataFile, DeleteFile, ReadPlan
from dbt.adapters.hiveacid.reader.read import (
    plan_read,
    to_dataframe,
    write_ids_without_directory,
)
from dbt.adapters.hiveacid.reader.verification import Verification
from dbt.adapters.hiveacid.reader.verify import verify

__all__ = [
    "DataFile",
    "DeleteFile",
    "OrcFooters",
    "ReadPlan",
    "Verification",
    "plan_read",
    "to_dataframe",
    "verify",
    "write_ids_without_directory",
]
