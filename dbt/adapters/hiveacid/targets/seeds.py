"""The rows of a seed, as one DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

import agate
from dbt.adapters.base.meta import AdapterMeta
from pyspark.sql.functions import expr
from pyspark.sql.types import StringType, StructField, StructType

from dbt.adapters.hiveacid.errors import available
from dbt.adapters.hiveacid.node_context import NodeContext
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.spark.sql import checked_cast


class SeedMethods(metaclass=AdapterMeta):
    """The adapter's method for the macro of seeds."""

    convert_type: Callable[[agate.Table, int], str | None]
    _handle: Callable[[], NodeContext]

    @available
    def hiveacid_seed_rows(
        self, target: HiveAcidRelation, table: agate.Table, column_types: Mapping[str, str]
    ) -> HiveAcidRelation:
        """A temporary view with the rows of a seed, each column in the type that it gets.

        `column_types` is the seed's configuration; other columns get dbt-spark's types. Reading the
        view fails if a value is none of its column's type.
        """
        # By place: a seed's columns may differ in case only, which the target then refuses.
        names = [f"c{place}" for place in range(len(table.column_names))]
        schema = StructType([StructField(name, StringType()) for name in names])
        rows = [[_text(value) for value in row] for row in table.rows]
        # One file; Spark would write one for each core.
        frame = self._handle().session.createDataFrame(rows, schema).coalesce(1)
        casts = []
        for place, column in enumerate(table.column_names):
            type_ = column_types.get(column) or self.convert_type(table, place) or "string"
            before = (
                f"Seed {target.identifier} has in column {column}, which is {type_}, the value "
            )
            after = (
                ". It is no such value. Correct it, or give the column another type in the seed's "
                "`column_types`."
            )
            casts.append(expr(checked_cast(names[place], type_, before, after)).alias(names[place]))
        return self._handle().make_temporary_view(target, "seed", frame.select(*casts))


def _text(value: Any) -> str | None:
    """A value in the form that Spark's casts from text take."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, Decimal):
        # Not 1E+3, nor 1.0 for a bigint: such are no text of an integer.
        text = f"{value:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return str(value)
