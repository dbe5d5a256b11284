"""What an incremental run reads and looks at: the files with changes, and no others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from integration.support.dbt_project import node_results
from integration.support.differential import canonical
from integration.support.hive import HiveServer
from integration.support.incremental import BY_KEY, BY_ROW_ID, ORDERS, Incremental

ALL_BY_KEY, ALL_BY_ROW_ID = (
    model.replace("where status <> 'hidden'", "") for model in (BY_KEY, BY_ROW_ID)
)

FOLLOWING = {
    "parquet_key": ALL_BY_KEY,
    # NULL is among the keys.
    "delta_keys": ALL_BY_KEY.replace(
        "unique_key='id'", "unique_key=['status', 'id'], file_format='delta'"
    ),
    "delta_ids": ALL_BY_ROW_ID,
}


@pytest.fixture
def orders(incremental: Incremental, hive: HiveServer) -> Orders:
    """The source, with three writes, and what runs read of it."""
    return Orders(incremental, hive)


class Orders:
    """A source whose rows come in several writes, each with a file of its own."""

    def __init__(self, incremental: Incremental, hive: HiveServer) -> None:
        self.incremental = incremental
        self._root = hive.warehouse / f"{incremental.database}.db" / "orders"
        incremental.hive.script(ORDERS.format(clause=""))
        for first in (0, 100, 200):
            self.insert(range(first, first + 50))
        incremental.project.sources("orders")

    def insert(self, ids: Iterable[int]) -> None:
        """One write of some rows."""
        statuses = {i: "NULL" if i % 7 == 0 else r"'it\'s new'" for i in ids}
        values = ", ".join(f"({i}, {i}.5, {status})" for i, status in statuses.items())
        self.incremental.hive.execute(f"INSERT INTO orders VALUES {values}")

    def run(self, *select: str) -> dict[str, dict[str, Any]]:
        """Run dbt; what each model says that it has applied."""
        result = self.incremental.project.succeed("run", *select)
        return {n.node.name: n.adapter_response.get("changes") for n in node_results(result)}

    def assert_like_hive(self, models: Iterable[str]) -> None:
        """Each target has what Hive answers."""
        query = "SELECT id, amount * 2, status FROM orders"
        expected = canonical(self.incremental.hive.query(query))
        for model in models:
            assert self.incremental.rows(model) == expected, model

    def directories(self) -> set[str]:
        """The names of all directories of the table."""
        return {path.name for path in self._root.iterdir()}

    def files(self, *directories: str) -> tuple[int, int]:
        """How many data files there are in some directories, and their bytes."""
        lengths = [
            file.stat().st_size
            for directory in directories
            for file in self._root.glob(f"{directory}/bucket_*")
        ]
        return len(lengths), sum(lengths)


def _read(changes: dict[str, Any]) -> tuple[int, int]:
    return changes["files_read"], changes["bytes_read"]


def test_only_files_with_changes_are_read(orders: Orders) -> None:
    incremental = orders.incremental
    incremental.project.models(log=ALL_BY_KEY.replace(",\n    unique_key='id'", ""), **FOLLOWING)
    assert set(orders.run().values()) == {None}

    orders.insert(range(300, 350))
    for model, changes in orders.run().items():
        assert _read(changes) == orders.files("delta_0000004_0000004_0000"), model
        assert (changes["files"], changes["write_ids"], changes["inserts"]) == (4, "4", 50), model
    orders.assert_like_hive(["log", *FOLLOWING])
    (incremental.project.path / "models" / "log.sql").unlink()

    incremental.hive.execute("DELETE FROM orders WHERE id = 110")
    incremental.hive.execute("UPDATE orders SET status = 'back\\\\slash' WHERE id IN (112, 120)")
    changed = [
        "delete_delta_0000005_0000005_0000",
        "delete_delta_0000006_0000006_0000",
        "delta_0000006_0000006_0001",
    ]
    looked_up = [*changed, "delta_0000002_0000002_0000"]
    read = {model: _read(changes) for model, changes in orders.run().items()}
    assert read == {
        "parquet_key": orders.files(*looked_up),
        "delta_keys": orders.files(*looked_up),
        "delta_ids": orders.files(*changed),
    }
    orders.assert_like_hive(FOLLOWING)

    # Compacted together with what has been seen: rows then differ by their write ids.
    incremental.hive.compact("orders", "minor")
    before = orders.directories()
    orders.insert([400])
    incremental.hive.execute("DELETE FROM orders WHERE id = 300")
    # Hive fails if its cleaner removes a delta while it reads, and takes the next write id then.
    news = sorted(orders.directories() - before)
    assert [name.partition("_0")[0] for name in news] == ["delete_delta", "delta"]
    read = {model: _read(changes) for model, changes in orders.run().items()}
    assert read["delta_ids"] == orders.files(*news)
    # The compacted file without row ids of write id 4 cannot hold the deleted row.
    assert read["parquet_key"][0] == len(news) + 1
    orders.assert_like_hive(FOLLOWING)
