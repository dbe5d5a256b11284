"""Options of a source: `config: {hiveacid: {…}}` or `meta: {hiveacid: {…}}` in its YAML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from dbt_common.exceptions import DbtRuntimeError

OPTIONS_KEY = "hiveacid"


@dataclass(frozen=True)
class SourceOptions:
    """How one source is to be read. Each field is an option; this release has none yet."""

    @classmethod
    def of(cls, source: Any) -> SourceOptions:
        """The options of a dbt source definition; what `config` says wins over `meta`.

        Raises:
            DbtRuntimeError: naming the source, every unknown option, and the allowed ones.
        """
        given = {**_block(source, source.meta, "meta"), **_block(source, source.config, "config")}
        allowed = [f.name for f in fields(cls)]
        unknown = sorted(set(given) - set(allowed))
        if unknown:
            raise DbtRuntimeError(
                f"Source {source.source_name}.{source.name} has unknown {OPTIONS_KEY} options: "
                f"{', '.join(unknown)}. Allowed: {', '.join(allowed) or 'none in this release'}."
            )
        return cls(**given)

    def __str__(self) -> str:
        return ",".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self))


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
