"""SQL that applies staged changes to a target. Pure text.

A *stage* is a table of changes: the model's columns, and the kind of the change in `CHANGE`. An
insert has the new row. A delete has the key to delete, and NULL in all other columns; in row-id
mode the key is the row id.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dbt.adapters.hiveacid.spark.sql import checked_cast
from hiveacid.formatting import quoted

CHANGE = "_hiveacid_change"
INSERT = "insert"
DELETE = "delete"
_SOURCE_COLUMN = re.compile(
    r"\bDBT_INTERNAL_SOURCE`?\s*\.\s*(?:`((?:[^`]|``)+)`|(\w+))", re.IGNORECASE
)


@dataclass(frozen=True)
class Target:
    """A target in SQL.

    Attributes:
        name: the relation in SQL.
        columns: pairs of name and type, in the target's order.
        missing: the columns that new rows do not have, because the model no longer selects them.
        checked: the columns whose type differs in new rows and whose values may not fit.
    """

    name: str
    columns: tuple[tuple[str, str], ...]
    missing: frozenset[str] = frozenset()
    checked: frozenset[str] = frozenset()

    @property
    def given(self) -> list[str]:
        """The columns that new rows have, in SQL."""
        return [quote(name) for name, _ in self.columns if name not in self.missing]

    def casts(self, alias: str, previous: str | None = None) -> str:
        """Return the columns of `alias`, cast to this table's types.

        Missing columns come from `previous`, an alias of this table's own rows; without `previous`
        they are NULL.
        """
        return ", ".join(
            f"{self._cast(alias, previous, name, type_)} as {quote(name)}"
            for name, type_ in self.columns
        )

    def _cast(self, alias: str, previous: str | None, name: str, type_: str) -> str:
        if name in self.missing:
            return f"cast(null as {type_})" if previous is None else f"{previous}.{quote(name)}"
        value = f"{alias}.{quote(name)}"
        if name not in self.checked:
            return f"cast({value} as {type_})"
        before = (
            f"[HIVEACID_VALUE_DOES_NOT_FIT] Column {name} of {self.name} is {type_}, and a "
            "new row has the value "
        )
        after = (
            ", which does not fit. No row has been changed. Run the model with --full-refresh, or "
            "cast the column in its SQL."
        )
        return checked_cast(value, type_, before, after)

    def names(self, alias: str) -> str:
        """Return all columns of the table `alias`."""
        return ", ".join(f"{alias}.{quote(name)}" for name, _ in self.columns)

    def insertion(self) -> str:
        """Return the INSERT of a MERGE, with the columns that new rows have."""
        values = ", ".join(f"DBT_INTERNAL_SOURCE.{column}" for column in self.given)
        return f"insert ({', '.join(self.given)}) values ({values})"


def merge_by_key(
    target: Target,
    stage: str,
    key: Sequence[str],
    update_columns: Sequence[str] | None,
    predicates: Iterable[str],
) -> str:
    """Return the MERGE by `unique_key`: upserts, and deletes of keys that no insert has.

    Args:
        target: the target.
        stage: the stage in SQL.
        key: the columns of `unique_key`.
        update_columns: the columns (in SQL) that an upsert changes in an existing row, possibly
            none; None for all columns of new rows.
        predicates: further conditions, with dbt's names DBT_INTERNAL_SOURCE and DBT_INTERNAL_DEST.
    """
    columns = target.given if update_columns is None else update_columns
    updates = ", ".join(f"{column} = DBT_INTERNAL_SOURCE.{column}" for column in columns)
    update = f"when matched then update set {updates}\n" if updates else ""
    on = [
        *(passed_by_deletes(predicate, key) for predicate in predicates),
        _matches("DBT_INTERNAL_SOURCE", "DBT_INTERNAL_DEST", key),
    ]
    return (
        f"merge into {target.name} as DBT_INTERNAL_DEST\n"
        f"using (\n{_effective_changes(stage, key)}\n) as DBT_INTERNAL_SOURCE\n"
        f"on {' and '.join(f'({predicate})' for predicate in on)}\n"
        f"when matched and DBT_INTERNAL_SOURCE.{CHANGE} = '{DELETE}' then delete\n"
        f"{update}"
        f"when not matched and DBT_INTERNAL_SOURCE.{CHANGE} = '{INSERT}' then\n"
        f"  {target.insertion()}"
    )


def merge_by_row_id(target: Target, stage: str, row_id: str, predicates: Iterable[str]) -> str:
    """Return the MERGE by the column `row_id`: deletes, and inserts that match nothing."""
    on = [
        *(passed_by_deletes(predicate, (row_id,)) for predicate in predicates),
        f"DBT_INTERNAL_SOURCE.{CHANGE} = '{DELETE}'",
        f"DBT_INTERNAL_SOURCE.{row_id} = DBT_INTERNAL_DEST.{row_id}",
    ]
    return (
        f"merge into {target.name} as DBT_INTERNAL_DEST\n"
        f"using {stage} as DBT_INTERNAL_SOURCE\n"
        f"on {' and '.join(f'({predicate})' for predicate in on)}\n"
        "when matched then delete\n"
        f"when not matched and DBT_INTERNAL_SOURCE.{CHANGE} = '{INSERT}' then\n"
        f"  {target.insertion()}"
    )


def append(target: Target, stage: str) -> str:
    """Return the INSERT of the stage's inserts."""
    names = ", ".join(quote(name) for name, _ in target.columns)
    return f"insert into {target.name} ({names})\n{staged_inserts(target, stage)}"


