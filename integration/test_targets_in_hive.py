"""What Hive shows of models' tables, whatever the time zones (docs/targets-in-hive.md).

The machine of dbt is in a time zone of its own. The profile names Hive's, or a wrong one.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hiveacid.spark_versions import version_of
from integration.support.dbt_project import DbtProject
from integration.support.hive import HiveClient, HiveServer, HiveSettings
from integration.support.hive_in_zone import HiveInZone
from integration.support.targets_in_hive import (
    CASES,
    FORMATS,
    HIDDEN,
    NEW_YORK,
    PAGE,
    VERSIONS,
    ZONES,
    Answers,
    compare,
    hidden_models,
    query_of,
    rows_in_spark,
    rows_of_model,
    unequal,
    whole_models,
    with_tables,
    write,
)

LONG = pytest.mark.long("starts two Hives in three time zones, and dbt in three")

MACHINE = "Asia/Tokyo"
SETTINGS = HiveSettings(txn_timeout=60, reaper_interval=4)


REFUSED = {f"model.test.hidden_{it}" for it in ("0_hive", "1_hive", "2_hive", "3_orc")}
"""Models of types that Spark itself refuses in their formats."""


def schema(zone: str) -> str:
    return f"in_{zone.rpartition('/')[2].lower()}"


@pytest.fixture(scope="module")
def printed() -> dict[str, list[str]]:
    """What dbt printed, by the version of Hive."""
    return {version: [] for version in VERSIONS}


@pytest.fixture(scope="module")
def answers(
    spark: SparkSession,
    printed: dict[str, list[str]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Answers:
    """What each Hive shows, in each time zone, of what dbt wrote in each."""
    found: Answers = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", MACHINE)
        for version in VERSIONS:
            work = tmp_path_factory.mktemp("hive")
            for zone in dict.fromkeys(of_hive for _, of_hive in ZONES):
                with HiveInZone(zone, SETTINGS, work=work, version=version) as server:
                    if not printed[version]:
                        for of_dbt in dict.fromkeys(of_dbt for of_dbt, _ in ZONES):
                            path = tmp_path_factory.mktemp("project")
                            models, refused = whole_models(), set[str]()
                            if not printed[version]:
                                models, refused = models | hidden_models(), REFUSED
                            output, failed = write(server, schema(of_dbt), of_dbt, path, models)
                            assert failed == refused, output
                            printed[version].append(output)
                    with HiveClient(server.hs2_port, log=server.log) as client:
                        for of_dbt in (it for it, of_hive in ZONES if of_hive == zone):
                            rows = rows_of_model(spark, of_dbt)
                            for name in FORMATS:
                                shown = compare(client, f"{schema(of_dbt)}.all_{name}", rows)
                                found[version, of_dbt, zone, name] = shown
    return found


@LONG
def test_hive_shows_what_models_show_in_its_own_time_zone(answers: Answers) -> None:
    wrong = {}
    for (version, of_dbt, zone, name), cases in answers.items():
        shown = zip(CASES, cases, strict=True)
        differing = {case.title: str(it) for case, it in shown if not it.is_equal}
        if of_dbt == zone and differing.keys() != unequal(name, version, zone):
            wrong[version, zone, FORMATS[name]] = differing
    assert wrong == {}


@LONG
def test_in_another_time_zone_timestamps_are_shifted(answers: Answers) -> None:
    """What the time zone of the profile is for."""
    times = [i for i, case in enumerate(CASES) if case.type == "timestamp"]
    for (_, of_dbt, zone, name), cases in answers.items():
        if name == "parquet" and of_dbt != zone:
            assert not any(cases[i].is_equal for i in times)


@LONG
def test_the_document_has_what_was_measured(answers: Answers) -> None:
    before = PAGE.read_text("utf-8")
    PAGE.write_text(with_tables(before, answers), "utf-8")
    assert PAGE.read_text("utf-8") == before, "the tables were out of date, and are written now"


@LONG
def test_what_is_hidden_from_hive_is_said_before(
    answers: Answers, printed: dict[str, list[str]]
) -> None:
    for first, *others in printed.values():
        assert first.count("HIVEACID_WARN_HIDDEN_FROM_HIVE") == 2 * len(HIDDEN)
        for output in (first, *others):
            assert "HIVEACID_WARN_TIME_ZONE_NOT_KNOWN" not in output
            assert "HIVEACID_WARN_JAVA_TIME_ZONE" not in output


@pytest.mark.parametrize("name", ["delta", "iceberg"])
def test_spark_reads_delta_and_iceberg_in_every_time_zone(
    hive: HiveServer, spark: SparkSession, database: str, tmp_path: Path, name: str
) -> None:
    line = version_of(spark.version)
    if (line.delta if name == "delta" else line.iceberg) is None:
        pytest.skip("this line of Spark has none")
    schema = f"lake.{database}" if name == "iceberg" else database
    zone = {"spark.sql.session.timeZone": NEW_YORK}
    project = DbtProject(tmp_path / "project", hive, database, schema=schema, spark=zone)
    project.models(written=f"{{{{ config(file_format='{name}') }}}}\n{query_of(CASES)}")
    project.succeed("run")
    table = f"{schema}.written"
    assert rows_in_spark(spark, NEW_YORK, table) == rows_of_model(spark, NEW_YORK)
    # 23:59:59 in New York is the next day in UTC.
    (column,) = (i for i, case in enumerate(CASES) if case.title == "`timestamp`")
    (first, *_) = rows_in_spark(spark, "UTC", table)[column]
    assert first == ("0", "2026-02-01 04:59:59.123456")
