"""One run of a model over `acid_changes`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dbt.adapters.hiveacid.errors import IncrementalError
from dbt.adapters.hiveacid.incremental.config import IncrementalConfig, Mode
from dbt.adapters.hiveacid.incremental.outcome import Outcome
from dbt.adapters.hiveacid.incremental.stage import StageSummary
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.sources.read_log import FilesRead
from dbt.adapters.hiveacid.sources.views import SourceView, SourceViews
from dbt.adapters.hiveacid.targets.state import (
    CommitStore,
    LostState,
    StateLookup,
    TargetState,
    next_state,
)
from hiveacid.acid.layout import ListedFile
from hiveacid.changes.losses import Extent, Loss
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
    rows_brought_before,
)
from hiveacid.changes.state import SourceState
from hiveacid.snapshots.tables import PinnedTable


class Step(Enum):
    """What a run of a model has to do; CHECK is to look at its SQL, and to change nothing."""

    NOTHING = "nothing"
    CHECK = "check"
    FULL = "full"
    APPLY = "apply"


@dataclass(frozen=True)
class Decision:
    """What to do, and, for a table that is to be built anew, why."""

    step: Step
    reason: str = ""
    is_loss: bool = False


def known_source(known: TargetState, view: SourceView) -> SourceState | LostState:
    """What a target's state says of one of its sources."""
    # A state from before parts of a table were told apart has the table's name alone.
    found = known.sources.get(source_key(view)) or known.sources.get(str(view.table))
    if found is None:
        return LostState(
            f"its rows come from {', '.join(known.sources)}, not from {source_key(view)}"
        )
    try:
        return SourceState.from_json(found)
    except ValueError as error:
        return LostState(f"its state cannot be read ({error})")


def source_key(view: SourceView) -> str:
    """What a state calls a source: one model may read several parts of a table."""
    return f"{view.table} ({view.options})" if str(view.options) else str(view.table)


class Rows(Enum):
    """What a view of changes shows at the moment."""

    SNAPSHOT = "the whole snapshot as inserts"
    INSERTS = "what was inserted"
    DELETED = "the rows that were deleted, as they were shown when they were inserted"
    BROUGHT = "what earlier batches of a backlog have brought, as far as it is still there"
    ALL = "what was inserted, and the deleted rows"


