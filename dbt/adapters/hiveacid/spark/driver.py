"""Start of Spark's driver in dbt's own process.

PySpark allows one SparkContext in a process, so a running Spark is used, and Spark is started at
most once. Each connection gets its own session from it (`session.py`).
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Any

import pyspark
from dbt.adapters.events.logging import AdapterLogger
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.errors import SparkConnectionError
from dbt.adapters.hiveacid.spark.login import SparkLogin, no_login
from dbt.adapters.hiveacid.spark.start_failure import LOG_NAME, describe_start_failure
from dbt.adapters.hiveacid.spark.time_zones import zone_variables
from hiveacid.jvm.errors import JAVA_ERRORS
from hiveacid.jvm.py4j import java
from hiveacid.metastore.security.settings import Kerberos
from hiveacid.sql.gate import install_gate

logger = AdapterLogger("HiveAcid")
CONSOLE_PROGRESS = "spark.ui.showConsoleProgress"
_DEFAULTS = {
    "spark.app.name": "dbt-hiveacid",
    "spark.sql.catalogImplementation": "hive",
}

_CATALOG_SETTINGS = (
    "spark.sql.catalogImplementation",
    "spark.hadoop.hive.metastore.",
    "spark.hive.metastore.",
    "spark.hadoop.javax.jdo.",
    "spark.hive.javax.jdo.",
)
"""Prefixes of the settings for the metastore of Spark's tables and the login there."""

_OTHER_CATALOGS = "spark.sql.catalog."
_URIS = ("spark.hadoop.hive.metastore.uris", "spark.hive.metastore.uris")
_CHOOSES_CATALOG = (
    "spark.sql.catalogImplementation",
    *_URIS,
    "spark.hadoop.javax.jdo.",
    "spark.hive.javax.jdo.",
)
"""Prefixes of the settings that choose another catalog than the sources' metastore.

Other settings only configure the connection (`spark.hadoop.hive.metastore.sasl.enabled`).
"""

_WAREHOUSE = "spark.sql.warehouse.dir"
"""Directory of Spark's databases; Spark's default is below dbt's working directory."""

_starting = threading.Lock()
_started: tuple[SparkContext, Mapping[str, str]] | None = None
"""The SparkContext that this module has started, and its settings."""


# PySpark writes every query error with its stack to stderr, as JSON. dbt reports the errors.
for _name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


def root_session(
    parameters: Mapping[str, str],
    metastore_uri: str,
    warehouse: Callable[[], str],
    log_directory: Path | None,
    login: SparkLogin | None = None,
    hive_zone: str | None = None,
) -> SparkSession:
    """Return the process's own Spark session; start Spark on first use.

    A running Spark (started by a notebook, a test or a previous dbt command) is used as it is.
    Settings that it can no longer take are logged. If they decide where tables are, the Spark is
    refused.

    Args:
        parameters: Spark's configuration, from the profile.
        metastore_uri: the metastore of the sources.
        warehouse: returns the directory of the metastore's `default` database. Called only if
            Spark's databases belong there, too.
        log_directory: directory for the JVM's `spark.log`; None for dbt's own streams.
        login: Spark's login at the metastore of the sources, used if Spark's tables are there.
        hive_zone: the time zone in which a Spark that is started writes, if the profile names it.

    Raises:
        SparkConnectionError: Spark did not start, for the reason in the message; or the running
            Spark has its tables elsewhere.
        MetastoreError: from `warehouse`.
    """
    global _started
    login = login or no_login()
    with _starting:
        running = SparkContext._active_spark_context
        chosen = {**_catalog(parameters, metastore_uri), **parameters}
        if running is None:
            settings = {**_DEFAULTS, **chosen}
            is_in = _is_in(settings, metastore_uri)
            if is_in:
                settings |= login.settings(settings)
            if _WAREHOUSE not in settings and is_in:
                settings[_WAREHOUSE] = warehouse()
            logger.info(f"Starting Spark {pyspark.__version__} ...")
            # Spark's own progress bar would go to its log; ours goes to the terminal (`progress`).
            variables, of_executors = zone_variables(hive_zone, settings)
            own = {**settings, **of_executors, CONSOLE_PROGRESS: "false"}
            _started = _start(own, log_directory, login, variables), settings
            _check(login, _started[0], metastore_uri)
        elif _started is not None and _started[0] is running:
            _compare(running, _started[1], chosen)
            login.renew(running)
            # The check may have failed in an earlier connection of this process.
            _check(login, running, metastore_uri)
        else:
            # Other code started it and chose where its tables are. Compare only the profile.
            _compare(running, _configuration(running), parameters)
        session = SparkSession.builder.getOrCreate()
        install_gate(session)
        return session


def _catalog(parameters: Mapping[str, str], metastore_uri: str) -> dict[str, str]:
    """Return the settings that put Spark's own tables into the sources' metastore.

    Empty if the user has chosen a catalog, by a setting among `parameters` or by a hive-site.xml
    for Spark.
    """
    chosen = any(key.startswith(_CHOOSES_CATALOG) for key in parameters)
    if chosen or _hive_site() is not None:
        return {}
    return {_URIS[0]: metastore_uri}


def _is_in(settings: Mapping[str, str], metastore_uri: str) -> bool:
    """Return whether Spark's catalog is the sources' metastore."""
    uris = {address.strip() for key in _URIS for address in settings.get(key, "").split(",")}
    return not uris.isdisjoint(address.strip() for address in metastore_uri.split(","))


