"""Rows and delete events of one bucket, in files of one number and of another."""

from dataclasses import replace

import pytest

from hiveacid.acid.layout import BucketProperty
from hiveacid.errors import UnreadableTableError
from hiveacid.reader.orc_footers import OrcFooter, RowIdRange
from tests.unit.reader.test_plan import plan

UNKNOWN = RowIdRange.of((1, 0, 1, 0, 1, 0))


def rows(bucket, row=(0, 9), statement=0):
    """A file with rows of the first write in a bucket, or with events for them."""
    in_bucket = BucketProperty(bucket, statement).encode()
    ids = RowIdRange((1, 1), (in_bucket, in_bucket), row)
    return OrcFooter(rows=10, columns=("id",), is_acid=True, row_id_range=ids)


def of(data, deletes, **pinned):
    """The plan of data files and delete files by their names."""
    files = {f"delta_1_1_0/{name}": footer for name, footer in data.items()}
    return plan(
        files | {f"delete_delta_2_2_0/{name}": it for name, it in deletes.items()}, **pinned
    )


@pytest.mark.parametrize(
    ("data", "deletes"),
    [
        ({"bucket_00000": rows(0), "bucket_00007": rows(7)}, {"bucket_00007": rows(7)}),
        ({"bucket_00007": rows(0)}, {}),
        ({"bucket_00007": rows(0)}, {"bucket_00007": rows(0)}),
        ({"bucket_00007": rows(0)}, {"bucket_00000": rows(0, (10, 20))}),
        ({"bucket_00007": rows(0)}, {"bucket_00000": rows(1)}),
        ({"bucket_00007": rows(7, statement=3)}, {"bucket_00007": rows(7, statement=1)}),
        (
            {"bucket_00000": replace(rows(0), row_id_range=UNKNOWN)},
            {"bucket_00001": replace(rows(0), row_id_range=UNKNOWN)},
        ),
        ({"000000_0": OrcFooter(10, ("id",), is_acid=False)}, {"bucket_00000": rows(0)}),
    ],
)
def test_events_that_hive_applies_as_their_row_ids_say(data, deletes):
    assert len(of(data, deletes).deletes) == len(deletes)


@pytest.mark.parametrize(
    ("data", "deletes"),
    [
        ({"bucket_00007": rows(0)}, {"bucket_00000": rows(0)}),
        ({"bucket_00000": rows(0), "bucket_00001_0": rows(0)}, {"bucket_00000": rows(0)}),
        ({"bucket_00000": rows(0)}, {"bucket_00000": rows(0), "bucket_00007": rows(0)}),
        ({"bucket_00007": rows(0)}, {"bucket_00000": replace(rows(0), row_id_range=UNKNOWN)}),
        ({"000000_0": OrcFooter(10, ("id",), is_acid=False)}, {"bucket_00007": rows(0)}),
    ],
)
def test_events_that_hive_does_not_apply_are_refused(data, deletes):
    with pytest.raises(UnreadableTableError, match="only to files of the same number"):
        of(data, deletes)


def test_hive_3_applies_all_events_of_an_unbucketed_table():
    elsewhere = {"bucket_00000": rows(0)}, {"bucket_00007": rows(0)}
    with pytest.raises(UnreadableTableError):
        of(*elsewhere)
    assert len(of(*elsewhere, deletes_by_number=False).deletes) == 1
