"""Checks of the key columns by which a target's rows are found."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NoReturn

from dbt.adapters.hiveacid.errors import IncrementalError
from dbt.adapters.hiveacid.incremental.config import Mode
from dbt.adapters.hiveacid.incremental.merge_sql import CHANGE
from dbt.adapters.hiveacid.incremental.plans import ChangesModel
from dbt.adapters.hiveacid.incremental.run_context import RunContext
from dbt.adapters.hiveacid.incremental.stage import repeated_key
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.targets.state import StateLookup, TargetState
from hiveacid.changes.plan import ROW_ID_NAMES


def row_id_among(columns: Collection[str]) -> str | None:
    """Return the row id column among a table's columns (in lower case); None without one."""
    return next((name for name in ROW_ID_NAMES if name in columns), None)


def check_columns(model: ChangesModel, stored: Collection[str], selected: Collection[str]) -> None:
    """Refuse a key that some of the target's rows would not have.

    dbt adds a model's new columns to the target, where they are NULL in all old rows.

    Args:
        model: the model.
        stored: the names of the target's columns in lower case.
        selected: the names of the columns that the model selects.

    Raises:
        IncrementalError: a key column is new, or no longer selected, or a name is reserved.
    """
    config = model.config
    if config.mode(has_row_id=True) is Mode.OWN:
        return
    selected = [name.lower() for name in selected]
    if CHANGE in selected:
        raise IncrementalError(
            f"Column {CHANGE} of model {model.name} has the name of a column that the staged "
            "changes add. Give it another name.",
            code="HIVEACID_RESERVED_COLUMN_NAME",
        )
    wanted, kept = row_id_among(selected), row_id_among(stored)
    new = [wanted] if wanted is not None and wanted not in stored else []
    if config.unique_key:
        names = (name.strip("`").lower() for name in config.unique_key)
        new, kept = [name for name in names if name in selected and name not in stored], None
    if config.adds_columns and new:
        raise IncrementalError(
            f"Model {model.name} has the new key column {', '.join(new)}, which the rows in "
            f"{model.target} do not have. Nothing has been changed. Run the model with "
            "--full-refresh.",
            code="HIVEACID_KEY_COLUMNS_CHANGED",
        )
    if kept is not None and kept not in selected:
        raise IncrementalError(
            f"{model.target} has the key column {kept}, and model {model.name} no longer "
            "selects it. Nothing has been changed. Select the column, or run the model with "
            "--full-refresh.",
            code="HIVEACID_KEY_COLUMNS_CHANGED",
        )


def check_new_key(context: RunContext, previous: StateLookup, stored: Collection[str]) -> None:
    """Refuse a new `unique_key` that is not unique in the target's rows.

    One change would be applied to several rows. The next state records the key, so that the table
    is checked only once.

    Raises:
        IncrementalError: two rows of the target have the same key; the message has the key.
    """
    model = context.model
    key = model.config.checked_key
    made_with = previous.unique_key if isinstance(previous, TargetState) else ()
    if not key or key == made_with or not set(key) <= set(stored):
        return
    for found in context.query(repeated_key(str(model.target), model.config.unique_key)):
        raise IncrementalError(
            f"{model.target} has {found['times']} rows with the same value of the new "
            f"unique_key of model {model.name} ({_shown(found['key'].asDict())}), so a change "
            "of one row would change all of them. Nothing has been changed. Choose a key that "
            "is unique, or make it unique in the model's SQL and run the model with "
            "--full-refresh.",
            code="HIVEACID_DUPLICATE_UNIQUE_KEY",
        )


def refuse_repeated_key(context: RunContext, built: HiveAcidRelation) -> None:
    """Refuse a newly built table in which `unique_key` is not unique.

    Raises:
        IncrementalError: several rows have the same key; the message has the key and the count.
    """
    config = context.model.config
    if config.checked_key:
        for found in context.query(repeated_key(str(built), config.unique_key)):
            refuse_duplicates(context.model, found["key"].asDict(), found["times"])


def refuse_duplicates(model: ChangesModel, key: Mapping[str, object], times: int) -> NoReturn:
    """Raise the IncrementalError for new rows that have the same key."""
    raise IncrementalError(
        f"Model {model.name} has {times} new rows with the same unique_key ({_shown(key)}), "
        "and it is unknown which of them to keep. Nothing has been changed. Choose a key that "
        "is unique, or make it unique in the model's SQL.",
        code="HIVEACID_DUPLICATE_UNIQUE_KEY",
    )


def _shown(key: Mapping[str, object]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in key.items())
