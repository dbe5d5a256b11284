"""The adapter: what dbt asks of Spark, with Hive ACID tables among the sources."""

from __future__ import annotations

from collections.abc import Mapping
from multiprocessing.context import SpawnContext
from typing import Any

from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.capability import Capability, CapabilityDict, CapabilitySupport, Support
from dbt.adapters.contracts.macros import MacroResolverProtocol
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError
from dbt_common.invocation import get_invocation_id

from dbt.adapters.hiveacid.column import HiveAcidColumn
from dbt.adapters.hiveacid.connections import HiveAcidConnectionManager
from dbt.adapters.hiveacid.errors import available, raising_dbt_errors
from dbt.adapters.hiveacid.incremental.builds import BuildInPlace, BuildInStage
from dbt.adapters.hiveacid.incremental.decision import FullRun
from dbt.adapters.hiveacid.incremental.model_run import ModelRun, ModelRuns
from dbt.adapters.hiveacid.incremental.operations import StateOperations
from dbt.adapters.hiveacid.incremental.run_context import RunServices
from dbt.adapters.hiveacid.invocation import Invocation
from dbt.adapters.hiveacid.library_log import install_log_handler
from dbt.adapters.hiveacid.metadata.methods import MetadataMethods
from dbt.adapters.hiveacid.metadata.schemas import SchemaMethods
from dbt.adapters.hiveacid.node_context import NodeContext, Statements
from dbt.adapters.hiveacid.node_events import NodeEvents
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.report import ReportMethods
from dbt.adapters.hiveacid.selected_nodes import Selection, needing
from dbt.adapters.hiveacid.signals import TerminationHandler
from dbt.adapters.hiveacid.targets.python_models import PythonModelMethods
from dbt.adapters.hiveacid.targets.recovery import Recovery
from dbt.adapters.hiveacid.targets.seeds import SeedMethods
from dbt.adapters.hiveacid.targets.staging import Staging, build_location
from dbt.adapters.hiveacid.targets.state import OtherRuns
from dbt.adapters.hiveacid.targets.stores import TargetStores
from hiveacid.metastore.models import TableName

logger = AdapterLogger("HiveAcid")


