from datetime import datetime, timezone

import pytest

from dbt.adapters.hiveacid.errors import FreshnessError
from dbt.adapters.hiveacid.metadata.freshness import Freshness
from dbt.adapters.hiveacid.metadata.project import Project
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from hiveacid.errors import MetastoreError
from hiveacid.metastore.models import Column, StorageDescriptor, Table, TableName
from hiveacid.reader.last_write import CompactedMeanwhileError, LastWrite
from hiveacid.snapshots.tables import UnlockedTable
from tests.unit.metadata.fakes import Connections, manifest, source


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

    def __init__(self):
        self.looks = []
        declared = manifest(
            [
                source("shop", "orders"),
                source("shop", "empty"),
                source("shop", "with_query", loaded_at_query="select 1"),
            ]
        )
        self.freshness = Freshness(
            Connections(),
            Project(lambda: declared),
            self.see,
            self.find_last_write,
            lambda at, now: {"max_loaded_at": at, "snapshotted_at": now, "age": 0},
        )

    def see(self, names):
        self.looks.append(sorted(name.table for name in names))
        known = {name: seen(name.table) for name in names}
        return {name: table for name, table in known.items() if name.table != "plain"}

    def find_last_write(self, session, see):
        return None if see().table.name.table == "empty" else LastWrite(1000)


def relations(*names):
    return [HiveAcidRelation.create(schema="shop", identifier=name) for name in names]


def test_sources_in_a_batch_are_looked_up_together():
    sources = Sources()
    asked = relations("orders", "empty", "plain", "with_query")
    found = sources.freshness.of_sources(asked)
    assert {str(it): answer["max_loaded_at"] for it, answer in found.items()} == {
        "shop.orders": datetime(1970, 1, 1, 0, 0, 1, tzinfo=timezone.utc)
    }
    assert sources.looks == [["empty", "orders", "plain"]]


def test_a_batch_is_not_the_place_for_errors():
    sources = Sources()

    def fail(names):
        raise MetastoreError("the metastore could not be asked")

    sources.freshness._see = fail
    assert sources.freshness.of_sources(relations("orders")) == {}


@pytest.mark.parametrize(
    ("name", "reason"),
    [("plain", "not a transactional table of the metastore"), ("empty", "shop.empty is empty")],
)
def test_a_source_without_a_last_write_is_refused_with_the_reason(name, reason):
    (asked,) = relations(name)
    with pytest.raises(FreshnessError, match=reason):
        Sources().freshness.of_source(asked)


def test_a_table_that_is_compacted_at_each_look_is_refused_with_what_to_do():
    def compacted(session, see):
        raise CompactedMeanwhileError("shop.orders was compacted meanwhile")

    sources, (asked,) = Sources(), relations("orders")
    sources.freshness._find_last_write = compacted
    with pytest.raises(FreshnessError) as error:
        sources.freshness.of_source(asked)
    assert error.value.msg == (
        "[HIVEACID_FRESHNESS_UNKNOWN] "
        "shop.orders was compacted each of the 3 times that its files were listed for its "
        "freshness. Run dbt again, or give the source a loaded_at_field."
    )
    assert sources.freshness.of_sources([asked]) == {}
