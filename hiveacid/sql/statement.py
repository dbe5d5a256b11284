"""Statements as Spark's own parser sees them: the relations that a statement reads and changes.

The parser and Spark's substitution of common table expressions run in the driver's JVM, so scoping
is Spark's: a name that a `with` clause defines is not a table. Nothing is looked up or run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import ParseException
from pyspark.sql import SparkSession

from hiveacid.errors import InvalidSettingError
from hiveacid.jvm.java_types import Expression, LogicalPlan
from hiveacid.jvm.plans import leaves, replaced, with_fields
from hiveacid.jvm.py4j import active, each, java, scala_seq
from hiveacid.spark_versions import version_of
from hiveacid.sql.catalog import SESSION_CATALOG

NameParts = tuple[str, ...]
"""A name as it was written: `("a", "b")` for `a.b`."""

_ANALYSIS = "org.apache.spark.sql.catalyst.analysis"

# Nodes that hold a plan in a field, where walks over the tree do not see the plan.
_HOLDERS = {"DescribeQueryCommand": "plan", "ExplainCommand": "logicalPlan"}

# Statements in a text, which Spark parses when it runs them.
_OPAQUE = {
    "UnresolvedExecuteImmediate": "EXECUTE IMMEDIATE",
    # A script keeps statements in fields of many kinds, and may change the database between them.
    "CompoundBody": "A script (BEGIN … END)",
}

# Statements that only show a table's metadata in the catalog. All others that mention a table
# without reading it change the table or its metadata: ANALYZE stores how many rows Spark would
# read, and Hive may answer a query from this number.
_SHOW = frozenset(
    {
        "CreateTableLike",
        "DescribeColumn",
        "DescribeDeltaDetailCommand",
        "DescribeDeltaHistory",
        "DescribeRelation",
        "DescribeRelationJsonCommand",
        "DescribeTablePartition",
        "ExplainCommand",
        "RefreshTable",
        "ShowColumns",
        "ShowCreateTable",
        "ShowPartitions",
        "ShowTablePartition",
        "ShowTableProperties",
        "UncacheTable",
    }
)

# Statements that replace or drop a table by its name.
_TAKE_PLACE = frozenset({"DropTable", "ReplaceTable", "ReplaceTableAsSelect"})

# Iceberg procedures that take over the files of a table in Spark's own catalog.
_TAKE_FROM_SPARK = frozenset({"add_files", "migrate", "snapshot"})

_ALL_OF_SCHEMA = frozenset({"AnalyzeTables", "DropNamespace"})

_OPTIONS = re.compile(r"\bwith\b(?!\s+[\w`])|\$\{", re.IGNORECASE)
"""A place in a text where the options of a relation may begin: `with (`, also with a comment
between. `with name as`, a common table expression, does not match. A variable (`${…}`) does, since
it may be either."""

_OWN_OPTIONS = re.compile(r"([\w.`]+)\s+with\s*\(\s*(partitions|read|static)\s*=", re.IGNORECASE)
"""The name of a table with options of this library behind it, in a text that Spark cannot parse."""

METADATA_ONLY = frozenset({"DescribeColumn", "RefreshTable", "UncacheTable"})
"""Statements for which Spark analyses a read of the table, and never runs the read."""

DESCRIBES = frozenset({"DescribeRelation", "ShowColumns"})
"""Statements that show the columns of a table."""

ANALYSES_VIEW = frozenset({"DescribeColumn", "RefreshTable", "RenameTable"})
"""Statements about a table or view for which Spark analyses the text of the view."""

READ_FUNCTION = "acid_table"
"""The table function that reads a table with options, as `with (…)` does where SQL has it."""

# Commands whose names of tables to read are all in a query, which Spark analyses before it runs.
_WITH_QUERY = frozenset({"CreateTableAsSelect", "ReplaceTableAsSelect"})
_OF_QUERY = frozenset({"CacheTableAsSelect", "CreateViewCommand", "DescribeQueryCommand"})

_NAMED_BY_EXPRESSION = "PlanWithUnresolvedIdentifier"
_NAMED_ARGUMENT = "NamedArgumentExpression"
_RELATION = "UnresolvedRelation"
_WRITTEN = "__required_write_privileges__"
"""Option by which Spark 4's parser marks the relation that a statement changes."""

