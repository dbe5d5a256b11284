"""Files that their writers have not closed, in the selection that is read."""

from dataclasses import replace

import pytest

from hiveacid.acid.layout import ListedFile, Listing
from hiveacid.reader.locations import locations
from hiveacid.reader.open_files import Flushed, replace_open_files
from tests.unit.reader.test_plan import pinned_table, valid

NAME = "delta_1_3/bucket_00000"


class FakeScratch:
    """Answers without a file system."""

    def __init__(self, flushed):
        self.once = lambda file, look: flushed


def settled(flushed):
    names = [NAME, f"{NAME}_flush_length", "delta_1_3/bucket_00001"]
    files = tuple(ListedFile(name, f"file:/t/{name}", 100) for name in names)
    listing = Listing("file:/t", files, ("delta_1_3",))
    pinned = replace(pinned_table(valid(3)), scratch=FakeScratch(flushed))
    (location,) = replace_open_files(None, pinned, locations(pinned, [listing]))
    assert location.state.open_files == ()
    (delta,) = location.state.deltas
    return [file.path for file in delta.files], [s.reason for s in location.state.skipped]


COPY = ListedFile(NAME, "file:/tmp/copy", 42)
CLOSED = ListedFile(NAME, f"file:/t/{NAME}", 120, 5)

READ_FROM_COPY = "its writer has not closed it: the 42 flushed bytes are read from a copy"


@pytest.mark.parametrize(
    ("flushed", "read", "told"),
    [
        (Flushed(COPY, 42), ["file:/tmp/copy"], [READ_FROM_COPY]),
        (Flushed(None, 0), [], ["its writer has not closed it, and has flushed no rows yet"]),
        (Flushed(CLOSED, None), [f"file:/t/{NAME}"], []),
    ],
)
def test_what_counts_is_read_in_place_of_the_file(flushed, read, told):
    paths, (of_side_file, *reasons) = settled(flushed)
    assert paths == ["file:/t/delta_1_3/bucket_00001", *read]
    assert of_side_file == "the flushed length of a file that is being written"
    assert reasons == told
