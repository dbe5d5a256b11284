"""What a session is set to holds for all that is found out about its statements, too."""

from __future__ import annotations

from dataclasses import replace

import pyspark
import pytest
from pyspark.sql import SparkSession

from hiveacid.reader import scan
from hiveacid.spark_versions import version_of
from integration.support.dbt_project import DbtProject
from integration.support.differential import Differential, canonical
from integration.support.hive import HiveClient, HiveServer
from integration.support.tables import FULL_ACID, INSERT_ONLY


def test_a_filter_by_a_variable_of_the_session_finds_its_rows(
    dbt_project: DbtProject, hive_client: HiveClient, spark: SparkSession, database: str
) -> None:
    hive_client.script(
        """
        CREATE TABLE orders (id int, region string) STORED AS ORC
          TBLPROPERTIES ('transactional'='true');
        INSERT INTO orders VALUES (1, 'eu'), (2, 'eu');
        INSERT INTO orders VALUES (3, 'us')
        """
    )
    dbt_project.sources("orders")
    dbt_project.models(
        of_region="{{ config(sql_header='set spark.dbt.region=eu') }} "
        "select id, region from {{ source('shop', 'orders') }} "
        "where region = '${spark.dbt.region}'"
    )
    dbt_project.succeed("run")
    hives = hive_client.query("SELECT id, region FROM orders WHERE region = 'eu'")
    assert canonical(spark.table(f"{database}.of_region").collect()) == canonical(hives)


@pytest.mark.parametrize("whole_schema", [True, False], ids=["whole schema", "guard"])
def test_columns_of_orc_go_by_their_names(
    differential: Differential,
    hive_client: HiveClient,
    hive: HiveServer,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
    whole_schema: bool,
) -> None:
    """Whatever a session says for its own tables, as one does whose columns were renamed."""
    spark = differential.spark
    line = replace(version_of(pyspark.__version__), whole_schema=whole_schema)
    monkeypatch.setattr(scan, "version_of", lambda version: line)
    wide = hive.warehouse / f"{database}.db" / "wide"
    hive_client.script(
        f"""
        CREATE TABLE acid (a string, b string, c int) STORED AS ORC TBLPROPERTIES ({FULL_ACID});
        INSERT INTO acid VALUES ('a', 'b', 1), ('x', 'y', 2);
        DELETE FROM acid WHERE c = 2;
        CREATE TABLE wide (a string, b string, c int) STORED AS ORC
          TBLPROPERTIES ('transactional'='false');
        INSERT INTO wide VALUES ('a', 'b', 1);
        CREATE TABLE narrow (a string, b string) STORED AS ORC TBLPROPERTIES ({INSERT_ONLY});
        LOAD DATA LOCAL INPATH '{wide}/000000_0' INTO TABLE narrow
        """
    )
    spark.conf.set("orc.force.positional.evolution", "true")
    try:
        for table in ("acid", "narrow"):
            differential.check(f"{database}.{table}", where="b = 'b'")
    finally:
        spark.conf.unset("orc.force.positional.evolution")
