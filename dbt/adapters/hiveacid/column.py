"""Columns: dbt-spark's, which know what kind of type Spark's types are."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from dbt.adapters.base.column import Column
from dbt.adapters.spark.column import SparkColumn

_TEXTS = ("string", "varchar", "char")
_INTEGERS = ("tinyint", "smallint", "int", "integer", "bigint")


@dataclass
class HiveAcidColumn(SparkColumn):
    """A column. dbt asks for the kinds of types by the names that Postgres has for them."""

    @classmethod
    def of(cls, column: SparkColumn) -> HiveAcidColumn:
        """A column of dbt-spark's as one of these."""
        fields = dataclasses.fields(column)
        return cls(**{field.name: getattr(column, field.name) for field in fields})

    def is_string(self) -> bool:
        """Whether the values are texts, of whatever length."""
        return self._kind() in _TEXTS

    def is_integer(self) -> bool:
        """Whether the values are whole numbers."""
        return self._kind() in _INTEGERS

    def is_numeric(self) -> bool:
        """Whether the values are decimal numbers."""
        return self._kind() == "decimal"

    def can_expand_to(self, other_column: Column) -> bool:
        """No: dbt would widen a text column before a snapshot, and Spark's texts have no width."""
        return False

    def _kind(self) -> str:
        return str(self.dtype).lower().partition("(")[0].strip()
