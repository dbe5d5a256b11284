"""Archives of classes from which the tests' Java starts, instead of searching hundreds of jars.

A Spark and a Hive load 20,000 classes each. Searching the jars and parsing what they hold takes a
third of the processor time of the first minutes. Java itself (class data sharing) keeps what it has
parsed in a file: `python -m integration.support.class_recordings` makes the files, once a set-up.
Where there is none, or one of another Java or of other jars, Java starts as always.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import pyspark

DIRECTORY = Path(sys.prefix) / "class-archives"
SPARK_ARCHIVE = DIRECTORY / f"spark-{pyspark.__version__}.jsa"
HIVE_ARCHIVE = DIRECTORY / "hive.jsa"

# Of an archive that does not fit, and of classes that do not fit into one, Java would warn in the
# output of whatever runs in it.
QUIETLY = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")


def archive_options(archive: Path) -> list[str]:
    """Return the options of a Java that starts from an archive; none without the archive."""
    return [f"-XX:SharedArchiveFile={archive}", *QUIETLY] if archive.exists() else []


def quoted_options(options: Iterable[str]) -> str:
    """Return options of Java as one of Spark's settings: a path may have blanks."""
    return " ".join(f'"{option}"' for option in options)
