"""The adapter: what dbt asks of Spark, with Hive ACID tables among the sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.context import SpawnContext
from threading import Lock
from typing import Any

from dbt.adapters.base.meta import available
from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.capability import Capability, CapabilityDict, CapabilitySupport, Support
from dbt.adapters.contracts.macros import MacroResolverProtocol
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError
from dbt_common.invocation import get_invocation_id
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.column import HiveAcidColumn
from dbt.adapters.hiveacid.connections import HiveAcidConnectionManager
from dbt.adapters.hiveacid.exceptions import TransactionLostError
from dbt.adapters.hiveacid.incremental.methods import IncrementalMethods
from dbt.adapters.hiveacid.incremental.stores import overtaken
from dbt.adapters.hiveacid.metadata.methods import MetadataMethods
from dbt.adapters.hiveacid.metastore.models import TableName
from dbt.adapters.hiveacid.needs import needing
from dbt.adapters.hiveacid.node_events import NodeEvents
from dbt.adapters.hiveacid.python_models import PythonModelMethods
from dbt.adapters.hiveacid.recovery import RecoveryMethods
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.report_methods import ReportMethods
from dbt.adapters.hiveacid.run import Run
from dbt.adapters.hiveacid.schemas import SchemaMethods
from dbt.adapters.hiveacid.seeds import SeedMethods
from dbt.adapters.hiveacid.selected import Selection
from dbt.adapters.hiveacid.signals import TerminationHandler
from dbt.adapters.hiveacid.spark.files import (
    delete_directory,
    follow_directory,
    location_apart,
    location_if_any,
)
from dbt.adapters.hiveacid.spark.guard import refuse_acid_target
from dbt.adapters.hiveacid.spark.session import SessionHandle
from dbt.adapters.hiveacid.staging import Stage, build_location, discard, switch
from dbt.adapters.hiveacid.versions import current_version, restore

logger = AdapterLogger("HiveAcid")


class HiveAcidAdapter(
    IncrementalMethods,
    RecoveryMethods,
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
        }
    )

    def __init__(self, config: Any, mp_context: SpawnContext) -> None:
        super().__init__(config, mp_context)
        self._selection = Selection()
        self._write_locks: dict[str, Lock] = {}
        self.run = Run(
            config.credentials,
            get_invocation_id(),
            f"{config.profile_name}.{config.target_name}",
            foreseen=self._foreseen,
            needing=self._needing,
            on_lost=self.connections.stop_reading,
            keep_report=self.write_report,
        )
        self.connections.run = self.run
        self.Relation = HiveAcidRelation.bound_to(self.run.views)
        self._termination = TerminationHandler()
        self._termination.install()
        self._events = NodeEvents(self.run.holding.started, self.run.holding.finished)
        self._events.install()

    def cleanup_connections(self) -> None:
        """Close the connections and end the run's transaction. May be called many times."""
        try:
            super().cleanup_connections()
        finally:
            self.run.end()
            self._events.remove()
            self._termination.remove()

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
        """
        self.run.refuse_view(self._handle().session, sql)

    @available
    def hiveacid_stage(
        self,
        target: BaseRelation,
        location_root: str | None = None,
        role: str = "stage",
        batch: Mapping[str, Any] | None = None,
    ) -> BaseRelation:
        """A relation to build `target`, or a batch of it, in.

        It is removed after the model if it is still there.
        """
        batch_id = None if batch is None else str(batch["id"])
        stage = Stage.of(target, get_invocation_id(), location_root, role, batch_id)
        self._handle().stages[role] = stage
        return stage.relation

    @available
    def hiveacid_write_alone(self, target: BaseRelation) -> None:
        """Keep this run's other threads from writing `target` until the model, or its batch, ends.

        Iceberg gives up a commit that four others have come before (`commit.retry.num-retries`).
        """
        handle, lock = self._handle(), self._write_locks.setdefault(str(target), Lock())
        if handle.write_lock is None:
            lock.acquire()
            handle.write_lock = lock

    @available
    def hiveacid_build_location(self, location_root: str, schema: str, identifier: str) -> str:
        """The directory in which this invocation builds an external table."""
        return build_location(location_root, schema, identifier, get_invocation_id())

    @available
    def hiveacid_switch(self, old: BaseRelation | None) -> None:
        """Put the finished stage in its target's place; Ctrl-C takes effect before or after.

        `old` is what has the target's name now.

        Raises:
            ConcurrentRunError: another run has changed the target.
        """
        handle = self._handle()
        stage = handle.stages["stage"]
        with handle.uninterrupted(), self.replacing_target():
            try:
                switch(self, stage, old, handle.session)
            except Exception as error:
                if old is None and self.exists(stage.target):
                    raise overtaken(str(stage.target)) from error
                raise
            del handle.stages["stage"]

    @available
    def hiveacid_version(self, relation: HiveAcidRelation | None) -> Any:
        """The current version of a Delta or Iceberg table; None for a table that is yet to be."""
        return None if relation is None else current_version(self._handle().session, relation)

    @available
    def hiveacid_check_or_restore(
        self, target: HiveAcidRelation, former: HiveAcidRelation | None, version: Any
    ) -> None:
        """As `hiveacid_check_snapshot`, for a target that has been replaced already.

        If the transaction is lost, the target gets its former version back, or goes if it is new.
        """
        try:
            self.hiveacid_check_snapshot()
        except TransactionLostError:
            with self._handle().uninterrupted():
                if former is None:
                    self.drop_relation(target)
                else:
                    restore(self._handle().session, former, version)
            raise

    def drop_relation(self, relation: BaseRelation) -> None:
        """Drop a table or view, and its rows. Raises AcidTargetError for a transactional table."""
        with self._changing(relation) as session:
            left_behind = location_apart(session, *_schema_and_name(relation))
        super().drop_relation(relation)
        if left_behind is not None:
            delete_directory(session, left_behind)

    def rename_relation(self, from_relation: BaseRelation, to_relation: BaseRelation) -> None:
        """Rename a table or view; its rows stay where Spark finds them.

        Raises AcidTargetError for a transactional table.
        """
        with self._changing(from_relation) as session:
            former = location_if_any(session, *_schema_and_name(from_relation))
        super().rename_relation(from_relation, to_relation)
        try:
            with self.connections.exception_handler(f"find the rows of {to_relation}"):
                follow_directory(session, *_schema_and_name(to_relation), former)
        except BaseException:
            super().rename_relation(to_relation, from_relation)
            raise

    def post_model_hook(self, config: Mapping[str, Any], context: Any) -> None:
        """Leave nothing of a failed or cancelled model behind."""
        handle = self._handle()
        if handle.write_lock is not None:
            handle.write_lock.release()
            handle.write_lock = None
        for role in list(handle.stages):
            self._discard(handle, handle.stages.pop(role))
        super().post_model_hook(config, context)

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

    def _discard(self, handle: SessionHandle, stage: Stage) -> None:
        """Remove a stage if it can be done: what has failed before must not be lost sight of."""
        try:
            with (
                handle.uninterrupted(),
                self.connections.exception_handler(f"drop {stage.relation}"),
            ):
                discard(self, stage, handle.session)
        except Exception as error:
            logger.warning(
                f"{stage.relation}, in which {stage.target} was being built, could not be removed. "
                f"The next run of the model tries again. {error}"
            )

    @contextmanager
    def _changing(self, relation: BaseRelation) -> Iterator[SparkSession]:
        """Look at a table that is to be dropped or renamed; refuses a transactional one."""
        session = self._handle().session
        with self.connections.exception_handler(f"look {relation} up in Spark's catalog"):
            refuse_acid_target(session, *_schema_and_name(relation))
            yield session

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


def _schema_and_name(relation: BaseRelation) -> tuple[str, str]:
    return str(relation.schema), str(relation.identifier)
