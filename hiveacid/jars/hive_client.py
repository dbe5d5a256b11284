"""The client of a metastore for Spark: its jars, and the settings that name them.

Spark has Hive's client of version 2.3 built in. A metastore of Hive 4 does not understand it, and
one of Hive 3 lets it see no insert-only table.
"""

from __future__ import annotations

import os
from pathlib import Path

import pyspark

from hiveacid.jars.artifacts import Artifact, read_lock
from hiveacid.spark_versions import version_of

VERSIONS = ("4.0.1", "3.1.3")
"""Versions of the client. That of 3.1.3 speaks to metastores of Hive 3 and of Hive 4."""

HIVE_VERSION = version_of(pyspark.__version__).hive_4_client
"""The version that this Spark takes for a metastore of Hive 4."""


def client_jars(version: str = HIVE_VERSION) -> list[Artifact]:
    """Return the jars that Spark needs to talk to the metastore. Spark brings Hadoop's itself."""
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
        # Next to the jars lie notes of the fetcher, hence the pattern.
        "spark.sql.hive.metastore.jars.path": f"file://{directory}/*.jar",
    }