# Statements that change rows of a table, and the field that has the table.
_CHANGES_ROWS = {
    "DeleteFromTable": "table",
    "UpdateTable": "table",
    "MergeIntoTable": "targetTable",
    "OverwriteByExpression": "table",
}


@dataclass(frozen=True)
class Relation:
    """A relation that a statement reads: its name as it is written, and its clauses.

    Attributes:
        options: the options of its `with (…)` clause, their keys in lower case.
        version: the version of its `version as of` clause.
        timestamp: the expression, as SQL, of its `timestamp as of` clause.
        is_stream: whether the statement reads it as a stream.
        node: Spark's node.
    """

    parts: NameParts
    options: Mapping[str, str] = field(default_factory=dict)
    version: str | None = None
    timestamp: str | None = None
    is_stream: bool = False
    node: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class TableFunction:
    """A call of a function whose result a statement reads as a relation.

    `arguments` are its positional arguments as texts; None stands for NULL, and for an argument
    that is not a literal.
    """

    name: str
    arguments: tuple[str | None, ...]
    node: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Statement:
    """A parsed statement: Spark's plan of it, and the names in it.

    Attributes:
        sql: the text.
        plan: Spark's plan, in which the names that `with` clauses define are resolved; None if
            Spark cannot parse the text.
        kind: the name of the plan's top node.
        relations: the relations that the statement reads.
        functions: the table functions that it calls.
        targets: the relations whose rows it changes.
        mentions: the relations that it describes or alters.
        changes: the relations whose files, or metadata in the catalog, it changes.
        changed_schema: the schema that it drops, or all of whose tables it changes.
        opaque: the SQL that hides what the statement changes; None for a query.
        temporary_view: the name of the temporary view that it makes.
        ignored: relations that a `with` clause defines and that are read with options. Spark
            ignores the options.
        is_rewritten: whether the statement must be run by `plan`, since the text has parameters,
            or calls of `acid_table` for which the plan has the tables.
    """

    sql: str
    plan: Any = field(default=None, compare=False, repr=False)
    kind: str = ""
    relations: tuple[Relation, ...] = ()
    functions: tuple[TableFunction, ...] = ()
    targets: frozenset[NameParts] = frozenset()
    mentions: frozenset[NameParts] = frozenset()
    changes: frozenset[NameParts] = frozenset()
    changed_schema: NameParts | None = None
    opaque: str | None = None
    temporary_view: str | None = None
    ignored: tuple[Relation, ...] = ()
    is_rewritten: bool = False

    @property
    def reads(self) -> frozenset[NameParts]:
        """Names of the relations that the statement reads."""
        return frozenset(relation.parts for relation in self.relations)

    @property
    def names(self) -> frozenset[NameParts]:
        """Names of all relations in the statement."""
        return self.reads | self.targets | self.mentions

    @property
    def is_permanent_view(self) -> bool:
        """Whether the statement makes a permanent view."""
        return self.kind == "CreateView"

    def with_plans(
        self, context: SparkContext, pairs: list[tuple[LogicalPlan, LogicalPlan]]
    ) -> LogicalPlan:
        """Return the statement's plan with some of its nodes replaced."""
        return _with_plans(context, self.plan, pairs)


def parse(session: SparkSession, sql: str) -> Statement:
    """Parse a statement. It has no names if Spark cannot parse it: running it raises the error.

    Raises:
        InvalidSettingError: as `check_syntax`.
    """
    try:
        parsed = check_syntax(session, sql)
    except (ParseException, Py4JJavaError):
        return Statement(sql)
    return of_plan(session, sql, parsed)


def check_syntax(session: SparkSession, sql: str) -> LogicalPlan:
    """Return Spark's plan of a statement; raise Spark's own error if it cannot be parsed.

    Raises:
        InvalidSettingError: Spark cannot parse it, has no `with (…)` behind a table, and the
            statement has one with an option of this library.
    """
    try:
        with active(session):
            return session._jsparkSession.sessionState().sqlParser().parsePlan(sql)
    except ParseException as error:
        line, written = version_of(session.version), _OWN_OPTIONS.search(sql)
        if written is None or line.has_options_clause:
            raise
        name, option = written[1].replace("`", ""), written[2].lower()
        raise InvalidSettingError(
            f"Spark {line.name} has no `with (…)` behind a table. In place of {name} with "
            f"({option} = …) write {READ_FUNCTION}('{name}', {option} => …).",
            code="HIVEACID_NO_OPTIONS_CLAUSE",
        ) from error


