"""Partition number of a row, by a cheap look-up of its file's path.

Partition columns are not in the files. Spark's partition discovery appends them to the read schema,
which breaks the reading of ACID files (ORC then reads the file as an ordinary one). A join on the
path, or parsing the path, costs more than reading a column. So the path is looked up in a perfect
hash table made of literals: two hashes and three array look-ups a row, whatever the number of
files. The expression depends only on the path, so a filter on it prunes files.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import xxhash
from pyspark.sql import Column
from pyspark.sql import functions as F

from hiveacid.acid.layout import ListedFile
from hiveacid.reader.deletes import DeleteFile
from hiveacid.reader.plan import DataFile
from hiveacid.reader.scan import FILE_PATH

_SPARK_SEED = 42
_FILES_PER_BUCKET = 4
_SLOTS_PER_FILE = 1.25


@dataclass(frozen=True)
class PerfectHash:
    """Hash table without collisions ("hash and displace").

    A key's hash `h` picks a bucket, `h mod len(displacements)`; the key's slot is `hash(h,
    displacements[bucket]) mod len(hashes)`. `hashes` holds h in each used slot, so that a key that
    is not in the table is detected; `keys` holds the key itself.
    """

    displacements: tuple[int, ...]
    hashes: tuple[int, ...]
    keys: tuple[str | None, ...]


def build_perfect_hash(keys: Sequence[str]) -> PerfectHash:
    """Build the table for distinct keys, with Spark's `xxhash64` as the hash.

    Raises:
        ValueError: a key occurs twice, or two keys have the same 64-bit hash.
    """
    by_hash = {path_hash(key): key for key in keys}
    if len(by_hash) != len(keys):
        raise ValueError("keys repeat, or collide in 64 bits")
    bucket_count = max(1, len(keys) // _FILES_PER_BUCKET)
    slot_count = max(1, int(len(keys) * _SLOTS_PER_FILE))
    buckets: list[list[int]] = [[] for _ in range(bucket_count)]
    for key_hash in by_hash:
        buckets[key_hash % bucket_count].append(key_hash)

    displacements = [0] * bucket_count
    hashes = [0] * slot_count
    slot_keys: list[str | None] = [None] * slot_count
    for bucket in sorted(range(bucket_count), key=lambda b: -len(buckets[b])):
        displacement = 0
        seeds = [_seed(h) for h in buckets[bucket]]
        while True:
            slots = [_hash_from(seed, displacement) % slot_count for seed in seeds]
            if len(set(slots)) == len(slots) and all(slot_keys[s] is None for s in slots):
                break
            displacement += 1
        displacements[bucket] = displacement
        for slot, key_hash in zip(slots, buckets[bucket], strict=True):
            hashes[slot] = key_hash
            slot_keys[slot] = by_hash[key_hash]
    return PerfectHash(tuple(displacements), tuple(hashes), tuple(slot_keys))


# Each statement that reads a view builds the view again, from the same files.
_hash_of = lru_cache(maxsize=8)(build_perfect_hash)


def number_by_path(path: Column, numbers: Mapping[str, int]) -> Column:
    """Return an int column: the number of the path.

    Args:
        path: `_metadata.file_path` of the scan.
        numbers: the number of each file of the scan, by its value of `_metadata.file_path`.
    """
    if len(set(numbers.values())) == 1:
        return F.lit(next(iter(numbers.values())))
    table = _hash_of(tuple(numbers))
    slot_numbers = [0 if key is None else numbers[key] for key in table.keys]
    key_hash = F.xxhash64(path)
    displacement = F.get(
        numbers_column(table.displacements, "bigint"),
        F.pmod(key_hash, F.lit(len(table.displacements)).cast("bigint")).cast("int"),
    )
    slot = F.pmod(F.xxhash64(key_hash, displacement), F.lit(len(table.hashes)).cast("bigint")).cast(
        "int"
    )
    unknown = F.raise_error(
        F.concat(
            F.lit(
                "[HIVEACID_UNPLANNED_FILE] a row came from a file that was not planned. Read the "
                "table again, and report the case if it happens again. The file: "
            ),
            path,
        )
    )
    known = F.get(numbers_column(table.hashes, "bigint"), slot) == key_hash
    number = F.when(known, F.get(numbers_column(slot_numbers, "int"), slot))
    # Never NULL, so that a join on the column needs no further filter.
    return F.coalesce(number.otherwise(unknown.cast("int")), F.lit(-1))


def partition_number(
    by_path: Mapping[str, ListedFile], files: Iterable[DataFile | DeleteFile]
) -> Column:
    """Return the number of a row's partition, from the scan's `FILE_PATH`.

    Args:
        by_path: the files of the scan by their path, as `scan` returns them.
        files: the same files, as planned.
    """
    partitions = {file.file: file.partition for file in files}
    return number_by_path(
        F.col(FILE_PATH), {path: partitions[file] for path, file in by_path.items()}
    )


def numbers_column(values: Sequence[int], element: str) -> Column:
    """Return an array literal of the Spark type `element`.

    The array is parsed from one string, since a call to the JVM for each value would be slow.
    """
    text = ",".join(str(value) for value in values)
    return F.split(F.lit(text), ",").cast(f"array<{element}>")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def path_hash(path: str) -> int:
    """Return Spark's `xxhash64` of a path or any other string."""
    return _signed(xxhash.xxh64_intdigest(path.encode(), seed=_SPARK_SEED))


def _seed(first: int) -> int:
    return xxhash.xxh64_intdigest(struct.pack("<q", first), seed=_SPARK_SEED)


def _hash_from(seed: int, second: int) -> int:
    return _signed(xxhash.xxh64_intdigest(struct.pack("<q", second), seed=seed))
