"""Plain tables behind views of Hive's: values of `char` without the blanks behind them.

Spark fills values of `char` up with blanks as it reads them, or leaves the blanks that the file
has. Hive computes and compares without them, and so are they read from transactional tables.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from hiveacid.errors import UnreadableTableError
from hiveacid.formatting import quoted
from hiveacid.jvm.plans import execution_of, named
from hiveacid.metastore.models import TableName
from hiveacid.sql.catalog import SESSION_CATALOG

_TYPE_OF_HIVE = "__CHAR_VARCHAR_TYPE_STRING"
"""Key of a column's metadata by which Spark keeps `char(3)` where it makes a string of it: if it
looks a table up alone, and not with others."""


@dataclass(frozen=True)
class TrimmedTable:
    """A plain table that is read in a session that evaluates as Hive does."""

    name: TableName
    session: SparkSession = field(repr=False)

    def showing(self, session: SparkSession, query: Any) -> Any:
        """Return the analysed plan of a query of the table, under the table's name."""
        context = session.sparkContext
        plan = execution_of(context, self.session._jsparkSession, query).analyzed()
        return named(context, plan, self.name.table, (SESSION_CATALOG, self.name.database))


def without_blanks(name: TableName, metadata: Any) -> str | None:
    """Return a query that reads a table, by its `CatalogTable`; None for one without `char`.

    Raises:
        UnreadableTableError: the table has `char` in an array, a map or a struct.
    """
    schema = StructType.fromJson(json.loads(metadata.schema().json()))
    types = [str(it.metadata.get(_TYPE_OF_HIVE, it.dataType.simpleString())) for it in schema]
    for column, type_ in zip(schema, types, strict=True):
        if re.search(r"[<:,]char\(", type_):
            raise UnreadableTableError(
                f"{name}, which a view of Hive's reads, is not transactional, and its column "
                f"{column.name} is {type_}. Hive computes with char without the blanks at its end, "
                "and Spark with them. So the view was not read. Put the query of the view into a "
                "model or a statement, in Spark's SQL."
            )
    if not any(type_.startswith("char(") for type_ in types):
        return None
    columns = ", ".join(
        f"rtrim({quoted(it.name)}) AS {quoted(it.name)}"
        if type_.startswith("char(")
        else quoted(it.name)
        for it, type_ in zip(schema, types, strict=True)
    )
    return f"SELECT {columns} FROM {quoted(SESSION_CATALOG, name.database, name.table)}"