def parse_name(session: SparkSession, text: str) -> NameParts:
    """Return the parts of a name; raise Spark's own error if the text is not a name."""
    with active(session):
        parser = session._jsparkSession.sessionState().sqlParser()
        return tuple(map(str, each(parser.parseMultipartIdentifier(text))))


def of_plan(session: SparkSession, sql: str, parsed: LogicalPlan) -> Statement:
    """Return a statement, from the plan that Spark's parser has made of `sql`.

    It has no names if Spark cannot resolve its `with` clauses: running it raises the error.
    """
    try:
        plan = _resolved(session, parsed)
    except Py4JJavaError:
        return Statement(sql)
    return _of_resolved(session, sql, parsed, plan)


def of_completed_plan(
    session: SparkSession,
    sql: str,
    parsed: LogicalPlan,
    complete: Callable[[LogicalPlan], LogicalPlan] = lambda plan: plan,
) -> Statement:
    """Return a statement that must be run by its plan, not by its text.

    `complete` returns the plan to run. It is given the plan in which the names of `with` clauses
    are resolved.

    Raises:
        PySparkException, Py4JJavaError: Spark cannot resolve the names, or the plan cannot be
            completed.
    """
    plan = _inside(session.sparkContext, _resolved(session, parsed), complete)
    return _of_resolved(session, sql, parsed, plan)


def _resolved(session: SparkSession, parsed: LogicalPlan) -> LogicalPlan:
    with active(session):
        return _substituted(session.sparkContext, parsed)


def _of_resolved(
    session: SparkSession, sql: str, parsed: LogicalPlan, plan: LogicalPlan
) -> Statement:
    """Return a statement, from Spark's plan of it in which the names of `with` are resolved."""
    context = session.sparkContext
    found = _Names()
    found.kind = parsed.nodeName()
    found.opaque = _OPAQUE.get(found.kind)
    for leaf in _leaves(context, plan):
        found.add(leaf)
    if found.kind == _NAMED_BY_EXPRESSION or (
        found.has_identifier and _is_changed_by_name(context, parsed)
    ):
        found.opaque = "IDENTIFIER(…)"
    calls = _read_tables(session, found)
    plan = _with_plans(context, plan, calls) if calls else plan
    found.changes |= _given_to_procedure(session, plan)
    targets = [_parts(leaf) for leaf in _targets(plan)]
    may_have = _OPTIONS.search(sql) is not None and _has_with(context, parsed)
    optional = _with_options(context, parsed) if may_have else []
    ignored = [relation for relation in optional if relation not in found.relations]
    return Statement(
        sql,
        plan,
        found.kind,
        tuple(found.relations),
        tuple(found.functions),
        frozenset(targets),
        frozenset(found.mentions),
        frozenset(found.changes),
        found.changed_schema,
        found.opaque,
        _temporary_view(parsed),
        tuple(ignored),
        bool(calls),
    )


class _Names:
    """Names found so far in a statement."""

    def __init__(self) -> None:
        self.kind = ""
        self.relations: list[Relation] = []
        self.functions: list[TableFunction] = []
        self.mentions: set[NameParts] = set()
        self.changes: set[NameParts] = set()
        self.changed_schema: NameParts | None = None
        self.opaque: str | None = None
        self.has_identifier = False

    def add(self, leaf: LogicalPlan) -> None:
        """Add the names in a leaf of the plan."""
        kind = leaf.nodeName()
        if kind == _RELATION:
            relation = _relation(leaf)
            if _WRITTEN not in relation.options:
                self.relations.append(relation)
        elif kind == "RelationTimeTravel":
            self.relations.append(_time_travel(leaf))
        elif kind == "UnresolvedTableValuedFunction":
            self.functions.append(_table_function(leaf))
        elif kind in ("UnresolvedTableOrView", "UnresolvedTable", "UnresolvedView"):
            self.mentions.add(_parts(leaf))
            if self.kind not in _SHOW:
                self.changes.add(_parts(leaf))
        elif kind == "UnresolvedIdentifier" and self.kind in _TAKE_PLACE:
            self.changes.add(tuple(each(leaf.nameParts())))
        elif kind == "UnresolvedNamespace" and self.kind in _ALL_OF_SCHEMA:
            self.changed_schema = _parts(leaf)
        elif kind == "ConvertToDeltaCommand":
            name = leaf.tableIdentifier()
            database = [str(name.database().get())] if name.database().isDefined() else []
            self.changes.add((*database, str(name.table())))
        elif kind == _NAMED_BY_EXPRESSION:
            self.has_identifier = True
        elif kind in _OPAQUE:
            self.opaque = _OPAQUE[kind]


