"""Options of a source: `config: {hiveacid: {…}}` or `meta: {hiveacid: {…}}` in its YAML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dbt.adapters.hiveacid.errors import AdapterError
from dbt.adapters.hiveacid.options import (
    declared_options,
    list_problems,
    one_of,
    option,
    parse_bool,
    parse_text,
    read_options,
)
from hiveacid.reader.partition_choice import PartitionChoice
from hiveacid.snapshots.tables import FileSettings
from hiveacid.sql.clauses import ReadClauses

OPTIONS_KEY = "hiveacid"


def _parse_partitions(value: Any) -> PartitionChoice:
    try:
        return PartitionChoice.parse(value)
    except ValueError as error:
        raise ValueError(
            f"must map partition keys to a value or to a list of values each, but {error}"
        ) from error


@dataclass(frozen=True)
class SourceOptions:
    """How one source is read."""

    partitions: PartitionChoice = option(
        "The partitions to read: a value or a list of values for each partition key to filter by, "
        "as in `partitions: {day: [2026-01-31, 2026-02-01], region: eu}`. Write values as `SHOW "
        "PARTITIONS` shows them, without its escapes; `null` stands for NULL. Quote strings that "
        "YAML reads as a number or a boolean: `month: '01'`. Other partitions are neither listed "
        "nor read.",
        _parse_partitions,
        default=PartitionChoice(),
        shown_default="all",
    )
    static: bool = option(
        "`true`: the source hardly changes. A model that joins it to another source's "
        "`acid_changes` reads all of it, and when it changes, rows already in the target are not "
        "computed again.",
        parse_bool,
        default=False,
    )
    orc_columns: str | None = option(
        "How Hive matches this table's columns to those of ORC files, `position` or `name`: "
        "overrides the profile's key of the same name. All sources of one table must have the same "
        "value.",
        one_of("position", "name"),
        default=None,
        shown_default="as in the profile",
    )
    old_dates: str | None = option(
        "The calendar of dates before 1582-10-15 in this table's files: overrides the profile's "
        "key of the same name.",
        one_of("file", "gregorian"),
        default=None,
        shown_default="as in the profile",
    )
    parquet_time_zone: str | None = option(
        "The time zone of the JVM that wrote this table's Parquet files: overrides the profile's "
        "key of the same name.",
        parse_text,
        default=None,
        shown_default="as in the profile",
    )
    avro_time_zone: str | None = option(
        "The time zone of timestamps in this table's Avro files that name none: overrides the "
        "profile's key of the same name.",
        parse_text,
        default=None,
        shown_default="as in the profile",
    )

    @classmethod
    def of(cls, source: Any) -> SourceOptions:
        """Read the options of a dbt source definition; `config` wins over `meta`.

        Raises:
            AdapterError: options are unknown or invalid; the message lists them all.
        """
        given = {**_block(source, source.meta, "meta"), **_block(source, source.config, "config")}
        read = read_options(cls, given)
        if read.problems:
            allowed = ", ".join(option.name for option in declared_options(cls))
            raise AdapterError(
                f"Source {source.source_name}.{source.name} has wrong {OPTIONS_KEY} options:"
                f"{list_problems(read.problems)}\nAllowed keys: {allowed}",
                code="HIVEACID_INVALID_SOURCE_OPTIONS",
            )
        return cls(**read.values)

    @classmethod
    def of_clauses(cls, clauses: ReadClauses) -> SourceOptions:
        """Return the options of a source that a statement reads with these clauses."""
        return cls(clauses.partitions, clauses.static)

    def of_a_read(self) -> SourceOptions:
        """Return the options of one read, without those that apply to every read of the table."""
        return replace(
            self, orc_columns=None, old_dates=None, parquet_time_zone=None, avro_time_zone=None
        )

    def file_settings(self) -> FileSettings:
        """Return how to read the table's files."""
        return FileSettings.of(self)

    def as_clauses(self) -> ReadClauses:
        """Return the clauses for reading the source in a statement."""
        return ReadClauses(self.partitions, self.static)

    def __str__(self) -> str:
        """Return the partitions that the source selects; empty for all of the table."""
        return str(self.partitions)


def _block(source: Any, holder: Any, where: str) -> Mapping[str, Any]:
    block = holder.get(OPTIONS_KEY) if holder else None
    if block is None:
        return {}
    if not isinstance(block, Mapping):
        raise AdapterError(
            f"Source {source.source_name}.{source.name}: `{OPTIONS_KEY}` under `{where}` must be a "
            f"mapping of options, not {block!r}.",
            code="HIVEACID_INVALID_SOURCE_OPTIONS",
        )
    return block
