"""The Java that Hive runs on."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

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


def bundled_jar(pattern: str) -> Path:
    """The jar of that name among those that pyspark brings.

    Raises JavaError when pyspark is not installed or has no such jar.
    """
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise JavaError("pyspark is not installed, and jars of it are needed: pip install pyspark")
    directory = Path(spec.origin).parent / "jars"
    jars = sorted(directory.glob(pattern))
    if not jars:
        raise JavaError(f"No {pattern} in {directory}: install pyspark again")
    return jars[-1]


def proxy_options(environment: Mapping[str, str]) -> list[str]:
    """Java's system properties for the proxy that `http_proxy` and its like name.

    Java does not read these variables. A user name and password in them are left out: Java has no
    property for them (name an Ivy settings file with credentials instead).
    """
    options = []
    for scheme in ("http", "https"):
        variable = f"{scheme}_proxy"
        address = environment.get(variable) or environment.get(variable.upper())
        if not address:
            continue
        proxy = urlsplit(address if "//" in address else f"//{address}")
        options.append(f"-D{scheme}.proxyHost={proxy.hostname}")
        if proxy.port:
            options.append(f"-D{scheme}.proxyPort={proxy.port}")
    exceptions = environment.get("no_proxy") or environment.get("NO_PROXY")
    if options and exceptions:
        hosts = [host.strip() for host in exceptions.split(",") if host.strip()]
        patterns = [f"*{host}" if host.startswith(".") else host for host in hosts]
        options.append(f"-Dhttp.nonProxyHosts={'|'.join(patterns)}")
    return options
