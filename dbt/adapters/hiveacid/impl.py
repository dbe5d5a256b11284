"""The adapter: what dbt asks of Spark, with Hive ACID tables among the sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
from dbt.adapters.hiveacid.incremental.methods import IncrementalMethods
from dbt.adapters.hiveacid.invocation import Invocation
from dbt.adapters.hiveacid.library_log import install_log_handler
from dbt.adapters.hiveacid.metadata.methods import MetadataMethods
from dbt.adapters.hiveacid.metadata.schemas import SchemaMethods
from dbt.adapters.hiveacid.node_events import NodeEvents
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.report import ReportMethods
from dbt.adapters.hiveacid.selected_nodes import Selection, needing
from dbt.adapters.hiveacid.signals import TerminationHandler
from dbt.adapters.hiveacid.spark.session import SessionHandle
from dbt.adapters.hiveacid.targets.python_models import PythonModelMethods
from dbt.adapters.hiveacid.targets.recovery import RecoveryMethods, current_version, restore
from dbt.adapters.hiveacid.targets.seeds import SeedMethods
from dbt.adapters.hiveacid.targets.staging import StagingMethods
from hiveacid.metastore.models import TableName

logger = AdapterLogger("HiveAcid")


class HiveAcidAdapter(
    IncrementalMethods,
    RecoveryMethods,
    ReportMethods,
    MetadataMethods,
    PythonModelMethods,
    SeedMethods,
    StagingMethods,
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
        self._write_locks = {}
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
        self._termination = TerminationHandler()
        self._termination.install()
        self._events = NodeEvents(self.run.release.node_started, self.run.node_finished)
        self._events.install()

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
            self.run.snapshot.check_alive()

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
    def hiveacid_version(self, relation: HiveAcidRelation | None) -> Any:
        """The current version of a Delta or Iceberg table; None for a table that is yet to be."""
        return None if relation is None else current_version(self._handle().session, relation)

    @available
    def hiveacid_or_restore(
        self,
        target: HiveAcidRelation,
        former: HiveAcidRelation | None,
        version: Any,
        caller: Callable[[], Any],
    ) -> Any:
        """What a `call` block of a macro does once a target has been replaced.

        If it fails, the target gets its former version back, or goes if it is new.
        """
        try:
            return caller()
        except BaseException:
            with self._handle().uninterrupted():
                if former is None:
                    self.drop_relation(target)
                else:
                    restore(self._handle().session, former, version)
            raise

    def post_model_hook(self, config: Mapping[str, Any], context: Any) -> None:
        """Leave nothing of a failed or cancelled model behind."""
        self.end_staging()
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

    def _handle(self) -> SessionHandle:
        return self.connections.get_thread_connection().handle

    def _foreseen(self) -> set[TableName]:
        sources = self._selection.sources(self.get_macro_resolver())
        return {TableName(source.schema, source.identifier) for source in sources}

    def _needing(self) -> frozenset[str] | None:
        selected, manifest = self._selection.ids(), self.get_macro_resolver()
        if selected is None or manifest is None:
            return None
        return needing(manifest, selected, self.run.tables.transactional)
