"""Checks of the arguments of the public API: a wrong one is an error of the library.

Each function returns the argument in the form that the API works with.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from datetime import date
from numbers import Real
from pathlib import Path

from pyspark.sql import SparkSession

from hiveacid.changes.state import SourceState
from hiveacid.errors import InvalidSettingError
from hiveacid.metastore.models import TableName
from hiveacid.metastore.security.settings import AUTHS, Auth, Security, how_to_write

_SNAPSHOT = 'hiveacid.snapshot(spark, "thrift://host:9083", ["shop.orders"])'


def session_of(given: object) -> SparkSession:
    """Return a session that runs.

    Raises:
        InvalidSettingError: it is no session of classic Spark, or it has been stopped.
    """
    if not isinstance(given, SparkSession):
        raise InvalidSettingError(
            f"`spark` must be a SparkSession of classic Spark, not {_kind(given)}. Write "
            f"{_SNAPSHOT}.",
            code="HIVEACID_INVALID_ARGUMENT",
        )
    if given.sparkContext._jsc is None:
        raise InvalidSettingError(
            "The Spark session has been stopped. Make another one "
            "(SparkSession.builder.getOrCreate()), and take a snapshot with it.",
            code="HIVEACID_SPARK_STOPPED",
        )
    return given


def address_of(given: object) -> str:
    """Return the address of the metastore.

    Raises:
        InvalidSettingError: it is no text.
    """
    if not isinstance(given, str):
        raise InvalidSettingError(
            "`metastore_uri` must be a text: one or several thrift://host:port, comma-separated, "
            f"not {_kind(given)}. Write {_SNAPSHOT}.",
            code="HIVEACID_INVALID_METASTORE_URI",
        )
    return given


def security_of(given: Security | Auth | None) -> Security:
    """Return the settings of the connection; a way to authenticate stands for itself.

    Raises:
        InvalidSettingError: it is neither.
    """
    if isinstance(given, Security):
        return given
    if given is None or isinstance(given, AUTHS):
        return Security(given)
    raise InvalidSettingError(
        f"`security` must be settings of the library, not {_kind(given)}. Write "
        f"security={how_to_write(given)}.",
        code="HIVEACID_INVALID_SECURITY",
    )


def table_name(name: object) -> TableName:
    """Return the name of a table that is given as a text or as a `TableName`.

    Raises:
        InvalidSettingError: it is neither, or the text is not of the form `database.table`.
    """
    if isinstance(name, TableName):
        return name
    if not isinstance(name, str):
        raise InvalidSettingError(
            f"{name!r} is not the name of a table. Write it as a text, database.table.",
            code="HIVEACID_INVALID_TABLE_NAME",
        )
    return TableName.parse(name)


def table_names(given: str | TableName | Iterable[str | TableName]) -> frozenset[TableName]:
    """Return the names of tables; one name stands for a list of one.

    Raises:
        InvalidSettingError: it is neither, or a name is wrong.
    """
    if isinstance(given, str | TableName):
        return frozenset([table_name(given)])
    if not isinstance(given, Iterable):
        raise InvalidSettingError(
            f"`tables` must be a list of names of tables, not {_kind(given)}. Write {_SNAPSHOT}.",
            code="HIVEACID_INVALID_TABLE_NAME",
        )
    return frozenset(table_name(name) for name in given)


def values_of_tables(setting: str, given: object) -> dict[TableName | None, str]:
    """Return the values of a setting by table; None is every other table.

    Raises:
        InvalidSettingError: it is neither a text nor a mapping from tables to texts.
    """
    if given is None:
        return {}
    if isinstance(given, str):
        return {None: given}
    if isinstance(given, Mapping) and all(isinstance(it, str | None) for it in given.values()):
        return {table_name(name): word for name, word in given.items() if word is not None}
    raise InvalidSettingError(
        f"`{setting}` must be a text, or a mapping from names of tables to texts, not {given!r}. "
        f'Write it as {setting}={{"shop.orders": "…"}}.',
        code="HIVEACID_INVALID_ARGUMENT",
    )


def seconds_of(setting: str, given: object) -> float:
    """Return a positive number of seconds.

    Raises:
        InvalidSettingError: it is another value.
    """
    if isinstance(given, bool) or not isinstance(given, Real) or not float(given) > 0:
        raise InvalidSettingError(
            f"{setting} must be a number of seconds above 0, such as 60, not {given!r}.",
            code="HIVEACID_INVALID_DURATION",
        )
    return float(given)


def text_of(argument: str, given: object) -> str:
    """Return a text.

    Raises:
        InvalidSettingError: it is none.
    """
    if not isinstance(given, str):
        raise InvalidSettingError(
            f"`{argument}` must be a text, not {_kind(given)}.", code="HIVEACID_INVALID_ARGUMENT"
        )
    return given


def path_of(argument: str, given: str | Path | None) -> str | Path | None:
    """Return the path of a directory, or None.

    Raises:
        InvalidSettingError: it is neither.
    """
    if not isinstance(given, str | Path | None):
        raise InvalidSettingError(
            f"`{argument}` must be the path of a directory, not {_kind(given)}.",
            code="HIVEACID_INVALID_ARGUMENT",
        )
    return given


def start_of_changes(given: object) -> SourceState | int | None:
    """Return the state, or the write id, that changes are asked since.

    Raises:
        InvalidSettingError: it is neither, nor the text of a state.
        InvalidStateError: the text is not a state.
    """
    if isinstance(given, str):
        return SourceState.parse(given)
    if given is None or isinstance(given, SourceState):
        return given
    if isinstance(given, date):
        raise InvalidSettingError(
            f"`since` must be a state or a write id, not a time ({given}). Pass `changes.state` of "
            "the last time, or its text; a write id stands in the names of the table's "
            "directories. Rows as of a time are in `table`, with `timestamp_as_of`.",
            code="HIVEACID_INVALID_SINCE",
        )
    write_id = _whole(given)
    if write_id is None:
        raise InvalidSettingError(
            f"`since` must be a state, its text or a write id, not {_kind(given)}. Pass "
            "`changes.state` of the last time; None reads every row.",
            code="HIVEACID_INVALID_SINCE",
        )
    return write_id


def write_id_of(argument: str, given: object) -> int:
    """Return a write id, or a number of write ids.

    Raises:
        InvalidSettingError: it is no whole number.
    """
    write_id = _whole(given)
    if write_id is None:
        raise InvalidSettingError(
            f"`{argument}` must be a whole number, as write ids are, not {given!r}.",
            code="HIVEACID_INVALID_CHANGE_RANGE",
        )
    return write_id


def _whole(given: object) -> int | None:
    """Return a whole number as Python's, also one of NumPy or pandas; None for other values."""
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        return None
    return operator.index(given)


def _kind(given: object) -> str:
    """Describe a value without showing it: it may be a secret."""
    return (
        "None"
        if given is None
        else f"the class {given.__name__}"
        if isinstance(given, type)
        else f"a value of type {type(given).__name__}"
    )
