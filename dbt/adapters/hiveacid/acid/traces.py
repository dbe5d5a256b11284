"""Which write ids left a trace on disk."""

from __future__ import annotations

from collections.abc import Iterable

from dbt.adapters.hiveacid.acid.directories import BaseDir, try_parse_directory
from dbt.adapters.hiveacid.acid.listing import Listing


def without_directory(write_ids: Iterable[int], listings: Iterable[Listing]) -> frozenset[int]:
    """Those of `write_ids` that no base, delta or delete delta below the listings is named after.

    A directory that a compaction made stands for none of its write ids: its range may take in one
    that left nothing behind, such as that of a dropped partition.
    """
    traced: set[int] = set()
    for listing in listings:
        for name in listing.directories:
            directory = None if "/" in name else try_parse_directory(name)
            if directory is None or directory.visibility_txn:
                continue
            if isinstance(directory, BaseDir):
                traced.add(directory.write_id)
            elif directory.min_write_id == directory.max_write_id:
                traced.add(directory.max_write_id)
    return frozenset(write_ids) - traced
