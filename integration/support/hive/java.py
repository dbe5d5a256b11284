"""The Java that Hive runs on, and small jars for the front of its class path."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

#: Hive 4.0.1 with Hadoop 3.3.6 and Spark 4.1 share this one version.
REQUIRED = 17

#: Packages into which Hive and Hadoop reach by reflection.
_OPENED = [
    "java.base/java.io",
    "java.base/java.lang",
    "java.base/java.math",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.text",
    "java.base/java.time",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/java.util.regex",
    "java.base/sun.nio.ch",
    "java.sql/java.sql",
]
#: Classes of jars whose checksums are known need no verification. Hadoop in Spark has no native
#: library here and starts a process for each file, `chmod`: on Linux without a helper process.
QUICK_START = ["-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"]
if sys.platform == "linux":
    QUICK_START.append("-Djdk.lang.Process.launchMechanism=VFORK")

OPEN_OPTIONS = [f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED]


class JavaError(RuntimeError):
    """There is no Java, or it is not the version that Hive needs."""


@dataclass(frozen=True)
class Java:
    """A Java installation: its `java` command and its major version."""

    executable: Path
    major: int


@lru_cache(maxsize=1)
def find_java() -> Java:
    """The Java of JAVA_HOME, else the one on PATH.

    Raises JavaError when there is none or its version is not `REQUIRED`.
    """
    home = os.environ.get("JAVA_HOME")
    if home:
        candidate: str | None = str(Path(home) / "bin" / "java")
        origin = f"JAVA_HOME={home}"
    else:
        candidate = shutil.which("java")
        origin = "the java on PATH"
    advice = f"Install a JDK {REQUIRED} and set JAVA_HOME to its directory."
    if candidate is None:
        raise JavaError(f"No Java found: JAVA_HOME is not set and PATH has no java. {advice}")
    try:
        answer = subprocess.run(
            [candidate, "-version"], capture_output=True, text=True, timeout=60, check=True
        ).stderr
    except (OSError, subprocess.SubprocessError) as error:
        raise JavaError(f"{candidate} (from {origin}) does not run: {error}. {advice}") from error
    found = re.search(r'version "(?:1\.)?(\d+)', answer)
    if found is None:
        raise JavaError(f"{candidate} -version gave no version but: {answer.strip()}. {advice}")
    if int(found[1]) != REQUIRED:
        raise JavaError(f"Java {REQUIRED} is needed, but {origin} is Java {found[1]}. {advice}")
    return Java(Path(candidate), int(found[1]))


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
