"""Plans of the changes of one model's sources, and the changed rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dbt.adapters.hiveacid.errors import IncrementalError
from dbt.adapters.hiveacid.incremental.config import IncrementalConfig
from dbt.adapters.hiveacid.node_context import RowMaker
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.sources.acid_sources import AcidSources, ChangesOf, Source
from dbt.adapters.hiveacid.sources.read_log import FilesRead
from dbt.adapters.hiveacid.targets.state import LostState, StateLookup, TargetState
from hiveacid.acid.layout import ListedFile
from hiveacid.changes.plan import (
    ROW_ID,
    ChangePlan,
    FileAmount,
    plan_before_images,
    plan_earlier_batches,
)
from hiveacid.changes.rows import (
    deleted_row_ids,
    deleted_rows,
    inserted_rows,
    reconcile_deletes,
    reconcile_inserts,
    rows_of_earlier_batches,
)
from hiveacid.changes.state import SourceState


@dataclass(frozen=True)
class ChangesModel:
    """A model whose SQL reads the changes of a source.

    Attributes:
        name: the model's name.
        source: the source.
        changes: the changes of the source in the model's SQL.
        target: the relation that the model builds.
        config: the model's configuration.
        is_incremental: whether dbt has compiled the model for an incremental run.
        is_partial: whether the run has only a part of the rows (`--empty`, `--sample`).
    """

    name: str
    source: Source
    changes: ChangesOf
    target: HiveAcidRelation
    config: IncrementalConfig
    is_incremental: bool
    is_partial: bool


def source_key(source: Source) -> str:
    """Return the key of a source in a state; it has the options, which select parts of a table."""
    return f"{source.table} ({source.options})" if str(source.options) else str(source.table)


def source_state(known: TargetState, source: Source) -> SourceState | LostState:
    """Return the state of one source in a target's state."""
    # A state of an older release, without options in its keys, has only the table's name.
    found = known.sources.get(source_key(source)) or known.sources.get(str(source.table))
    if found is None:
        return LostState(
            f"its rows come from {', '.join(known.sources)}, not from {source_key(source)}"
        )
    try:
        return SourceState.from_json(found)
    except ValueError as error:
        return LostState(f"its state cannot be read ({error})")


def state_before(previous: StateLookup, model: ChangesModel) -> SourceState | LostState:
    """Return the state of a model's source that its target's rows come from."""
    if previous is None:
        return LostState(
            f"{model.target} does not record which state of {model.source.table} its rows come from"
        )
    return previous if isinstance(previous, LostState) else source_state(previous, model.source)


class SourcePlans:
    """Plans of one model's sources. A whole source is planned once in each snapshot."""

    def __init__(self, sources: AcidSources) -> None:
        self.sources = sources
        self._wholes: dict[tuple[Source, int], ChangePlan] = {}

    def changes(
        self,
        session: SparkSession,
        source: Source,
        since: SourceState | None,
        max_write_ids: int | None = None,
    ) -> ChangePlan:
        """Plan the changes of a source since a state; without a state, all rows are inserts."""
        return self.sources.plan_changes(session, source, since, max_write_ids)

    def whole(self, session: SparkSession, source: Source) -> ChangePlan:
        """Plan all rows of a source as inserts."""
        # Outside of a command, each statement has its own snapshot.
        key = source, self.sources.pinned(source).transaction_id
        if key not in self._wholes:
            self._wholes[key] = self.changes(session, source, None)
        return self._wholes[key]


class Rows(Enum):
    """Kinds of rows that the changes of a source consist of."""

    INSERTS = "inserted rows"
    DELETED = "deleted rows, as they were when they were inserted"
    EARLIER_BATCHES = "rows of earlier batches of a backlog that still exist"
    ALL = "inserted and deleted rows"


