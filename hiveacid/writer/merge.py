"""Rows that a MERGE replaces, removes and adds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from hiveacid.errors import InvalidSettingError, UnwritableRowsError
from hiveacid.formatting import quoted
from hiveacid.metastore.models import TableName
from hiveacid.reader.columns import TableColumns
from hiveacid.reader.deletes import ROW_ID

TARGET, SOURCE = "target", "source"
"""Names of the table and of the new rows in conditions and values."""
_COUNT = "__hiveacid_count"


@dataclass(frozen=True)
class MergeClauses:
    """What a MERGE does with rows that match, and with those that match none.

    Attributes:
        on: names of columns, or a condition over `target` and `source`.
        matched: "update", "delete" or None.
        not_matched: "insert" or None.
        update: values of the columns that an update sets; None for all columns of the source.
        matched_where: a condition for matched rows; None for all.
        not_matched_where: a condition for new rows; None for all.
    """

    on: tuple[str, ...] | Column
    matched: str | None = "update"
    not_matched: str | None = "insert"
    update: Mapping[str, Column] | None = None
    matched_where: Column | None = None
    not_matched_where: Column | None = None


def own_names(columns: TableColumns, names: Iterable[str], argument: str) -> list[str]:
    """Return the table's own names of columns that are given in any case.

    Raises:
        InvalidSettingError: the table has no such column, or none is given.
    """
    own = {name.lower(): name for name in columns.names}
    given = list(names)
    unknown = [name for name in given if name.lower() not in own]
    if unknown or not given:
        raise InvalidSettingError(
            f"`{argument}` must name columns of {columns.table}, not {unknown or given!r}. It has "
            f"{', '.join(columns.names)}.",
            code="HIVEACID_INVALID_ARGUMENT",
        )
    return [own[name.lower()] for name in given]


def matched_rows(
    columns: TableColumns, rows: DataFrame, source: DataFrame, clauses: MergeClauses
) -> DataFrame:
    """Return the matched rows of the table: their row ids, and the values that they get.

    Args:
        columns: the columns of the table.
        rows: the table's rows with their row ids.
        source: the new rows.
        clauses: what to do.
    """
    pairs = rows.alias(TARGET).join(source.alias(SOURCE), _condition(columns, clauses), "inner")
    if clauses.matched_where is not None:
        pairs = pairs.where(clauses.matched_where)
    ids = [F.col(f"{TARGET}.{name}") for name in ROW_ID]
    if clauses.matched != "update":
        return pairs.select(*ids)
    return pairs.select(*ids, *_values(columns, clauses))


def new_rows(
    columns: TableColumns, rows: DataFrame | None, source: DataFrame, clauses: MergeClauses
) -> DataFrame:
    """Return the rows of the source that match none; `rows` is None for an empty table."""
    found = source.alias(SOURCE)
    if clauses.not_matched_where is not None:
        found = found.where(clauses.not_matched_where)
    if rows is not None:
        found = found.join(rows.alias(TARGET), _condition(columns, clauses), "left_anti")
    return found.select(*(F.col(f"{SOURCE}.{quoted(name)}") for name in columns.names))


def check_matched_once(
    columns: TableColumns, rows: DataFrame, matched: DataFrame, clauses: MergeClauses
) -> None:
    """Refuse two rows of the source that match the same row, as Hive's MERGE does.

    Raises:
        UnwritableRowsError: there are such rows.
    """
    counted = matched.groupBy(*ROW_ID).agg(F.count(F.lit(1)).alias(_COUNT))
    repeated = counted.where(f"{_COUNT} > 1").limit(1).collect()
    if repeated:
        raise _not_unique(columns.table, _shown(columns, rows, repeated[0].asDict(), clauses))


def rows_with_keys(rows: DataFrame, source: DataFrame, on: Sequence[str]) -> DataFrame:
    """Return the rows that have the key of any row of the source."""
    keys = source.select(*(F.col(quoted(name)) for name in on)).distinct()
    return rows.join(keys, list(on), "left_semi")


def _condition(columns: TableColumns, clauses: MergeClauses) -> Column:
    if isinstance(clauses.on, Column):
        return clauses.on
    condition = F.lit(True)
    for name in own_names(columns, clauses.on, "on"):
        condition &= _of(TARGET, name) == _of(SOURCE, name)
    return condition


def _values(columns: TableColumns, clauses: MergeClauses) -> list[Column]:
    """Return the values of all columns after the update."""
    if clauses.update is None:
        return [_of(SOURCE, name).alias(name) for name in columns.names]
    own = dict(
        zip(own_names(columns, clauses.update, "update"), clauses.update.values(), strict=True)
    )
    return [own.get(name, _of(TARGET, name)).alias(name) for name in columns.names]


def _of(side: str, name: str) -> Column:
    return F.col(f"{side}.{quoted(name)}")


def _shown(
    columns: TableColumns, rows: DataFrame, row_id: Mapping[str, object], clauses: MergeClauses
) -> str:
    """Return the values by which a row was matched, or all of its values."""
    names = columns.names
    if not isinstance(clauses.on, Column):
        names = own_names(columns, clauses.on, "on")
    for name in ROW_ID:
        rows = rows.where(F.col(name) == F.lit(row_id[name]))
    found = rows.select(*(F.col(quoted(name)) for name in names)).first()
    assert found is not None
    return ", ".join(f"{name} = {value!r}" for name, value in found.asDict().items())


def _not_unique(table: TableName, shown: str) -> UnwritableRowsError:
    return UnwritableRowsError(
        f"Two rows match the same row of {table} ({shown}), so what it becomes is not "
        "determined. Keep one row for each key.",
        code="HIVEACID_MERGE_NOT_UNIQUE",
    )
