"""The client of a Hive 4 metastore for Spark: its jars, and the settings that name them.

Spark has Hive's client of version 2.3 built in, which a metastore of Hive 4 does not understand.
"""

from __future__ import annotations

import os
from pathlib import Path

from hiveacid.jars.artifacts import Artifact, read_lock

HIVE_VERSION = "4.0.1"


def client_jars() -> list[Artifact]:
    """Return the jars that Spark needs to talk to the metastore. Spark brings Hadoop's itself."""
    return read_lock(Path(__file__).with_name(f"hive-client-{HIVE_VERSION}.lock"))


def default_directory() -> Path:
    """Return the directory of the jars in the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME")
    base = Path(cache) if cache else Path.home() / ".cache"
    return base / "dbt-hiveacid" / f"hive-client-{HIVE_VERSION}"


def spark_settings(directory: Path) -> dict[str, str]:
    """Return the settings by which Spark loads the client from a directory."""
    return {
        "spark.sql.hive.metastore.version": HIVE_VERSION,
        "spark.sql.hive.metastore.jars": "path",
        # Next to the jars lie notes of the fetcher, hence the pattern.
        "spark.sql.hive.metastore.jars.path": f"file://{directory}/*.jar",
    }
