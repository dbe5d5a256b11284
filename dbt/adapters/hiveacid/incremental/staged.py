"""The changes of a model's rows, as they are staged before the target changes."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import and_

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dbt.adapters.hiveacid.incremental.apply import CHANGE, DELETE, INSERT, quote
from dbt.adapters.hiveacid.incremental.config import Mode
from dbt.adapters.hiveacid.incremental.model import ModelChanges


def staged_changes(
    model: ModelChanges,
    inserts: DataFrame,
    deleted: Callable[[], DataFrame],
    brought: Callable[[], DataFrame],
    session: SparkSession,
) -> DataFrame:
    """What `apply` takes: inserts and deletes together.

    `inserts` are the model's rows over what was inserted, `deleted` gives those over the rows that
    were deleted, `brought` those over the rows of earlier batches (`backlog`). A strategy of
    dbt-spark's takes the model's rows as they are.
    """
    if model.mode is Mode.OWN:
        return inserts
    changes = inserts.withColumn(CHANGE, F.lit(INSERT))
    if model.mode is Mode.UNIQUE_KEY:
        keys = deleted().select(*model.config.unique_key).distinct()
        if model.may_delete_what_was_brought:
            again = _with_key_in(brought(), keys).withColumn(CHANGE, F.lit(INSERT))
            changes = changes.unionByName(again)
    elif model.mode is Mode.ROW_ID:
        keys = model.row_ids_to_delete(session)
    else:
        return changes
    return changes.unionByName(keys.withColumn(CHANGE, F.lit(DELETE)), allowMissingColumns=True)


def _with_key_in(rows: DataFrame, keys: DataFrame) -> DataFrame:
    """The rows with one of the keys; NULL is a key like any other."""
    names = map(quote, keys.columns)
    same = [F.col(f"r.{name}").eqNullSafe(F.col(f"k.{name}")) for name in names]
    return rows.alias("r").join(keys.alias("k"), reduce(and_, same), "left_semi")
