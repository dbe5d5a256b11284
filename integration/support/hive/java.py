"""The Java that Hive runs on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
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
