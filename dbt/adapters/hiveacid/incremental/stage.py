"""Rows of a stage, which are the changes of a model's rows, and the summary of a stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from dbt.adapters.hiveacid.incremental.config import Mode
from dbt.adapters.hiveacid.incremental.merge_sql import CHANGE, DELETE, INSERT, quote
from dbt.adapters.hiveacid.spark.sql import text_of_bytes

_INTEGERS = {"tinyint": "Y", "smallint": "S", "int": "", "bigint": "L"}
"""Integer types, and the suffixes of their literals in SQL."""

_INSERTS = "_hiveacid_inserts"
Value = int | str | None
"""Bound of a part of a key: a date in text form, a string as its bytes in hex digits."""

_ROW_ID_PARTS = (("write_id", "bigint"), ("bucket", "int"), ("row", "bigint"))


def staged_changes(
    mode: Mode,
    unique_key: Sequence[str],
    inserts: DataFrame,
    deleted: Callable[[], DataFrame],
    earlier: Callable[[], DataFrame] | None,
    row_ids: Callable[[], DataFrame],
) -> DataFrame:
    """Return the rows of a stage: inserts and deletes together.

    For a strategy other than `acid_changes`, the stage has the model's rows as they are.

    Args:
        mode: how changes are applied to the target.
        unique_key: the model's key.
        inserts: the model's rows over what was inserted.
        deleted: returns the model's rows over the rows that were deleted.
        earlier: returns the model's rows over the rows of earlier batches; None if no delete may
            have the key of a row of an earlier batch.
        row_ids: returns the row ids of the target's rows to delete.
    """
    if mode is Mode.OWN:
        return inserts
    changes = inserts.withColumn(CHANGE, F.lit(INSERT))
    if mode is Mode.UNIQUE_KEY:
        keys = deleted().select(*unique_key).distinct()
        if earlier is not None:
            again = _with_key_in(earlier(), keys).withColumn(CHANGE, F.lit(INSERT))
            changes = changes.unionByName(again)
    elif mode is Mode.ROW_ID:
        keys = row_ids()
    else:
        return changes
    return changes.unionByName(keys.withColumn(CHANGE, F.lit(DELETE)), allowMissingColumns=True)


def _with_key_in(rows: DataFrame, keys: DataFrame) -> DataFrame:
    """Return the rows with one of the keys; NULL is a key like any other."""
    names = map(quote, keys.columns)
    same = [F.col(f"r.{name}").eqNullSafe(F.col(f"k.{name}")) for name in names]
    return rows.alias("r").join(keys.alias("k"), reduce(and_, same), "left_semi")


@dataclass(frozen=True)
class KeyPart:
    """A part of the key and its type; `sql` is the column, without the relation's name."""

    sql: str
    type: str

    def predicate(self, low: Value, high: Value, has_null: bool) -> str:
        """Return a condition that holds for all rows of the target with a key of the changes."""
        column = f"DBT_INTERNAL_DEST.{self.sql}"
        if low is None:
            return f"{column} is null"
        between = f"{column} between {self._literal(low)} and {self._literal(high)}"
        return f"({between} or {column} is null)" if has_null else between

    def _literal(self, value: Value) -> str:
        if self.type == "date":
            return f"date'{value}'"
        if self.type == "string":
            return text_of_bytes(str(value))
        return f"{value}{_INTEGERS[self.type]}"


@dataclass(frozen=True)
class StageSummary:
    """Counts of inserts and deletes, and conditions on the target's rows that they can affect.

    A delete with the same key as an insert is not counted. `repeated` is a key of several inserts,
    and their number; None if there is none.
    """

    inserts: int = 0
    deletes: int = 0
    repeated: tuple[Mapping[str, object], int] | None = None
    predicates: tuple[str, ...] = ()


