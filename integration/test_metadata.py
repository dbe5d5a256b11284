"""What dbt asks about ACID sources without reading them: columns, docs, freshness."""

from __future__ import annotations

from typing import Any

from dbt_common.events.base_types import EventMsg
from pyspark.sql import SparkSession

from integration.dbt_project import DbtProject
from integration.hive import HiveClient
from integration.tables import FULL_ACID

LOCKS = ("Opened transaction", "One snapshot of")


UNIT_TEST = """
unit_tests:
  - name: ids
    model: mart
    given:
      - input: source('shop', 'plain')
        rows: [{id: 7}]
    expect:
      rows: [{id: 7, v: null}]
"""


def stats(catalog: dict[str, Any], source: str) -> dict[str, Any]:
    """The numbers of a source in the docs, by their labels."""
    entries = catalog["sources"][f"source.test.shop.{source}"]["stats"].values()
    return {entry["label"]: entry["value"] for entry in entries if entry["include"]}


def test_the_docs_of_sources_come_from_the_metastore(
    dbt_project: DbtProject, hive_client: HiveClient, spark: SparkSession
) -> None:
    """Rows as Hive counts them, with and without statistics that Hive vouches for.

    No lock, no transaction, no Spark job; not for a unit test, either.
    """
    hive_client.script(
        f"""
        SET hive.stats.autogather=true;
        CREATE TABLE plain (id int COMMENT 'the key', v int) COMMENT 'a table'
          STORED AS ORC TBLPROPERTIES ({FULL_ACID});
        INSERT INTO plain VALUES (1, 1), (2, 2), (3, 3);
        UPDATE plain SET v = 9 WHERE id = 1;
        DELETE FROM plain WHERE id = 2;
        CREATE TABLE parts (id int) PARTITIONED BY (p int)
          STORED AS ORC TBLPROPERTIES ({FULL_ACID});
        INSERT INTO parts VALUES (1, 1), (2, 2), (3, 2);
        SET hive.stats.autogather=false;
        CREATE TABLE doubtful (id int) STORED AS ORC TBLPROPERTIES ({FULL_ACID});
        INSERT INTO doubtful VALUES (1);
        """
    )
    dbt_project.sources("plain", "parts", "doubtful")
    # The only node; it makes no table, so that nobody needs to ask Spark for the database.
    ephemeral = "{{ config(materialized='ephemeral') }}"
    dbt_project.models(mart=f"{ephemeral} select id, v from {{{{ source('shop', 'plain') }}}}")
    dbt_project.write("models/unit.yml", UNIT_TEST)
    said: list[str] = []
    jobs = spark.sparkContext.statusTracker().getJobIdsForGroup()

    def listen(event: EventMsg) -> None:
        said.append(event.info.msg)  # type: ignore[attr-defined]

    dbt_project.succeed("--debug", "docs", "generate", on_event=listen)
    assert not [line for line in said if any(word in line for word in LOCKS)]
    assert not [line for line in said if "show table extended" in line.lower()]
    assert spark.sparkContext.statusTracker().getJobIdsForGroup() == jobs
    said.clear()
    dbt_project.succeed("--debug", "test", "--select", "test_type:unit", on_event=listen)
    assert said and not [line for line in said if any(word in line for word in LOCKS)]

    catalog = dbt_project.artifact("catalog.json")
    assert catalog["errors"] is None
    plain = catalog["sources"]["source.test.shop.plain"]
    assert plain["metadata"]["comment"] == "a table"
    assert plain["metadata"]["owner"]
    assert [(c["name"], c["type"], c["comment"]) for c in plain["columns"].values()] == [
        ("id", "int", "the key"),
        ("v", "int", None),
    ]
    ((rows,),) = hive_client.query("SELECT count(*) FROM plain")
    described = {
        key.strip(): value.strip()
        for _, key, value in hive_client.query("DESCRIBE FORMATTED plain")
        if key and value
    }
    found = stats(catalog, "plain")
    assert found == {
        "Rows": rows,
        "Bytes": int(described["totalSize"]),
        "Deltas": 4,
        "Last write id": 3,
    }
    assert rows == 2 and found["Bytes"] > 0
    assert list(catalog["sources"]["source.test.shop.parts"]["columns"]) == ["id", "p"]
    parts = stats(catalog, "parts")
    assert (parts["Rows"], parts["Partitions"], parts["Deltas"]) == (3, 2, 2)
    doubtful = stats(catalog, "doubtful")
    assert "Rows" not in doubtful
    assert doubtful["Bytes (not exact)"] > 0
