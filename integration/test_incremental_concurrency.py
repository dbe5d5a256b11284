"""Two processes run the same models at the same time: nothing is lost, and nothing comes twice.

`make test` runs `CASES`, `make long` those of `MORE` as well.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.support.crash_points import CrashPoint
from integration.support.dbt_project import DbtProject, node_results
from integration.support.hive import HiveClient, HiveServer
from integration.support.incremental import ORDERS, Incremental
from integration.support.metastore import assert_nothing_held
from integration.support.stopped_dbt import StoppedDbt, settings_like

FASTER, REPLACES = "has changed", "is about to replace"

#: The model that the second run rebuilds.
REBUILT = CrashPoint("parquet", "appending", "one file moved")

#: Where the first run of a model is held while the second one goes from its beginning to its end,
#: and the errors that the first and the second give; None for the one that changes the target.
CASES: dict[CrashPoint, tuple[str | None, str | None]] = {
    CrashPoint("parquet", "by unique_key", "changes staged"): (FASTER, None),
    CrashPoint("parquet", "by unique_key", "former version renamed"): (None, REPLACES),
    # The second run finishes what the first has committed, and then
    # - rebuilds the table,
    REBUILT: (None, None),
    # - appends.
    CrashPoint("orc", "appending", "one file moved"): (None, None),
    CrashPoint("delta", "by unique_key", "before the commit"): (FASTER, None),
    CrashPoint("delta", "first run", "before the commit"): (FASTER, None),
    # The second run removes the branch of the first one, with rows in it or not.
    CrashPoint("iceberg", "by row id", "written in a branch"): (FASTER, None),
}
MORE: dict[CrashPoint, tuple[str | None, str | None]] = {
    CrashPoint("parquet", "by unique_key", "former version claimed"): (None, REPLACES),
    CrashPoint("parquet", "first run", "its state written"): (FASTER, None),
    CrashPoint("parquet", "full refresh", "its state written"): (FASTER, None),
    CrashPoint("parquet", "appending", "rows staged"): (FASTER, None),
    CrashPoint("delta", "appending", "changes staged"): (FASTER, None),
    CrashPoint("delta", "full refresh", "before the commit"): (FASTER, None),
    CrashPoint("iceberg", "by unique_key", "before the statement"): (FASTER, None),
    CrashPoint("iceberg", "appending", "changes staged"): (FASTER, None),
    CrashPoint("iceberg", "first run", "before the statement"): (FASTER, None),
    CrashPoint("iceberg", "full refresh", "before the statement"): (FASTER, None),
}


@pytest.fixture
def project(tmp_path: Path, hive: HiveServer, database: str, spark: SparkSession) -> DbtProject:
    """A project whose runs do not wait long for each other."""
    path = tmp_path / "project"
    return DbtProject(path, hive, database, profile={"lock_timeout": 3}, spark=settings_like(spark))


@pytest.mark.parametrize(
    "cases",
    [
        pytest.param(CASES, id="some"),
        pytest.param(
            CASES | MORE, id="all", marks=pytest.mark.long("17 models, each run three times")
        ),
    ],
)
def test_two_runs_at_the_same_time(
    project: DbtProject,
    hive_client: HiveClient,
    spark: SparkSession,
    database: str,
    tmp_path: Path,
    cases: dict[CrashPoint, tuple[str | None, str | None]],
) -> None:
    hive, models = hive_client, [point.model for point in cases]
    for source in ("orders", "events"):
        hive.script(ORDERS.format(clause="").replace("TABLE orders", f"TABLE {source}"))
        hive.execute(f"INSERT INTO {source} VALUES (1, 10, 'new'), (2, 20, 'paid')")
    project.sources("orders", "events")
    project.models(**{point.model: point.sql for point in cases})
    incremental = Incremental(project, hive, spark, database)
    incremental.run_except([point.model for point in cases if point.kind == "first run"])
    changes = "UPDATE orders SET amount = amount + 1 WHERE id = 1"
    hive.execute(changes)
    for source in ("orders", "events"):
        hive.execute(f"INSERT INTO {source} VALUES (3, 30, 'new'), (4, 40, 'paid')")

    stops = {point.model: point.stop for point in cases}
    with StoppedDbt(project, stops, tmp_path / "first", "--vars", "anew: true") as dbt:
        dbt.wait()
        hive.execute(changes)
        for source in ("orders", "events"):
            hive.execute(f"INSERT INTO {source} VALUES (5, 50, 'new')")
        rewritten = REBUILT.model
        second = {
            node.node.name: (str(node.status), str(node.message))
            for arguments in (
                ("--exclude", rewritten),
                ("--select", rewritten, "--vars", "appended_anew: true"),
            )
            for node in node_results(project.invoke("run", *arguments))
        }
        first = dbt.finish()
    for point, errors in cases.items():
        for (status, message), expected in zip(
            (first[point.model], second[point.model]), errors, strict=True
        ):
            assert status == ("success" if expected is None else "error"), (point, message)
            assert (expected or "") in message, (point, message)
        if errors[1] is None:
            # Nothing of the first run stands beside what the second has made of later rows.
            incremental.assert_like_hive([point.model], point.source)

    hive.execute(changes)
    assert all(message.startswith("OK") for message in incremental.run().values())
    for point in cases:
        incremental.assert_like_hive([point.model], point.source)
    # A session of its own: that of the tests has their temporary views, which are shown as well.
    session, schemas = spark.newSession(), [database]
    if any(point.file_format == "iceberg" for point in cases):
        schemas.append(f"lake.{database}")
    tables = {
        row.tableName
        for schema in schemas
        for row in session.sql(f"show tables in {schema}").collect()
    }
    assert tables == {"orders", "events", *models}
    for point in cases:
        if point.file_format == "iceberg":
            assert incremental.rows(f"{point.model}.refs", "name") == [("main",)]
    assert_nothing_held(hive, database)