def key_parts(key: Sequence[str], types: Mapping[str, str]) -> list[KeyPart]:
    """Return the columns of a key whose types can be bounded: integers, dates and strings.

    Args:
        key: the columns of the key.
        types: the SQL types of columns, by name in lower case.
    """
    typed = ((name, types.get(name.lower(), "")) for name in key)
    return [
        KeyPart(quote(name), type_)
        for name, type_ in typed
        if type_ in _INTEGERS or type_ in ("date", "string")
    ]


def row_id_parts(row_id: str) -> list[KeyPart]:
    """Return the numeric parts of a column of row ids."""
    return [KeyPart(f"{row_id}.{name}", type_) for name, type_ in _ROW_ID_PARTS]


def by_key(stage: str, key: Sequence[str], parts: Sequence[KeyPart]) -> str:
    """Return the query for the summary of a stage whose rows have a `unique_key`."""
    names = ", ".join(map(quote, key))
    columns = [
        f"coalesce(sum({_INSERTS}), 0) as inserts",
        f"count_if({_INSERTS} = 0) as deletes",
        f"max({_INSERTS}) as times",
        f"if(max({_INSERTS}) > 1, max_by(struct({names}), {_INSERTS}), null) as repeated",
        *_bounds(parts, ""),
    ]
    return (
        f"select {', '.join(columns)} from (\n"
        f"  select {names}, count_if({CHANGE} = '{INSERT}') as {_INSERTS} from {stage}\n"
        f"  group by {names})"
    )


def repeated_key(table: str, key: Sequence[str]) -> str:
    """Return the query for one key of several rows: a row of `key` and `times`, or no row."""
    names = ", ".join(map(quote, key))
    return (
        f"select struct({names}) as key, count(*) as times from {table} "
        f"group by {names} having count(*) > 1 limit 1"
    )


def by_row(stage: str, parts: Sequence[KeyPart]) -> str:
    """Return the query for the summary of a stage of inserts and deletes by row id.

    `parts` are the parts of row ids; empty if there are no deletes.
    """
    columns = [
        f"count_if({CHANGE} = '{INSERT}') as inserts",
        f"count_if({CHANGE} = '{DELETE}') as deletes",
        *_bounds(parts, f" filter (where {CHANGE} = '{DELETE}')"),
    ]
    return f"select {', '.join(columns)} from {stage}"


def summary(row: Row, parts: Sequence[KeyPart]) -> StageSummary:
    """Return the summary from the result row of `by_key` or `by_row`."""
    names = row.asDict()
    times = names.get("times") or 0
    inserts, deletes = row["inserts"], row["deletes"]
    predicates = [
        part.predicate(row[f"low_{i}"], row[f"high_{i}"], row[f"nulls_{i}"] > 0)
        for i, part in enumerate(parts)
        if (inserts or deletes) and not names.get(f"broken_{i}")
    ]
    return StageSummary(
        inserts,
        deletes,
        (row["repeated"].asDict(), times) if times > 1 else None,
        tuple(predicates),
    )


def _bounds(parts: Sequence[KeyPart], filter_: str) -> Iterator[str]:
    for i, part in enumerate(parts):
        for name, bound in (("low", "min"), ("high", "max")):
            yield f"{_exact(part, f'{bound}({part.sql}){filter_}')} as {name}_{i}"
        yield f"count_if({part.sql} is null){filter_} as nulls_{i}"
        if part.type == "string":
            # Files store the bounds of strings that are not UTF-8 with replaced characters.
            broken = f"format_string('%s', {part.sql}) <> {part.sql}"
            yield f"count_if({broken}){filter_} as broken_{i}"


def _exact(part: KeyPart, value: str) -> str:
    """Return SQL for a value in a form that reaches Python unchanged."""
    if part.type == "date":
        # Python has no dates in years below 1 or above 9999.
        return f"cast({value} as string)"
    # Bytes that are not UTF-8 would arrive as replacement characters.
    return f"hex({value})" if part.type == "string" else value
