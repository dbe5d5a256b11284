"""Small jars for the front of a class path, with some files of large ones."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_NO_SETTINGS = b'<?xml version="1.0"?>\n<configuration/>\n'


def jar_of_jobs(jars: Sequence[Path], directory: Path) -> Path:
    """Return a jar that lets Hive start a MapReduce job in little more than half of the time.

    Hadoop copies the jar of the class that starts a job into the job's directory: hive-exec has
    80 MB. And it reads and writes all settings several times a job: a third of them are the
    defaults of HDFS and YARN, which the code has once more, and each file that is not there is
    looked for in all jars.
    """
    names = (
        "org/apache/hadoop/hive/ql/exec/mr/ExecDriver.class",
        # The name in Hive 4, and in Hive 3.
        "org/apache/hadoop/hive/ql/txn/compactor/MRCompactor.class",
        "org/apache/hadoop/hive/ql/txn/compactor/CompactorMR.class",
    )
    empty = ("hdfs-default", "hdfs-site", "mapred-site", "yarn-default", "yarn-site")
    more = {f"{name}.xml": _NO_SETTINGS for name in empty}
    return jar_of_files(jars, names, directory / "jobs.jar", more)


def jar_of_files(
    jars: Sequence[Path],
    names: Sequence[str],
    jar: Path,
    more: Mapping[str, bytes] | None = None,
    change: Callable[[bytes], bytes] = lambda content: content,
) -> Path:
    """Return a jar with those of the named files that hive-exec has; make it unless it is there.

    `jars` has the one of hive-exec; `more` are the contents of further files, by name. `change`
    gives the content of a named file in the jar from the one in hive-exec.
    """
    if jar.exists():
        return jar
    (whole,) = (it for it in jars if it.name.startswith("hive-exec-"))
    with tempfile.TemporaryDirectory(dir=jar.parent) as scratch:
        unfinished = Path(scratch) / jar.name
        with zipfile.ZipFile(whole) as source, zipfile.ZipFile(unfinished, "w") as target:
            for name in sorted({*names} & {*source.namelist()}):
                target.writestr(name, change(source.read(name)))
            for name, content in (more or {}).items():
                target.writestr(name, content)
        # Another process that was first has made the same.
        unfinished.rename(jar)
    return jar
