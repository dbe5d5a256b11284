"""Files that other programs wrote, loaded into tables of random histories."""

from __future__ import annotations

import datetime as dt
import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.orc
import pyarrow.parquet
import pyorc

from integration.support.histories.actions import World
from integration.support.histories.shape import Column
from integration.support.histories.table_state import Actions, Operation, TableState

Rows = list[tuple[Any, ...]]

_FEW, _MANY = (1, 12), (150, 400)
"""Least and most rows of a load. Many have several stripes or row groups."""

_START = dt.datetime(1969, 12, 31, 23, 59, 58, 123456)

#: The value of a row's number, for each type that a column may have.
_VALUES: Mapping[str, Callable[[int], Any]] = {
    "int": lambda n: n * 7,
    "bigint": lambda n: -n * 10**10,
    "string": lambda n: f"row {n}" + " ü" * (n % 3),
    "double": lambda n: n / 4,
    "decimal(10,2)": lambda n: Decimal(125 * n - 1000).scaleb(-2),
    "date": lambda n: dt.date(1969, 12, 1) + dt.timedelta(days=n),
    "boolean": lambda n: n % 2 == 0,
    # From 1970 on: of fractions of seconds before, each writer and reader of ORC has its own idea.
    "timestamp": lambda n: _START + dt.timedelta(hours=n, microseconds=n * 1001),
}

_ARROW: Mapping[str, pyarrow.DataType] = {
    "int": pyarrow.int32(),
    "bigint": pyarrow.int64(),
    "string": pyarrow.string(),
    "double": pyarrow.float64(),
    "decimal(10,2)": pyarrow.decimal128(10, 2),
    "date": pyarrow.date32(),
    "boolean": pyarrow.bool_(),
    "timestamp": pyarrow.timestamp("us"),
}


def rows_of(columns: Sequence[Column], first: int, last: int, null_every: int) -> Rows:
    """Rows with these numbers as ids. One in `null_every` other values is NULL."""
    return [
        (
            n,
            *(
                None if (n + j) % null_every == 0 else _VALUES[column.type](n)
                for j, column in enumerate(columns[1:], start=1)
            ),
        )
        for n in range(first, last + 1)
    ]


def write_with_pyorc(path: Path, columns: Sequence[Column], rows: Rows, rng: random.Random) -> None:
    """Write an ORC file: of several stripes if there are many rows, and it is not compressed."""
    schema = "struct<" + ",".join(f"`{column.name}`:{column.type}" for column in columns) + ">"
    kinds = pyorc.CompressionKind
    options: dict[str, Any] = {
        "compression": rng.choice((kinds.NONE, kinds.NONE, kinds.ZLIB, kinds.SNAPPY, kinds.ZSTD)),
        "row_index_stride": rng.choice((0, 1000, 10_000)),
        "bloom_filter_columns": rng.choice(((), (0,))),
        "batch_size": 64,
        "stripe_size": 1,
    }
    with path.open("wb") as file, pyorc.Writer(file, schema, **options) as writer:
        for row in rows:
            # Naive times are the writer's clock; pyorc wants them with a zone.
            writer.write(tuple(_in_utc(value) for value in row))


def write_orc_with_arrow(
    path: Path, columns: Sequence[Column], rows: Rows, rng: random.Random
) -> None:
    """Write an ORC file of several stripes if there are many rows."""
    pyarrow.orc.write_table(
        _arrow_table(columns, rows, _ARROW["timestamp"]),
        path,
        compression=rng.choice(("uncompressed", "zlib", "snappy", "zstd")),
        row_index_stride=rng.choice((1000, 10_000)),
        batch_size=64,
        stripe_size=rng.choice((1000, 64 * 2**20)),
    )


