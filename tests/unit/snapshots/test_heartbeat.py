"""Heartbeats against the fake metastore, with intervals of milliseconds."""

from __future__ import annotations

import re
import time

import pytest

from hiveacid.errors import InvalidSettingError, TransactionLostError
from hiveacid.metastore.models import ServerInfo, TransactionState
from hiveacid.snapshots import transaction
from hiveacid.snapshots.transaction import SnapshotSettings
from tests.unit.snapshots.fake_metastore import ORDERS, wait_until


def timeout_of(seconds: float) -> ServerInfo:
    return ServerInfo("4.0.1", True, seconds, False)


def test_they_go_on_until_the_end(metastore, make_snapshot):
    snapshot = make_snapshot(heartbeat_interval=0.01)
    snapshot.pin([ORDERS])
    wait_until(lambda: len(metastore.calls("heartbeat")) >= 3)
    snapshot.end()
    wait_until(lambda: metastore.open_clients == 0)
    sent = len(metastore.calls("heartbeat"))
    time.sleep(0.05)
    assert len(metastore.calls("heartbeat")) == sent


def test_they_use_a_connection_of_their_own(metastore, make_snapshot):
    make_snapshot(heartbeat_interval=0.01).pin([ORDERS])
    wait_until(lambda: metastore.open_clients == 2)


def test_one_that_is_not_answered_leaves_time_for_others(metastore, make_snapshot):
    metastore.server = timeout_of(60)
    make_snapshot().pin([ORDERS])
    wait_until(lambda: metastore.longest_waits)
    assert metastore.longest_waits == [10]


def test_they_go_on_while_a_lock_is_waited_for(metastore, make_snapshot):
    holder = metastore.exclusive(ORDERS)

    def release(call):
        if call == "heartbeat" and len(metastore.calls("heartbeat")) == 2:
            with metastore.mutex:
                metastore.finish(holder.txn_id)

    metastore.before = release
    make_snapshot(heartbeat_interval=0.02).pin([ORDERS])
    assert len(metastore.calls("heartbeat")) >= 2


def test_none_with_interval_0(metastore, make_snapshot):
    metastore.server = timeout_of(0.03)
    make_snapshot(heartbeat_interval=0).pin([ORDERS])
    time.sleep(0.1)
    assert metastore.calls("heartbeat") == []


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (TransactionState.ABORTED, "the metastore has aborted it"),
        (TransactionState.UNKNOWN, "the metastore no longer knows it"),
    ],
)
def test_a_loss_is_told_once_and_remembered(metastore, make_snapshot, state, reason):
    lost = []
    snapshot = make_snapshot(heartbeat_interval=0.01, on_lost=lost.append)
    snapshot.pin([ORDERS])
    metastore.finish(snapshot.transaction_id, state)
    wait_until(lambda: lost)
    for _ in range(2):
        with pytest.raises(TransactionLostError, match=f"transaction 4, .*: {reason}"):
            snapshot.check_alive()
    with pytest.raises(TransactionLostError):
        snapshot.pin([ORDERS])
    assert len(lost) == 1


def test_a_failing_connection_is_borne_for_the_timeout(metastore, make_snapshot):
    metastore.server = timeout_of(60)
    lost = []
    snapshot = make_snapshot(heartbeat_interval=0.01, on_lost=lost.append)
    snapshot.pin([ORDERS])
    metastore.down = True
    time.sleep(0.1)
    metastore.down = False
    beats = len(metastore.calls("heartbeat"))
    wait_until(lambda: len(metastore.calls("heartbeat")) > beats)
    snapshot.check_alive()
    assert lost == []


def test_after_the_timeout_without_one_it_is_lost(metastore, make_snapshot):
    metastore.server = timeout_of(0.1)
    lost = []
    snapshot = make_snapshot(heartbeat_interval=0.01, on_lost=lost.append)
    snapshot.pin([ORDERS])
    metastore.down = True
    wait_until(lambda: lost)
    assert "no heartbeat reached the metastore for" in str(lost[0].message)
    assert "the metastore is down" in str(lost[0].message)


def test_a_bug_does_not_end_them_silently(metastore, make_snapshot):
    metastore.server = timeout_of(0.1)
    lost = []

    def break_down(call):
        if call == "heartbeat":
            raise AttributeError("bug")

    metastore.before = break_down
    make_snapshot(heartbeat_interval=0.01, on_lost=lost.append).pin([ORDERS])
    wait_until(lambda: lost)


class TestSettings:
    def test_a_third_of_the_metastores_timeout(self):
        assert SnapshotSettings().heartbeat_seconds(300) == 100

    def test_an_interval_of_ones_own(self):
        assert SnapshotSettings(heartbeat_interval=7).heartbeat_seconds(300) == 7

    def test_one_that_cannot_keep_the_transaction_alive_opens_none(self, metastore, make_snapshot):
        with pytest.raises(InvalidSettingError) as error:
            make_snapshot(heartbeat_interval=300).pin([ORDERS])
        assert str(error.value.message) == (
            "heartbeat_interval is 300 s, but the metastore aborts a transaction after 300 s "
            "without one (metastore.txn.timeout). Leave it out, or set it well below."
        )
        assert metastore.calls("open_txn") == []

    @pytest.mark.parametrize("key", ["heartbeat_interval", "lock_timeout", "open_files_limit"])
    def test_negative_numbers_are_refused(self, key):
        with pytest.raises(InvalidSettingError, match=f"{key} must not be negative, but is -1"):
            SnapshotSettings(**{key: -1})


class TestWarnings:
    def test_failing_ones_are_told_with_the_reason_and_the_deadline(
        self, metastore, make_snapshot, caplog
    ):
        metastore.server = timeout_of(60)
        snapshot = make_snapshot(heartbeat_interval=0.01)
        with caplog.at_level("INFO", "hiveacid"):
            snapshot.pin([ORDERS])
            metastore.down = True
            wait_until(lambda: "A heartbeat of" in caplog.text)
            time.sleep(0.1)
            metastore.down = False
            wait_until(lambda: "sends heartbeats again" in caplog.text)
        (warning,) = [
            record.getMessage()
            for record in caplog.records
            if (record.name, record.levelname) == ("hiveacid", "WARNING")
        ]
        id_ = snapshot.report().transaction_id
        expected = (
            rf"\[HIVEACID_WARN_HEARTBEAT_FAILED\] A heartbeat of transaction {id_} failed\. "
            r"The transaction is lost at \d\d:\d\d:\d\d unless a heartbeat succeeds before\. "
            r"the metastore is down"
        )
        assert re.fullmatch(expected, warning)

    def test_go_on_once_in_a_while(self, metastore, make_snapshot, caplog, monkeypatch):
        monkeypatch.setattr(transaction, "SECONDS_BETWEEN_WARNINGS", 0.0)
        metastore.server = timeout_of(60)
        with caplog.at_level("WARNING", "hiveacid"):
            make_snapshot(heartbeat_interval=0.01).pin([ORDERS])
            metastore.down = True
            wait_until(lambda: caplog.text.count("A heartbeat of") >= 2)


def test_the_user_is_whom_the_metastore_knows(metastore, make_snapshot):
    metastore.known_user = "dbt@EXAMPLE.COM"
    make_snapshot().pin([ORDERS])
    assert {lock.user for lock in metastore.locks} == {"dbt@EXAMPLE.COM"}
