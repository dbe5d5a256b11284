"""dbt adapter: dbt-spark's, with Hive ACID tables among the sources.

Each method is a few lines that delegate to one of the adapter's modules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from multiprocessing.context import SpawnContext
from typing import TYPE_CHECKING, Any

import agate
from dbt.adapters.base.impl import FreshnessResponse
from dbt.adapters.base.relation import BaseRelation, SchemaSearchMap
from dbt.adapters.capability import Capability, CapabilityDict, CapabilitySupport, Support
from dbt.adapters.contracts.connection import AdapterResponse, Connection
from dbt.adapters.contracts.macros import MacroResolverProtocol
from dbt.adapters.contracts.relation import RelationConfig, RelationType
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark.column import SparkColumn
from dbt.adapters.spark.impl import SparkAdapter
from dbt.flags import get_flags
from dbt_common.contracts.metadata import CatalogTable
from dbt_common.invocation import get_invocation_id

from dbt.adapters.hiveacid.column import HiveAcidColumn
from dbt.adapters.hiveacid.command_hooks import HooksOfAdapter
from dbt.adapters.hiveacid.connections import HiveAcidAdapterResponse, HiveAcidConnectionManager
from dbt.adapters.hiveacid.dbt_process import (
    NodeEvents,
    OwningCommand,
    TerminationHandler,
    find_command,
    install_log_handler,
    retried_nodes,
)
from dbt.adapters.hiveacid.errors import AdapterError, available, raising_dbt_errors
from dbt.adapters.hiveacid.incremental.builds import BuildInPlace, BuildInStage
from dbt.adapters.hiveacid.incremental.decision import FullRun
from dbt.adapters.hiveacid.incremental.model_run import ModelRun, ModelRuns, refuse_python
from dbt.adapters.hiveacid.incremental.run_context import RunServices
from dbt.adapters.hiveacid.invocation import Invocation
from dbt.adapters.hiveacid.metadata.catalog import Catalog, DescribedRows, new_comments
from dbt.adapters.hiveacid.metadata.freshness import Freshness
from dbt.adapters.hiveacid.metadata.project import Project
from dbt.adapters.hiveacid.metadata.schemas import (
    Schemas,
    is_undescribed,
    looks_transactional,
)
from dbt.adapters.hiveacid.node_context import NodeContext, Statements
from dbt.adapters.hiveacid.relation import HiveAcidRelation, ours, with_format
from dbt.adapters.hiveacid.selected_nodes import ModelNode, Selection, manifest_of
from dbt.adapters.hiveacid.sources.prepare import check_view, names_in, refuse_function
from dbt.adapters.hiveacid.spark.time_zones import TimeZones
from dbt.adapters.hiveacid.targets.acid import AcidTargets, SnapshotColumns
from dbt.adapters.hiveacid.targets.hive_readers import hive_tables_are_text
from dbt.adapters.hiveacid.targets.python_models import PythonModels
from dbt.adapters.hiveacid.targets.recovery import Recovery
from dbt.adapters.hiveacid.targets.seeds import seed_rows
from dbt.adapters.hiveacid.targets.staging import Staging, build_location
from dbt.adapters.hiveacid.targets.state import OtherRuns
from dbt.adapters.hiveacid.targets.stores import TargetStores
from hiveacid.formatting import text_literal
from hiveacid.metastore.models import TableName

if TYPE_CHECKING:
    from dbt.contracts.graph.manifest import Manifest

logger = AdapterLogger("HiveAcid")

_BUILDING_COMMANDS = ("build", "clone", "run", "seed", "snapshot", "test")


class HiveAcidAdapter(SparkAdapter):
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
        self._command = OwningCommand()
        install_log_handler()
        self._project = Project(self._manifest)
        command = find_command()
        hooks = HooksOfAdapter(
            self.connections,
            self._project,
            Selection(retried_nodes(command)),
            self._manifest,
            getattr(config, "project_target_path", None),
        )
        self.run = Invocation(
            config.credentials,
            get_invocation_id(),
            f"{config.profile_name}.{config.target_name}",
            hooks,
            is_command=command is not None,
        )
        self.connections.run = self.run
        self._build_collaborators()
        self._termination = TerminationHandler()
        self._termination.install()
        self._events = NodeEvents(self.run.release.node_started, self.run.node_finished)
        self._events.install()

    def _build_collaborators(self) -> None:
        statements = Statements(self._handle, self.connections.exception_handler)
        runs = OtherRuns(
            self.run.is_another_alive, self.run.lock_timeout, self.run.hooks.raise_if_cancelled
        )
        self._stores = TargetStores(statements, runs)
        invocation_id = self.run.invocation_id
        self._staging = Staging(self, statements, invocation_id)
        self._recovery = Recovery(self, statements, runs, self._stores.finish_append, invocation_id)
        services = RunServices(
            self.connections,
            self,
            self.run,
            statements,
            self._staging,
            self._stores,
            self._recovery,
        )
        self._acid_targets = AcidTargets(statements, self, self.run, invocation_id)
        self._model_runs = ModelRuns(services, self._open_node)
        project = self._project
        self._catalog = Catalog(
            self.connections,
            project,
            self.run.tables.get,
            self.run.look_up_unlocked,
            self._describe,
        )
        self._freshness = Freshness(
            self.connections,
            project,
            self.run.look_up_unlocked,
            self.run.find_last_write,
            self._create_freshness_response,
        )
        self._schemas = Schemas(
            self.connections,
            project,
            self.Relation,
            lambda rows: self._build_spark_relation_list(rows, self._get_relation_information),
        )
        self._python_models = PythonModels(
            self.connections,
            self.run.prepare,
            lambda node, sql: any(it.sources for it in names_in(node, sql, self.run.sources)),
        )

    @raising_dbt_errors
    def cleanup_connections(self) -> None:
        """Close the connections and end the run's transaction. May be called again.

        Raises:
            AdapterError: another dbt command calls it while the adapter's own command runs.
        """
        self._refuse_another_command()
        try:
            super().cleanup_connections()
        finally:
            self.run.end()
            self._events.remove()
            self._termination.remove()

    def acquire_connection(self, name: str | None = None) -> Connection:
        """Return this thread's connection.

        Raises:
            AdapterError: the thread works for another dbt command than the adapter.
        """
        self._refuse_another_command()
        return super().acquire_connection(name)

    def _refuse_another_command(self) -> None:
        try:
            self._command.refuse_another()
        except AdapterError:
            # The beginning of the other command has removed all listeners.
            self._events.install()
            raise

    @raising_dbt_errors
    def execute_macro(self, *args: Any, **kwargs: Any) -> Any:
        """Run a macro. Outside of a dbt command, its statements share one snapshot."""
        with self.run.statement():
            return super().execute_macro(*args, **kwargs)

    @raising_dbt_errors
    def get_column_schema_from_query(self, sql: str) -> list[Any]:
        """Return the columns of a query without running it."""
        with self.run.statement():
            return list(super().get_column_schema_from_query(sql))

    @raising_dbt_errors
    def debug_query(self) -> None:
        """Check for `dbt debug` that Spark, Spark's catalog and the metastore respond.

        Opens no transaction.
        """
        self.execute("select 1 as id")
        with self.connections.exception_handler("look a table up in Spark's catalog"):
            self._handle().session.catalog.tableExists("default.dbt_debug")
        for line in self.run.describe_metastore():
            logger.info(line)
        logger.info(str(TimeZones.of(self._handle().session)))

    @available
    def hiveacid_verify(self, table: str) -> None:
        """Check the files of a table and the rows that the reader returns; print a report.

        Args:
            table: a transactional table of the metastore, as `database.table`.

        Raises:
            VerificationError: a file is not as Hive writes files, or its rows are read wrong.
            UnreadableTableError: the table cannot be read; the message has the reason.
        """
        database, _, identifier = table.partition(".")
        if not database or not identifier:
            raise AdapterError(
                f"hiveacid_verify takes the table as database.table, not {table!r}.",
                code="HIVEACID_INVALID_TABLE_NAME",
            )
        with self.connections.exception_handler(f"hiveacid_verify: {table}"):
            self.run.verify(self._handle().session, TableName(database, identifier))

    @available
    def hiveacid_check_snapshot(self) -> None:
        """Stop the model if the transaction under which it read its sources is lost.

        Materializations call it after the data is read and before the target is changed. It does
        nothing if the model has read no ACID source.

        Raises:
            TransactionLostError: naming the transaction and its tables.
        """
        self.run.check_snapshot(self._handle())

    @available
    def hiveacid_has_read(self) -> bool:
        """Whether a statement of the model has read an ACID source, or made a view that does."""
        return bool(self._handle().has_read)

    @available
    def hiveacid_refuse_function(self, sql: str) -> None:
        """Refuse to create a permanent function whose body `sql` reads an ACID table.

        Raises:
            ViewOverAcidError: naming the function, the tables and what to do instead.
        """
        refuse_function(self._handle().session, sql, self.run.sources)

    @available
    def hiveacid_check_view(self, sql: str) -> None:
        """Refuse to create a view of `sql` if its ACID tables cannot be read through a view.

        Raises:
            HiveAcidError: the reason. Nothing has been changed.
        """
        with self.connections.exception_handler(sql):
            check_view(self._handle(), sql, self.run.sources)

    @available
    def hiveacid_own_materialization(self, context: Mapping[str, Any], name: str) -> Any | None:
        """Return the project's own materialization of a name, as a macro to call.

        It takes precedence over this adapter's, as it does over dbt-spark's and dbt's.

        Returns:
            None if neither the project nor a package has one: see `Project.materialization`.
        """
        found = self._project.materialization(name, self.config.project_name)
        return None if found is None else context[found[0]][found[1]]

    @available
    def hiveacid_hive_tables_are_text(self) -> bool:
        """Return whether Spark makes tables `using hive` as text: see `hive_tables_are_text`."""
        return hive_tables_are_text(self._handle().session)

    @available
    def hiveacid_is_sample_run(self) -> bool:
        """Return whether the run has `--sample`, which `flags` does not contain."""
        return getattr(getattr(self.config, "args", None), "sample", None) is not None

    @available
    def hiveacid_changes(
        self,
        source: HiveAcidRelation,
        target: HiveAcidRelation,
        model: ModelNode,
        is_incremental: bool,
    ) -> HiveAcidRelation:
        """Return the relation of `acid_changes(source)`: see `ModelRuns.changes_of`."""
        # dbt samples all sources of a model, or none.
        is_sample = source.event_time_filter is not None or self.hiveacid_is_sample_run()
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
    def hiveacid_begin_run(self, model: ModelNode, compiled_code: str) -> ModelRun | None:
        """Begin the run of a model over `acid_changes`: see `ModelRuns.begin`."""
        return self._model_runs.begin(model, compiled_code)

    @available
    def hiveacid_build_in_place(
        self,
        target: HiveAcidRelation,
        old: HiveAcidRelation | None,
        run: ModelRun | FullRun | None = None,
    ) -> BuildInPlace:
        """See `BuildInPlace`; `run` is the run of a model over `acid_changes`."""
        return self._model_runs.build_in_place(target, old, run)

    @available
    def hiveacid_build_in_stage(
        self,
        target: HiveAcidRelation,
        location_root: str | None = None,
        run: ModelRun | FullRun | None = None,
    ) -> BuildInStage:
        """See `BuildInStage`; `run` is the run of a model over `acid_changes`."""
        return self._model_runs.build_in_stage(target, location_root, run)

    @available
    def hiveacid_show_state(self, node: ModelNode) -> None:
        """Print the state of an incremental model's target."""
        self._model_runs.show_state(node)

    @available
    def hiveacid_remove_state(self, node: ModelNode) -> None:
        """Remove the state of an incremental model's target."""
        self._model_runs.remove_state(node)

    @available
    def hiveacid_forget_state(self, existing: HiveAcidRelation) -> None:
        """Remove the state of a target that is about to get rows not from `acid_changes`."""
        self._stores.forget(existing)

    @available
    def hiveacid_stage(
        self,
        target: HiveAcidRelation,
        location_root: str | None = None,
        role: str = "stage",
        batch: Mapping[str, Any] | None = None,
    ) -> HiveAcidRelation:
        """Return the table in which to build `target` or a batch of it: see `Staging.stage`."""
        return self._staging.stage(target, location_root, role, batch)

    @available
    def hiveacid_refuse_acid_by_default(self, target: HiveAcidRelation, config: Any) -> None:
        """Refuse a managed ORC table if the metastore would make it transactional.

        Raises:
            AcidByDefaultError: the metastore would (`metastore.create.as.acid`).
        """
        if config.get("file_format") == "orc" and not config.get("location_root"):
            context = self._handle().session.sparkContext
            self.run.refuse_acid_by_default(context, str(target))

    @available
    def hiveacid_stage_rows(
        self,
        target: HiveAcidRelation,
        location_root: str | None = None,
        batch: Mapping[str, Any] | None = None,
    ) -> tuple[HiveAcidRelation, str | None]:
        """Return a table for rows to be written, and its directory: see `Staging.stage_rows`."""
        return self._staging.stage_rows(target, location_root, batch)

    @available
    def hiveacid_serialize_writes(self, target: HiveAcidRelation) -> None:
        """Make this run's other threads wait to write `target`: see `Staging.serialize_writes`."""
        self._staging.serialize_writes(target)

    @available
    def hiveacid_switch(self, old: HiveAcidRelation | None) -> None:
        """Replace the target by its finished stage: see `Staging.switch`."""
        self._staging.switch(old)

    @available
    def hiveacid_check_acid(self, target: HiveAcidRelation, model: ModelNode) -> None:
        """Refuse what cannot be, before anything runs: see `AcidTargets.check`."""
        self._acid_targets.check(target, model)

    @available
    def hiveacid_refuse_acid_type(self, target: HiveAcidRelation, column: str) -> None:
        """Refuse another type of a column: see `AcidTargets.change_columns`."""
        self._acid_targets.change_columns(target, (), [column])

    @available
    def hiveacid_build_acid(
        self,
        target: HiveAcidRelation,
        old: HiveAcidRelation | None,
        query: str,
        model: ModelNode,
    ) -> HiveAcidAdapterResponse:
        """Build a Hive ACID table of a query's rows: see `AcidTargets.build`."""
        return self._acid_targets.build(target, old, query, model)

    @available
    def hiveacid_add_to_acid(
        self,
        target: HiveAcidRelation,
        new_rows: HiveAcidRelation,
        columns: Sequence[SparkColumn] | None,
        model: ModelNode,
    ) -> HiveAcidAdapterResponse:
        """Add new rows to a Hive ACID table: see `AcidTargets.add`."""
        return self._acid_targets.add(target, new_rows, columns, model)

    @available
    def hiveacid_merge_acid_snapshot(
        self,
        target: HiveAcidRelation,
        changes: HiveAcidRelation,
        names: SnapshotColumns,
        valid_to_current: str | None,
        model: ModelNode,
    ) -> HiveAcidAdapterResponse:
        """Apply the changes of a snapshot: see `AcidTargets.merge_snapshot`."""
        return self._acid_targets.merge_snapshot(target, changes, names, valid_to_current, model)

    @available
    def hiveacid_change_acid_columns(
        self,
        target: HiveAcidRelation,
        added: Sequence[SparkColumn] | None,
        removed: Sequence[SparkColumn] | None,
    ) -> None:
        """Add columns to a Hive ACID table: see `AcidTargets.change_columns`."""
        self._acid_targets.change_columns(target, added or (), [it.name for it in removed or ()])

    @available
    def hiveacid_build_location(self, location_root: str, schema: str, identifier: str) -> str:
        """Return the directory in which this invocation builds an external table."""
        return build_location(location_root, schema, identifier, self.run.invocation_id)

    @available
    def hiveacid_recover(self, target: HiveAcidRelation) -> None:
        """Restore a target's previous version after a dead run: see `Recovery.recover`."""
        self._recovery.recover(target)

    @available
    def hiveacid_remove_leftovers(self, target: HiveAcidRelation) -> None:
        """Remove what dead runs have left next to a target: see `Recovery.remove_leftovers`."""
        self._recovery.remove_leftovers(target)

    @raising_dbt_errors
    def post_model_hook(self, config: Mapping[str, Any], context: Any) -> None:
        """Remove what a failed or cancelled model has left."""
        self._staging.end()
        super().post_model_hook(config, context)

    # metadata: columns, docs, freshness, schemas

    @raising_dbt_errors
    def get_columns_in_relation(self, relation: BaseRelation) -> list[SparkColumn]:
        """Return a relation's columns; those of an ACID source from the metastore."""
        columns = self._catalog.acid_columns(relation)
        if columns is not None:
            return list(columns)
        return [HiveAcidColumn.of(column) for column in super().get_columns_in_relation(relation)]

    @raising_dbt_errors
    def get_relation(self, database: str, schema: str, identifier: str) -> BaseRelation | None:
        """Return a relation of Spark's catalog, or an ACID source in another metastore.

        Raises:
            AcidTargetError: the running node would replace a transactional table.
            UndescribedTargetError: the running node would replace a table that Spark cannot
                describe.
        """
        found: BaseRelation | None = super().get_relation(database, schema, identifier)
        if found is not None:
            must_stay = is_undescribed(found) or (
                looks_transactional(found) and not self._project.makes_acid(self._node_name())
            )
            if must_stay and self._is_built_here(ours(found)):
                self._schemas.refuse_to_build(found)
            return found
        source = self.Relation.create(schema=schema, identifier=identifier, type=RelationType.Table)
        return source if self._catalog.is_acid_elsewhere(source) else None

    @available
    def hiveacid_new_comments(
        self, relation: HiveAcidRelation, columns: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, str]:
        """Return the comments to set for a model's documented columns, as literals in SQL."""
        comments = new_comments(self.connections.session(), relation, columns)
        return {name: text_literal(comment) for name, comment in comments.items()}

    def _get_catalog_schemas(self, relation_configs: Iterable[RelationConfig]) -> SchemaSearchMap:
        """Return the schemas of the docs' catalog, each once.

        dbt makes a group of schemas for each quoting of a source, and dbt-spark takes one group.
        """
        groups = super()._get_catalog_schemas(relation_configs)
        merged = SchemaSearchMap()
        for group, schemas in groups.items():
            same = next((it for it in merged if it.database == group.database), group)
            merged.setdefault(same, set()).update(schemas)
        return merged

    @raising_dbt_errors
    def _get_one_catalog(
        self, information_schema: Any, schemas: set[str], used_schemas: Any
    ) -> agate.Table:
        in_spark = partial(super()._get_one_catalog, information_schema, schemas, used_schemas)
        return self._catalog.of_schemas(schemas, in_spark)

    @raising_dbt_errors
    def get_catalog_for_single_relation(self, relation: BaseRelation) -> CatalogTable | None:
        """Return the docs' catalog entry of one relation, which need not be in the project.

        Raises:
            DbtRuntimeError: the relation does not exist.
        """
        return self._catalog.of_relation(ours(relation))

    @raising_dbt_errors
    def _get_columns_for_catalog(self, relation: BaseRelation) -> Iterable[dict[str, Any]]:
        return self._catalog.rows_of_spark(ours(relation), super()._get_columns_for_catalog)

    def _describe(self, relation: BaseRelation) -> tuple[list[SparkColumn], DescribedRows]:
        rows: Any = self.execute_macro("get_columns_in_relation_raw", kwargs={"relation": relation})
        return self.parse_describe_extended(relation, rows), rows

    @raising_dbt_errors
    def calculate_freshness(
        self,
        source: BaseRelation,
        loaded_at_field: str,
        filter: str | None,
        macro_resolver: MacroResolverProtocol | None = None,
    ) -> Any:
        """Return a source's freshness by its `loaded_at_field`, queried in the run's snapshot."""
        read = ours(source).as_read()
        return super().calculate_freshness(read, loaded_at_field, filter, macro_resolver)

    @raising_dbt_errors
    def calculate_freshness_from_custom_sql(
        self,
        source: BaseRelation,
        sql: str,
        macro_resolver: MacroResolverProtocol | None = None,
    ) -> Any:
        """Return a source's freshness by its `loaded_at_query`.

        dbt renders `this` as a plain name, so a table that the query names without options is read
        with the source's options.
        """
        read = ours(source)
        with self._handle().reading(read.table_name(), read.options):
            return super().calculate_freshness_from_custom_sql(source, sql, macro_resolver)

    @raising_dbt_errors
    def calculate_freshness_from_metadata_batch(
        self, sources: list[BaseRelation], macro_resolver: MacroResolverProtocol | None = None
    ) -> tuple[list[AdapterResponse | None], dict[BaseRelation, FreshnessResponse]]:
        """Return the freshness of the sources whose last write is known without a query."""
        with self.connection_named("freshness_from_metadata"):
            return [], self._freshness.of_sources(map(ours, sources))

    @raising_dbt_errors
    def calculate_freshness_from_metadata(
        self, source: BaseRelation, macro_resolver: MacroResolverProtocol | None = None
    ) -> tuple[AdapterResponse | None, FreshnessResponse]:
        """Return when a source was last written to.

        Raises:
            FreshnessError: the time cannot be found; the message has the reason.
        """
        return None, self._freshness.of_source(ours(source))

    def _create_freshness_response(
        self, last_modified: datetime | None, snapshotted_at: datetime | None
    ) -> FreshnessResponse:
        # A query returns times in the session's zone. dbt takes a time without a zone as UTC.
        times = map(self._freshness.in_utc, (last_modified, snapshotted_at))
        return super()._create_freshness_response(*times)

    @raising_dbt_errors
    def list_relations_without_caching(self, schema_relation: BaseRelation) -> list[BaseRelation]:
        """Return the tables, the views and the project's functions in a schema."""
        return self._schemas.relations(schema_relation, super().list_relations_without_caching)

    def _build_spark_relation_list(self, *args: Any, **kwargs: Any) -> list[BaseRelation]:
        return [with_format(it) for it in super()._build_spark_relation_list(*args, **kwargs)]

    @raising_dbt_errors
    def drop_schema(self, relation: BaseRelation) -> None:
        """Drop a schema and everything in it.

        Raises:
            AcidTargetError: the schema has a transactional table; nothing has been dropped.
        """
        if "." in str(relation.schema):
            # Iceberg drops an empty schema only, whatever CASCADE says.
            for table in self.list_relations_without_caching(relation):
                self.drop_relation(table)
        else:
            self._schemas.refuse_acid(str(relation.schema))
        super().drop_schema(relation)

    @raising_dbt_errors
    def drop_relation(self, relation: BaseRelation) -> None:
        """Drop a table with its rows, or a view; refuse a transactional table."""
        self._schemas.drop(relation, super().drop_relation)

    @raising_dbt_errors
    def rename_relation(self, from_relation: BaseRelation, to_relation: BaseRelation) -> None:
        """Rename a table with its rows, or a view; refuse a transactional table."""
        self._schemas.rename(from_relation, to_relation, self._rename_in_spark)

    def _rename_in_spark(self, old: BaseRelation, new: BaseRelation) -> None:
        if self._schemas.rename_guarded_view(old, new):
            self.cache_renamed(old, new)
        else:
            super().rename_relation(old, new)

    # rows of seeds and of Python models

    @available
    def hiveacid_seed_rows(
        self, target: HiveAcidRelation, table: agate.Table, column_types: Mapping[str, str]
    ) -> HiveAcidRelation:
        """Return a temporary view with the rows of a seed (`seeds.seed_rows`)."""
        name, session = str(target.identifier), self.connections.session()
        frame = seed_rows(session, name, table, column_types, self.convert_type)
        return self._handle().make_temporary_view(target, "seed", frame)

    @available
    def hiveacid_model_query(
        self, model: ModelNode, compiled_code: str, target: HiveAcidRelation
    ) -> str:
        """Return the query of a model's rows. The code of a Python model runs first.

        Raises:
            PythonModelError: the code fails, or does not return a table.
        """
        if model["language"] != "python":
            return compiled_code
        refuse_python(model)
        return self._python_models.query(model, compiled_code, target)

    # the run

    @available
    def hiveacid_snapshot_report(self) -> dict[str, Any]:
        """Return what the run holds and has read so far, in the form of `hiveacid_snapshot.json`.

        Times are in seconds, lengths in bytes. Opens no transaction.
        """
        return self.run.report()

    def _handle(self) -> NodeContext:
        return self.connections.get_thread_connection().handle

    def _open_node(self) -> NodeContext | None:
        """Return the node of this thread, if its connection is open."""
        handle = getattr(self.connections.get_if_exists(), "_handle", None)
        return handle if isinstance(handle, NodeContext) else None

    def _is_built_here(self, relation: HiveAcidRelation) -> bool:
        """Return whether the node that runs on this thread builds a relation."""
        if getattr(get_flags(), "WHICH", None) not in _BUILDING_COMMANDS:
            return False
        return self._project.is_made_by(relation.table_name(), self._node_name())

    def _node_name(self) -> str:
        """Return the unique id of the node on this thread: dbt names its connection by it."""
        return getattr(self.connections.get_if_exists(), "name", None) or ""

    def _manifest(self) -> Manifest | None:
        return manifest_of(self.get_macro_resolver())
