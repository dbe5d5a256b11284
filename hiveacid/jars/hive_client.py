"""Hive metastore client for Spark: its jars, and the settings that name them.

Spark's built-in client is that of Hive 2.3. A metastore of Hive 4 does not support it, and a
metastore of Hive 3 hides insert-only tables from it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pyspark

from hiveacid.jars.artifacts import Artifact, read_lock
from hiveacid.spark_versions import version_of

VERSIONS = ("4.0.1", "3.1.3")
"""Versions of the client. Version 3.1.3 works with metastores of Hive 3 and Hive 4."""

HIVE_VERSION = version_of(pyspark.__version__).hive_4_client
"""Version of the client that this Spark supports for a metastore of Hive 4."""


def client_jars(version: str = HIVE_VERSION) -> list[Artifact]:
    """Return the jars that Spark needs for the metastore. Spark ships Hadoop's jars itself."""
    return read_lock(Path(__file__).with_name(f"hive-client-{version}.lock"))


def default_directory(version: str = HIVE_VERSION) -> Path:
    """Return the directory of the jars in the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME")
    base = Path(cache) if cache else Path.home() / ".cache"
    return base / "dbt-hiveacid" / f"hive-client-{version}"


def spark_settings(directory: Path, version: str = HIVE_VERSION) -> dict[str, str]:
    """Return the settings by which Spark loads the client from a directory."""
    return {
        "spark.sql.hive.metastore.version": version,
        "spark.sql.hive.metastore.jars": "path",
        # A pattern, since the directory also has records of the fetcher.
        "spark.sql.hive.metastore.jars.path": f"file://{directory}/*.jar",
    }
