"""Changes of a model's rows as they are staged, and a summary of the stage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbt.adapters.hiveacid.incremental.merge_sql import CHANGE, DELETE, INSERT, quote
from dbt.adapters.hiveacid.spark.sql import text_of_bytes

_INTEGERS = {"tinyint": "Y", "smallint": "S", "int": "", "bigint": "L"}
"""The integer types, and how SQL marks their literals."""

_INSERTS = "_hiveacid_inserts"
_ROW_ID_PARTS = (("write_id", "bigint"), ("bucket", "int"), ("row", "bigint"))


@dataclass(frozen=True)
class KeyPart:
    """A part of the key in SQL, to be put after a relation's name and a dot, and its type."""

    sql: str
    type: str

    def predicate(self, low: Any, high: Any, has_null: bool) -> str:
        """What holds for all rows of the target whose key is among the changes."""
        column = f"DBT_INTERNAL_DEST.{self.sql}"
        if low is None:
            return f"{column} is null"
        between = f"{column} between {self._literal(low)} and {self._literal(high)}"
        return f"({between} or {column} is null)" if has_null else between

    def _literal(self, value: Any) -> str:
        if self.type == "date":
            return f"date'{value}'"
        if self.type == "string":
            return text_of_bytes(value)
        return f"{value}{_INTEGERS[self.type]}"


@dataclass(frozen=True)
class StageSummary:
    """How many inserts and deletes there are, and conditions on the target's rows they can hit.

    A delete whose key an insert has, too, is not counted. `repeated` is a key that several inserts
    have, and how many: None if there is none.
    """

    inserts: int = 0
    deletes: int = 0
    repeated: tuple[Mapping[str, Any], int] | None = None
    predicates: tuple[str, ...] = ()


def key_parts(key: Sequence[str], types: Mapping[str, str]) -> list[KeyPart]:
    """The columns of a key whose values have an order and a literal.

    Args:
        types: the type in SQL of columns, by their names in lower case.
    """
    typed = ((name, types.get(name.lower(), "")) for name in key)
    return [
        KeyPart(quote(name), type_)
        for name, type_ in typed
        if type_ in _INTEGERS or type_ in ("date", "string")
    ]


def row_id_parts(row_id: str) -> list[KeyPart]:
    """The parts of the row ids in a column that Hive counts up."""
    return [KeyPart(f"{row_id}.{name}", type_) for name, type_ in _ROW_ID_PARTS]


def by_key(stage: str, key: Sequence[str], parts: Sequence[KeyPart]) -> str:
    """The query of a stage whose rows have a `unique_key`."""
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
    """The query of a key that several rows of a table have: the key, and `times`; or no row."""
    names = ", ".join(map(quote, key))
    return (
        f"select struct({names}) as key, count(*) as times from {table} "
        f"group by {names} having count(*) > 1 limit 1"
    )


def by_row(stage: str, parts: Sequence[KeyPart]) -> str:
    """The query of a stage of inserts, and of deletes by row id if `parts` has those of row ids."""
    columns = [
        f"count_if({CHANGE} = '{INSERT}') as inserts",
        f"count_if({CHANGE} = '{DELETE}') as deletes",
        *_bounds(parts, f" filter (where {CHANGE} = '{DELETE}')"),
    ]
    return f"select {', '.join(columns)} from {stage}"


def summary(row: Any, parts: Sequence[KeyPart]) -> StageSummary:
    """From the row that a query of this module gives; a column is got as `row["name"]`."""
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
            # Files keep the bounds of texts that are not UTF-8 with other characters in them.
            broken = f"format_string('%s', {part.sql}) <> {part.sql}"
            yield f"count_if({broken}){filter_} as broken_{i}"


def _exact(part: KeyPart, value: str) -> str:
    """A value in a form that comes to Python as it is."""
    if part.type == "date":
        # Python has no dates of the years below 1 and above 9999.
        return f"cast({value} as string)"
    # Bytes that are not UTF-8 would come as other characters.
    return f"hex({value})" if part.type == "string" else value
