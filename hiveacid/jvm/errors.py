"""Spark's errors as messages for users, without JVM stack traces."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeAlias, TypeVar, cast

import pyspark
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import CapturedException

from hiveacid.jvm.java_types import JavaObject
from hiveacid.spark_versions import version_of

T = TypeVar("T")
JavaError: TypeAlias = Py4JJavaError | CapturedException
"""An error that a call to Java raises; `isinstance` and `except` take it as `JAVA_ERRORS`.

PySpark turns Java's IllegalArgumentException and some others into exceptions of its own.
"""

JAVA_ERRORS = (Py4JJavaError, CapturedException)
_SHOWN_LINES, _SHOWN_LETTERS = 12, 1500
"""Maximum number of lines and of characters of a statement in an error."""

# Spark appends the logical plan to analysis errors: lines such as `'Project [*]`, `+- …`.
_PLAN = re.compile(r";\n(?:'|\+-|:-|[A-Z][A-Za-z0-9]+ ).*", re.DOTALL)
_JVM_STACK = re.compile(r"\n\s*at [\w.$/]+\(.*", re.DOTALL)
_UNKNOWN_CONDITION = "Cannot find main error class"
_NO_ANSWER = ("TTransportException", "java.net.ConnectException", "java.net.SocketException")
_SYMPTOMS = (
    (
        "Invalid method name: 'get_table'",
        "[HIVEACID_OLD_HIVE_CLIENT] Spark's built-in Hive client is too old for this metastore: "
        "Hive 4 no longer has the call "
        "get_table. Give Spark another client by three settings (in dbt: server_side_parameters): "
        f"`spark.sql.hive.metastore.version: {version_of(pyspark.__version__).hive_4_client}`, "
        "`spark.sql.hive.metastore.jars: path`, and `spark.sql.hive.metastore.jars.path: "
        "<its jars>`.",
    ),
    (
        "nanos > 999999999 or < 0",
        "[HIVEACID_ORC_FRACTION_BEFORE_1970] A file has a timestamp before 1970 with a fraction of "
        "a second that Arrow's writer of ORC stores as a negative number. Hive fails on the file, "
        "too. Write it with another library, or as Parquet.",
    ),
    (
        "failed strict managed table checks",
        "[HIVEACID_NO_MANAGED_TABLES] The metastore refuses managed tables that are not "
        "transactional (metastore.strict.managed.tables). Give the table a location, which "
        "makes it external. In dbt: set location_root, for models, seeds, snapshots and "
        "stored failures.",
    ),
)
"""Texts in Spark's errors, and the advice for each."""


def short_message(error: BaseException) -> str:
    """Return Spark's message, without plans and stack traces.

    For an error that only wraps another one (a failed job, a failed task), the causes follow.
    """
    messages: list[str] = []
    for text in _messages(_as_raised(error)):
        first = _JVM_STACK.sub("", _PLAN.sub("", text)).strip()
        if first and not any(first in known for known in messages):
            messages.append(first)
    message = "\nCaused by: ".join(messages) or type(error).__name__
    advice = [advice for symptom, advice in _SYMPTOMS if symptom in message]
    return "\n".join([message, *advice])


def java_exception(error: JavaError) -> JavaObject:
    """Return the Java object of an error that a call to Java raised."""
    found = error._origin if isinstance(error, CapturedException) else error.java_exception
    return cast("JavaObject", found)


def with_statement(message: str, statement: str) -> str:
    """Return the message with the beginning of the statement, unless Spark shows it itself."""
    statement = statement.strip()
    if statement in message:
        return message
    # Jinja leaves empty lines behind.
    lines = [line for line in statement[:_SHOWN_LETTERS].splitlines() if line.strip()]
    if len(statement) > _SHOWN_LETTERS or len(lines) > _SHOWN_LINES:
        lines = [*lines[:_SHOWN_LINES], "… (all of it is in dbt's debug log)"]
    return f"{message}\nWhile running:\n" + "\n".join(f"  {line}" for line in lines)


def condition(error: PySparkException) -> str | None:
    """Return Spark's error condition, such as `TABLE_OR_VIEW_NOT_FOUND`."""
    # PySpark 4 renamed the method.
    named = getattr(error, "getCondition", None) or error.getErrorClass
    return named()


def is_missing(error: BaseException) -> bool:
    """Return whether the error says that a table or its database does not exist.

    Any other error of the catalog does not say so.
    """
    return isinstance(error, PySparkException) and condition(error) in (
        "TABLE_OR_VIEW_NOT_FOUND",
        "SCHEMA_NOT_FOUND",
    )


def unless_missing(look_up: Callable[[], T]) -> T | None:
    """Return the result of `look_up` in Spark's catalog; None without the table or its database."""
    try:
        return look_up()
    except PySparkException as error:
        if is_missing(error):
            return None
        raise


def is_unreachable(error: BaseException) -> bool:
    """Return whether the metastore of Spark's catalog did not answer: a look-up proves nothing."""
    text = full_text(error)
    return any(symptom in text for symptom in _NO_ANSWER)


def full_text(error: BaseException) -> str:
    """Return the whole error with the JVM stack trace, for the debug log."""
    error = _as_raised(error)
    if isinstance(error, CapturedException):
        return f"{_part(error, 'desc')}\n{_part(error, 'stackTrace')}"
    return str(error)


def _as_raised(error: BaseException) -> BaseException:
    """Return the error that Spark raised.

    PySpark looks up the message of every error in Spark, which knows only its own errors. For an
    error of Delta Lake, PySpark raises an error about an unknown condition while it handles the
    original error.
    """
    right = error.__context__
    is_unknown = isinstance(error, Py4JJavaError) and _UNKNOWN_CONDITION in str(error)
    return right if is_unknown and isinstance(right, Py4JJavaError) else error


def _messages(error: BaseException) -> Iterator[str]:
    if isinstance(error, Py4JJavaError):
        yield from _java_messages(error.java_exception)
    elif isinstance(error, CapturedException):
        yield _part(error, "desc")
        if error._origin is not None:
            yield from _java_messages(error._origin.getCause())
    else:
        yield str(error)


def _part(error: CapturedException, name: str) -> str:
    # PySpark 4 added an underscore to the names.
    found = vars(error).get(f"_{name}") or vars(error).get(name)
    return "" if found is None else str(found)


def _java_messages(throwable: JavaObject | None) -> Iterator[str]:
    while throwable is not None:
        yield throwable.getMessage() or throwable.getClass().getName()
        cause = throwable.getCause()
        throwable = None if cause is None or cause.equals(throwable) else cause
