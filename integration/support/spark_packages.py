"""What Delta, Iceberg and Avro need in a test's Spark: jars, and the settings of the documents."""

from __future__ import annotations

import json
from pathlib import Path

import pyspark
import yaml

from hiveacid.jars.artifacts import Progress, fetch, read_lock
from hiveacid.spark_versions import version_of
from integration.support.hive.jars import cache_directory

PACKAGES = "spark.jars.packages"

_EXAMPLES = Path(__file__).parents[2] / "examples" / "incremental"


def example_settings(name: str) -> dict[str, str]:
    """The Spark settings of an example, e.g. `delta`."""
    text = (_EXAMPLES / f"{name}.yml").read_text(encoding="utf-8")
    settings = yaml.safe_load(text)["server_side_parameters"]
    return {
        key: value if isinstance(value, str) else json.dumps(value)
        for key, value in settings.items()
    }


def delta_lock(version: str = pyspark.__version__) -> Path | None:
    """The lock file of Delta for a release of Spark; None if there is none that was tried."""
    coordinate = version_of(version).delta
    if coordinate is None:
        return None
    return Path(__file__).with_name(f"delta-{coordinate.rpartition(':')[2]}.lock")


def delta_settings(progress: Progress) -> dict[str, str]:
    """What makes Delta tables possible, for a Spark that is about to start, as the documents say.

    Nothing for a line of Spark without. Fetches Delta's jars into the cache of Hive's, unless they
    are there. Raises FetchError.
    """
    lock = delta_lock()
    if lock is None:
        return {}
    jars = fetch(read_lock(lock), cache_directory() / lock.stem, progress)
    settings = example_settings("delta")
    del settings[PACKAGES]
    return {
        **settings,
        "spark.jars": ",".join(map(str, jars)),
        # A Delta table in a test has one small file: no need for 50 tasks to read its log.
        "spark.databricks.delta.snapshotPartitions": "1",
    }


def iceberg_lock(version: str = pyspark.__version__) -> Path | None:
    """The lock file of Iceberg for a release of Spark; None if there is none that was tried."""
    line = version_of(version)
    if line.iceberg is None:
        return None
    name = f"iceberg-{line.iceberg.rpartition(':')[2]}-spark-{line.name}.lock"
    return Path(__file__).with_name(name)


_WAREHOUSE = "spark.sql.catalog.lake.warehouse"


def iceberg_jars(progress: Progress) -> list[Path]:
    """Iceberg's jar, fetched into the cache of Hive's, unless it is there. Raises FetchError.

    None for a line of Spark without.
    """
    lock = iceberg_lock()
    return [] if lock is None else fetch(read_lock(lock), cache_directory() / lock.stem, progress)


def iceberg_settings(warehouse: Path) -> dict[str, str]:
    """The catalog `lake` of the documents, whose tables are directories below `warehouse`.

    Nothing for a line of Spark without Iceberg.
    """
    if iceberg_lock() is None:
        return {}
    settings = {**example_settings("lake"), _WAREHOUSE: f"file://{warehouse}"}
    del settings[PACKAGES]
    return settings


#: Which module reads with a line of Spark. Another line has none, and its tests of Avro fail.
LOCK_FILES = {
    line: Path(__file__).with_name(f"spark-avro-{version}.lock")
    for line, version in {
        "3.5": "3.5.9",
        "4.0": "4.0.2",
        "4.1": "4.1.1",
        "4.2": "4.2.0",
        "4.3": "4.2.0",
    }.items()
}


def avro_jars(progress: Progress) -> list[Path]:
    """The module's jars, fetched into the cache of Hive's, unless they are there.

    Raises FetchError.
    """
    lock_file = LOCK_FILES.get(pyspark.__version__.rpartition(".")[0])
    if lock_file is None:
        return []
    return fetch(read_lock(lock_file), cache_directory() / lock_file.stem, progress)