def has_its_tables_in(context: SparkContext, metastore_uri: str) -> bool:
    """Return whether Spark's catalog is a metastore, by a setting or by a hive-site.xml."""
    uris = context._jsc.hadoopConfiguration().get("hive.metastore.uris") or ""
    return _is_in({_URIS[0]: str(uris)}, metastore_uri)


def _check(login: SparkLogin, context: SparkContext, metastore_uri: str) -> None:
    if isinstance(login.security.auth, Kerberos) and has_its_tables_in(context, metastore_uri):
        login.check(context)


def _is_client(key: str) -> bool:
    # These settings choose the Hive client that Spark loads, not the metastore.
    return key.startswith("spark.sql.hive.metastore.")


def _hive_site() -> Path | None:
    homes = [
        os.environ.get(name) for name in ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "HIVE_CONF_DIR")
    ]
    if spark_home := os.environ.get("SPARK_HOME"):
        homes.append(os.path.join(spark_home, "conf"))
    files = (Path(home) / "hive-site.xml" for home in homes if home)
    return next((file for file in files if file.is_file()), None)


def _start(
    parameters: Mapping[str, str],
    log_directory: Path | None,
    login: SparkLogin,
    variables: Mapping[str, str],
) -> SparkContext:
    conf, visible = SparkConf(loadDefaults=False), SparkConf(loadDefaults=False)
    conf.setAll(list(parameters.items()))
    visible.setAll([item for item in parameters.items() if item[0] not in login.secrets])
    on_interrupt = _interrupt_handler()
    log = _open_log(log_directory)
    try:
        streams = {} if log is None else {"stdout": log, "stderr": log}
        with _environment({**variables, **login.environment()}):
            gateway = launch_gateway(visible, popen_kwargs=streams)
        context = SparkContext(conf=conf, gateway=gateway)
        if str(context.master).startswith("local") and "PYSPARK_PYTHON" not in os.environ:
            # By default Python workers run any `python3`, without this environment's packages.
            context.pythonExec = sys.executable
        return context
    except (PySparkException, Py4JError, OSError) as error:
        path = None if log is None else Path(log.name)
        raise SparkConnectionError(
            describe_start_failure(error, path), code="HIVEACID_SPARK_START_FAILED"
        ) from error
    finally:
        if log is not None:
            log.close()
        if on_interrupt is not None:
            # PySpark's handler cancels every job in the process and may enter py4j a second time
            # on the same thread. On Ctrl-C dbt cancels through the connections.
            signal.signal(signal.SIGINT, on_interrupt)


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables for a process that is started in the block."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _interrupt_handler() -> Any:
    on_main_thread = threading.current_thread() is threading.main_thread()
    return signal.getsignal(signal.SIGINT) if on_main_thread else None


def _open_log(directory: Path | None) -> IO[bytes] | None:
    if directory is None:
        return None
    directory.mkdir(parents=True, exist_ok=True)
    return (directory / LOG_NAME).open("wb")


@cache
def _configuration(running: SparkContext) -> Mapping[str, str]:
    """Return Spark's configuration. Cached: reading it takes hundreds of py4j calls."""
    return {"spark.sql.catalogImplementation": "in-memory", **dict(running.getConf().getAll())}


def _compare(running: SparkContext, now: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    """Refuse a Spark with settings `now` if its tables are elsewhere than `wanted` says.

    Messages contain only names of settings, since a value may be a password.
    """
    differing = [
        key for key, value in wanted.items() if not _is_same(running, key, _value(now, key), value)
    ]
    elsewhere = [key for key in differing if _says_where(key)]
    if elsewhere:
        raise SparkConnectionError(
            f"The Spark that runs in this process has other values of {', '.join(elsewhere)} than "
            "this target, so its tables would be read and written elsewhere. A process has one "
            "Spark: use another process for this target.",
            code="HIVEACID_SPARK_IS_ANOTHER_ONE",
        )
    kept = [key for key in differing if not key.startswith("spark.sql.")]
    if kept:
        logger.debug(f"Spark runs already and keeps its own {', '.join(kept)}")


def _value(settings: Mapping[str, str], key: str) -> str | None:
    if key in _URIS:
        return next((settings[name] for name in _URIS if name in settings), None)
    return settings.get(key)


def _is_same(running: SparkContext, key: str, now: str | None, wanted: str) -> bool:
    if key != _WAREHOUSE or now is None:
        return now == wanted
    return now == wanted or _is_same_directory(running, now, wanted)


def _is_same_directory(running: SparkContext, now: str, wanted: str) -> bool:
    """Return whether two spellings mean one directory: `/a`, `file:/a`, `file:///a`.

    Spark itself changes the spelling in its configuration when it first needs its catalog
    (`SharedState.setWarehousePathConf`).
    """
    configuration = running._jsc.hadoopConfiguration()

    def qualified(text: str) -> str:
        path = java(running, "org.apache.hadoop.fs.Path")(text)
        return str(path.getFileSystem(configuration).makeQualified(path).toString())

    try:
        return qualified(now) == qualified(wanted)
    except JAVA_ERRORS:
        # Spark does not know the file system.
        return False


def _says_where(key: str) -> bool:
    """Return whether a setting decides where tables are; no session can change it.

    Spark does not allow changes to the settings of other catalogs (`isModifiable`).
    """
    if _is_client(key):
        return False
    return key == _WAREHOUSE or key.startswith((*_CATALOG_SETTINGS, _OTHER_CATALOGS))