class ChangedRows:
    """The rows of one plan of changes.

    `reconciled_with` is the target to compare row ids with if history is lost; its row ids are in
    the column `row_id`.
    """

    def __init__(
        self,
        model: ChangesModel,
        plan: ChangePlan,
        plans: SourcePlans,
        row_id: str = ROW_ID,
        reconciled_with: HiveAcidRelation | None = None,
    ) -> None:
        self._model = model
        self._plan = plan
        self._plans = plans
        self._row_id = row_id
        self._reconciled_with = reconciled_with
        self._looked_up: dict[ListedFile, int] = {}
        """Files, other than the plan's, that rows were looked up in, and their partitions."""

    def showing(self, rows: Rows) -> RowMaker:
        """Return the maker of one kind of rows."""
        return _ChosenRows(lambda session: self._frame(session, rows), self)

    def row_ids_to_delete(self, session: SparkSession) -> DataFrame:
        """Return the row ids of the target's rows to delete, in one column."""
        frames = [deleted_row_ids(session, self._plan)]
        if self._reconciled_with is not None:
            frames.append(reconcile_deletes(session, self._plan, self._target_ids(session)))
        row_ids = F.col(ROW_ID).alias(self._row_id)
        return reduce(DataFrame.unionByName, [frame.select(row_ids) for frame in frames])

    def files_read(self) -> FilesRead:
        """Return the files that the rows made so far are read from."""
        return FilesRead.of(
            self._plans.sources.pinned(self._model.source),
            [*self._plan.files_read, *self._looked_up.items()],
            self._plan.deletes_read,
        )

    def amount_read(self) -> FileAmount:
        """Return the number and size of the files that the rows made so far are read from."""
        return FileAmount.of(self._plan.read | self._looked_up.keys())

    def _frame(self, session: SparkSession, rows: Rows) -> DataFrame:
        if rows is Rows.DELETED:
            return self._deleted(session, as_inserted=True)
        if rows is Rows.EARLIER_BATCHES:
            read = plan_earlier_batches(session, self._plan)
            self._looked_up.update(read.files)
            return rows_of_earlier_batches(session, self._plan, read)
        inserts = inserted_rows(session, self._plan)
        if self._reconciled_with is not None:
            lost = self._plan.lost_locations
            self._looked_up.update((f, it.partition) for it in lost for f in it.orc_files())
            found = reconcile_inserts(session, self._plan, self._target_ids(session))
            inserts = inserts.unionByName(found)
        if rows is Rows.INSERTS:
            return inserts
        return inserts.unionByName(self._deleted(session))

    def _deleted(self, session: SparkSession, *, as_inserted: bool = False) -> DataFrame:
        images = plan_before_images(session, self._plan)
        self._looked_up.update((data.file, data.partition) for data in images.data)
        return deleted_rows(session, self._plan, images, as_inserted=as_inserted)

    def _target_ids(self, session: SparkSession) -> DataFrame:
        return session.table(str(self._reconciled_with)).select(F.col(self._row_id).alias(ROW_ID))


@dataclass(frozen=True)
class _ChosenRows:
    """Maker of one kind of changed rows."""

    frame: Callable[[SparkSession], DataFrame]
    changed: ChangedRows

    def rows(self, session: SparkSession) -> tuple[DataFrame, FilesRead]:
        """See `RowMaker.rows`."""
        return self.frame(session), self.changed.files_read()


@dataclass(frozen=True)
class WholeSource:
    """Maker of all rows of a source as inserts."""

    model: ChangesModel
    plans: SourcePlans

    def rows(self, session: SparkSession) -> tuple[DataFrame, FilesRead]:
        """See `RowMaker.rows`."""
        whole = self.plans.whole(session, self.model.source)
        pinned = self.plans.sources.pinned(self.model.source)
        files = FilesRead.of(pinned, whole.files_read, whole.deletes_read)
        return inserted_rows(session, whole), files


@dataclass(frozen=True)
class RowsBeforeRun:
    """Maker of a model's changes for statements before its run: pre-hooks, `dbt show`."""

    model: ChangesModel
    plans: SourcePlans
    read_state: Callable[[], StateLookup]

    def rows(self, session: SparkSession) -> tuple[DataFrame, FilesRead]:
        """See `RowMaker.rows`.

        Raises:
            IncrementalError: the source is not an ACID table.
        """
        check_source(self.model, self.plans.sources)
        return self._maker(session).rows(session)

    def _maker(self, session: SparkSession) -> RowMaker:
        model, whole = self.model, WholeSource(self.model, self.plans)
        if not model.is_incremental or model.is_partial:
            return whole
        since = state_before(self.read_state(), model)
        if isinstance(since, LostState):
            return whole
        plan = self.plans.changes(session, model.source, since, model.config.max_write_ids)
        if plan.losses:
            return whole
        return ChangedRows(model, plan, self.plans).showing(Rows.ALL)


@dataclass(frozen=True)
class NoRowsAfterRun:
    """Refusal to read a model's changes after they are in the target."""

    model: ChangesModel

    def rows(self, session: SparkSession) -> tuple[DataFrame, FilesRead]:
        """Refuse to show the changes.

        Raises:
            IncrementalError: always; only post-hooks can read them at this point.
        """
        raise IncrementalError(
            f"Model {self.model.name} reads acid_changes in a post-hook, after the changes "
            f"were applied to {self.model.target}. Read them in a pre-hook, or in the SQL of "
            "the model.",
            code="HIVEACID_CHANGES_IN_POST_HOOK",
        )


def check_source(model: ChangesModel, sources: AcidSources) -> None:
    """Refuse the changes of anything but a transactional table.

    Raises:
        IncrementalError: the source is a view, or not an ACID table.
    """
    if not sources.is_acid(model.source):
        behind = sources.behind_view(model.source)
        if behind:
            raise IncrementalError(
                f"Model {model.name} uses acid_changes({model.source.table}), which is a Hive "
                f"view over {', '.join(map(str, behind))}. Only tables keep their changes. "
                "Declare the table as a source, read {{ acid_changes(source(…)) }} of the "
                "table, and write the view's query into the model; or read the whole view, in "
                "a model that is `materialized: table`.",
                code="HIVEACID_CHANGES_OF_A_VIEW",
            )
        raise IncrementalError(
            f"Model {model.name} uses acid_changes({model.source.table}), which is not an "
            "ACID table, and has no record of its changes. Give acid_changes an ACID source, "
            "as in {{ acid_changes(source(…)) }}, or read the table without acid_changes.",
            code="HIVEACID_CHANGES_OF_NON_ACID_TABLE",
        )
