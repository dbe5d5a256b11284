"""What a target says of itself: which state of its sources its rows come from.

The text is JSON and goes with the commit that made the rows (`stores`).
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

KEY = "dbt_hiveacid"
"""The JSON member, and the snapshot property, by which our states are told from other texts."""

VERSION = 1


@dataclass(frozen=True)
class TargetState:
    """The state of a target after one commit.

    `sources` maps each source (`database.table`, and its options if it has any) to its state as
    JSON. `lineage` and `generation`
    count the commits since the table was last built anew without a known state: the two together
    are used as compare-and-set. `invocation_id` is that of the dbt command.
    """

    commit_id: str
    invocation_id: str
    lineage: str
    generation: int
    sources: Mapping[str, Any]

    def to_text(self) -> str:
        """One line of JSON."""
        fields = {
            "version": VERSION,
            "commit_id": self.commit_id,
            "invocation_id": self.invocation_id,
            "lineage": self.lineage,
            "generation": self.generation,
            "sources": dict(self.sources),
        }
        return json.dumps({KEY: fields}, separators=(",", ":"), sort_keys=True)


@dataclass(frozen=True)
class LostState:
    """A target that no longer tells what its rows come from; `reason` completes "because …"."""

    reason: str


Known = TargetState | LostState | None
"""What is known of a target; None for a table that never had a state."""


def commit_of(known: Known) -> str | None:
    """By what two looks at a target tell whether it has changed in between."""
    return known.commit_id if isinstance(known, TargetState) else None


def parse(text: str | None) -> Known:
    """The state in a text; None if there is none of ours in it."""
    if not text or KEY not in text:
        return None
    try:
        fields = json.loads(text)[KEY]
        if fields.get("version") != VERSION:
            return LostState(
                f"its state has the version {fields.get('version')}, which this release of "
                f"dbt-hiveacid does not know (it writes version {VERSION})"
            )
        if "reset" in fields:
            return LostState(
                "its state was removed, by hiveacid_reset_state or by a run without acid_changes"
            )
        return TargetState(
            commit_id=fields["commit_id"],
            invocation_id=fields["invocation_id"],
            lineage=fields["lineage"],
            generation=fields["generation"],
            sources=fields["sources"],
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        return LostState(f"its state cannot be read ({type(error).__name__}: {error})")


def reset_text() -> str:
    """What stands in the place of a state that has been removed."""
    return json.dumps({KEY: {"version": VERSION, "reset": True}}, separators=(",", ":"))


def following(base: Known, invocation_id: str, sources: Mapping[str, Any]) -> TargetState:
    """The state of the commit that comes after `base`."""
    if isinstance(base, TargetState):
        lineage, generation = base.lineage, base.generation + 1
    else:
        lineage, generation = uuid.uuid4().hex, 1
    return TargetState(uuid.uuid4().hex, invocation_id, lineage, generation, sources)
