"""What a session is set to holds for all that is found out about its statements, too."""

from __future__ import annotations

from pyspark.sql import SparkSession

from integration.dbt_project import DbtProject
from integration.differential import canonical
from integration.hive import HiveClient


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
