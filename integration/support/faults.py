"""Faults to plant in the adapter, one at a time, to see that tests notice them.

Each is planted at a named function or class, and planting fails when that is no longer there. The
faults of the reader are planted by `test_faults.py`, which names the test that must notice each.
By hand, for any tests, this module is a plugin of pytest: HIVEACID_FAULT="no heartbeat" python -m
pytest -p integration.support.faults tests/unit. As a program it runs the unit tests that must
notice a fault.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dbt.adapters.hiveacid.targets.files import FileStore
from dbt.adapters.hiveacid.targets.state import StateLookup, TargetState, parse
from hiveacid.acid import write_ids
from hiveacid.acid.layout import ListedFile, Listing
from hiveacid.acid.selection import AcidState
from hiveacid.acid.write_ids import ValidWriteIdList
from hiveacid.changes import losses, write_id_directories
from hiveacid.changes.state import SourceState
from hiveacid.reader import deletes, full_acid, raw_files, raw_rows, read
from hiveacid.reader.deletes import PARTITION, Bitmap
from hiveacid.reader.locations import Location
from hiveacid.reader.orc_footers import OrcFooter
from hiveacid.reader.plan import DataFile, ReadPlan
from hiveacid.reader.raw_files import Split
from hiveacid.snapshots.tables import PinnedTable
from hiveacid.snapshots.transaction import Heartbeat

FAULT_VARIABLE = "HIVEACID_FAULT"


@dataclass(frozen=True)
class Fault:
    """A fault, how it is planted, and the test that has to notice it.

    `noticed_by` is one of `SMALL_TABLES`, or the id of another test.
    """

    plant: Callable[[pytest.MonkeyPatch], None]
    noticed_by: str


def _delete_deltas_ignored(patch: pytest.MonkeyPatch) -> None:
    _change_plans(patch, lambda planned: replace(planned, deletes=()))


def _invalid_write_ids_ignored(patch: pytest.MonkeyPatch) -> None:
    # It is inherited; so it is shadowed, not replaced.
    assert isinstance(ValidWriteIdList.invalid, cached_property)
    patch.setattr(ValidWriteIdList, "invalid", property(lambda _: frozenset()))


def _invalid_rows_inside_a_directory_shown(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(full_acid, "_visible", lambda frame, *_: frame)


def _partition_left_out_of_the_bitmaps(patch: pytest.MonkeyPatch) -> None:
    right = full_acid.without_bitmaps

    def without_bitmaps(
        spark: SparkSession, rows: DataFrame, bitmaps: Sequence[Bitmap], in_one_partition: bool
    ) -> DataFrame:
        assert not in_one_partition
        return right(spark, rows, bitmaps, True)

    patch.setattr(full_acid, "without_bitmaps", without_bitmaps)


def _partition_left_out_of_the_join(patch: pytest.MonkeyPatch) -> None:
    right = full_acid.without_masks

    def without_masks(rows: DataFrame, masks: DataFrame, events: int) -> DataFrame:
        assert PARTITION in rows.columns and PARTITION in masks.columns
        same = {PARTITION: F.lit(0)}
        return right(rows.withColumns(same), masks.withColumns(same), events)

    patch.setattr(full_acid, "without_masks", without_masks)
    # A table as small as a test's has bitmaps, and no join, unless none are allowed.
    patch.setattr(deletes, "_MAX_WRITES", 0)


def _row_offset_of_originals_skipped(patch: pytest.MonkeyPatch) -> None:
    right = full_acid.raw_data_files

    def raw_data_files(*arguments: Any) -> Iterator[DataFile]:
        for file in right(*arguments):
            ids = file.row_ids
            yield replace(file, row_ids=None if ids is None else replace(ids, first_row=0))

    patch.setattr(full_acid, "raw_data_files", raw_data_files)


def _stripe_before_a_split_overlooked(patch: pytest.MonkeyPatch) -> None:
    right = raw_files.divide

    def divide(files: Sequence[DataFile], split_bytes: int) -> list[Split]:
        stripes = {data.file: data.stripes for data in files}
        return [
            split._replace(rows_before=split.rows_before - stripes[split.file][0].rows)
            if split.rows_before
            else split
            for split in right(files, split_bytes)
        ]

    patch.setattr(raw_files, "divide", divide)
    patch.setattr(raw_rows, "divide", divide)


def _bases_of_truncate_overlooked(patch: pytest.MonkeyPatch) -> None:
    right = read.list_locations

    def list_locations(spark: SparkSession, locations: Sequence[str]) -> list[Listing]:
        found = []
        for listing in right(spark, locations):
            full = {file.relative.rpartition("/")[0] for file in listing.files}
            found.append(replace(listing, directories=tuple(sorted(full - {""}))))
        return found

    patch.setattr(read, "list_locations", list_locations)


def _columns_by_name(patch: pytest.MonkeyPatch) -> None:
    def named_as_the_table(planned: ReadPlan) -> ReadPlan:
        names = tuple(column.name for column in planned.pinned.table.storage.columns)
        return replace(planned, data=tuple(replace(f, columns=names) for f in planned.data))

    _change_plans(patch, named_as_the_table)


def _state_kept_as_a_number(patch: pytest.MonkeyPatch) -> None:
    right = SourceState.of

    def of(*args: Any) -> SourceState:
        state = right(*args)
        return replace(state, write_ids=ValidWriteIdList(state.write_ids.high_watermark))

    patch.setattr(SourceState, "of", of)


def _late_commits_ignored(patch: pytest.MonkeyPatch) -> None:
    right = write_ids.new_write_ids

    def new_write_ids(since: ValidWriteIdList, now: ValidWriteIdList) -> write_ids.WriteIdRanges:
        return right(since, now).within(since.high_watermark + 1, now.high_watermark)

    patch.setattr(write_ids, "new_write_ids", new_write_ids)


def _new_delete_events_ignored(patch: pytest.MonkeyPatch) -> None:
    right = write_id_directories.grown_part

    def grown_part(state: AcidState, new: write_ids.WriteIdRanges) -> AcidState:
        return replace(right(state, new), delete_deltas=())

    patch.setattr(write_id_directories, "grown_part", grown_part)


def _dropped_partition_overlooked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(losses, "dropped", lambda *_: [])


def _state_written_before_the_data(patch: pytest.MonkeyPatch) -> None:
    right = FileStore._create

    def create(store: FileStore, base: StateLookup, text: str) -> None:
        # The record is the state alone: what is to be moved is known to the run only.
        state = parse(text)
        right(store, base, state.to_text() if isinstance(state, TargetState) else text)

    patch.setattr(FileStore, "_create", create)


def _no_heartbeat(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Heartbeat, "start", lambda _: None)


def _change_plans(patch: pytest.MonkeyPatch, change: Callable[[ReadPlan], ReadPlan]) -> None:
    right = read.plan_full_acid

    def plan_full_acid(
        pinned: PinnedTable,
        locations: Sequence[Location],
        footers: Mapping[ListedFile, OrcFooter],
        row_ids: bool,
    ) -> ReadPlan:
        return change(right(pinned, locations, footers, row_ids))

    patch.setattr(read, "plan_full_acid", plan_full_acid)


_CHANGES = "tests/unit/changes/test_diff.py::test_"

FAULTS = {
    "delete deltas ignored": Fault(_delete_deltas_ignored, "partitioned"),
    "invalid write ids ignored": Fault(_invalid_write_ids_ignored, "aborted"),
    "invalid rows inside a directory shown": Fault(
        _invalid_rows_inside_a_directory_shown, "streamed"
    ),
    "partition left out of the bitmaps": Fault(_partition_left_out_of_the_bitmaps, "partitioned"),
    "partition left out of the join": Fault(_partition_left_out_of_the_join, "partitioned"),
    "row offset of originals skipped": Fault(_row_offset_of_originals_skipped, "originals"),
    "stripe before a split overlooked": Fault(
        _stripe_before_a_split_overlooked,
        "tests/unit/reader/test_raw_files.py::test_a_stripe_belongs_to_the_split_in_which_it_begins",
    ),
    "bases of TRUNCATE overlooked": Fault(_bases_of_truncate_overlooked, "truncated"),
    "columns by name": Fault(_columns_by_name, "renamed"),
    "state kept as a number": Fault(
        _state_kept_as_a_number, f"{_CHANGES}what_was_open_and_has_committed_since_is_new"
    ),
    "late commits ignored": Fault(
        _late_commits_ignored, f"{_CHANGES}what_was_open_and_has_committed_since_is_new"
    ),
    "new delete events ignored": Fault(
        _new_delete_events_ignored, f"{_CHANGES}only_directories_of_new_write_ids_are_read"
    ),
    "dropped partition overlooked": Fault(
        _dropped_partition_overlooked, f"{_CHANGES}partitions_moved_created_anew_and_dropped"
    ),
    "state written before the data": Fault(
        _state_written_before_the_data,
        "tests/functional/test_state_stores.py::TestPlain::"
        "test_rows_are_appended_with_their_state[partitioned by (p)]",
    ),
    "no heartbeat": Fault(
        _no_heartbeat, "tests/unit/snapshots/test_heartbeat.py::test_they_go_on_until_the_end"
    ),
}


def pytest_configure() -> None:
    """Plant the fault that the environment names, for the whole run."""
    FAULTS[os.environ[FAULT_VARIABLE]].plant(pytest.MonkeyPatch())


def noticed_by_unit_tests() -> list[str]:
    """Return the faults that a unit test must notice."""
    return [name for name, fault in FAULTS.items() if fault.noticed_by.startswith("tests/unit/")]


def main() -> None:
    """Print, as JSON by fault, the exit code and the output of the test that must notice it.

    Under an empty name stand all these tests without a fault. A process can plant one fault only,
    before it imports the tests; so each has a copy of this process, which has imported dbt.
    """
    tests = sorted({FAULTS[fault].noticed_by for fault in noticed_by_unit_tests()})
    runs = {"": tests} | {name: [FAULTS[name].noticed_by] for name in noticed_by_unit_tests()}
    json.dump({fault: _run_copied(fault, tests) for fault, tests in runs.items()}, sys.stdout)


def _run_copied(fault: str, tests: Sequence[str]) -> tuple[int, str]:
    """Return the exit code and the output of pytest in a copy of this process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            with os.fdopen(writer, "w") as answer:
                answer.write(_run(fault, tests))
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        code, _, output = answer.read().partition("\n")
    os.waitpid(child, 0)
    return int(code), output


def _run(fault: str, tests: Sequence[str]) -> str:
    """Return the exit code and, from the second line on, the output of pytest."""
    # Asserts in dbt's own modules, which are imported, need not show what differs.
    options = ["-p", "no:cacheprovider", "-q", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    if fault:
        options += ["-p", "integration.support.faults"]
        os.environ[FAULT_VARIABLE] = fault
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        code = pytest.main([*options, *tests])
    return f"{int(code)}\n{output.getvalue()}"


if __name__ == "__main__":
    # What takes a test process longest to import, so that the copies have it.
    import dbt.parser.manifest
    import dbt.tests.fixtures.project  # noqa: F401

    main()
