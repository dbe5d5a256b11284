"""Which types Spark may write into a column of another type, by its own rules."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from dbt.adapters.hiveacid.spark.jvm import java


@dataclass(frozen=True)
class TypeChange:
    """A column that rows have in one type (`given`), and their table in another (`stored`).

    `is_allowed` says that an INSERT takes it (`spark.sql.storeAssignmentPolicy: ANSI`), and
    `is_checked` that it fails for values that do not fit.
    """

    name: str
    given: str
    stored: str
    is_allowed: bool
    is_checked: bool

    def __str__(self) -> str:
        """As `code (string, in the table int)`."""
        return f"{self.name} ({self.given}, in the table {self.stored})"


def type_changes(session: SparkSession, given: StructType, stored: StructType) -> list[TypeChange]:
    """The columns of both schemas whose types differ; CHAR and VARCHAR count as texts."""
    by_name = {field.name.lower(): field.dataType for field in given.fields}
    differing = [
        (field.name, type_, field.dataType)
        for field in stored.fields
        if (type_ := by_name.get(field.name.lower())) is not None
        and type_.simpleString() != field.dataType.simpleString()
    ]
    found = []
    for name, type_, stored_type in differing:
        rules = java(session.sparkContext, "org.apache.spark.sql.catalyst.expressions.Cast")
        pair = [session._jsparkSession.parseDataType(t.json()) for t in (type_, stored_type)]
        is_safe = rules.canUpCast(*pair)
        # Inside of others, values that do not fit would become NULL.
        is_atomic = not any("<" in t.simpleString() for t in (type_, stored_type))
        is_allowed = is_safe or (is_atomic and rules.canANSIStoreAssign(*pair))
        found.append(
            TypeChange(
                name,
                type_.simpleString(),
                stored_type.simpleString(),
                is_allowed=is_allowed,
                is_checked=is_allowed and not is_safe,
            )
        )
    return found
