"""Preparation of a statement: the views of its ACID sources, and what it must not name."""

from __future__ import annotations

from collections.abc import Sequence

from dbt_common.events.contextvars import get_node_info
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.errors import ViewOverAcidError
from dbt.adapters.hiveacid.node_context import NodeContext, ViewMakers
from dbt.adapters.hiveacid.sources.read_log import ReadLog
from dbt.adapters.hiveacid.sources.views import SourceView, SourceViews
from dbt.adapters.hiveacid.spark.guard import refuse_raw_acid
from dbt.adapters.hiveacid.spark.statements import parse

_INSTEAD_OF_A_VIEW = {
    "model": "Materialize it as ephemeral, table or incremental (`view` is dbt's default).",
    "test": "Store its failures with `store_failures_as: table`.",
    "function": "Read the source in the models that call the function.",
}
"""What to do with a node, by its resource type."""


def prepare_statement(
    node: NodeContext,
    sql: str,
    views: SourceViews,
    makers: ViewMakers,
    reads: ReadLog,
) -> None:
    """Make a statement ready to run: the views of its ACID sources, and `node.reads`.

    The reads are logged for the node that runs on this thread, else for `node.name`.

    Args:
        node: the node whose statement it is.
        sql: the statement.
        views: the views of sources.
        makers: the makers of views of changes, by the names of the views.
        reads: where the reads are logged.

    Raises:
        HiveAcidError: a source cannot be read.
        AdapterError: the statement cannot be run as it is.
    """
    session = node.session
    statement = parse(session, sql)
    node.named, node.reads = statement.reads, frozenset()
    named = views.among(statement.mentions)
    if statement.is_permanent_view:
        _refuse_if_any(named)
    refuse_raw_acid(session, statement.without({(view.name,) for view in named}))
    views.pin(view for view in named if view.name not in makers)
    for view in named:
        maker = makers.get(view.name)
        files = views.create(session, view) if maker is None else maker.create_view(session)
        node.reads |= {files}
        reads.add(get_node_info().get("unique_id") or node.name, files)
    for parts in statement.reads:
        node.reads |= node.temporary_views.get(parts[-1].lower(), frozenset())
    node.has_read |= node.reads
    if statement.temporary_view is not None:
        node.temporary_views[statement.temporary_view] = node.reads
        node.temporary_sources[statement.temporary_view] = frozenset(
            view.name for view in named
        ) | node.sources_behind(statement.reads)


def refuse_view(session: SparkSession, sql: str, views: SourceViews) -> None:
    """Refuse the query of a permanent view that reads an ACID table.

    Raises:
        ViewOverAcidError: naming the node, the sources and what to do instead.
        RawAcidReferenceError: the query names the table itself.
    """
    statement = parse(session, sql)
    _refuse_if_any(views.among(statement.reads))
    refuse_raw_acid(session, statement)


def _refuse_if_any(views: Sequence[SourceView]) -> None:
    if not views:
        return
    node = get_node_info()
    kind = node.get("resource_type", "statement")
    thing = "function" if kind == "function" else "view"
    name = f"{kind} {node.get('node_name', '')}".strip()
    sources = ", ".join(str(view.table) for view in views)
    raise ViewOverAcidError(
        f"{name[0].upper()}{name[1:]} would be a permanent {thing} over the ACID table {sources}, "
        f"read directly or through ephemeral models. A permanent {thing} cannot hold a run's "
        f"snapshot. {_INSTEAD_OF_A_VIEW.get(kind, 'Make a table of it.')}"
    )