def _read_tables(session: SparkSession, found: _Names) -> list[tuple[LogicalPlan, LogicalPlan]]:
    """Treat calls of `acid_table` as the tables that they name.

    Returns:
        The node of each call, and the node of the table with the options of the call.
    """
    pairs = []
    for call in [it for it in found.functions if it.name == READ_FUNCTION]:
        relation = _table_of(session, call.node)
        if relation is not None:
            found.functions.remove(call)
            found.relations.append(_relation(relation))
            pairs.append((call.node, relation))
    return pairs


def _table_of(session: SparkSession, call: LogicalPlan) -> LogicalPlan | None:
    """Return the relation that a call of `acid_table` names; None lets Spark refuse the call."""
    context = session.sparkContext
    arguments = list(each(call.functionArgs()))
    if not arguments or any(it.nodeName() != _NAMED_ARGUMENT for it in arguments[1:]):
        return None
    name, *options = arguments
    try:
        parts = parse_name(session, _literal(name) or "")
    except ParseException:
        return None
    names, given = (java(context, f"java.util.{kind}")() for kind in ("ArrayList", "HashMap"))
    for part in parts:
        names.add(part)
    for option in options:
        given.put(option.key(), _literal(option.value()) or "")
    return java(context, f"{_ANALYSIS}.{_RELATION}")(
        scala_seq(context, names),
        java(context, "org.apache.spark.sql.util.CaseInsensitiveStringMap")(given),
        False,
    )


def _substituted(context: SparkContext, parsed: LogicalPlan) -> LogicalPlan:
    """Resolve the names that `with` clauses define, also in plans held in a field."""
    return _inside(context, parsed, java(context, f"{_ANALYSIS}.CTESubstitution").apply)


def _with_plans(
    context: SparkContext, plan: LogicalPlan, pairs: list[tuple[LogicalPlan, LogicalPlan]]
) -> LogicalPlan:
    return _inside(context, plan, lambda inner: replaced(context, inner, pairs))


def _inside(
    context: SparkContext, plan: LogicalPlan, change: Callable[[LogicalPlan], LogicalPlan]
) -> LogicalPlan:
    """Return a plan with the change made to it, or to the plan that it holds in a field."""
    holder = _HOLDERS.get(plan.nodeName())
    if holder is None:
        return change(plan)
    return with_fields(context, plan, **{holder: _inside(context, getattr(plan, holder)(), change)})


def _has_with(context: SparkContext, parsed: LogicalPlan) -> bool:
    patterns = java(context, "org.apache.spark.sql.catalyst.trees.TreePattern")
    return bool(parsed.containsPattern(patterns.UNRESOLVED_WITH()))


def _with_options(context: SparkContext, parsed: LogicalPlan) -> list[Relation]:
    """Return the relations with options in a plan, and in the queries of its `with` clause."""
    roots = [parsed]
    if parsed.nodeName() == "UnresolvedWith":
        roots += [definition._2() for definition in each(parsed.cteRelations())]
    found = (
        _relation(leaf)
        for root in roots
        for leaf in _leaves(context, root)
        if leaf.nodeName() == _RELATION
    )
    return [relation for relation in found if relation.options.keys() - {_WRITTEN}]


def _is_changed_by_name(context: SparkContext, parsed: LogicalPlan) -> bool:
    """Return whether an `IDENTIFIER(…)` in a plan may name what a command changes or stores."""
    kind = parsed.nodeName()
    if kind in _WITH_QUERY:
        return bool(parsed.name().nodeName() == _NAMED_BY_EXPRESSION)
    command = "org.apache.spark.sql.catalyst.plans.logical.Command"
    return kind not in _OF_QUERY and bool(is_instance_of(context._gateway, parsed, command))


def _temporary_view(parsed: LogicalPlan) -> str | None:
    kind = parsed.nodeName()
    if kind == "CreateViewCommand":
        return str(parsed.name().table()).lower()
    # CACHE TABLE … AS SELECT makes one, too.
    return str(parsed.tempViewName()).lower() if kind == "CacheTableAsSelect" else None


