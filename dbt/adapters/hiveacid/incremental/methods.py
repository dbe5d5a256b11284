"""What the macros of incremental models ask of the adapter."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial, reduce
from operator import and_
from typing import TYPE_CHECKING, Any

from dbt.adapters.events.logging import AdapterLogger
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dbt.adapters.hiveacid.errors import IncrementalError, available
from dbt.adapters.hiveacid.incremental.apply import ApplyMethods
from dbt.adapters.hiveacid.incremental.config import STRATEGY, IncrementalConfig, Mode
from dbt.adapters.hiveacid.incremental.merge_sql import CHANGE, DELETE, INSERT, quote
from dbt.adapters.hiveacid.incremental.model_run import ModelChanges, Rows, Step
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.spark.statements import check_syntax, parse
from hiveacid.changes.plan import ROW_ID_NAMES
from hiveacid.formatting import quoted

if TYPE_CHECKING:
    from dbt.adapters.hiveacid.invocation import Invocation


logger = AdapterLogger("HiveAcid")


class IncrementalMethods(ApplyMethods):
    """The adapter's methods for models over `acid_changes`, in the order of a run."""

    run: Invocation
    config: Any
    get_columns_in_relation: Any

    @available
    def hiveacid_changes(
        self,
        source: HiveAcidRelation,
        target: HiveAcidRelation,
        model: Mapping[str, Any],
        is_incremental: bool,
    ) -> HiveAcidRelation:
        """The relation that `acid_changes(source)` renders to in a model.

        Raises:
            IncrementalError: the source is no ACID table, or the model is not incremental.
            DbtRuntimeError: the model's configuration, with everything that is wrong.
        """
        name = str(model["name"])
        if getattr(source, "acid_view", None) is None:
            raise IncrementalError(
                f"Model {name} uses acid_changes({source}), which is not an ACID table, so that "
                "nobody keeps its changes. acid_changes takes a source that is: "
                "{{ acid_changes(source(…)) }}."
            )
        config = model["config"]
        if config.get("materialized") != "incremental":
            raise IncrementalError(
                f"{name} uses acid_changes, which shows what changed since the last run of an "
                "incremental model. Use it in the SQL of a model that is `materialized: "
                "incremental`, not of one that is ephemeral or anything else, and read the source "
                "itself everywhere else."
            )
        if not config.get("incremental_strategy"):
            raise IncrementalError(
                f"Model {name} uses acid_changes and has no `incremental_strategy`. Set "
                f"{STRATEGY}, which applies inserts and deletes. Any other one, such as dbt's "
                "default append, gets the deleted rows of a full ACID table beside the new ones, "
                "told apart by the source's column _change_type."
            )
        assert source.acid_view is not None
        view, changes = self.run.views.changes_of(source.acid_view, str(target))
        running = self._running()
        if running is None or running.view != changes:
            options = IncrementalConfig.of(name, config)
            self.run.models[changes.name] = ModelChanges(
                name,
                view,
                changes,
                target,
                options,
                partial(self._known, options, target),
                self.run.views,
                is_incremental,
                is_partial=source.limit is not None or self._is_sample(source),
            )
        return source.read_through(changes.name)

    @available
    def hiveacid_is_full_load(self) -> bool:
        """Whether an incremental run has turned into building its table anew."""
        running = self._running()
        return running is not None and running.is_full_load

    @available
    def hiveacid_begin_incremental(self, model: Mapping[str, Any], compiled_code: str) -> bool:
        """Whether the SQL of an incremental model reads `acid_changes`; from here on it is known.

        Raises:
            IncrementalError: it does not, or it reads other sources that change.
            DbtDatabaseError: Spark cannot parse it.
        """
        handle = self._handle()
        handle.incremental = None
        reads = parse(handle.session, compiled_code).reads
        behind = handle.sources_behind(reads)
        views = self.run.views.among(reads | {(name,) for name in behind})
        ours = [self.run.models[view.name] for view in views if view.name in self.run.models]
        name = model["name"]
        if any(changes.view.name in behind for changes in ours):
            raise IncrementalError(
                f"Model {name} reads acid_changes through a temporary view, as a hook or the "
                "`sql_header` makes it. A run needs what was inserted and what was deleted apart: "
                "use acid_changes in the SQL of the model itself."
            )
        if not ours:
            if model["config"].get("incremental_strategy") == STRATEGY:
                with self.connections.exception_handler(compiled_code):
                    check_syntax(handle.session, compiled_code)
                raise IncrementalError(
                    f"Model {name} has `incremental_strategy: {STRATEGY}`, but its SQL does not "
                    "read {{ acid_changes(source(…)) }}. Read the source so, or use another "
                    "strategy."
                )
            return False
        (changes, *more) = ours
        others = [v for v in views if v.name not in self.run.models and not v.options.static]
        if more or (others and changes.config.on_multi_source == "error"):
            tables = [str(view.table) for view in (*(m.source for m in more), *others)]
            raise IncrementalError(
                f"Model {name} reads the changes of {changes.source.table}, and "
                f"{' and '.join(tables)} besides: changes of the second source would be missed. "
                "Declare it `static: true` if it does not change, set `on_multi_source: "
                "full_refresh` to build the table anew whenever it does, or read it in a model of "
                "its own. Only one source of a model can stand in acid_changes."
            )
        changes.others = others
        changes.shows, changes.is_applied = Rows.SNAPSHOT, False
        handle.incremental = changes
        return True

    @available
    def hiveacid_decide(self, existing: HiveAcidRelation, compiled_code: str) -> str:
        """What the run has to do: the value of a `Step`."""
        handle = self._handle()
        changes = self._changes()
        columns = self.get_columns_in_relation(existing)
        changes.stored_columns = [column.name.lower() for column in columns]
        if changes.is_partial:
            self._rows(compiled_code, Rows.SNAPSHOT)
            return Step.CHECK.value
        row_id = _row_id_of(changes.stored_columns)
        decision = self._as_statement(compiled_code, lambda: changes.decide(handle.session, row_id))
        if decision.is_loss:
            logger.warning(
                f"Model {changes.model} is built anew from the whole of {changes.source.table}: "
                f"{decision.reason}."
            )
        elif decision.step is Step.FULL:
            logger.info(f"Model {changes.model} is built anew: {decision.reason}")
        elif decision.reason:
            logger.info(
                f"Model {changes.model} is compared with {changes.source.table} by row ids: "
                f"{decision.reason}"
            )
        return decision.step.value

    @available
    def hiveacid_load_in_full(self) -> None:
        """From here on `is_incremental()` is false and the model's source shows all its rows."""
        changes = self._changes()
        changes.shows, changes.is_full_load = Rows.SNAPSHOT, True

    @available
    def hiveacid_end_incremental(self) -> None:
        """From here on, in post-hooks, nobody can read the model's changes."""
        running = self._running()
        if running is not None:
            running.is_applied = True

    @available
    def hiveacid_refuse_ephemerals(self, model: Mapping[str, Any]) -> None:
        """Refuse to build a model anew in the midst of an incremental run.

        dbt's compiler puts the SQL of ephemeral parents into that of the model, once, for the
        incremental run.

        Raises:
            IncrementalError: naming the model.
        """
        raise IncrementalError(
            f"Model {model['name']} must be built anew, but its SQL depends on is_incremental() "
            "and it has ephemeral parents, which dbt has compiled for an incremental run. Run it "
            "with --full-refresh, and name each ephemeral model in both branches."
        )

    @available
    def hiveacid_know_state(self, existing: HiveAcidRelation | None) -> None:
        """Look at the state of a target that is about to be replaced."""
        changes = self._running()
        if changes is not None and changes.known is None and existing is not None:
            changes.known = changes.known_of()

    @available
    def hiveacid_no_rows(self, compiled_code: str, target: HiveAcidRelation) -> HiveAcidRelation:
        """A temporary view with the model's columns, for a run that has nothing to do."""
        shows = Rows.SNAPSHOT if self._changes().is_partial else Rows.INSERTS
        frame = self._rows(compiled_code, shows)
        self._check_key(target, frame)
        return self._temporary_view(target, "tmp", frame.limit(0))

    @available
    def hiveacid_changed_rows(
        self, compiled_code: str, target: HiveAcidRelation
    ) -> dict[str, HiveAcidRelation]:
        """Temporary views: `rows`, new rows with the model's columns; `changes`, for the stage.

        Raises:
            IncrementalError: rows of the target could not be found again by their key.
        """
        changes = self._changes()
        frame = self._rows(compiled_code, Rows.ALL if changes.mode is Mode.OWN else Rows.INSERTS)
        self._check_key(target, frame)
        self._check_new_key(changes)
        rows = self._temporary_view(target, "tmp", frame)
        staged = self._as_statement(
            compiled_code,
            lambda: staged_changes(
                changes,
                frame,
                lambda: self._rows(compiled_code, Rows.DELETED),
                lambda: self._rows(compiled_code, Rows.BROUGHT),
                self._handle().session,
            ),
        )
        return {"rows": rows, "changes": self._temporary_view(target, "changes", staged)}

    def _check_key(self, target: HiveAcidRelation, frame: DataFrame) -> None:
        """Refuse a key that a part of the target's rows would not have.

        dbt adds a model's new columns to the target, where they are NULL in all rows.
        """
        changes = self._changes()
        config, stored = changes.config, changes.stored_columns
        if config.mode(has_row_id=True) is Mode.OWN:
            return
        selected = [name.lower() for name in frame.columns]
        if CHANGE in selected:
            raise IncrementalError(
                f"Model {changes.model} has a column {CHANGE}, as its staged changes have "
                "beside its own. Give it another name."
            )
        wanted, kept = _row_id_of(selected), _row_id_of(stored)
        new = [wanted] if wanted is not None and wanted not in stored else []
        if config.unique_key:
            names = (name.strip("`").lower() for name in config.unique_key)
            new, kept = [name for name in names if name in selected and name not in stored], None
        if config.adds_columns and new:
            raise IncrementalError(
                f"Model {changes.model} has the new column {', '.join(new)}, by which rows "
                f"are found again, and which the rows that {target} has would not get. Nothing has "
                "been changed. Run it with --full-refresh."
            )
        if kept is not None and kept not in selected:
            raise IncrementalError(
                f"{target} has the column {kept}, by which rows are found again, and model "
                f"{changes.model} no longer selects it. Nothing has been changed. Select "
                "it, or run the model with --full-refresh."
            )

    def _is_sample(self, source: HiveAcidRelation) -> bool:
        """Whether dbt shows samples: not of this source only, but of any that the model reads."""
        return source.event_time_filter is not None or self.hiveacid_shows_samples()

    @available
    def hiveacid_shows_samples(self) -> bool:
        """Whether the run is one with --sample, which `flags` does not tell."""
        return getattr(getattr(self.config, "args", None), "sample", None) is not None

    def _rows(self, sql: str, shows: Rows) -> DataFrame:
        handle, changes = self._handle(), self._changes()
        changes.shows = shows

        def rows() -> DataFrame:
            self.run.prepare(handle, sql)
            return handle.session.sql(sql.strip().removesuffix(";"))

        return self._as_statement(sql, rows)

    def _temporary_view(
        self, target: HiveAcidRelation, role: str, frame: DataFrame
    ) -> HiveAcidRelation:
        handle = self._handle()
        name = f"{target.identifier}__dbt_{role}"
        frame.createOrReplaceTempView(quoted(name))
        handle.temporary_views[name.lower()] = handle.reads
        relation = target.incorporate(path={"identifier": name}, type="view")
        return relation.include(database=False, schema=False)


