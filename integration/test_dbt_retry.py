"""`dbt retry`: it locks and pins the sources of the nodes that it runs again, as `dbt run` does."""

from __future__ import annotations

import threading

from dbt_common.events.base_types import EventMsg

from integration.support.dbt_project import DbtProject, finished
from integration.support.hive import HiveClient, HiveServer
from integration.support.metastore import assert_nothing_held, locks_of_dbt

FAILS_FIRST = "{% if var('bad', true) %}raise_error('no'){% else %}id{% endif %} as id"


class DropPartition(threading.Thread):
    """Drops a partition in Hive, which waits until nobody reads the table."""

    def __init__(self, hive: HiveServer, table: str) -> None:
        super().__init__(daemon=True)
        self._hive, self._table = hive, table
        self.done = threading.Event()

    def run(self) -> None:
        with HiveClient(self._hive.hs2_port) as client:
            client.execute(f"ALTER TABLE {self._table} DROP PARTITION (p=1)")
        self.done.set()


def test_a_retried_run_locks_its_sources_together_and_releases_them_early(
    dbt_project: DbtProject, hive: HiveServer, hive_client: HiveClient, database: str
) -> None:
    for table in "ab":
        hive_client.script(
            f"""
            CREATE TABLE {table} (id int) PARTITIONED BY (p int) STORED AS ORC
              TBLPROPERTIES ('transactional'='true');
            INSERT INTO {table} PARTITION (p=1) VALUES (1), (2);
            INSERT INTO {table} PARTITION (p=2) VALUES (3);
            """
        )
    project = dbt_project
    project.sources("a", "b")
    project.models(
        done="select 1 as id",
        m1=f"select {FAILS_FIRST} from {{{{ source('shop', 'a') }}}}",
        m2=f"select {FAILS_FIRST} from {{{{ source('shop', 'b') }}}} -- {{{{ ref('m1') }}}}",
        plain="select count(*) as n from {{ ref('m2') }}",
    )
    assert not project.invoke("run").success
    statuses = {r["unique_id"].split(".")[2]: r["status"] for r in project.run_results()}
    assert statuses == {"done": "success", "m1": "error", "m2": "skipped", "plain": "skipped"}

    drop = DropPartition(hive, f"{database}.b")
    locked: set[str] = set()
    dropped_after: dict[str, bool] = {}

    def listen(event: EventMsg) -> None:
        if finished(event, "m1"):
            locked.update(lock["table"] for lock in locks_of_dbt(hive_client, database))
            hive_client.execute("INSERT INTO b PARTITION (p=2) SELECT id FROM a WHERE id < 0")
            drop.start()
        if finished(event, "m2"):
            dropped_after["m2"] = drop.done.is_set()
        if finished(event, "plain"):
            dropped_after["plain"] = drop.done.wait(60)

    project.succeed("retry", "--vars", "bad: false", on_event=listen)
    assert locked == {"a", "b"}, "before the first node that reads b"
    assert dropped_after == {"m2": False, "plain": True}
    report = project.artifact("hiveacid_snapshot.json")
    assert report["transaction"]["ended_after"] == "model.test.m2"
    assert [int(n) for (n,) in hive_client.query("SELECT n FROM plain")] == [3]
    assert {r["unique_id"].split(".")[2] for r in project.run_results()} == {"m1", "m2", "plain"}
    assert_nothing_held(hive_client, database)
