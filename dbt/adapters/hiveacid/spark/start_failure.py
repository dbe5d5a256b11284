"""Cause of a failed start of Spark, found in the output of its Java process."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pyspark
from pyspark.errors import PySparkException

from hiveacid.jvm.errors import condition, short_message
from hiveacid.spark_versions import version_of

LOG_NAME = "spark.log"
"""File in dbt's log directory for the output of Spark's Java process."""

_SHOWN_LINES = 15
_SHOWN_REASONS = 4

# First lines of errors of the shell, Java, Spark's launcher and Spark itself.
_CAUSE = re.compile(
    r"^(?:Error|Exception in thread|Caused by|Unrecognized|Invalid)"
    r"|^JAVA_HOME|^[\w./-]+: line \d+: |: (?:not found|No such file or directory)$"
    r"|^[\w.$]+(?:Exception|Error)(?:: |$)"
)
# Spark's launcher prints all options of spark-submit after an error.
_USAGE = re.compile(r"^Usage: ")
_NOISE = re.compile(
    r"^\s+at |^\s+\.\.\. \d+ more$|^WARNING: |\bWARN\b|\bINFO\b|CMD: bad array subscript$|^\s*$"
)
_OF_JAVA = re.compile(
    r"^JAVA_HOME|\bjava: (?:command )?not found|/java: No such file|UnsupportedClassVersion"
    r"|^Unrecognized option: --add-"
)
_LINE = version_of(pyspark.__version__)
_JAVA = (
    f"Spark {_LINE.name} needs Java {_LINE.java[0]} or newer: `java -version` (or $JAVA_HOME) "
    "should say so."
)


def describe_start_failure(error: Exception, log: Path | None) -> str:
    """Return why Spark did not start.

    Args:
        error: the error that PySpark raised.
        log: the output of Spark's Java process; None if it went to dbt's own streams.
    """
    if not _has_exited(error):
        # Java runs, and Spark has refused a setting.
        return f"Spark did not start: {short_message(error)}{_more_in(log)}"
    if log is None:
        return f"Spark did not start: its Java process has ended, see above. {_JAVA}"
    lines = find_cause(log.read_text(encoding="utf-8", errors="replace").splitlines())
    text = "\n".join(lines) or short_message(error)
    needs_java = not lines or any(_OF_JAVA.search(line) for line in lines)
    return f"Spark did not start: {text}{_more_in(log)}" + (f"\n{_JAVA}" if needs_java else "")


def find_cause(lines: Iterable[str]) -> list[str]:
    """Return the lines of a log from the first error on.

    Leaves out the options of spark-submit, stack frames, and log lines below the level of errors.
    """
    shown: list[str] = []
    for line in lines:
        if _USAGE.search(line):
            break
        if not _NOISE.search(line):
            shown.append(line.rstrip())
    first = next((i for i, line in enumerate(shown) if _CAUSE.search(line)), None)
    return shown[-_SHOWN_LINES:] if first is None else shown[first : first + _SHOWN_LINES]


_OF_CATALOG = re.compile(
    r"(?:GSSException|SaslException|TTransportException|MetaException|ConnectException|SSL\w*"
    r"Exception|LoginException|KrbException|KerberosAuthException|IllegalArgumentException): .*"
)
_OF_KERBEROS = re.compile("GSSException|Kerberos|Krb|LoginException")


def is_catalog_failure(error: TypeError) -> bool:
    """Return whether the error means that Spark could not create its Hive client.

    PySpark then fails to convert Java's error to Python's, and raises this `TypeError` instead. The
    code of a Python model may raise the same error when it uses a Java class that does not exist.
    """
    is_of_java = "'JavaPackage' object is not callable" in str(error)
    return is_of_java and _raising_package(error) in ("py4j", "pyspark")


def _raising_package(error: Exception) -> str:
    """Return the top-level package of the function that has raised an error."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    module = "" if traceback is None else traceback.tb_frame.f_globals.get("__name__", "")
    return str(module).partition(".")[0]


def describe_catalog_failure(log_directory: Path | None) -> str:
    """Return why Spark could not create its Hive client, from the output of its Java process."""
    log = None if log_directory is None else log_directory / LOG_NAME
    text = ""
    if log is not None and log.is_file():
        text = log.read_text(encoding="utf-8", errors="replace")
    found = list(dict.fromkeys(match.group().strip() for match in _OF_CATALOG.finditer(text)))
    reasons = "".join(f"\n  {reason}" for reason in found[-_SHOWN_REASONS:])
    advice = (
        "Spark's login is not valid: run kinit, or set kerberos_principal and kerberos_keytab."
        if _OF_KERBEROS.search(reasons)
        else "Check that the metastore of Spark's tables is running, and that Spark has its "
        "address (metastore_uri, spark.hadoop.hive.metastore.…)."
    )
    return (
        f"Spark could not connect to the metastore of its own tables.{reasons or ''}\n{advice}"
        f"{_more_in(log)}"
    )


def _has_exited(error: Exception) -> bool:
    return isinstance(error, PySparkException) and condition(error) == "JAVA_GATEWAY_EXITED"


def _more_in(log: Path | None) -> str:
    return "" if log is None else f"\nWhat its Java process has printed is in {log}."
