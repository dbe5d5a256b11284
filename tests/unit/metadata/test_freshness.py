from datetime import datetime, timezone

import pytest

from dbt.adapters.hiveacid.errors import FreshnessError
from dbt.adapters.hiveacid.metadata import freshness
from dbt.adapters.hiveacid.metadata.freshness import Freshness, LastWrite, last_write
from dbt.adapters.hiveacid.metadata.project import Project
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from hiveacid.acid.last_write import Compacted, LocationWrites, Write
from hiveacid.acid.layout import ListedFile
from hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from hiveacid.errors import MetastoreError
from hiveacid.metastore.models import Column, StorageDescriptor, Table, TableName
from hiveacid.snapshots.tables import UnlockedTable
from tests.unit.metadata.fakes import Connections, manifest, source


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


def seen(name):
    table = Table(
        TableName("shop", name),
        "MANAGED_TABLE",
        StorageDescriptor("/x", (Column("id", "int"),)),
        (),
        {"transactional": "true"},
        0,
    )
    return UnlockedTable(table, (), ValidWriteIdList(1), ValidTxnList(1))


class Sources:
    """Three sources of a project: `orders`, `empty`, and `with_query`, which has a query."""

    def __init__(self, monkeypatch):
        self.looks = []
        declared = manifest(
            [
                source("shop", "orders"),
                source("shop", "empty"),
                source("shop", "with_query", loaded_at_query="select 1"),
            ]
        )
        monkeypatch.setattr(freshness, "find_last_write", self.find_last_write)
        self.freshness = Freshness(
            Connections(),
            Project(lambda: declared),
            self.see,
            lambda: ValidTxnList(1),
            None,
            lambda at, now: {"max_loaded_at": at, "snapshotted_at": now, "age": 0},
        )

    def see(self, names):
        self.looks.append(sorted(name.table for name in names))
        known = {name: seen(name.table) for name in names}
        return {name: table for name, table in known.items() if name.table != "plain"}

    def find_last_write(self, session, see, valid_txns, footers):
        return None if see().table.name.table == "empty" else LastWrite(1000)


def relations(*names):
    return [HiveAcidRelation.create(schema="shop", identifier=name) for name in names]


def test_sources_in_a_batch_are_looked_up_together(monkeypatch):
    sources = Sources(monkeypatch)
    asked = relations("orders", "empty", "plain", "with_query")
    found = sources.freshness.of_sources(asked)
    assert {str(it): answer["max_loaded_at"] for it, answer in found.items()} == {
        "shop.orders": datetime(1970, 1, 1, 0, 0, 1, tzinfo=timezone.utc)
    }
    assert sources.looks == [["empty", "orders", "plain"]]


def test_a_batch_is_not_the_place_for_errors(monkeypatch):
    sources = Sources(monkeypatch)

    def fail(names):
        raise MetastoreError("the metastore could not be asked")

    sources.freshness._see = fail
    assert sources.freshness.of_sources(relations("orders")) == {}


@pytest.mark.parametrize(
    ("name", "reason"),
    [("plain", "no transactional table of the metastore"), ("empty", "shop.empty is empty")],
)
def test_a_source_without_a_last_write_is_refused_with_the_reason(monkeypatch, name, reason):
    (asked,) = relations(name)
    with pytest.raises(FreshnessError, match=reason):
        Sources(monkeypatch).freshness.of_source(asked)
