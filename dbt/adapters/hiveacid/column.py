"""Columns of dbt-spark that classify Spark's types."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from dbt.adapters.base.column import Column
from dbt.adapters.spark.column import SparkColumn

_TEXTS = ("string", "varchar", "char")
_INTEGERS = ("tinyint", "smallint", "int", "integer", "bigint")


@dataclass
class HiveAcidColumn(SparkColumn):
    """Column that classifies Spark's types; dbt's own class knows only Postgres's names."""

    @classmethod
    def of(cls, column: SparkColumn) -> HiveAcidColumn:
        """Return a column of dbt-spark as one of this class."""
        fields = dataclasses.fields(column)
        return cls(**{field.name: getattr(column, field.name) for field in fields})

    def is_string(self) -> bool:
        """Return whether the values are strings, with or without a length."""
        return self._kind() in _TEXTS

    def is_integer(self) -> bool:
        """Return whether the values are whole numbers."""
        return self._kind() in _INTEGERS

    def is_numeric(self) -> bool:
        """Return whether the values are decimal numbers."""
        return self._kind() == "decimal"

    def can_expand_to(self, other_column: Column) -> bool:
        """Return False: dbt would widen a snapshot's strings, which have no width in Spark."""
        return False

    def _kind(self) -> str:
        return str(self.dtype).lower().partition("(")[0].strip()