def write_parquet_with_arrow(
    path: Path, columns: Sequence[Column], rows: Rows, rng: random.Random
) -> None:
    """Write a Parquet file: with statistics of its columns or without, of several row groups."""
    timestamp = pyarrow.timestamp(rng.choice(("us", "ms", "ns")))
    pyarrow.parquet.write_table(
        _arrow_table(columns, rows, timestamp),
        path,
        row_group_size=rng.choice((3, 100, 10_000)),
        write_statistics=rng.choice((True, True, False, ["id"])),
        use_dictionary=rng.choice((True, False)),
        compression=rng.choice(("none", "snappy", "gzip", "zstd")),
        data_page_version=rng.choice(("1.0", "1.0", "2.0")),
        use_deprecated_int96_timestamps=rng.random() < 0.3,
        version=rng.choice(("1.0", "2.4", "2.6")),
        store_decimal_as_integer=rng.choice((True, False)),
        write_page_index=rng.choice((True, False)),
    )


def _arrow_table(
    columns: Sequence[Column], rows: Rows, timestamp: pyarrow.DataType
) -> pyarrow.Table:
    types = {**_ARROW, "timestamp": timestamp}
    arrays = {
        column.name: pyarrow.array([row[i] for row in rows], _ARROW[column.type]).cast(
            types[column.type], safe=False
        )
        for i, column in enumerate(columns)
    }
    return pyarrow.table(arrays)


def _in_utc(value: Any) -> Any:
    return value.replace(tzinfo=dt.timezone.utc) if isinstance(value, dt.datetime) else value


_WRITERS = {
    "pyorc": write_with_pyorc,
    "pyarrow's ORC": write_orc_with_arrow,
    "pyarrow's Parquet": write_parquet_with_arrow,
}


@dataclass(frozen=True)
class LoadFiles:
    """Files are written one after the other, and loaded together.

    `numbers` are the first and the last id of each file; `seed` chooses how they are written.
    """

    writer: str
    columns: tuple[Column, ...]
    numbers: tuple[tuple[int, int], ...]
    names: tuple[str, ...]
    partition: str | None
    seed: int

    def run(self, world: World) -> None:
        directory = world.scratch / f"files_{self.seed}"
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        rng = random.Random(self.seed)
        for name, (first, last) in zip(self.names, self.numbers, strict=True):
            rows = rows_of(self.columns, first, last, rng.choice((4, 5, 7)))
            _WRITERS[self.writer](directory / name, self.columns, rows, rng)
        world.client.execute(self._sql(world, str(directory)))

    def _sql(self, world: World, directory: str) -> str:
        clause = f" PARTITION ({self.partition})" if self.partition else ""
        return f"LOAD DATA LOCAL INPATH '{directory}' INTO TABLE {world.table}{clause}"

    def script(self, world: World) -> str:
        return (
            f"-- files as {self} writes them (integration/support/histories/loads.py), then:\n"
            f"{self._sql(world, '...')};"
        )


def load_of_pyorc(table: TableState) -> Actions | None:
    return _load(table, "pyorc", "ORC")


def load_orc_of_arrow(table: TableState) -> Actions | None:
    return _load(table, "pyarrow's ORC", "ORC")


def load_parquet_of_arrow(table: TableState) -> Actions | None:
    return _load(table, "pyarrow's Parquet", "PARQUET")


def _load(table: TableState, writer: str, file_format: str) -> Actions | None:
    if table.shape.file_format != file_format or table.shape.buckets or table.is_locked:
        return None  # hive.strict.checks.bucketing
    partition = None
    if table.shape.partition:
        partition = table.specification(table.new_partition())
    files = table.rng.choice((1, 1, 2, 3))
    least, most = table.rng.choice((_FEW, _FEW, _MANY))
    numbers = tuple(table.numbers(table.rng.randint(least, most)) for _ in range(files))
    # Hive takes nothing else than buckets into a full-ACID table.
    names = tuple(f"{i:06d}_0" for i in range(files))
    if not table.shape.full_acid and table.rng.random() < 0.5:
        suffix = file_format.lower()
        names = tuple(f"part-{i}.{suffix}" for i in range(files))
    seed = table.rng.randrange(2**32)
    return (LoadFiles(writer, tuple(table.columns), numbers, names, partition, seed),)


OPERATIONS: dict[str, Operation] = {
    "load of pyorc": load_of_pyorc,
    "load of pyarrow's ORC": load_orc_of_arrow,
    "load of pyarrow's Parquet": load_parquet_of_arrow,
}
"""The loads of files that other programs wrote."""
