"""Footers are read from many files at once, and none of them stays open."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyorc
import pytest
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.acid.listing import ListedFile
from dbt.adapters.hiveacid.exceptions import UnreadableTableError
from dbt.adapters.hiveacid.reader import OrcFooters, hadoop
from dbt.adapters.hiveacid.reader.orc_footers import OrcFooter, _FooterReader

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


def test_a_damaged_file_among_others(spark: SparkSession, files: list[Path]) -> None:
    damaged = files[-1]
    damaged.write_bytes(damaged.read_bytes()[:-10])
    with pytest.raises(UnreadableTableError, match=rf"{damaged.name} \(\d+ bytes\) cannot be read"):
        OrcFooters().read(spark, map(listed, files))


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
    monkeypatch.setattr(hadoop, "THREADS", 1)
    OrcFooters().read(spark, map(listed, files))
    assert seen == [set()]


def opened(descriptors: Path) -> set[str]:
    """What is open there; other threads open and close meanwhile."""
    found = set()
    for descriptor in descriptors.iterdir():
        with suppress(FileNotFoundError):
            found.add(os.readlink(descriptor))
    return found
