"""Configuration of a target that is a Hive ACID table; all problems are reported at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from dbt.adapters.hiveacid.errors import AdapterError
from dbt.adapters.hiveacid.options import list_problems, one_of, option, read_options

FILE_FORMAT = "acid"
"""The `file_format` of targets that are Hive ACID tables."""

FULL, INSERT_ONLY = "full", "insert_only"
STRATEGIES = ("append", "merge", "delete+insert", "insert_overwrite", "microbatch")
"""Incremental strategies of ACID targets."""

_BY_KEY = ("merge", "delete+insert")
_NOT_USED = ("location_root", "options")


@dataclass(frozen=True)
class AcidTargetConfig:
    """A model's `config`. The fields made by `option` are keys of this adapter."""

    acid_kind: str = option(
        "`full`: rows can be updated and deleted. `insert_only`: rows are only added, or replaced "
        "with their partition or table.",
        one_of(FULL, INSERT_ONLY),
        default=FULL,
    )
    acid_storage: str = option(
        "The files of the table. `parquet` only with `acid_kind: insert_only`.",
        one_of("orc", "parquet"),
        default="orc",
    )
    strategy: str | None = None
    unique_key: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    clustered_by: tuple[str, ...] = ()
    buckets: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    update_columns: tuple[str, ...] | None = None
    exclude_columns: tuple[str, ...] = ()
    predicates: tuple[str, ...] = ()
    persists: frozenset[str] = frozenset()

    @classmethod
    def of(cls, name: str, config: Mapping[str, Any]) -> AcidTargetConfig:
        """Read the configuration of node `name` from dbt's mapping `config`.

        Raises:
            AdapterError: the configuration is invalid; the message lists all problems.
        """
        read = read_options(cls, config, also_allowed=None)
        problems = [*read.problems, *_problems(config)]
        if problems:
            raise AdapterError(
                f"{name} cannot be built as a Hive ACID table:{list_problems(problems)}",
                code="HIVEACID_INVALID_MODEL_CONFIG",
            )
        updates = config.get("merge_update_columns")
        return cls(
            **read.values,
            strategy=_strategy(config),
            unique_key=_names(config.get("unique_key")),
            partition_by=_names(config.get("partition_by")),
            clustered_by=_names(config.get("clustered_by")),
            buckets=config.get("buckets"),
            properties={key: _text(it) for key, it in (config.get("tblproperties") or {}).items()},
            update_columns=None if updates is None else _names(updates),
            exclude_columns=_names(config.get("merge_exclude_columns")),
            predicates=_texts(config.get("predicates") or config.get("incremental_predicates")),
            persists=frozenset(
                kind for kind, on in (config.get("persist_docs") or {}).items() if on
            ),
        )

    @property
    def kind(self) -> Literal["full", "insert_only"]:
        """Kind of the table, as `Transaction.create` names it."""
        return cast('Literal["full", "insert_only"]', self.acid_kind)

    @property
    def storage(self) -> Literal["orc", "parquet"]:
        """Format of the table's files."""
        return cast('Literal["orc", "parquet"]', self.acid_storage)


def is_acid_target(node: Any) -> bool:
    """Return whether a node of dbt's manifest makes a Hive ACID table.

    A project may configure `file_format` for its views, too.
    """
    config = getattr(node, "config", None)
    get = getattr(config, "get", None)
    stores_rows = getattr(config, "materialized", None) not in ("view", "ephemeral")
    return get is not None and get("file_format") == FILE_FORMAT and stores_rows


def _strategy(config: Mapping[str, Any]) -> str | None:
    if config.get("materialized") != "incremental":
        return None
    return config.get("incremental_strategy") or "append"


def _problems(config: Mapping[str, Any]) -> list[str]:
    strategy, kind = _strategy(config), config.get("acid_kind") or FULL
    problems = [f"`{key}` is not for Hive ACID tables" for key in _NOT_USED if config.get(key)]
    if strategy is not None and strategy not in STRATEGIES:
        problems.append(
            f"`incremental_strategy` must be one of {', '.join(STRATEGIES)}, not {strategy!r}"
        )
    if strategy in _BY_KEY and kind != FULL:
        problems.append(f"`incremental_strategy: {strategy}` needs `acid_kind: full`")
    if strategy == "delete+insert" and not config.get("unique_key"):
        problems.append("`incremental_strategy: delete+insert` needs `unique_key`")
    predicates = config.get("predicates") or config.get("incremental_predicates")
    if strategy not in (None, "merge") and predicates:
        problems.append(f"`incremental_strategy: {strategy}` takes no `incremental_predicates`")
    if config.get("merge_update_columns") and config.get("merge_exclude_columns"):
        problems.append("`merge_update_columns` and `merge_exclude_columns` exclude each other")
    if config.get("clustered_by") and kind == FULL:
        problems.append("`clustered_by` needs `acid_kind: insert_only`")
    if strategy == "microbatch" and not config.get("partition_by"):
        problems.append("`incremental_strategy: microbatch` needs `partition_by`")
    if config.get("acid_storage") == "parquet" and kind == FULL:
        problems.append("`acid_storage: parquet` needs `acid_kind: insert_only`")
    if config.get("materialized") == "snapshot" and kind != FULL:
        problems.append("a snapshot needs `acid_kind: full`")
    return problems


def _names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    return tuple(name.strip("`") for name in _texts(given))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _texts(given: str | Sequence[str] | None) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given or ())
