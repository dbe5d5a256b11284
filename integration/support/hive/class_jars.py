"""Small jars with some classes of a large one, for the front of a class path."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path


def jar_of_jobs(jars: Sequence[Path], directory: Path) -> Path:
    """Return a jar with the classes that start Hive's MapReduce jobs.

    Hadoop copies the jar of the starting class into the directory of each job: hive-exec has 80 MB,
    and copying them was a third of what a statement took.
    """
    (whole,) = (jar for jar in jars if jar.name.startswith("hive-exec-"))
    names = (
        "org/apache/hadoop/hive/ql/exec/mr/ExecDriver.class",
        # The name in Hive 4, and in Hive 3.
        "org/apache/hadoop/hive/ql/txn/compactor/MRCompactor.class",
        "org/apache/hadoop/hive/ql/txn/compactor/CompactorMR.class",
    )
    return jar_of_classes(whole, names, directory / "jobs.jar")


def jar_of_classes(whole: Path, names: Sequence[str], jar: Path) -> Path:
    """Return a jar with those of the named classes that another has; make it unless it is there."""
    if jar.exists():
        return jar
    with tempfile.TemporaryDirectory(dir=jar.parent) as scratch:
        unfinished = Path(scratch) / jar.name
        with zipfile.ZipFile(whole) as source, zipfile.ZipFile(unfinished, "w") as target:
            for name in sorted({*names} & {*source.namelist()}):
                target.writestr(name, source.read(name))
        # Another process that was first made the same.
        unfinished.rename(jar)
    return jar