def _row_id_of(columns: Collection[str]) -> str | None:
    """The column of row ids among a table's, whose names are in lower case."""
    return next((name for name in ROW_ID_NAMES if name in columns), None)


def staged_changes(
    model: ModelChanges,
    inserts: DataFrame,
    deleted: Callable[[], DataFrame],
    brought: Callable[[], DataFrame],
    session: SparkSession,
) -> DataFrame:
    """What `apply` takes: inserts and deletes together.

    `inserts` are the model's rows over what was inserted, `deleted` gives those over the rows that
    were deleted, `brought` those over the rows of earlier batches (`backlog`). A strategy of
    dbt-spark's takes the model's rows as they are.
    """
    if model.mode is Mode.OWN:
        return inserts
    changes = inserts.withColumn(CHANGE, F.lit(INSERT))
    if model.mode is Mode.UNIQUE_KEY:
        keys = deleted().select(*model.config.unique_key).distinct()
        if model.may_delete_what_was_brought:
            again = _with_key_in(brought(), keys).withColumn(CHANGE, F.lit(INSERT))
            changes = changes.unionByName(again)
    elif model.mode is Mode.ROW_ID:
        keys = model.row_ids_to_delete(session)
    else:
        return changes
    return changes.unionByName(keys.withColumn(CHANGE, F.lit(DELETE)), allowMissingColumns=True)


def _with_key_in(rows: DataFrame, keys: DataFrame) -> DataFrame:
    """The rows with one of the keys; NULL is a key like any other."""
    names = map(quote, keys.columns)
    same = [F.col(f"r.{name}").eqNullSafe(F.col(f"k.{name}")) for name in names]
    return rows.alias("r").join(keys.alias("k"), reduce(and_, same), "left_semi")
