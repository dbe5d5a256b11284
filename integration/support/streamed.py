"""A file that a streaming writer has not closed, made without such a writer."""

from __future__ import annotations

import struct
from pathlib import Path

import pyorc

from hiveacid.acid.layout import BucketProperty

ACID_FILE = (
    "struct<operation:int,originalTransaction:bigint,bucket:int,rowId:bigint,"
    "currentTransaction:bigint,row:struct<id:int,v:string>>"
)
BUCKET = BucketProperty(0, 0).encode()


class Batch:
    """A file of a batch as its writer leaves it, next to a side file."""

    def __init__(self, delta: Path) -> None:
        """Take the directory of the delta, which is there."""
        self.file = delta / "bucket_00000"
        self.side_file = delta / "bucket_00000_flush_length"

    def write(self, write_ids: int) -> int:
        """Two rows for each of the first write ids; the length of the file."""
        with (
            self.file.open("wb") as file,
            pyorc.Writer(file, ACID_FILE, row_index_stride=0) as writer,
        ):
            writer.set_user_metadata(**{"hive.acid.version": b"2"})
            for write_id in range(1, write_ids + 1):
                for row in range(2):
                    key = (0, write_id, BUCKET, row, write_id)
                    writer.write((*key, (10 * write_id + row, f"of {write_id}")))
        return self.file.stat().st_size

    def flushed(self, *lengths: int, torn: bytes = b"") -> None:
        """Let the side file have these lengths."""
        self.side_file.write_bytes(struct.pack(f">{len(lengths)}q", *lengths) + torn)
