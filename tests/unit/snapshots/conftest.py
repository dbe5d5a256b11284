import pytest

from hiveacid.snapshots.concurrent_ddl import nothing_explained
from hiveacid.snapshots.run_snapshot import RunSnapshot, SnapshotHooks
from hiveacid.snapshots.transaction import SnapshotSettings
from tests.unit.snapshots.fake_metastore import CUSTOMERS, ORDERS, FakeMetastore


@pytest.fixture
def metastore() -> FakeMetastore:
    metastore = FakeMetastore()
    metastore.add_table(ORDERS, writes=2)
    metastore.add_table(CUSTOMERS)
    return metastore


class Hooks(SnapshotHooks):
    """Hooks some of which a test gives."""

    def __init__(self, **given):
        for name, hook in given.items():
            assert hasattr(SnapshotHooks, name)
            setattr(self, name, hook)


@pytest.fixture
def make_snapshot(metastore):
    """Makes run snapshots on the fake metastore and ends them after the test."""
    made = []

    def make(**options) -> RunSnapshot:
        settings = SnapshotSettings(
            heartbeat_interval=options.pop("heartbeat_interval", None),
            lock_timeout=options.pop("lock_timeout", 5),
        )
        unexplained = options.pop("unexplained", nothing_explained)
        made.append(
            RunSnapshot(
                metastore.client, settings, "dbt test", Hooks(**options), unexplained=unexplained
            )
        )
        return made[-1]

    yield make
    metastore.down = False
    for snapshot in made:
        snapshot.end()
