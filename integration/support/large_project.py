"""A project of 200 models on 40 ACID sources."""

from __future__ import annotations

from integration.support.dbt_project import DbtProject
from integration.support.hive import HiveClient

SOURCES = tuple(f"source_{number}" for number in range(40))
MODELS = 200


def add_large_project(project: DbtProject, hive: HiveClient, *others: str) -> None:
    """Make the sources and those named `others`, and five models on each of the 40.

    A source has the column `id` and no rows. `model_<n>` counts those of source n modulo 40.
    """
    for source in (*SOURCES, *others):
        hive.execute(
            f"CREATE TABLE {source} (id int) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
        )
    project.sources(*SOURCES, *others)
    for number in range(MODELS):
        source = SOURCES[number % len(SOURCES)]
        project.models(
            **{f"model_{number}": f"select count(*) as n from {{{{ source('shop', '{source}') }}}}"}
        )
