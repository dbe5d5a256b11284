"""Check rule in Spark's analysis that refuses plans which use transactional Hive tables raw.

Spark takes the directory of a transactional table for plain files. The text of a statement does not
show every table that the statement reads: SQL functions have bodies, and a DataFrame takes SQL text
(`filter`, `selectExpr`). The analysed plan shows them all. The rule runs after every other rule of
the analyzer, so nothing reaches Spark's planner without it.

The rows that this library returns are scans of files. Their plans have no table of the catalog, so
they pass.

The rule is a Java method handle behind `scala.Function1`: it needs no jar and never calls Python.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache

from py4j.clientserver import ClientServer
from pyspark.errors.exceptions.captured import UnsupportedOperationException
from pyspark.sql import SparkSession

from hiveacid.errors import RawAcidReferenceError
from hiveacid.jvm.bulk import Bulk, bulk_of
from hiveacid.jvm.errors import java_exception
from hiveacid.jvm.java_types import JavaObject, MethodHandle
from hiveacid.jvm.py4j import each, scala_seq_of

_CODE = "[HIVEACID_RAW_TABLE] "
"""The code of the error that the gate raises, inside Spark."""

_MESSAGE = (
    f"{_CODE}Spark would use a transactional Hive table as plain files, without Hive's deletes, "
    "write ids and locks. Nothing was run. Read the table by its name, in dbt or with hiveacid's "
    "snapshot. Put the query of a SQL function, a stream or a DataFrame's text into the statement, "
    "or into a view. Write the table in Hive. The table: "
)

_CATALYST = "org.apache.spark.sql.catalyst"
_TABLE = f"{_CATALYST}.catalog.CatalogTable"
_IDENTIFIER = f"{_CATALYST}.TableIdentifier"
_NODE = f"{_CATALYST}.trees.TreeNode"
_PLAN = f"{_CATALYST}.plans.QueryPlan"
_SESSION_CATALOG = f"{_CATALYST}.catalog.SessionCatalog"
_SESSION, _STATE = "org.apache.spark.sql.SparkSession", "org.apache.spark.sql.internal.SessionState"
_SOURCE = "org.apache.spark.sql.execution.datasources.DataSource"
_OPTION, _FUNCTION, _ITERATOR = "scala.Option", "scala.Function1", "scala.collection.Iterator"
_SEQ, _MAP = "scala.collection.Seq", "scala.collection.immutable.Map"
_COMMANDS = "org.apache.spark.sql.execution.command"
_CREATES = ("CreateTable", "CreateDataSourceTable")
_CHANGES = (
    "LoadData",
    "TruncateTable",
    "AlterTableAddPartition",
    "AlterTableDropPartition",
    "AlterTableRenamePartition",
    "AlterTableSetLocation",
    "RepairTable",
)
"""Commands that change the files or the partitions of a table, which they only have the name of."""

_UNSUPPORTED = "java.lang.UnsupportedOperationException"

_installing = threading.Lock()
"""Two threads would make two gates, and one of them would not be the gate that opens."""


def install_gate(session: SparkSession) -> None:
    """Make a session, and every session that is made of it later, refuse raw plans.

    A session that has analysed statements already gets the gate, too: its analyzer reads its check
    rules anew for each plan. Installing it twice changes nothing.
    """
    with _installing:
        gate, java_session = _gate_of(bulk_of(session)), session._jsparkSession
        extensions = java_session.extensions()
        if not extensions.buildCheckRules(java_session).contains(gate.rule):
            extensions.injectCheckRule(gate.builder)
        analyzer = java_session.sessionState().analyzer()
        rules = analyzer.extendedCheckRules()
        if not rules.contains(gate.rule):
            declared = analyzer.getClass().getDeclaredField("extendedCheckRules")
            declared.setAccessible(True)
            declared.set(analyzer, scala_seq_of(session.sparkContext, [*each(rules), gate.rule]))


@contextmanager
def raw_tables_refused() -> Iterator[None]:
    """Raise the gate's error as an error of this library.

    Raises:
        RawAcidReferenceError: Spark's analysis in the block met the gate.
    """
    try:
        yield
    except UnsupportedOperationException as error:
        _, code, message = (java_exception(error).getMessage() or "").partition(_CODE)
        if not code:
            raise
        raise RawAcidReferenceError(message, code="HIVEACID_RAW_TABLE") from error


@contextmanager
def gate_open(session: SparkSession) -> Iterator[None]:
    """Let this thread's statements in the block pass: commands that Spark only makes a plan for.

    Spark's REFRESH TABLE and DESCRIBE of a column analyse a read of the table and never run it.

    With `PYSPARK_PIN_THREAD=false` the gate stays closed, and refuses such a command: each call of
    a Python thread may run on another thread of Java, so statements of others could pass.
    """
    if not isinstance(session.sparkContext._gateway, ClientServer):
        yield
        return
    with _installing:
        is_open = _gate_of(bulk_of(session)).is_open
    is_open.set(True)
    try:
        yield
    finally:
        is_open.remove()


@lru_cache(maxsize=1)
def _gate_of(bulk: Bulk) -> _Gate:
    return _Gate(bulk)


class _Gate:
    """The rule of one JVM, composed of method handles."""

    def __init__(self, bulk: Bulk) -> None:
        self._bulk = bulk

    @cached_property
    def is_open(self) -> JavaObject:
        """The `ThreadLocal` that has a value while a thread's statements pass."""
        return self._bulk.java("java.lang.ThreadLocal")()

    @cached_property
    def rule(self) -> JavaObject:
        """The function from an analysed plan to nothing; it throws for a raw plan."""
        bulk = self._bulk
        of_node = bulk.implement(_FUNCTION, self._is_raw)
        find = bulk.with_constants(bulk.method(_NODE, "find", _OPTION, [_FUNCTION]), 1, of_node)
        for_each = bulk.method(_OPTION, "foreach", "void", [_FUNCTION])
        refuse = bulk.with_constants(for_each, 1, bulk.implement(_FUNCTION, self._refuse))
        check = bulk.then(find, refuse)
        # Spark gives the rule the subqueries, too, but none of a plan that it has analysed before.
        each_of = bulk.method(_SEQ, "foreach", "void", [_FUNCTION])
        check_each = bulk.with_constants(each_of, 1, bulk.implement(_FUNCTION, check))
        check_all = bulk.then(
            bulk.after(check), bulk.property_of(_PLAN, "subqueriesAll"), check_each
        )
        is_set = bulk.static("java.util.Objects", "nonNull", "boolean", ["Object"])
        opened = bulk.method("ThreadLocal", "get", "Object").bindTo(self.is_open)
        passes = bulk.of_any(bulk.then(opened, is_set))
        return bulk.implement(_FUNCTION, bulk.choose(passes, bulk.always(None), check_all))

    @cached_property
    def builder(self) -> JavaObject:
        """The function from a session to the rule, as `injectCheckRule` takes it."""
        return self._bulk.implement(_FUNCTION, self._bulk.always(self.rule))

    @cached_property
    def _fields(self) -> MethodHandle:
        """The function from a node to its fields; the table's name in a command is the table."""
        bulk = self._bulk
        fields = bulk.method("scala.Product", "productIterator", _ITERATOR)
        map_ = bulk.method(_ITERATOR, "map", _ITERATOR, [_FUNCTION])
        look_up = bulk.choose(bulk.is_a(_IDENTIFIER), self._look_up, bulk.identity())
        looked_up = bulk.with_constants(map_, 1, bulk.implement(_FUNCTION, look_up))
        return bulk.choose(self._is_one_of(_CHANGES), bulk.then(fields, looked_up), fields)

    def _is_one_of(self, commands: Iterable[str]) -> MethodHandle:
        """Return the test whether a node is one of Spark's commands."""
        bulk = self._bulk
        classes = bulk.java("java.util.HashSet")()
        for name in commands:
            classes.add(bulk.class_(f"{_COMMANDS}.{name}Command"))
        contains = bulk.method("java.util.Set", "contains", "boolean", ["Object"]).bindTo(classes)
        return bulk.then(bulk.method("Object", "getClass", "Class"), contains)

    @cached_property
    def _look_up(self) -> MethodHandle:
        """The function from a name to the table in the catalog of the session that analyses."""
        bulk = self._bulk
        catalog = bulk.then(
            bulk.static(_SESSION, "active", _SESSION),
            bulk.method(_SESSION, "sessionState", _STATE),
            bulk.method(_STATE, "catalog", _SESSION_CATALOG),
        )
        table = bulk.method(_SESSION_CATALOG, "getTableMetadata", _TABLE, [_IDENTIFIER])
        return bulk.on(table, 0, catalog)

    @cached_property
    def _is_raw(self) -> MethodHandle:
        """Whether a field of a node is a transactional table: reads, writes and streams have it.

        A command that only creates a table of the metastore uses no files.
        """
        bulk = self._bulk
        exists = bulk.method(_ITERATOR, "exists", "boolean", [_FUNCTION])
        is_raw = bulk.then(self._fields, bulk.with_constants(exists, 1, self._is_acid_field))
        return bulk.choose(self._is_one_of(_CREATES), bulk.always(False), is_raw)

    @cached_property
    def _refuse(self) -> MethodHandle:
        """The function of a raw node that throws, with the name of the first table."""
        bulk = self._bulk
        find = bulk.method(_ITERATOR, "find", _OPTION, [_FUNCTION])
        field = bulk.with_constants(find, 1, self._is_acid_field)
        of_table = bulk.then(
            bulk.method(_TABLE, "identifier", _IDENTIFIER),
            bulk.method(_IDENTIFIER, "unquotedString", "String"),
            bulk.method("String", "concat", "String", ["String"]).bindTo(_MESSAGE),
            bulk.constructor(_UNSUPPORTED, ["String"]),
            bulk.throwing(_UNSUPPORTED),
        )
        get = bulk.method(_OPTION, "get", "Object")
        return bulk.then(self._fields, field, get, self._of_table(of_table))

    @cached_property
    def _is_acid_field(self) -> JavaObject:
        bulk = self._bulk
        get = bulk.with_constants(bulk.method(_MAP, "get", _OPTION, ["Object"]), 1, "transactional")
        is_true = bulk.method("String", "equalsIgnoreCase", "boolean", ["String"])
        of_table = bulk.then(
            bulk.method(_TABLE, "properties", _MAP),
            get,
            bulk.method("Object", "toString", "String"),
            bulk.with_constants(is_true, 1, "Some(true)"),
        )
        return bulk.implement(_FUNCTION, self._of_table(of_table))

    def _of_table(self, handle: MethodHandle) -> MethodHandle:
        """Return the function of a node's field: `handle` of the transactional table in it.

        Without such a table it returns false. The field is a table, an option of one, or the data
        source of a stream.
        """
        bulk = self._bulk
        none = bulk.implement("scala.Function0", bulk.constant("Object", None))
        or_none = bulk.with_constants(
            bulk.method(_OPTION, "getOrElse", "Object", ["scala.Function0"]), 1, none
        )
        of_source = bulk.then(bulk.method(_SOURCE, "catalogTable", _OPTION), or_none)
        itself = bulk.identity()
        opened = bulk.choose(bulk.is_a(_SOURCE), of_source, itself)
        opened = bulk.choose(bulk.is_a(_OPTION), or_none, opened)
        return bulk.then(opened, bulk.choose(bulk.is_a(_TABLE), handle, bulk.always(False)))