def staged_inserts(target: Target, stage: str, upsert_by: Sequence[str] = ()) -> str:
    """Return the query of the stage's inserts as rows of the target.

    Missing columns come from the target's row with the same key `upsert_by`.
    """
    inserts = f"where s.{CHANGE} = '{INSERT}'"
    if not (upsert_by and target.missing):
        return f"select {target.casts('s')} from {stage} s {inserts}"
    return (
        f"select {target.casts('s', 't')} from {stage} s\n"
        f"left join {target.name} t on {_matches('s', 't', upsert_by)}\n"
        f"{inserts}"
    )


def rewritten(target: Target, stage: str, key: Sequence[str], *, is_upsert: bool) -> str:
    """Return the query of all rows of a target after the changes.

    With `is_upsert` an insert replaces the row with its key, as in a MERGE: missing columns keep
    their values. Without `is_upsert` only deletes remove rows.
    """
    names = ", ".join(map(quote, key))
    condition = "" if is_upsert else f" where {CHANGE} = '{DELETE}'"
    return (
        f"select {target.names('t')} from {target.name} t\n"
        f"left anti join (select distinct {names} from {stage}{condition}) s\n"
        f"on {_matches('s', 't', key)}\n"
        f"union all\n{staged_inserts(target, stage, key if is_upsert else ())}"
    )


def passed_by_deletes(predicate: str, key: Sequence[str]) -> str:
    """Return a model's MERGE predicate, changed so that it does not filter out deletes.

    A delete has NULL in all columns but the key, so a predicate on other columns would never match.
    """
    names = {in_ticks or plain for in_ticks, plain in _SOURCE_COLUMN.findall(predicate)}
    if {quote(name).lower() for name in names} <= {quote(name).lower() for name in key}:
        return predicate
    return f"DBT_INTERNAL_SOURCE.{CHANGE} = '{DELETE}' or ({predicate})"


def quote(name: str) -> str:
    """Return a column's name in backticks; a name in `unique_key` may have them already."""
    return quoted(name.strip("`"))


def _effective_changes(stage: str, key: Sequence[str]) -> str:
    # An update is a delete and an insert with the same key. The insert alone has the new row.
    return (
        f"  select * from {stage} where {CHANGE} = '{INSERT}'\n"
        "  union all\n"
        f"  select d.* from {stage} d left anti join\n"
        f"    (select * from {stage} where {CHANGE} = '{INSERT}') i on {_matches('d', 'i', key)}\n"
        f"  where d.{CHANGE} = '{DELETE}'"
    )


def _matches(left: str, right: str, key: Sequence[str]) -> str:
    # NULL is a key like any other: a row with a NULL key must be found.
    return " and ".join(f"{left}.{quote(name)} <=> {right}.{quote(name)}" for name in key)
