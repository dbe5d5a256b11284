"""Configuration of a model over `acid_changes`; all problems in it are reported at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from dbt.adapters.hiveacid.errors import AdapterError
from dbt.adapters.hiveacid.options import (
    list_problems,
    one_of,
    option,
    parse_count,
    read_options,
)

STRATEGY = "acid_changes"
FORMATS = ("delta", "iceberg", "parquet", "orc")
"""Formats of targets that can keep a state with their rows."""

_MERGEABLE = ("delta", "iceberg")


class Mode(Enum):
    """How changes are applied to a target."""

    UNIQUE_KEY = "unique_key"
    ROW_ID = "row_id"
    APPEND = "append"
    OWN = "own"
    """Any strategy other than `acid_changes`: the model's author owns the merge."""


@dataclass(frozen=True)
class IncrementalConfig:
    """A model's `config`. The fields made by `option` are keys of this adapter."""

    on_history_loss: str = option(
        "What to do when the source no longer has the changes since the last run: `reconcile` "
        "compares row ids (without a column `_row_id` in the target, the same as `full_refresh`), "
        "`full_refresh` builds the target again and warns, `error` stops.",
        one_of("reconcile", "full_refresh", "error"),
        default="full_refresh",
    )
    on_multi_source: str = option(
        "What to do when the model reads another ACID source that is not declared `static`: "
        "`error` stops, `full_refresh` builds the target again whenever the other source has "
        "changed.",
        one_of("error", "full_refresh"),
        default="error",
    )
    max_write_ids: int | None = option(
        "Maximum number of new write ids that one run applies, the oldest first.",
        parse_count,
        default=None,
        shown_default="all",
    )
    acid_changes_row_wise: str = option(
        "What to do when the model's SQL does not make each row from one changed row, as with "
        "windows, `group by`, `distinct`, `limit` or a join of the table with itself: `check` "
        "refuses the model, `assume` relies on the author.",
        one_of("check", "assume"),
        default="check",
    )
    strategy: str = "append"
    file_format: str = "parquet"
    unique_key: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    clustered_by: tuple[str, ...] = ()
    buckets: int | None = None
    on_schema_change: str = "ignore"
    full_refresh: bool | None = None
    location_root: str | None = None

    @classmethod
    def of(cls, name: str, config: Mapping[str, Any]) -> IncrementalConfig:
        """Read the configuration of model `name` from dbt's mapping `config`.

        Raises:
            AdapterError: the configuration is invalid; the message lists all problems.
        """
        strategy = config.get("incremental_strategy") or "append"
        file_format = config.get("file_format") or "parquet"
        read = read_options(cls, config, also_allowed=None)
        problems = [*read.problems, *_format_problems(strategy, file_format, config)]
        if problems:
            raise AdapterError(
                f"Model {name} cannot be built from acid_changes:{list_problems(problems)}",
                code="HIVEACID_INVALID_MODEL_CONFIG",
            )
        return cls(
            **read.values,
            strategy=strategy,
            file_format=file_format,
            location_root=config.get("location_root"),
            unique_key=_names(config.get("unique_key")),
            partition_by=_names(config.get("partition_by")),
            clustered_by=_names(config.get("clustered_by")),
            buckets=config.get("buckets"),
            on_schema_change=config.get("on_schema_change") or "ignore",
            full_refresh=config.get("full_refresh"),
        )

    @property
    def is_plain(self) -> bool:
        """Whether the target has one of Spark's own formats, without commits."""
        return self.file_format not in _MERGEABLE

    @property
    def adds_columns(self) -> bool:
        """Whether new columns of the model are added to the target."""
        return self.on_schema_change in ("append_new_columns", "sync_all_columns")

    @property
    def checked_key(self) -> tuple[str, ...]:
        """The columns of `unique_key`, in lower case and sorted; empty if not applied by key."""
        if self.mode(has_row_id=False) is not Mode.UNIQUE_KEY:
            return ()
        return tuple(sorted({name.strip("`").lower() for name in self.unique_key}))

    def mode(self, *, has_row_id: bool) -> Mode:
        """Return how changes are applied to the target.

        Args:
            has_row_id: whether the target has a column of row ids.
        """
        if self.strategy != STRATEGY:
            return Mode.OWN
        if self.unique_key:
            return Mode.UNIQUE_KEY
        return Mode.ROW_ID if has_row_id else Mode.APPEND


def _names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given or ())


def _format_problems(strategy: str, file_format: str, config: Mapping[str, Any]) -> list[str]:
    """Return the problems of a model's strategy, of its file format, and of their combination."""
    problems = []
    if file_format not in FORMATS:
        problems.append(
            f"`file_format` must be one of {', '.join(FORMATS)}, which can keep the state of the "
            f"sources with the rows, not {file_format!r}"
        )
    if strategy == "microbatch":
        problems.append(
            "`incremental_strategy: microbatch` divides a run by time, acid_changes by write "
            "ids; use one of them"
        )
    if file_format in _MERGEABLE:
        return problems
    if strategy not in ("append", "microbatch", STRATEGY):
        problems.append(
            f"`incremental_strategy: {strategy}` cannot keep the state in a {file_format} "
            "table; use acid_changes, append, or the file format delta or iceberg"
        )
    if strategy == STRATEGY:
        problems += [
            f"`{key}` needs the file format delta or iceberg, not {file_format}"
            for key in _MERGE_KEYS
            if config.get(key)
        ]
    return problems


_MERGE_KEYS = (
    "merge_update_columns",
    "merge_exclude_columns",
    "incremental_predicates",
    "predicates",
)
