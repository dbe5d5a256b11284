"""The last write of a table, by the writes that its locations show."""

from hiveacid.acid.layout import ListedFile
from hiveacid.acid.location_writes import Compacted, LocationWrites, Write
from hiveacid.reader.last_write import LastWrite, last_write


def write(write_id, time):
    return Write(write_id, (ListedFile(f"{write_id}", f"/t/{write_id}", 9, time),))


def location(*known, compacted=()):
    return LocationWrites(known, tuple(compacted))


def with_data(*write_ids):
    return lambda i, write: write.write_id in write_ids


def all_have(i, write):
    return True


def test_the_newest_write_that_has_data():
    places = [location(write(1, 10), write(3, 30)), location(write(2, 20), write(4, 40))]
    assert last_write(places, all_have) == LastWrite(40)
    assert last_write(places, with_data(1, 2)) == LastWrite(20)
    assert last_write(places, with_data()) is None
    assert last_write([], all_have) is None


def test_a_compaction_before_the_newest_write_does_not_matter():
    places = [location(write(3, 30), compacted=[Compacted(2, 25)])]
    assert last_write(places, all_have) == LastWrite(30)


def test_a_compaction_that_the_cleaner_has_followed_is_a_bound():
    places = [location(compacted=[Compacted(3, 35)]), location(write(2, 20))]
    assert last_write(places, all_have) == LastWrite(35, True, 20)
    assert last_write([location(compacted=[Compacted(3, 35)])], all_have) == LastWrite(35, True)


def test_a_compaction_whose_last_write_is_still_there_is_none():
    places = [location(write(2, 20), write(3, 30), compacted=[Compacted(3, 35)])]
    assert last_write(places, all_have) == LastWrite(30)
    # The last one had no rows: those before may be gone.
    assert last_write(places, with_data(2)) == LastWrite(35, True, 20)


def test_what_is_known_in_words():
    assert str(LastWrite(0)) == "at 1970-01-01 00:00:00 UTC"
    assert str(LastWrite(5000, True, 1000)) == (
        "after 1970-01-01 00:00:01 and not after 1970-01-01 00:00:05 UTC, when it was compacted"
    )
    assert str(LastWrite(5000, True)).startswith("not after 1970-01-01 00:00:05 UTC")
