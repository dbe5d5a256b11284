"""Options of a source: `config: {hiveacid: {…}}` or `meta: {hiveacid: {…}}` in its YAML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from dbt_common.exceptions import DbtRuntimeError

from hiveacid.reader.partition_choice import PartitionChoice

OPTIONS_KEY = "hiveacid"


@dataclass(frozen=True)
class SourceOptions:
    """Options of one source. Each field is an option; `meaning` is for the reference."""

    partitions: PartitionChoice = field(
        default=PartitionChoice(),
        metadata={
            "meaning": "The partitions to read: a value, or a list of values, for each of some "
            "partition keys, as in `partitions: {day: [2026-01-31, 2026-02-01], region: eu}`. "
            "Values are written as `SHOW PARTITIONS` shows them, without its escapes; `null` "
            "stands for NULL. Texts that YAML would take for a number or a boolean stand in "
            "quotes: `month: '01'`. Other partitions are not even listed, and the source shows "
            "none of their rows. Default: all."
        },
    )

    static: bool = field(
        default=False,
        metadata={
            "meaning": "`true` says that the source hardly changes and is read whole wherever a "
            "model joins it to another source's `acid_changes`. Rows that are there already are "
            "not computed again when it does change. Default: `false`."
        },
    )

    @classmethod
    def of(cls, source: Any) -> SourceOptions:
        """Read the options of a dbt source definition; `config` wins over `meta`.

        Raises:
            DbtRuntimeError: naming the source and every unknown or wrong option.
        """
        given = {**_block(source, source.meta, "meta"), **_block(source, source.config, "config")}
        name = f"Source {source.source_name}.{source.name}"
        allowed = [f.name for f in fields(cls)]
        unknown = sorted(set(given) - set(allowed))
        problems = []
        if unknown:
            problems.append(
                f"{name} has unknown {OPTIONS_KEY} options: {', '.join(unknown)}. "
                f"Allowed: {', '.join(allowed)}."
            )
        choice = PartitionChoice()
        if given.get("partitions") is not None:
            try:
                choice = PartitionChoice.parse(given["partitions"])
            except ValueError as error:
                problems.append(
                    f"{name}: the option `partitions` must map partition keys to a value or to a "
                    f"list of values each, but {error}."
                )
        static = given.get("static")
        if static is not None and not isinstance(static, bool):
            problems.append(
                f"{name}: the option `static` must be true or false, but it is {static!r}."
            )
        if problems:
            raise DbtRuntimeError(" ".join(problems))
        return cls(choice, bool(static))

    def __str__(self) -> str:
        """Describe what part of the table the source shows; empty for all of it."""
        return str(self.partitions)


def _block(source: Any, holder: Any, where: str) -> Mapping[str, Any]:
    block = holder.get(OPTIONS_KEY) if holder else None
    if block is None:
        return {}
    if not isinstance(block, Mapping):
        raise DbtRuntimeError(
            f"Source {source.source_name}.{source.name}: `{OPTIONS_KEY}` under `{where}` must be a "
            f"mapping of options, not {block!r}."
        )
    return block
