"""The steps at which a run is killed, by file format and by what is done to the target.

A format with steps of its own adds them to `STEPS`, and its configuration to `CONFIGS`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from integration.support.incremental import LAKE
from integration.support.stops import Stop

_PACKAGE = "dbt.adapters.hiveacid"
_ADAPTER = f"{_PACKAGE}.impl:HiveAcidAdapter"
_APPLY = f"{_PACKAGE}.incremental.apply"
_BUILDS = f"{_PACKAGE}.incremental.builds"
_TARGETS = f"{_PACKAGE}.targets"
_PLAIN = f"{_TARGETS}.files"
_DIRECTORY = f"{_TARGETS}.file_records:Directory"
_DELTA = f"{_TARGETS}.delta:DeltaStore"
_ICEBERG = f"{_TARGETS}.iceberg:IcebergStore"

_STATEMENT = f"{_PACKAGE}.spark.session:Cursor.execute"
_WRITING = Stop(_STATEMENT, like="create", during=True)
_STAGED = Stop(f"{_APPLY}:StagedRun.choose_apply")

_BUILT = {
    "new version built": Stop(f"{_BUILDS}:write_record"),
    "its state written": Stop(f"{_PLAIN}:FileStore.replacing"),
}
_SWITCHED = {
    "former version claimed": Stop(f"{_PACKAGE}.targets.staging:switch"),
    "former version renamed": Stop(f"{_ADAPTER}.rename_relation", nth=2),
    "new version in place": Stop(f"{_PACKAGE}.targets.staging:remove_backup"),
}
_REWRITTEN = {"changes being staged": _WRITING, "changes staged": _STAGED, **_BUILT, **_SWITCHED}

_PLAIN_STEPS: dict[str, dict[str, Stop]] = {
    "by unique_key": _REWRITTEN,
    "by row id": _REWRITTEN,
    "appending": {
        "rows staged": Stop(f"{_PLAIN}:FileStore.record"),
        "files named": Stop(f"{_PLAIN}:FileStore._finish"),
        "one file moved": Stop(f"{_DIRECTORY}.move_in", nth=2),
        "all files moved": Stop(f"{_PLAIN}:delete_directory"),
        "stage removed": Stop(f"{_DIRECTORY}.create", nth=2),
    },
    "full refresh": {"being written": _WRITING, **_BUILT, **_SWITCHED},
    "first run": {
        "being written": _WRITING,
        **_BUILT,
        "in place": Stop(f"{_ADAPTER}.post_model_hook"),
    },
    "table": {"being written": _WRITING, **_SWITCHED},
}
_COMMITTED = {
    "before the commit": Stop(f"{_DELTA}.committing"),
    "committed": Stop(f"{_DELTA}._check"),
}
_IN_PLACE = {
    "being written": _WRITING,
    **_COMMITTED,
    "rows checked": Stop(f"{_DELTA}.confirm"),
}
_APPLIED = {"changes being staged": _WRITING, "changes staged": _STAGED, **_COMMITTED}
_DELTA_STEPS: dict[str, dict[str, Stop]] = {
    "by unique_key": _APPLIED,
    "by row id": _APPLIED,
    "appending": _APPLIED,
    "full refresh": _IN_PLACE,
    "first run": _IN_PLACE,
    "table": {
        "being written": _WRITING,
        "committed": Stop(f"{_BUILDS}:BuiltInPlace.run_or_restore"),
    },
}

_ICEBERG_STATEMENT = {"before the statement": Stop(f"{_ICEBERG}.committing")}
_PUBLISHED = {
    **_ICEBERG_STATEMENT,
    "written in a branch": Stop(f"{_ICEBERG}._publish"),
    "branch published": Stop(f"{_APPLY}:AppliedRun.report"),
}
_ICEBERG_APPLIED = {"changes being staged": _WRITING, "changes staged": _STAGED, **_PUBLISHED}
_ICEBERG_BUILT = {
    "being written": _WRITING,
    **_ICEBERG_STATEMENT,
    "committed": Stop(f"{_ICEBERG}._check"),
    "rows checked": Stop(f"{_ICEBERG}.confirm"),
}
_ICEBERG_STEPS: dict[str, dict[str, Stop]] = {
    "by unique_key": _ICEBERG_APPLIED,
    "by row id": _ICEBERG_APPLIED,
    "appending": _ICEBERG_APPLIED,
    "full refresh": _ICEBERG_BUILT,
    "first run": _ICEBERG_BUILT,
    "table": _DELTA_STEPS["table"],
}

#: By format, by what is done to the target: the steps, in their order.
STEPS: dict[str, dict[str, dict[str, Stop]]] = {
    "delta": _DELTA_STEPS,
    "parquet": _PLAIN_STEPS,
    "orc": _PLAIN_STEPS,
    "iceberg": _ICEBERG_STEPS,
}

#: The configuration of a model of each format.
CONFIGS = {file_format: f"file_format='{file_format}'" for file_format in STEPS} | {"iceberg": LAKE}

_INCREMENTAL = "materialized='incremental', incremental_strategy='acid_changes'"
_KINDS = {
    "by unique_key": f"{_INCREMENTAL}, unique_key='id'",
    "by row id": _INCREMENTAL,
    "appending": (
        f"{_INCREMENTAL}, partition_by=['status'], full_refresh=var('appended_anew', none)"
    ),
    "full refresh": f"{_INCREMENTAL}, unique_key='id', full_refresh=var('anew', none)",
    "first run": f"{_INCREMENTAL}, unique_key='id'",
    "table": "materialized='table'",
}

_MANY = "{% if var('slow', false) %} cross join (select 1 from range(0, 9000, 1, 1)) {% endif %}"
_SLOW = (
    "{% if var('slow', false) %} and reflect('java.lang.Thread', 'sleep', 100L) is null {% endif %}"
)


@dataclass(frozen=True)
class CrashPoint:
    """A model of its own, and the step at which its run is killed."""

    file_format: str
    kind: str
    step: str

    @property
    def stop(self) -> Stop:
        """Where that is."""
        return STEPS[self.file_format][self.kind][self.step]

    @property
    def model(self) -> str:
        """The model's name."""
        return "_".join([self.file_format, *self.kind.split(), "at", *self.step.split()])

    @property
    def source(self) -> str:
        """The table that it reads: that of `appending` has inserts only."""
        return "events" if self.kind == "appending" else "orders"

    @property
    def sql(self) -> str:
        """The model. With the variable `slow` writing its rows takes minutes."""
        source = f"source('shop', '{self.source}')"
        read = source if self.kind == "table" else f"acid_changes({source})"
        row_id = ""
        if self.kind == "by row id":
            row_id = ", _row_id as _hive_row_id" if self.file_format == "iceberg" else ", _row_id"
        many, slow = (_MANY, _SLOW) if self.stop.during else ("", "")
        return (
            f"{{{{ config({CONFIGS[self.file_format]}, {_KINDS[self.kind]}) }}}}\n"
            f"select id, amount * 2 as twice, status{row_id}\n"
            f"from {{{{ {read} }}}} {many}\n"
            f"where status <> 'hidden' {slow}"
        )


