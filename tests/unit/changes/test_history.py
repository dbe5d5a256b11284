"""The past of a table, from listings and from what the metastore knows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hiveacid.acid.layout import ListedFile, Listing
from hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from hiveacid.changes import history as module
from hiveacid.changes.history import Evidence, History, Point, look_back
from hiveacid.errors import InstantLostError, InvalidSettingError
from hiveacid.jvm.scratch import Scratch
from hiveacid.metastore.event_log import TableEvents
from hiveacid.metastore.models import (
    Column,
    Compaction,
    CompactionState,
    Partition,
    ServerInfo,
    StorageDescriptor,
    Table,
    TableName,
)
from hiveacid.snapshots.tables import PinnedTable

ORDERS = TableName("shop", "orders")
HIVE_4, HIVE_3 = (ServerInfo(v, True, 300.0, False) for v in ("4.0.1", "3.1.3"))
PENDING = Compaction(1, "", CompactionState.READY_FOR_CLEANING, 7, False, "")


def listing(*paths: str, where: str = "/t", times: int = 1000) -> Listing:
    """A location with a file of each path, one second after the other."""
    files = tuple(
        ListedFile(path, f"{where}/{path}", 9, times * (i + 1)) for i, path in enumerate(paths)
    )
    return Listing(where, files, tuple(dict.fromkeys(p.partition("/")[0] for p in paths)))


def past(
    *listings: Listing,
    newest: int = 5,
    keys: tuple[str, ...] = (),
    evidence: Evidence = Evidence(HIVE_4, ()),  # noqa: B008
    chosen: slice = slice(None),
) -> History:
    """A full-ACID table with one location, or with a partition for each listing."""
    partitions = tuple(
        Partition((str(i),), StorageDescriptor(f"/t/p={i}", ()), 1) for i in range(len(listings))
    )
    table = Table(
        ORDERS,
        "MANAGED_TABLE",
        StorageDescriptor("/t", (Column("id", "int"),)),
        tuple(Column(key, "string") for key in keys),
        {"transactional": "true"},
        1,
    )
    pinned = PinnedTable(
        table,
        partitions[chosen] if keys else (),
        ValidWriteIdList(newest),
        ValidTxnList(100),
        transaction_id=50,
        scratch=Scratch(),
    )
    return History(pinned, listings[chosen], evidence, lambda: listings)


def message(of: History, write_id: int) -> str:
    with pytest.raises(InstantLostError) as error:
        of.at(write_id)
    return error.value.message


class TestInstants:
    def test_an_instant_sees_nothing_later(self):
        instant = past(listing("delta_1_1_0000/b", "delta_5_5_0000/b", "base_4/b")).at(3)
        assert instant.write_id == 3 and instant.pinned.write_ids == ValidWriteIdList(3)
        assert instant.listings[0].directories == ("delta_1_1_0000", "delta_5_5_0000")

    @pytest.mark.parametrize("write_id", [-1, 6])
    def test_an_unknown_write_id_is_refused_with_the_range(self, write_id):
        with pytest.raises(InvalidSettingError) as error:
            past(listing("delta_1_1_0000/b")).at(write_id)
        assert error.value.message == (
            f"shop.orders has no write id {write_id} in this snapshot: its write ids go from 0 "
            "(before the first write) to 5. Ask for one of them, or take a new snapshot if the "
            "write was committed since."
        )

    def test_a_lost_instant_names_the_directory_and_what_can_be_read(self):
        of = past(listing("base_4_v0000007/b", "delta_5_5_0000/b"))
        assert message(of, 3) == (
            "shop.orders can no longer be read as of write id 3: /t/base_4_v0000007 is a "
            "compaction that took in everything before, and the cleaner may have run. The write "
            "ids 4 to 5 can be read."
        )
        assert of.at(4).write_id == 4 and of.at(0).write_id == 0

    def test_a_compaction_whose_cleaning_has_not_begun_keeps_every_instant(self):
        of = past(
            listing("delta_1_1_0000/b", "delta_2_2_0000/b", "base_2_v0000007/b"),
            newest=2,
            evidence=Evidence(HIVE_4, (PENDING,)),
        )
        assert of.at(1).listings[0].directories == ("delta_1_1_0000", "delta_2_2_0000")
        # The changes since then are in what the compaction took in.
        kept = of.until(2, since=1).listings[0]
        assert kept.directories == ("delta_1_1_0000", "delta_2_2_0000")
        rebalanced = Evidence(HIVE_4, (replace(PENDING, renumbers=True),))
        kept = replace(of, evidence=rebalanced).until(2, since=1).listings[0]
        assert "base_2_v0000007" in kept.directories

    @pytest.mark.parametrize(
        "compactions",
        [
            None,
            (),
            (replace(PENDING, state=CompactionState.SUCCEEDED),),
            (replace(PENDING, cleaning_began=True),),
            (replace(PENDING, error="deadlock"),),
            (replace(PENDING, transaction_id=None),),
            (replace(PENDING, transaction_id=8),),
            (PENDING, replace(PENDING, id=2, state=CompactionState.SUCCEEDED, transaction_id=9)),
            (PENDING, replace(PENDING, id=2, state=CompactionState.FAILED, transaction_id=9)),
        ],
    )
    def test_all_others_may_have_been_cleaned(self, compactions):
        directories = listing("delta_1_1_0000/b", "delta_2_2_0000/b", "base_2_v0000007/b")
        of = past(directories, newest=2, evidence=Evidence(HIVE_4, compactions))
        assert "base_2_v0000007 is a compaction" in message(of, 1)

    def test_compactions_of_other_partitions_do_not_count(self):
        other = replace(PENDING, id=2, partition="p=2", state=CompactionState.FAILED)
        own = replace(PENDING, partition="p=1")
        cleaning = Evidence(HIVE_4, (own, other)).cleaning("p=1")
        assert cleaning.untouched == {7} and not cleaning.may_be_partial
        assert Evidence(HIVE_4, (own, other)).cleaning("p=2").may_be_partial


class TestTracelessRemovals:
    @pytest.mark.parametrize("server", [HIVE_3, HIVE_4])
    def test_an_empty_table_may_have_been_truncated(self, server):
        of = past(listing("delta_5_5_0000/b"), evidence=Evidence(server, ()))
        assert "nothing on disk is from write ids 1-3" in message(of, 3)
        assert of.at(5).write_id == 5
        # 4 may be the truncation; Hive 3 truncates without a write id.
        assert message(of, 4) if server is HIVE_3 else of.at(4)

    def test_something_older_tells_that_it_was_not(self):
        assert past(listing("delta_1_1_0000/b", "delta_5_5_0000/b")).at(2).write_id == 2

    def test_a_write_id_without_a_directory_may_have_dropped_a_partition(self):
        locations = listing("delta_1_1_0000/b"), listing("delta_2_2_0000/b", "delta_5_5_0000/b")
        of = past(*locations, keys=("p",))
        assert message(of, 2) == (
            "shop.orders can no longer be read as of write id 2: no directory is named after write "
            "id 3-4, so a partition may have been dropped since (a statement that wrote no row, "
            "ALTER TABLE and a compaction whose directories were cleaned leave the same trace). "
            "The write ids 4 to 5 can be read."
        )
        assert of.at(0).write_id == 0, "there was nothing before the first write"

    def test_other_partitions_than_the_chosen_ones_explain_write_ids(self):
        locations = listing("delta_1_1_0000/b"), listing("delta_2_2_0000/b")
        assert past(*locations, newest=2, keys=("p",), chosen=slice(1)).at(1).write_id == 1

    def test_the_notification_log_decides(self):
        locations = listing("delta_1_1_0000/b"), listing("delta_5_5_0000/b")
        kept = TableEvents(0, {}, frozenset({1, 2, 3, 4, 5}), (), True)
        of = past(*locations, keys=("p",), evidence=Evidence(HIVE_3, (), lambda: kept))
        assert of.at(2).write_id == 2
        dropped = replace(kept, dropped=(4,))
        of = past(*locations, keys=("p",), evidence=Evidence(HIVE_4, (), lambda: dropped))
        assert "a partition was dropped since, by the metastore's notification" in message(of, 2)
        assert of.at(4).write_id == 4
        assert message(of, 2).endswith("The write ids 4 to 5 can be read.")

    def test_the_notification_log_tells_of_a_truncate(self):
        """Hive 3 removes the files of a partition; Hive 4 leaves a base."""
        truncated = TableEvents(0, {}, frozenset({1, 2, 3, 4, 5}), (), True, (4,))
        kept, options = listing("delta_1_1_0000/b", "delta_3_3_0000/b"), {"newest": 4, "keys": "p"}
        of_hive_3 = Evidence(HIVE_3, (), lambda: truncated)
        of = past(kept, listing(), evidence=of_hive_3, **options)
        assert "does not tell whether a partition was dropped or truncated" in message(of, 3)
        not_since = replace(of_hive_3, read_events=lambda: replace(truncated, truncated=(2,)))
        assert past(kept, listing(), evidence=not_since, **options).at(3).write_id == 3
        of_hive_4 = Evidence(HIVE_4, (), lambda: truncated)
        emptied = listing("delta_2_2_0000/b", "base_4/b")
        assert past(kept, emptied, evidence=of_hive_4, **options).at(3).write_id == 3

    def test_hive_3_tells_nothing_of_dropped_partitions(self):
        of = past(listing("delta_1_1_0000/b"), keys=("p",), evidence=Evidence(HIVE_3, ()))
        assert message(of, 2).endswith("Only the newest write id, 5, can be read.")

    def test_a_partition_that_was_dropped_by_a_later_commit_is_missed(self):
        of = past(listing("delta_1_1_0000/b", "delta_3_3_0000/b"), newest=3, keys=("p",))
        assert of.at(3).write_id == 3
        with pytest.raises(InstantLostError, match="no directory is named after write id 2"):
            of.at_point(Point(3, frozenset({2})))


class Client:
    """A metastore whose answers about compactions come one after the other."""

    def __init__(self, *answers: tuple[Compaction, ...]) -> None:
        self.answers = list(answers)

    def get_compactions(self, name: TableName) -> tuple[Compaction, ...]:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class TestLookBack:
    @pytest.fixture
    def look(self, monkeypatch):
        listed = []
        monkeypatch.setattr(module, "_PAUSE", 0)

        def list_locations(spark, locations):
            listed.append(locations)
            return [listing("delta_1_1_0000/b") for _ in locations]

        monkeypatch.setattr(module, "list_locations", list_locations)

        def look(client: Client) -> tuple[History, list]:
            pinned = past(listing("delta_1_1_0000/b")).pinned
            return look_back(None, pinned, pinned, client, HIVE_4), listed

        return look

    def test_a_table_at_rest_is_listed_once(self, look):
        found, listed = look(Client((PENDING,)))
        assert found.evidence.compactions == (PENDING,) and listed == [["/t"]]

    def test_a_table_is_listed_again_while_its_compactions_go_on(self, look):
        began = replace(PENDING, cleaning_began=True)
        done = replace(PENDING, state=CompactionState.SUCCEEDED)
        found, listed = look(Client((PENDING,), (began,), (began,), (done,), (done,)))
        assert found.evidence.compactions == (done,) and len(listed) == 3

    def test_compactions_that_never_rest_prove_nothing(self, look):
        answers = [(replace(PENDING, id=i),) for i in range(20)]
        found, _ = look(Client(*answers))
        assert found.evidence.compactions is None
        assert found.evidence.cleaning("").may_be_partial
