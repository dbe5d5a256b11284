"""Random histories in which Hive and `hiveacid.transaction` write in turns.

After each step Hive's answers and ours are compared with the rows that a model in Python has.
"""

from __future__ import annotations

import random

from integration.support.differential import canonical, null_partitions
from integration.support.histories.actions import Sql, Step, World
from integration.support.histories.history import COLUMNS, Ground, Histories
from integration.support.histories.shape import Shape
from integration.support.histories.table_state import Operation, TableState
from integration.support.histories.turns_model import Condition, TurnsTable, TurnsWorld
from integration.support.histories.turns_operations import OPERATIONS
from integration.support.hive import HiveClient, hive_3

#: How Hive reads: vectorized or not, and by a task or as it fetches the answer.
_WAYS = (("true", "none"), ("false", "none"), ("true", "more"))
_KEY_TYPES = ("string", "int", "date")
_FORMATS = ("ORC", "PARQUET")


class Turns(Histories):
    """Histories of Hive and `hiveacid.transaction`, on tables that the latter writes.

    Every way of Hive to read, the rows under a filter, and both of ours count as a comparison.
    """

    operations: dict[str, Operation] = OPERATIONS
    first = ("insert", "hiveacid append")

    def __init__(self, ground: Ground, seed: int | None = None) -> None:
        super().__init__(ground)
        self.seed = ground.seed if seed is None else seed
        self.tally.wanted = tuple(self.operations)
        # Without its log: what Hive takes for empty differs from the model's rows anyway.
        self._reader = HiveClient(ground.differential.hive.hs2_port)

    def close(self) -> None:
        """End the session that reads."""
        self._reader.close()

    def _choose_shape(self, rng: random.Random) -> Shape:
        while True:
            shape = super()._choose_shape(rng)
            keys = all(it.type in _KEY_TYPES for it in shape.partition)
            # The library writes no decimals into Parquet of Hive 3.
            formats = _FORMATS[:1] if self._hive == hive_3.VERSION else _FORMATS
            if not shape.buckets and keys and shape.file_format in formats:
                return shape

    def _world(self, name: str) -> World:
        like = super()._world(name)
        return TurnsWorld(
            like.client,
            like.metastore,
            like.connect,
            like.table,
            like.scratch,
            spark=self._differential.spark,
            uri=self._differential.hive.metastore_uri,
            is_of_hive_3=self._hive == hive_3.VERSION,
        )

    def _state(self, shape: Shape, rng: random.Random) -> TableState:
        return TurnsTable(shape, rng, list(COLUMNS), transactional=not shape.converted)

    def _begin(
        self, world: World, shape: Shape, rng: random.Random, steps: list[Step]
    ) -> TableState:
        second = Sql(
            "CREATE TABLE {table}_second (id int, name string, amount decimal(10,2)) STORED AS ORC "
            "TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"
        )
        self._do(world, Step("create the second table", (second,)), steps)
        return super()._begin(world, shape, rng, steps)

    def _compare(self, world: World, where: str | None) -> None:
        assert isinstance(world, TurnsWorld)
        names, keys = self._columns(world)
        rows = canonical([row.get(name) for name in names] for row in world.rows)
        table = str(world.table)
        for vectorized, fetched in _WAYS:
            self._reader.execute(f"SET hive.vectorized.execution.enabled={vectorized}")
            self._reader.execute(f"SET hive.fetch.task.conversion={fetched}")
            assert self._shown(table, keys) == rows, (
                f"Hive's rows, vectorized {vectorized}, fetched {fetched}, and the model's"
            )
        with self._differential.pinned_frame(table) as (_, frame):
            assert canonical(map(tuple, frame.collect())) == rows, "our rows and the model's"
            if isinstance(where, Condition):
                some = canonical(
                    [row.get(name) for name in names] for row in world.rows if where.holds(row)
                )
                ours = canonical(map(tuple, frame.where(str(where)).collect()))
                assert ours == some, f"our rows and the model's where {where}"
        if isinstance(where, Condition):
            hives = self._shown(f"{table} WHERE {where}", keys)
            assert hives == some, f"Hive's rows and the model's where {where}"
            self.tally.comparisons += 2
        # The history counts one.
        self.tally.comparisons += len(_WAYS)
        if world.second_is_written:
            second = canonical([*row.values()][:3] for row in world.second)
            assert self._shown(f"{table}_second", 0) == second, "rows of the second table"
            world.second_is_written = False
            self.tally.comparisons += 1

    def _columns(self, world: World) -> tuple[list[str], int]:
        table = world.metastore.get_table(world.table)
        keys = [it.name for it in table.partition_keys]
        return [it.name for it in table.storage.columns] + keys, len(keys)

    def _shown(self, relation: str, keys: int) -> list[tuple[str, ...]]:
        rows = self._reader.query(f"SELECT * FROM {relation}")
        return canonical(null_partitions(row, len(row) - keys, len(row)) for row in rows)
