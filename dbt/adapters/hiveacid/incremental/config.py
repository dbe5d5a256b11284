"""A model's configuration for `acid_changes`, declared once and checked all at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any

from dbt_common.exceptions import DbtRuntimeError

STRATEGY = "acid_changes"
FORMATS = ("delta", "iceberg", "parquet", "orc")
"""The formats of targets that can keep a state with their rows."""

_MERGEABLE = ("delta", "iceberg")


class Mode(Enum):
    """How changes get into a target."""

    UNIQUE_KEY = "unique_key"
    ROW_ID = "row_id"
    APPEND = "append"
    OWN = "own"
    """By one of dbt-spark's strategies: the model's author owns the merge."""


@dataclass(frozen=True)
class IncrementalConfig:
    """What a model says in its `config`. Each field with a `meaning` is a key of ours."""

    on_history_loss: str = field(
        default="full_refresh",
        metadata={
            "allowed": ("reconcile", "full_refresh", "error"),
            "meaning": "What to do when the source no longer has what changed since the last run: "
            "`reconcile` compares row ids (the target needs a column `_row_id`; else as "
            "`full_refresh`), `full_refresh` builds the target anew and warns, `error` stops. "
            "Default: `full_refresh`.",
        },
    )
    on_multi_source: str = field(
        default="error",
        metadata={
            "allowed": ("error", "full_refresh"),
            "meaning": "What to do when the model reads another ACID source that is not declared "
            "`static`: `error` stops, `full_refresh` builds the target anew whenever the other "
            "source has changed. Default: `error`.",
        },
    )
    max_write_ids: int | None = field(
        default=None,
        metadata={
            "meaning": "At most so many new write ids are worked off in one run, the oldest first. "
            "Default: all."
        },
    )
    strategy: str = "append"
    file_format: str = "parquet"
    unique_key: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    clustered_by: tuple[str, ...] = ()
    buckets: int | None = None
    on_schema_change: str = "ignore"
    full_refresh: bool | None = None

    @classmethod
    def of(cls, name: str, config: Mapping[str, Any]) -> IncrementalConfig:
        """The configuration of model `name`, of which dbt gives the mapping `config`.

        Raises:
            DbtRuntimeError: with everything that is wrong.
        """
        strategy = config.get("incremental_strategy") or "append"
        file_format = config.get("file_format") or "parquet"
        problems = [
            f"`{f.name}` must be one of {', '.join(f.metadata['allowed'])}, not {config[f.name]!r}"
            for f in fields(cls)
            if "allowed" in f.metadata
            and config.get(f.name) is not None
            and config[f.name] not in f.metadata["allowed"]
        ]
        limit = config.get("max_write_ids")
        if limit is not None and (type(limit) is not int or limit < 1):
            problems.append(f"`max_write_ids` must be a whole number from 1 up, not {limit!r}")
        if file_format not in FORMATS:
            problems.append(
                f"`file_format` must be one of {', '.join(FORMATS)}, which can keep the state of "
                f"the sources with the rows, not {file_format!r}"
            )
        problems += _strategy_problems(strategy, file_format, config)
        if problems:
            raise DbtRuntimeError(
                f"Model {name} cannot be built from acid_changes: {'; '.join(problems)}."
            )
        given = {
            f.name: config[f.name]
            for f in fields(cls)
            if "meaning" in f.metadata and config.get(f.name) is not None
        }
        return cls(
            **given,
            strategy=strategy,
            file_format=file_format,
            unique_key=_names(config.get("unique_key")),
            partition_by=_names(config.get("partition_by")),
            clustered_by=_names(config.get("clustered_by")),
            buckets=config.get("buckets"),
            on_schema_change=config.get("on_schema_change") or "ignore",
            full_refresh=config.get("full_refresh"),
        )

    @property
    def is_plain(self) -> bool:
        """Whether the target is of a format of Spark's own, without commits."""
        return self.file_format not in _MERGEABLE

    @property
    def adds_columns(self) -> bool:
        """Whether a target gets the columns that its model has and it has not."""
        return self.on_schema_change in ("append_new_columns", "sync_all_columns")

    @property
    def checked_key(self) -> tuple[str, ...]:
        """The columns of `unique_key`, in lower case and in order, where changes go by them."""
        if self.mode(has_row_id=False) is not Mode.UNIQUE_KEY:
            return ()
        return tuple(sorted({name.strip("`").lower() for name in self.unique_key}))

    def mode(self, *, has_row_id: bool) -> Mode:
        """How changes get into the target; `has_row_id` says that it has a column of row ids."""
        if self.strategy != STRATEGY:
            return Mode.OWN
        if self.unique_key:
            return Mode.UNIQUE_KEY
        return Mode.ROW_ID if has_row_id else Mode.APPEND


def _names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given or ())


def _strategy_problems(strategy: str, file_format: str, config: Mapping[str, Any]) -> list[str]:
    problems = []
    if strategy == "microbatch":
        problems.append(
            "`incremental_strategy: microbatch` cuts a run by time, acid_changes by write ids; use "
            "one of them"
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