@dataclass
class ModelChanges:
    """A model and the source whose changes it reads.

    `view` is what the model's SQL names; `source` is the same source's ordinary view. `is_partial`
    says that dbt was asked for a part of the rows (`--empty`, `--sample`). `others` are the other
    ACID sources of the model that are not static. `stored_columns` are the names of the target's
    columns in lower case, before dbt changes them. `store` has begun a commit of the changes.
    `built` is the state of a target that this run has built anew in its place, before its checks.
    `is_applied` says that the changes are in the target, so that only post-hooks are left.
    """

    model: str
    source: SourceView
    view: SourceView
    target: HiveAcidRelation
    config: IncrementalConfig
    known_of: Callable[[], StateLookup]
    views: SourceViews
    is_incremental: bool
    is_partial: bool
    others: Sequence[SourceView] = ()
    known: StateLookup = None
    stored_columns: Sequence[str] = ()
    mode: Mode = Mode.OWN
    shows: Rows | None = None
    plan: ChangePlan | None = None
    staged: StageSummary = StageSummary()
    reconciled: bool = False
    is_full_load: bool = False
    row_id: str = ROW_ID
    store: CommitStore | None = None
    built: TargetState | None = None
    is_applied: bool = False
    _wholes: dict[str, ChangePlan] = field(default_factory=dict)
    _looked_up: dict[ListedFile, int] = field(default_factory=dict)

    @property
    def is_bounded(self) -> bool:
        """Whether the plan leaves new write ids for later runs."""
        return self.plan is not None and bool(self.plan.remaining)

    @property
    def may_delete_what_was_brought(self) -> bool:
        """Whether a delete may have the key of a row that an earlier batch has brought."""
        return self.plan is not None and bool(self.plan.brought_before and self.plan.deletes)

    def take_all(self) -> None:
        """Let the next `decide` take all new write ids, however few the model asks for."""
        self.config = replace(self.config, max_write_ids=None)

    def decide(self, session: SparkSession, row_id: str | None) -> Decision:
        """What an incremental run has to do to bring the target up to date.

        `row_id` is the target's column of row ids, if it has one (`ROW_ID_NAMES`).

        Raises:
            IncrementalError: history is lost, and the model says `on_history_loss: error`; or the
                table would have to be built anew, and the model says `full_refresh: false`.
        """
        self.row_id, has_row_id = row_id or ROW_ID, row_id is not None
        self.mode = self.config.mode(has_row_id=has_row_id)
        decision = self._decide(session, has_row_id=has_row_id)
        if decision.step is Step.FULL and self.config.full_refresh is False:
            # dbt's word for a table that is never to be built anew, whatever a flag says: it may
            # have rows that its source no longer has.
            raise IncrementalError(
                f"Model {self.model} would have to be built anew: {decision.reason}. Its config "
                "`full_refresh: false` forbids it. Nothing has been changed. Take that out for one "
                "run if all rows may come from the source as it is now."
            )
        if decision.is_loss and self.config.on_history_loss == "error":
            raise IncrementalError(
                f"Model {self.model} cannot be brought up to date from the changes of "
                f"{self.source.table}: {decision.reason}. Run it with --full-refresh, or set "
                "`on_history_loss` to full_refresh or reconcile."
            )
        return decision

    def frame(self, session: SparkSession) -> DataFrame:
        """The rows that the view shows at the moment."""
        shows = self.shows or self._by_default(session)
        if shows is Rows.SNAPSHOT:
            return inserted_rows(session, self._whole(session, self.source))
        assert self.plan is not None, "decide comes first"
        if shows is Rows.DELETED:
            return self._deleted_rows(session, self.plan, as_inserted=True)
        if shows is Rows.BROUGHT:
            read = plan_earlier_batches(session, self.plan)
            self._looked_up.update(read.files)
            return rows_brought_before(session, self.plan, read)
        inserts = inserted_rows(session, self.plan)
        if self.reconciled:
            lost = [change.place for change in self.plan.changes if change.loss is not None]
            self._looked_up.update(
                (f, place.partition) for place in lost for f in place.orc_files()
            )
            inserts = inserts.unionByName(
                reconcile_inserts(session, self.plan, self._target_ids(session))
            )
        if shows is Rows.INSERTS:
            return inserts
        return inserts.unionByName(self._deleted_rows(session, self.plan))

    def create_view(self, session: SparkSession) -> FilesRead:
        """Make the temporary view in `session`, for what the view shows at the moment.

        Raises:
            IncrementalError: a post-hook reads it.
        """
        if self.is_applied:
            raise IncrementalError(
                f"Model {self.model} reads acid_changes in a post-hook, when the changes are in "
                f"{self.target} already. Read them in a pre-hook, or in the SQL of the model."
            )
        self.frame(session).createOrReplaceTempView(self.view.name)
        return self._reading(self.views.pinned(self.source))

    def row_ids_to_delete(self, session: SparkSession) -> DataFrame:
        """The row ids of the target's rows that are to go: one column, `row_id`."""
        assert self.plan is not None, "decide comes first"
        frames = [deleted_row_ids(session, self.plan)]
        if self.reconciled:
            frames.append(reconcile_deletes(session, self.plan, self._target_ids(session)))
        row_ids = F.col(ROW_ID).alias(self.row_id)
        return reduce(DataFrame.unionByName, [frame.select(row_ids) for frame in frames])

    def next_state(self, session: SparkSession, invocation_id: str) -> TargetState:
        """The state of the target once what the view shows has been applied to it."""
        if self.plan is not None and self.shows is not Rows.SNAPSHOT:
            state = self.plan.state
        else:
            state = self._whole(session, self.source).state
        sources = {source_key(self.source): state.to_json()}
        for other in self.others:
            sources[source_key(other)] = self._whole(session, other).state.to_json()
        return next_state(self.known, invocation_id, sources, self.config.checked_key)

    def applied(self) -> Outcome:
        """What has been applied, once it is."""
        assert self.plan is not None, "decide comes first"
        return Outcome(
            self.model,
            str(self.source.table),
            str(self.plan.new_write_ids),
            self.mode is Mode.UNIQUE_KEY,
            self.staged.inserts,
            self.staged.deletes,
            FileAmount.of(self.plan.read | self._looked_up.keys()),
            self.plan.whole,
        )

    def _reading(self, pinned: PinnedTable) -> FilesRead:
        whole = self._wholes.get(self.source.name)
        if whole is not None and self.shows in (None, Rows.SNAPSHOT):
            return FilesRead.of(pinned, whole.files_read, whole.deletes_read)
        assert self.plan is not None, "decide comes first"
        files = [*self.plan.files_read, *self._looked_up.items()]
        return FilesRead.of(pinned, files, self.plan.deletes_read)

    def _deleted_rows(
        self, session: SparkSession, plan: ChangePlan, *, as_inserted: bool = False
    ) -> DataFrame:
        images = plan_before_images(session, plan)
        self._looked_up.update((data.file, data.partition) for data in images.data)
        return deleted_rows(session, plan, images, as_inserted=as_inserted)

    def _decide(self, session: SparkSession, *, has_row_id: bool) -> Decision:
        since = self._since()
        if isinstance(since, LostState):
            return Decision(Step.FULL, since.reason, is_loss=True)
        changed = self._changed_others(session)
        if changed:
            return Decision(Step.FULL, f"{', '.join(changed)} has changed, too")
        self.plan = self._plan(session, self.source, since, self.config.max_write_ids)
        losses = [
            loss for loss in self.plan.losses if has_row_id or loss.extent is not Extent.ROW_IDS
        ]
        if self.plan.is_empty and not self.plan.remaining:
            return Decision(Step.NOTHING)
        if losses:
            reason = f"{'; '.join(map(str, losses))} (new write ids: {self.plan.new_write_ids})"
            if not self._can_reconcile(losses):
                return Decision(Step.FULL, reason, is_loss=True)
            self.reconciled = True
            return Decision(Step.APPLY, reason)
        if self.mode is Mode.APPEND and not deleted_row_ids(session, self.plan).isEmpty():
            return Decision(
                Step.FULL,
                f"rows of {self.source.table} were deleted or updated, which takes `unique_key` or "
                "a column `_row_id` to apply",
                is_loss=True,
            )
        return Decision(Step.APPLY)

    def _since(self) -> SourceState | LostState:
        self.known = self.known_of()
        if self.known is None:
            return LostState(
                f"{self.target} does not say which state of {self.source.table} its rows come from"
            )
        if isinstance(self.known, LostState):
            return self.known
        return known_source(self.known, self.source)

    def _changed_others(self, session: SparkSession) -> list[str]:
        changed = []
        for other in self.others:
            assert isinstance(self.known, TargetState)
            since = known_source(self.known, other)
            if isinstance(since, LostState):
                changed.append(str(other.table))
                continue
            plan = self._plan(session, other, since, None)
            if not plan.is_empty:
                changed.append(str(other.table))
        return changed

    def _by_default(self, session: SparkSession) -> Rows:
        if not self.is_incremental or self.is_partial:
            return Rows.SNAPSHOT
        since = self._since()
        if isinstance(since, LostState):
            return Rows.SNAPSHOT
        self.plan = self._plan(session, self.source, since, self.config.max_write_ids)
        return Rows.SNAPSHOT if self.plan.losses else Rows.ALL

    def _can_reconcile(self, losses: Iterable[Loss]) -> bool:
        return (
            self.config.on_history_loss == "reconcile"
            and self.mode is Mode.ROW_ID
            and all(loss.reconcilable for loss in losses)
        )

    def _plan(
        self, session: SparkSession, view: SourceView, since: SourceState | None, limit: int | None
    ) -> ChangePlan:
        return self.views.plan_changes(session, view, since, limit)

    def _whole(self, session: SparkSession, view: SourceView) -> ChangePlan:
        if view.name not in self._wholes:
            self._wholes[view.name] = self._plan(session, view, None, None)
        return self._wholes[view.name]

    def _target_ids(self, session: SparkSession) -> DataFrame:
        return session.table(str(self.target)).select(F.col(self.row_id).alias(ROW_ID))
