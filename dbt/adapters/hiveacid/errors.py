"""Errors of the adapter, and conversion of the library's errors to dbt's.

dbt shows the message of a `DbtRuntimeError` without a stack trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

from dbt.adapters.base.meta import available as available_in_dbt
from dbt.adapters.exceptions import FailedToConnectError
from dbt_common.exceptions import DbtRuntimeError

from hiveacid.errors import (
    ConcurrentDdlError,
    HiveAcidError,
    LockTimeoutError,
    MetastoreSecurityError,
    TransactionLostError,
)

P = ParamSpec("P")
T = TypeVar("T")


class AdapterError(DbtRuntimeError):
    """Base class of the adapter's own errors.

    Attributes:
        code: Stable name of the problem, as for `HiveAcidError`. The message begins with it.
    """

    code = "HIVEACID_ERROR"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        self.code = code or self.code
        super().__init__(f"[{self.code}] {message}")


class SparkConnectionError(AdapterError, FailedToConnectError):
    """Spark cannot be started, or cannot be used as the profile asks."""


class UndescribedTargetError(AdapterError):
    """A model has the name of a table that Spark cannot describe, and would replace it."""

    code = "HIVEACID_TARGET_NOT_DESCRIBED"


class ViewOverAcidError(AdapterError):
    """A permanent function would read an ACID table, which it could not do from a snapshot."""

    code = "HIVEACID_FUNCTION_OVER_TRANSACTIONAL_TABLE"


class PythonModelError(AdapterError):
    """The code of a Python model fails, or does not return a table."""


class AcidByDefaultError(AdapterError):
    """The metastore would make a node's table transactional; Spark cannot write such tables."""

    code = "HIVEACID_TARGET_WOULD_BE_TRANSACTIONAL"


class VerificationError(AdapterError):
    """A table's files are not as Hive writes them, or the reader returns other rows than theirs."""

    code = "HIVEACID_VERIFICATION_FAILED"


class FreshnessError(AdapterError):
    """The time of a source's last write is unknown without a query."""

    code = "HIVEACID_FRESHNESS_UNKNOWN"


class IncrementalError(AdapterError):
    """An incremental model cannot be updated from the changes of its source."""


class ConcurrentRunError(IncrementalError):
    """Another run has changed the target of an incremental model at the same time."""

    code = "HIVEACID_CONCURRENT_RUN"


def as_dbt_error(error: HiveAcidError) -> DbtRuntimeError:
    """Return a library error as a `DbtRuntimeError` that is also an instance of its own class."""
    if isinstance(error, DbtRuntimeError):
        return error
    kind = type(error)
    if kind not in _DBT_CLASSES:
        members = {"__doc__": kind.__doc__, "__module__": kind.__module__}
        _DBT_CLASSES[kind] = type(kind.__name__, (DbtRuntimeError, kind), members)
    advice = _ADVICE.get(kind, "")
    raised = _DBT_CLASSES[kind](f"{error}{advice}")
    raised.__dict__["code"] = error.code
    # dbt shows `msg`; the library's `message` is without the code.
    raised.args = (f"{error.message}{advice}",)
    return raised


_SECURITY_KEYS = (
    "\nIn a profile `security` is auth, use_ssl and use_http_transport, with keys such as "
    "kerberos_principal and kerberos_keytab, token_file and ssl_ca_file."
)
_ADVICE: dict[type[HiveAcidError], str] = {
    MetastoreSecurityError: _SECURITY_KEYS,
    TransactionLostError: " No target is replaced. Run dbt again.",
    ConcurrentDdlError: (
        " Run dbt again, with the source in a selected model's SQL: "
        "`-- depends_on: {{ source(…) }}`."
    ),
    LockTimeoutError: " Then run dbt again.",
}
"""Advice that the adapter appends to errors of the library, by class."""

_DBT_CLASSES: dict[type[HiveAcidError], type[DbtRuntimeError]] = {}


@contextmanager
def dbt_errors() -> Iterator[None]:
    """Raise errors of the library in the block as dbt errors (`as_dbt_error`)."""
    try:
        yield
    except DbtRuntimeError:
        raise
    except HiveAcidError as error:
        raise as_dbt_error(error) from error


def raising_dbt_errors(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function that dbt calls, so that it raises dbt errors (`as_dbt_error`)."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        with dbt_errors():
            return function(*args, **kwargs)

    return call


def available(method: Callable[P, T]) -> Callable[P, T]:
    """Decorate a method that macros call as `adapter.…`; it raises dbt errors."""
    decorated: Callable[P, T] = available_in_dbt(raising_dbt_errors(method))
    return decorated