class HiveAcidAdapter(
    ReportMethods,
    MetadataMethods,
    PythonModelMethods,
    SeedMethods,
    SchemaMethods,
):
    """dbt-spark's adapter whose sources may be Hive ACID tables."""

    Relation = HiveAcidRelation
    Column = HiveAcidColumn
    ConnectionManager = HiveAcidConnectionManager
    connections: HiveAcidConnectionManager
    _capabilities = CapabilityDict(
        {
            Capability.TableLastModifiedMetadata: CapabilitySupport(support=Support.Full),
            Capability.TableLastModifiedMetadataBatch: CapabilitySupport(support=Support.Full),
            Capability.MicrobatchConcurrency: CapabilitySupport(support=Support.Full),
            Capability.GetCatalogForSingleRelation: CapabilitySupport(support=Support.Full),
        }
    )

    def __init__(self, config: Any, mp_context: SpawnContext) -> None:
        super().__init__(config, mp_context)
        install_log_handler()
        self._selection = Selection()
        self.run = Invocation(
            config.credentials,
            get_invocation_id(),
            f"{config.profile_name}.{config.target_name}",
            foreseen=self._foreseen,
            needing=self._needing,
            on_lost=self.connections.stop_reading,
            raise_if_cancelled=self.connections.raise_if_cancelled,
            keep_report=self.write_report,
        )
        self.connections.run = self.run
        self.Relation = HiveAcidRelation.bound_to(self.run.views)
        self._build_collaborators()
        self._termination = TerminationHandler()
        self._termination.install()
        self._events = NodeEvents(self.run.holding.started, self.run.node_finished)
        self._events.install()

    def _build_collaborators(self) -> None:
        statements = Statements(self._handle, self.connections.exception_handler)
        runs = OtherRuns(
            self.run.is_another_alive, self.run.lock_timeout, self.run.raise_if_cancelled
        )
        stores = TargetStores(statements, runs)
        self._staging = Staging(self, statements)
        self._recovery = Recovery(self, statements, runs, stores.finish_append)
        self._states = StateOperations(stores, self.Relation, self.get_relation)
        services = RunServices(self, self.run, statements, self._staging, stores, self._recovery)
        self._model_runs = ModelRuns(services, self._open_node)

    def cleanup_connections(self) -> None:
        """Close the connections and end the run's transaction. May be called many times."""
        try:
            super().cleanup_connections()
        finally:
            self.run.end()
            self._events.remove()
            self._termination.remove()

    @raising_dbt_errors
    def debug_query(self) -> None:
        """`dbt debug`: Spark runs a query, its catalog and the metastore answer.

        Opens no transaction.
        """
        self.execute("select 1 as id")
        with self.connections.exception_handler("look a table up in Spark's catalog"):
            self._handle().session.catalog.tableExists("default.dbt_debug")
        info = self.run.server_info()
        logger.info(
            f"Metastore: Hive {info.version}, write ids supported, transactions time out after "
            f"{info.transaction_timeout:g} s"
        )

    @available
    def hiveacid_verify(self, table: str) -> None:
        """Check the files of a table, and what the reader shows of them; print a report.

        Args:
            table: a transactional table of the metastore, as `database.table`.

        Raises:
            VerificationError: something is not as Hive writes it, or as it must be read.
            UnreadableTableError: the table is refused, for the reason given.
        """
        database, _, identifier = table.partition(".")
        if not database or not identifier:
            raise DbtRuntimeError(
                f"hiveacid_verify takes the table as database.table, not {table!r}."
            )
        with self.connections.exception_handler(f"hiveacid_verify: {table}"):
            self.run.verify(self._handle().session, TableName(database, identifier))

    @available
    def hiveacid_check_snapshot(self) -> None:
        """Stop the model if the transaction under which it read its sources is lost.

        Materializations call it after the data is read and before the target is changed. A model
        that has read no ACID source does without the transaction.

        Raises:
            TransactionLostError: naming the transaction and its tables.
        """
        if self._handle().has_read:
            self.run.holding.check_alive()

    @available
    def hiveacid_has_read(self) -> bool:
        """Whether a statement of the model has read an ACID source, or made a view that does."""
        return bool(self._handle().has_read)

    @available
    def hiveacid_refuse_view(self, sql: str) -> None:
        """Refuse to make a permanent view of `sql` if it reads an ACID source.

        Raises:
            ViewOverAcidError: naming the model, the sources and what to do instead.
            RawAcidReferenceError: it names the table itself.
        """
        self.run.refuse_view(self._handle().session, sql)

    @available
    def hiveacid_shows_samples(self) -> bool:
        """Tell whether the run is one with --sample, which `flags` does not say."""
        return getattr(getattr(self.config, "args", None), "sample", None) is not None

    @available
    def hiveacid_changes(
        self,
        source: HiveAcidRelation,
        target: HiveAcidRelation,
        model: Mapping[str, Any],
        is_incremental: bool,
    ) -> HiveAcidRelation:
        """Return the relation of `acid_changes(source)`: see `ModelRuns.changes_of`."""
        # dbt shows samples of all sources that a model reads, or of none.
        is_sample = source.event_time_filter is not None or self.hiveacid_shows_samples()
        return self._model_runs.changes_of(
            source,
            target,
            model,
            is_incremental=is_incremental,
            is_partial=source.limit is not None or is_sample,
        )

    @available
    def hiveacid_is_full_load(self) -> bool:
        """See `ModelRuns.is_full_load`."""
        return self._model_runs.is_full_load()

    @available
    def hiveacid_begin_run(self, model: Mapping[str, Any], compiled_code: str) -> ModelRun | None:
        """Begin the run of a model over `acid_changes`: see `ModelRuns.begin`."""
        return self._model_runs.begin(model, compiled_code)

    @available
    def hiveacid_build_in_place(
        self,
        target: HiveAcidRelation,
        old: HiveAcidRelation | None,
        location_root: str | None = None,
        run: ModelRun | FullRun | None = None,
    ) -> BuildInPlace:
        """See `BuildInPlace`; `run` is that of a model over `acid_changes`."""
        return self._model_runs.build_in_place(target, old, location_root, run)

    @available
    def hiveacid_build_in_stage(
        self,
        target: HiveAcidRelation,
        location_root: str | None = None,
        run: ModelRun | FullRun | None = None,
    ) -> BuildInStage:
        """See `BuildInStage`; `run` is that of a model over `acid_changes`."""
        return self._model_runs.build_in_stage(target, location_root, run)

    @available
    def hiveacid_show_state(self, node: Mapping[str, Any]) -> None:
        """Print the state of an incremental model's target."""
        self._states.show(node)

    @available
    def hiveacid_remove_state(self, node: Mapping[str, Any]) -> None:
        """Remove the state of an incremental model's target."""
        self._states.remove(node)

    @available
    def hiveacid_forget_state(self, existing: HiveAcidRelation) -> None:
        """Remove the state of a target that is about to get rows without acid_changes."""
        self._states.forget(existing)

    @available
    def hiveacid_stage(
        self,
        target: HiveAcidRelation,
        location_root: str | None = None,
        role: str = "stage",
        batch: Mapping[str, Any] | None = None,
    ) -> HiveAcidRelation:
        """Return a relation to build `target`, or a batch of it, in: see `Staging.stage`."""
        return self._staging.stage(target, location_root, role, batch)

    @available
    def hiveacid_write_alone(self, target: HiveAcidRelation) -> None:
        """Keep this run's other threads from writing `target`: see `Staging.write_alone`."""
        self._staging.write_alone(target)

    @available
    def hiveacid_switch(self, old: HiveAcidRelation | None) -> None:
        """Put the finished stage in its target's place: see `Staging.switch`."""
        self._staging.switch(old)

    @available
    def hiveacid_build_location(self, location_root: str, schema: str, identifier: str) -> str:
        """Return the directory in which this invocation builds an external table."""
        return build_location(location_root, schema, identifier, get_invocation_id())

    @available
    def hiveacid_recover(self, target: HiveAcidRelation) -> None:
        """Put a target's previous version back after a dead run: see `Recovery.recover`."""
        self._recovery.recover(target)

    @available
    def hiveacid_remove_leftovers(self, target: HiveAcidRelation) -> None:
        """Remove what dead runs have left next to a target: see `Recovery.remove_leftovers`."""
        self._recovery.remove_leftovers(target)

    def post_model_hook(self, config: Mapping[str, Any], context: Any) -> None:
        """Leave nothing of a failed or cancelled model behind."""
        self._staging.end()
        super().post_model_hook(config, context)

    @raising_dbt_errors
    def calculate_freshness(
        self,
        source: BaseRelation,
        loaded_at_field: str,
        filter: str | None,
        macro_resolver: MacroResolverProtocol | None = None,
    ) -> Any:
        """A source's freshness; dbt names it as the parser does, the query reads the snapshot."""
        assert isinstance(source, HiveAcidRelation)
        return super().calculate_freshness(
            source.as_read(), loaded_at_field, filter, macro_resolver
        )

    @raising_dbt_errors
    def calculate_freshness_from_custom_sql(
        self,
        source: BaseRelation,
        sql: str,
        macro_resolver: MacroResolverProtocol | None = None,
    ) -> Any:
        """A source's freshness by its `loaded_at_query`, in which `this` is its plain name."""
        if isinstance(source, HiveAcidRelation):
            sql = source.read_in(sql)
        return super().calculate_freshness_from_custom_sql(source, sql, macro_resolver)

    def _handle(self) -> NodeContext:
        return self.connections.get_thread_connection().handle

    def _open_node(self) -> NodeContext | None:
        """Return the node of this thread, if its connection is open."""
        handle = getattr(self.connections.get_if_exists(), "_handle", None)
        return handle if isinstance(handle, NodeContext) else None

    def _foreseen(self) -> set[TableName]:
        sources = self._selection.sources(self.get_macro_resolver())
        return {TableName(source.schema, source.identifier) for source in sources}

    def _needing(self) -> frozenset[str] | None:
        selected, manifest = self._selection.ids(), self.get_macro_resolver()
        if selected is None or manifest is None:
            return None
        return needing(manifest, selected, self.run.tables.transactional)
