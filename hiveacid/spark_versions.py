"""Spark versions that the library runs on, and the differences between them.

A line is all releases with the same first two numbers. This table is the only one: the reader looks
up here what a line can do, the tests take their jars from here, and docs/install.md shows it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyspark

ALL_TESTS = "all tests"
CUT = "a cut"
BUILDS = "builds"


@dataclass(frozen=True)
class SparkVersion:
    """A line of Spark.

    Attributes:
        name: its first two numbers.
        tested: the release that the tests run on.
        tests: which tests run on it: all tests, a cut of them, or builds of models over tables of
            all kinds.
        java: the tested versions of Java that it runs on.
        delta: the Maven coordinate of Delta Lake; None if none was tested.
        iceberg: the Maven coordinate of Iceberg; None if none was tested.
        hive_4_client: the version of the Hive client with which it calls a Hive 4 metastore.
        whole_schema: whether a scan may ask ORC for all columns of a file by their positions
            (`reader/scan.py`). On an untested line the scan names every column.
        readers_widen: whether its file readers widen a number of a narrower type to the table's
            type.
        has_older_defaults: whether models without `file_format` would be tables of text files, and
            dates before 1582 could not be written (Spark 3).
        has_options_clause: whether its SQL has `with (…)` after the name of a table that is read.
        has_classic_package: whether the JVM classes of DataFrames have a package of their own, next
            to the classes of Spark Connect.
        has_try_cast: whether PySpark has `Column.try_cast`. Every line has the SQL expression.
        has_view_schema_modes: whether its views have a schema mode, which says how they follow
            changes to the columns of their tables.
        binds_in_text: whether it substitutes a statement's parameters in the text, and so takes
            them wherever the text may have a literal.
    """

    name: str
    tested: str
    tests: str
    java: tuple[int, ...]
    delta: str | None = None
    iceberg: str | None = None
    hive_4_client: str = "4.0.1"
    whole_schema: bool = False
    readers_widen: bool = True
    has_options_clause: bool = True
    has_older_defaults: bool = False
    has_classic_package: bool = True
    has_try_cast: bool = True
    has_view_schema_modes: bool = True
    binds_in_text: bool = True


LINES = (
    SparkVersion(
        "3.5",
        "3.5.9",
        CUT,
        (11, 17, 21),
        delta="io.delta:delta-spark_2.12:3.3.3",
        iceberg="org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.12.0",
        hive_4_client="3.1.3",
        whole_schema=True,
        readers_widen=False,
        has_options_clause=False,
        has_older_defaults=True,
        has_classic_package=False,
        has_try_cast=False,
        has_view_schema_modes=False,
        binds_in_text=False,
    ),
    SparkVersion("4.0", "4.0.5", BUILDS, (17,), whole_schema=True, binds_in_text=False),
    SparkVersion(
        "4.1",
        "4.1.4",
        ALL_TESTS,
        (17,),
        delta="io.delta:delta-spark_4.1_2.13:4.4.0",
        iceberg="org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
        whole_schema=True,
    ),
    SparkVersion("4.2", "4.2.1", BUILDS, (17,), whole_schema=True),
    SparkVersion("4.3", "4.3.0", CUT, (17,), whole_schema=True),
)
"""Every line that the package allows, the oldest first."""


def version_of(version: str) -> SparkVersion:
    """Return the line of a release.

    A line that is not in the table is treated as the newest one, without what was not tested.
    """
    name = ".".join(version.split(".")[:2])
    for line in LINES:
        if line.name == name:
            return line
    return replace(
        LINES[-1], name=name, tested=version, delta=None, iceberg=None, whole_schema=False
    )


def refuse_older_sparks(version: str = pyspark.__version__) -> None:
    """Refuse a PySpark that is older than every line of the table.

    Raises:
        ImportError: naming the release, and which one to use.
    """
    oldest = LINES[0].name
    major, minor = (int(part) for part in version.split(".")[:2])
    if (major, minor) < tuple(map(int, oldest.split("."))):
        raise ImportError(
            f"hiveacid does not run on PySpark {version}: it needs calls that Spark has since "
            f"{oldest}. Use PySpark {LINES[0].tested} or newer; on a cluster that has an older "
            "Spark, run it from a virtual environment with a PySpark of its own."
        )
