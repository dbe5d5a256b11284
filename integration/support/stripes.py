"""Original files of several stripes, and full-ACID tables of them."""

from __future__ import annotations

from pathlib import Path

import pyorc

from integration.support.hive import HiveClient
from integration.support.tables import FULL_ACID


def write_stripes(location: Path, files: int, rows: int) -> None:
    """Write original files with several stripes. The ids of a file begin at 10,000 times its
    number."""
    location.mkdir()
    for number in range(files):
        path = location / f"00000{number}_0"
        schema = "struct<id:int,name:string>"
        with (
            path.open("wb") as file,
            pyorc.Writer(
                file, schema, stripe_size=4096, compression=pyorc.CompressionKind.NONE
            ) as writer,
        ):
            for i in range(rows):
                writer.write((10_000 * number + i, f"name {i * 7919 % 6007}"))
        with path.open("rb") as written:
            assert pyorc.Reader(written).num_of_stripes > 3


def convert_stripes(client: HiveClient, table: str, location: Path) -> None:
    """Make a full-ACID table of the files of `write_stripes`."""
    client.execute(
        f"CREATE TABLE {table} (id int, name string) STORED AS ORC "
        f"LOCATION 'file:{location}' TBLPROPERTIES ('transactional'='false')"
    )
    client.execute(f"ALTER TABLE {table} SET TBLPROPERTIES ({FULL_ACID})")