def _leaves(context: SparkContext, plan: LogicalPlan) -> Iterator[LogicalPlan]:
    """Yield every leaf below a plan, also in subqueries and in plans held in a field.

    Of equal leaves the first stands for all: each leaf costs calls to the JVM.
    """
    found = java(context, "scala.collection.mutable.ArrayBuffer")()
    for root in (plan, *each(plan.subqueriesAll())):
        found.appendAll(root.collectLeaves())
    for leaf in each(found.distinct()):
        holder = _HOLDERS.get(leaf.nodeName())
        if holder is None:
            yield leaf
        else:
            yield from _leaves(context, getattr(leaf, holder)())


def _targets(plan: LogicalPlan) -> Iterator[LogicalPlan]:
    """Yield the relations whose rows a statement changes.

    The table that INSERT writes is not a child of its node. Inserts stand at the top: alone, below
    a `with` clause, or side by side in Hive's `from … insert … insert …`.
    """
    kind = plan.nodeName()
    holder = _HOLDERS.get(kind)
    if holder is not None:
        yield from _targets(getattr(plan, holder)())
    elif kind == "InsertIntoStatement":
        yield from _relations_in(plan.table())
    elif kind in _CHANGES_ROWS:
        yield from _relations_in(getattr(plan, _CHANGES_ROWS[kind])())
    elif kind == "WithCTE":
        yield from _targets(plan.plan())
    elif _is_union_of_inserts(plan, kind):
        for child in each(plan.children()):
            yield from _targets(child)


def _given_to_procedure(session: SparkSession, plan: LogicalPlan) -> set[NameParts]:
    """Return the names of tables in Spark's own catalog that a CALL gives to a procedure.

    A procedure takes names as texts. Most of them name tables in the procedure's own catalog.
    """
    kind = plan.nodeName()
    if kind == "Call":
        parts_of_name, arguments = plan.procedure().nameParts(), each(plan.args())
        values = [it.value() if it.nodeName() == _NAMED_ARGUMENT else it for it in arguments]
    elif kind == "CallStatement":  # Iceberg's own, on Spark 3
        parts_of_name, values = plan.name(), [it.expr() for it in each(plan.args())]
    else:
        return set()
    procedure = [str(part).lower() for part in each(parts_of_name)]
    in_spark = procedure[0] == SESSION_CATALOG or procedure[-1] in _TAKE_FROM_SPARK
    names = set()
    for text in map(_literal, values):
        try:
            parts = parse_name(session, text or "")
        except ParseException:
            continue
        if in_spark or parts[0].lower() == SESSION_CATALOG:
            names.add(parts)
    return names


def _is_union_of_inserts(plan: LogicalPlan, kind: str) -> bool:
    # A union of queries may be thousands of unions deep.
    return kind == "Union" and plan.children().head().nodeName() == "InsertIntoStatement"


def _relations_in(plan: LogicalPlan) -> Iterator[LogicalPlan]:
    return (leaf for leaf in leaves(plan) if leaf.nodeName() == _RELATION)


def _relation(
    leaf: LogicalPlan, node: LogicalPlan | None = None, **clauses: str | None
) -> Relation:
    options = leaf.options()
    keys = [] if options.isEmpty() else list(options.keySet())
    return Relation(
        _parts(leaf),
        {str(key): str(options.get(key)) for key in keys},
        is_stream=bool(leaf.isStreaming()),
        node=leaf if node is None else node,
        **clauses,
    )


def _time_travel(leaf: LogicalPlan) -> Relation:
    timestamp, version = leaf.timestamp(), leaf.version()
    return _relation(
        leaf.relation(),
        leaf,
        version=str(version.get()) if version.isDefined() else None,
        timestamp=str(timestamp.get().sql()) if timestamp.isDefined() else None,
    )


def _table_function(leaf: LogicalPlan) -> TableFunction:
    name = ".".join(map(str, each(leaf.name())))
    return TableFunction(name.lower(), tuple(map(_literal, each(leaf.functionArgs()))), leaf)


def _literal(expression: Expression) -> str | None:
    if expression.nodeName() != "Literal" or expression.value() is None:
        return None
    return str(expression.toString())


def _parts(leaf: LogicalPlan) -> NameParts:
    return tuple(map(str, each(leaf.multipartIdentifier())))
