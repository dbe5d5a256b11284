"""Java command that runs Ivy, and jars that PySpark ships."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import pyspark

from hiveacid.errors import JavaNotFoundError


def java_command() -> Path:
    """Return the `java` of `$JAVA_HOME` if it is set, else the one on the PATH.

    Raises:
        JavaNotFoundError: there is none.
    """
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if found is None or not Path(found).is_file():
        missing = (
            f"JAVA_HOME is {home}, and {found} does not exist"
            if home
            else "JAVA_HOME is not set, and PATH has no java"
        )
        raise JavaNotFoundError(
            f"No Java was found: {missing}. Install a JDK 17, and set JAVA_HOME to its directory."
        )
    return Path(found)


def bundled_jar(pattern: str) -> Path:
    """Return the jar that PySpark ships under a name; `pattern` is a glob.

    Raises:
        FileNotFoundError: PySpark has no such jar.
    """
    directory = Path(pyspark.__file__).parent / "jars"
    jars = sorted(directory.glob(pattern))
    if not jars:
        raise FileNotFoundError(f"No {pattern} in {directory}: install pyspark again")
    return jars[-1]


def proxy_options(environment: Mapping[str, str]) -> list[str]:
    """Return Java's system properties for the proxies in `http_proxy` and similar variables.

    Java does not read the variables. User name and password are left out: Java has no property for
    them (an Ivy settings file can have credentials).
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
