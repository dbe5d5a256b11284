"""What a REBALANCE compaction makes of a base.

Hive 4.0.1 rebalances with Tez only, so the base is written here in the form that Hive's
`RebalanceQueryCompactor` gives it.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

import pyorc

from hiveacid.acid.layout import BucketProperty


def rebalance(base: Path, buckets: int) -> None:
    """Rewrite a base with one file: the same rows in other buckets, with other row ids."""
    (old,) = base.glob("bucket_*")
    with old.open("rb") as compacted:
        reader = pyorc.Reader(compacted)
        schema, rows = str(reader.schema), list(reader)
    for path in base.glob("*bucket_*"):  # with the checksums of Hadoop's local file system
        path.unlink()
    per_bucket = -(-len(rows) // buckets)
    numbered: list[tuple[int, tuple[Any, ...]]] = list(enumerate(rows))
    for bucket, group in groupby(numbered, lambda row: row[0] // per_bucket):
        with (base / f"bucket_{bucket:05d}").open("wb") as file, pyorc.Writer(file, schema) as out:
            for number, (operation, write_id, _, _, writer, row) in group:
                key = (write_id, BucketProperty(bucket, 0).encode(), number)
                out.write((operation, *key, writer, row))