def crash_points(file_format: str, kinds: Iterable[str] | None = None) -> list[CrashPoint]:
    """Those of a format, all or of some kinds."""
    return [
        CrashPoint(file_format, kind, step)
        for kind, steps in STEPS[file_format].items()
        if kinds is None or kind in kinds
        for step in steps
    ]


def document(outcomes: Mapping[CrashPoint, str], today: dt.date, seconds: float) -> str:
    """Return the section of docs/crash-points.md on dbt."""
    wrong = {point: text for point, text in outcomes.items() if text != "right"}
    lines = [
        "A dbt process builds one model for each step below. When all models have come to their "
        "steps, the process is killed (`kill -9`). An ordinary run follows, and each target must "
        "have the rows that Hive answers; a further run must find no changes. No stage, backup, "
        "directory, lock or transaction may be left. `make long` does this for all formats and "
        "writes this section; `make test` does it for some of them.",
        "",
        f"{today.isoformat()}, {seconds / 60:.0f} minutes: {len(outcomes)} steps, "
        f"{len(outcomes) - len(wrong)} right.",
        "",
        "| formats | what was done | killed at |",
        "|---|---|---|",
    ]
    lines += [
        f"| {', '.join(formats)} | {', '.join(kinds)} | {', '.join(steps)} |"
        for (formats, steps), kinds in _rows(outcomes).items()
    ]
    lines += [f"\nWrong: {point.model}: {text}" for point, text in wrong.items()]
    return "\n".join(lines) + "\n"


def _rows(
    outcomes: Iterable[CrashPoint],
) -> dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]]:
    """Return the kinds that were killed at the same steps, by formats and steps."""
    steps: dict[tuple[str, str], list[str]] = {}
    for point in outcomes:
        steps.setdefault((point.kind, point.file_format), []).append(point.step)
    formats: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (kind, file_format), own in steps.items():
        formats.setdefault((kind, tuple(own)), []).append(file_format)
    rows: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for (kind, same), names in formats.items():
        rows.setdefault((tuple(sorted(names)), same), []).append(kind)
    return dict(sorted(rows.items(), key=lambda row: row[0][0]))
