"""Footers are read from many files at once, and none of them stays open."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyorc
import pytest
from pyspark.sql import SparkSession

from hiveacid.acid.layout import ListedFile
from hiveacid.errors import UnreadableTableError
from hiveacid.jvm import filesystem
from hiveacid.reader.orc_footers import OrcFooter, OrcFooters, RowIdRange, _FooterReader
from tests.functional.jvm_calls import count

_LINUX = Path("/proc/self/fd").is_dir()


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Files of 0, 1, 2, … rows."""
    paths = [tmp_path / f"bucket_{i:05}" for i in range(20)]
    for rows, path in enumerate(paths):
        with path.open("wb") as stream, pyorc.Writer(stream, "struct<id:int>") as writer:
            writer.writerows((row,) for row in range(rows))
    return paths


def listed(path: Path) -> ListedFile:
    status = path.stat()
    return ListedFile(path.name, f"file:{path}", status.st_size, int(status.st_mtime * 1000))


def test_rows_and_columns(spark: SparkSession, files: list[Path]) -> None:
    footers = OrcFooters().read(spark, map(listed, files))
    assert [footers[listed(path)].rows for path in files] == list(range(20))
    assert {(footer.columns, footer.types) for footer in footers.values()} == {(("id",), ("int",))}
    assert [sum(stripe.rows for stripe in footer.stripes) for footer in footers.values()] == [
        *range(20)
    ]


def test_stripes(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "000000_0"
    none = pyorc.CompressionKind.NONE
    with (
        path.open("wb") as stream,
        pyorc.Writer(stream, "struct<id:int>", stripe_size=4096, compression=none) as writer,
    ):
        writer.writerows((row * 7919 % 10_007,) for row in range(10_000))
    with path.open("rb") as written:
        own = [(it.bytes_offset, len(it)) for it in pyorc.Reader(written).iter_stripes()]
    assert len(own) > 3
    footer = OrcFooters().read(spark, [listed(path)])[listed(path)]
    assert list(footer.stripes) == own


def test_a_damaged_file_among_others(spark: SparkSession, files: list[Path]) -> None:
    damaged = files[-1]
    damaged.write_bytes(damaged.read_bytes()[:-10])
    with pytest.raises(UnreadableTableError, match=rf"{damaged.name} \(\d+ bytes\) cannot be read"):
        OrcFooters().read(spark, map(listed, files))


def test_a_file_that_pyspark_has_an_error_of_its_own_for(
    spark: SparkSession, files: list[Path]
) -> None:
    """PySpark makes another exception of Java's IllegalArgumentException than of others."""
    old = files[-1]
    content = old.read_bytes()
    # The end of the postscript: the version of the writer (field 6), the magic, and the length.
    written_by, magic = content[-10:-8], content[-8:-1]
    assert (written_by[0], magic[-3:]) == (0x30, b"ORC")
    old.write_bytes(content[:-9] + b"\0" + content[-8:])
    with pytest.raises(UnreadableTableError) as raised:
        OrcFooters().read(spark, map(listed, files))
    assert f"{old} ({len(content)} bytes) cannot be read as ORC: " in str(raised.value)
    assert "IllegalArgumentException: ORC File with illegal version 0" in str(raised.value)


def test_a_file_without_columns(spark: SparkSession, files: list[Path]) -> None:
    single = files[-1]
    with single.open("wb") as stream, pyorc.Writer(stream, "int") as writer:
        writer.write(1)
    with pytest.raises(
        UnreadableTableError, match=rf"{single.name} .* as ORC: 'int' is not a struct"
    ):
        OrcFooters().read(spark, map(listed, files))


ACID = "struct<operation:int,originalTransaction:bigint,bucket:int,rowId:bigint,currentTransaction:bigint,row:struct<id:int>>"  # noqa: E501


def test_files_of_several_kinds_together(spark: SparkSession, tmp_path: Path) -> None:
    """What one kind of file has, and another has not, goes to the right one."""
    paths = [tmp_path / f"bucket_{i:05}" for i in range(300)]
    for i, path in enumerate(paths):
        kind = i % 4
        schema = "struct<at:timestamp>" if kind == 0 else ACID
        with path.open("wb") as stream, pyorc.Writer(stream, schema) as writer:
            if kind == 0:
                writer.write((datetime(2026, 1, 1, tzinfo=timezone.utc),))
            else:
                writer.set_user_metadata(**{"hive.acid.version": b"2"} if kind > 1 else {})
            if kind > 2:
                writer.writerows((0, i, 536870912, row, i, (row,)) for row in range(3))
    footers = OrcFooters()
    # Were one taken for another, each file would be asked by itself, and the answers right again.
    assert count(lambda: footers.read(spark, map(listed, paths))) < 4 * len(paths)
    known = footers.read(spark, map(listed, paths))
    for i, path in enumerate(paths):
        footer = known[listed(path)]
        assert (footer.columns, footer.is_acid, footer.acid_version) == [
            (("at",), False, None),
            (("id",), True, None),
            (("id",), True, 2),
            (("id",), True, 2),
        ][i % 4]
        ids = None if i % 4 < 3 else RowIdRange((i, i), (536870912, 536870912), (0, 2))
        assert footer.row_id_range == ids


@pytest.mark.skipif(not _LINUX, reason="there is no list of a process's open files in /proc")
def test_no_file_is_open_once_its_footer_is_there(
    spark: SparkSession, files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files of one batch would otherwise be open together, in each of the threads."""
    assert spark._jvm is not None
    process = spark._jvm.java.lang.ProcessHandle.current().pid()
    look_into = _FooterReader._footers
    seen: list[set[str]] = []

    def looked_into(self: _FooterReader, readers: Any) -> list[OrcFooter]:
        seen.append(opened(Path(f"/proc/{process}/fd")).intersection(map(str, files)))
        return look_into(self, readers)

    monkeypatch.setattr(_FooterReader, "_footers", looked_into)
    monkeypatch.setattr(filesystem, "THREADS", 1)
    OrcFooters().read(spark, map(listed, files))
    assert seen == [set()]


def opened(descriptors: Path) -> set[str]:
    """What is open there; other threads open and close meanwhile."""
    found = set()
    for descriptor in descriptors.iterdir():
        with suppress(FileNotFoundError):
            found.add(os.readlink(descriptor))
    return found
