"""Names of tables in statements, found by Spark's own parser.

The parser and Spark's substitution of common table expressions run in the driver's JVM, so scoping
is Spark's: a name that a `with` clause defines is no table. Nothing is looked up or run.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import ParseException
from pyspark.sql import SparkSession

from hiveacid.jvm.py4j import active, each, java

NameParts = tuple[str, ...]
"""A name as it was written: `("a", "b")` for `a.b`."""

_ANALYSIS = "org.apache.spark.sql.catalyst.analysis"

# Leaves that hold a plan in a field, where walks over the tree do not see the plan.
_HOLDERS = {
    "DescribeQueryCommand": "plan",
    "ExplainCommand": "logicalPlan",
    "RelationTimeTravel": "relation",
}

# Nodes that name tables by text that Spark evaluates after the parser.
_OPAQUE = {
    "PlanWithUnresolvedIdentifier": "IDENTIFIER(…)",
    "UnresolvedExecuteImmediate": "EXECUTE IMMEDIATE",
    # A script keeps statements in fields of many kinds, and may change the database between them.
    "CompoundBody": "A script (BEGIN … END)",
}

# Statements that remove, bring or move the files of a table, or drop it from the catalog.
_OF_FILES = frozenset(
    {
        "TruncateTable",
        "TruncatePartition",
        "LoadData",
        "DropTable",
        "AddPartitions",
        "DropPartitions",
        "RenamePartitions",
        "RenameTable",
        "SetTableLocation",
        "RepairTable",
        "RecoverPartitions",
    }
)


@dataclass(frozen=True)
class Statement:
    """Names in a statement.

    Attributes:
        reads: the relations whose rows the statement reads or changes.
        mentions: these, and the relations that it describes or alters.
        of_files: the relations whose files it removes, brings or moves.
        dropped_schema: the schema that it drops.
        opaque: the SQL by which it names tables that cannot be known before it runs.
        is_permanent_view: whether it makes a permanent view.
        temporary_view: the name of the temporary view that it makes.
    """

    reads: frozenset[NameParts] = frozenset()
    mentions: frozenset[NameParts] = frozenset()
    of_files: frozenset[NameParts] = frozenset()
    dropped_schema: NameParts | None = None
    opaque: str | None = None
    is_permanent_view: bool = False
    temporary_view: str | None = None

    def without(self, names: Set[NameParts]) -> Statement:
        """Return the statement as if it did not name `names`."""
        return replace(self, reads=self.reads - names, mentions=self.mentions - names)


def parse(session: SparkSession, sql: str) -> Statement:
    """Return the names in `sql`; none if Spark cannot parse it, which running it will tell."""
    state = session._jsparkSession.sessionState()
    substitution = java(session.sparkContext, f"{_ANALYSIS}.CTESubstitution")
    try:
        with active(session):
            parsed = state.sqlParser().parsePlan(sql)
            plan = substitution.apply(parsed)
    except (ParseException, Py4JJavaError):
        return Statement()
    reads: set[NameParts] = set()
    mentions: set[NameParts] = set()
    of_files: set[NameParts] = set()
    dropped_schema: NameParts | None = None
    kind = parsed.nodeName()
    opaque = _OPAQUE.get(kind)
    for leaf in _leaves(plan):
        leaf_kind = leaf.nodeName()
        if leaf_kind == "UnresolvedRelation":
            reads.add(_parts(leaf))
        elif leaf_kind in ("UnresolvedTableOrView", "UnresolvedTable", "UnresolvedView"):
            mentions.add(_parts(leaf))
            if kind in _OF_FILES:
                of_files.add(_parts(leaf))
        elif leaf_kind == "UnresolvedIdentifier" and kind in _OF_FILES:
            of_files.add(tuple(each(leaf.nameParts())))
        elif leaf_kind == "UnresolvedNamespace" and kind == "DropNamespace":
            dropped_schema = _parts(leaf)
        elif leaf_kind in _OPAQUE:
            opaque = _OPAQUE[leaf_kind]
    return Statement(
        reads=frozenset(reads),
        mentions=frozenset(reads | mentions),
        of_files=frozenset(of_files),
        dropped_schema=dropped_schema,
        opaque=opaque,
        is_permanent_view=kind == "CreateView",
        temporary_view=_temporary_view(parsed),
    )


def check_syntax(session: SparkSession, sql: str) -> None:
    """Raise Spark's own error if Spark cannot parse a statement."""
    with active(session):
        session._jsparkSession.sessionState().sqlParser().parsePlan(sql)


def _temporary_view(parsed: Any) -> str | None:
    kind = parsed.nodeName()
    if kind == "CreateViewCommand":
        return str(parsed.name().table()).lower()
    # CACHE TABLE … AS SELECT makes one, too.
    return str(parsed.tempViewName()).lower() if kind == "CacheTableAsSelect" else None


def _leaves(plan: Any) -> Iterator[Any]:
    """Yield every leaf below a plan: also in subqueries, in targets of INSERT and in held plans."""
    for root in [plan, *each(plan.subqueriesAll())]:
        for leaf in each(root.collectLeaves()):
            holder = _HOLDERS.get(leaf.nodeName())
            if holder is None:
                yield leaf
            else:
                yield from _leaves(getattr(leaf, holder)())
    yield from _insert_targets(plan)


def _insert_targets(plan: Any) -> Iterator[Any]:
    # The table that INSERT writes is no child of its node. Inserts stand at the top: alone, below a
    # `with` clause, or side by side in Hive's `from … insert … insert …`.
    kind = plan.nodeName()
    if kind == "InsertIntoStatement":
        yield plan.table()
    elif kind in ("WithCTE", "Union"):
        for child in each(plan.children()):
            yield from _insert_targets(child)


def _parts(leaf: Any) -> NameParts:
    return tuple(each(leaf.multipartIdentifier()))
