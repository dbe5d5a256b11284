"""Archives of classes from which the tests' Java starts, instead of searching hundreds of jars.

A Spark and a Hive load 20,000 classes each. Searching the jars and parsing what they hold takes a
third of the processor time of the first minutes. Java itself (class data sharing) keeps what it has
parsed in a file: `python -m integration.support.class_archives` makes the files, once a set-up.
Where there is none, or one of another Java or of other jars, Java starts as always.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pyspark

_DIRECTORY = Path(sys.prefix) / "class-archives"
SPARK_ARCHIVE = _DIRECTORY / f"spark-{pyspark.__version__}.jsa"
HIVE_ARCHIVE = _DIRECTORY / "hive.jsa"

# Of an archive that does not fit, and of classes that do not fit into one, Java would warn in the
# output of whatever runs in it.
_QUIETLY = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")


def archive_options(archive: Path) -> list[str]:
    """Return the options of a Java that starts from an archive; none without the archive."""
    return [f"-XX:SharedArchiveFile={archive}", *_QUIETLY] if archive.exists() else []


def quoted_options(options: Iterable[str]) -> str:
    """Return options of Java as one of Spark's settings: a path may have blanks."""
    return " ".join(f'"{option}"' for option in options)


def main() -> None:
    """Make the archives, in place of those that are there."""
    _DIRECTORY.mkdir(exist_ok=True)
    for archive in (HIVE_ARCHIVE, SPARK_ARCHIVE):
        archive.unlink(missing_ok=True)
    # Only now: what they start would start from an archive, and Java records no second one.
    from integration.support.class_recordings import record_hive, record_spark

    _make(HIVE_ARCHIVE, record_hive)
    _make(SPARK_ARCHIVE, record_spark)


def _make(archive: Path, record: Callable[[list[str], Path], None]) -> None:
    with tempfile.TemporaryDirectory(dir=_DIRECTORY) as directory:
        written = Path(directory) / archive.name
        try:
            record([f"-XX:ArchiveClassesAtExit={written}", *_QUIETLY], Path(directory))
        except Exception as error:  # noqa: BLE001
            print(f"No {archive.name}: Java will load classes from jars. {error}", flush=True)
            return
        if written.exists():
            written.rename(archive)
            size = archive.stat().st_size >> 20
            print(f"{archive.name}: {size} MB of classes", flush=True)
        else:
            print(f"Java wrote no {archive.name}: it will load classes from jars", flush=True)


if __name__ == "__main__":
    main()
