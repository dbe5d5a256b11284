"""Metastores that take external and transactional tables only, or make each ORC table an ACID one.

`metastore.strict.managed.tables` is on in HDP 3 and CDP, `metastore.create.as.acid` may be.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.support.dbt_process import DbtProcess
from integration.support.dbt_project import DbtProject
from integration.support.hive import HiveClient, HiveServer, HiveSettings
from integration.support.hive.jars import say
from integration.support.spark_packages import delta_settings

SOURCE = "select id, amount, 'a' as part from {{ source('shop', 'orders') }}"


def incremental(settings: str) -> str:
    """Return an incremental model over the source."""
    return f"{{{{ config(materialized='incremental', {settings}) }}}}\n{SOURCE}"


MODELS = {
    "rebuilt": SOURCE,
    "orc": "{{ config(file_format='orc') }}\n" + SOURCE,
    "appended": incremental("incremental_strategy='append'"),
    "overwritten": incremental("incremental_strategy='insert_overwrite', partition_by='part'"),
    "batched": incremental(
        "incremental_strategy='microbatch', event_time='at', batch_size='year', "
        "begin='2026-01-01', partition_by='part'"
    ).replace("'a' as part", "timestamp '2026-02-01 00:00:00' as at, 'a' as part"),
    "merged": incremental("incremental_strategy='merge', unique_key='id', file_format='delta'"),
    "followed": incremental("incremental_strategy='acid_changes', unique_key='id'").replace(
        "source('shop', 'orders')", "acid_changes(source('shop', 'orders'))"
    ),
}
TESTS = """
version: 2
models:
  - name: rebuilt
    columns:
      - name: id
        data_tests:
          - accepted_values:
              arguments: {values: [1], quote: false}
              config: {store_failures: true, severity: warn}
"""
SNAPSHOT = """
snapshots:
  - name: kept
    relation: source('shop', 'orders')
    config:
      file_format: delta
      unique_key: id
      strategy: check
      check_cols: [amount]
"""


def start(work: Path, setting: str) -> HiveServer:
    """Return a Hive with this setting on; the table `shop.orders` is made by `fill`."""
    return HiveServer(HiveSettings(extra={setting: "true"}), work=work)


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveServer]:
    """A Hive that refuses plain managed tables."""
    with start(tmp_path_factory.mktemp("strict"), "metastore.strict.managed.tables") as server:
        yield server


@pytest.fixture(scope="module")
def acid_by_default(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveServer]:
    """A Hive whose metastore makes each new managed ORC table transactional."""
    with start(tmp_path_factory.mktemp("acid"), "metastore.create.as.acid") as server:
        yield server


def fill(hive: HiveClient, name: str) -> None:
    """Make a database with the source."""
    hive.script(
        f"""
        CREATE DATABASE {name};
        CREATE TABLE {name}.orders (id int, amount int) STORED AS ORC
          TBLPROPERTIES ('transactional'='true');
        INSERT INTO {name}.orders VALUES (1, 10), (2, 20);
        """
    )


def make_project(path: Path, server: HiveServer, name: str, root: Path | None) -> DbtProject:
    """Return a project with a node of each kind, below a `location_root` or without."""
    project = DbtProject(path, server, name, spark=delta_settings(say), threads=2)
    project.sources("orders")
    project.models(**MODELS)
    project.write("models/tests.yml", TESTS)
    project.write("snapshots/kept.yml", SNAPSHOT)
    project.write("seeds/sown.csv", "id,name\n1,a\n")
    if root is not None:
        setting = f"\n  +location_root: {root}\n"
        text = (path / "dbt_project.yml").read_text()
        text = text.replace("models:\n", f"models:{setting}")
        for kind in ("seeds", "snapshots", "data_tests"):
            text += f"{kind}:{setting}"
        project.write("dbt_project.yml", text)
    return project


def tables_of_dbt(hive: HiveClient, name: str) -> set[str]:
    """Return the tables of a database that are stages or backups."""
    return {table for (table,) in hive.query(f"SHOW TABLES IN {name}") if "__dbt" in table}


@pytest.mark.long("starts a Hive of its own, and a Spark")
@pytest.mark.parametrize("kind", ["strict", "acid_by_default"])
def test_with_a_location_root_every_table_is_external(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    server: HiveServer = request.getfixturevalue(kind)
    root = tmp_path / "tables"
    with HiveClient(server.hs2_port) as hive:
        fill(hive, "whole")
        project = make_project(tmp_path / "project", server, "whole", root)
        with DbtProcess(project) as process:
            process.succeed("build")
            hive.execute("UPDATE whole.orders SET amount = 21 WHERE id = 2")
            hive.execute("INSERT INTO whole.orders VALUES (3, 30)")
            for _ in range(2):
                process.succeed("build")
            rows = sorted(hive.query("SELECT id, amount, 'a' FROM whole.orders"))
            for model in ("rebuilt", "orc", "overwritten", "batched", "merged", "followed"):
                shown = process.query(f"select id, amount, part from whole.{model}")
                assert shown == rows, model
            assert len(process.query("select id from whole.appended")) == 2 + 3 + 3
            assert len(process.query("select id from whole.kept")) == 4
        assert tables_of_dbt(hive, "whole") == set()
    assert [path.name for path in root.iterdir() if "__dbt_stage" in path.name] == []


@pytest.mark.long("starts a Hive of its own, and a Spark")
def test_a_strict_metastore_is_named_with_what_to_do(strict: HiveServer, tmp_path: Path) -> None:
    with HiveClient(strict.hs2_port) as hive:
        fill(hive, "bare")
        project = make_project(tmp_path / "project", strict, "bare", None)
        process = project.start("build")
        output, _ = process.communicate(timeout=300)
        assert process.returncode != 0
        assert "metastore.strict.managed.tables" in output and "set location_root" in output
        assert tables_of_dbt(hive, "bare") == set()


@pytest.mark.long("starts a Hive of its own, and a Spark")
def test_orc_is_refused_before_anything_is_made(
    acid_by_default: HiveServer, tmp_path: Path
) -> None:
    with HiveClient(acid_by_default.hs2_port) as hive:
        fill(hive, "bare")
        project = make_project(tmp_path / "project", acid_by_default, "bare", None)
        process = project.start("run", "--select", "orc", "rebuilt")
        output, _ = process.communicate(timeout=300)
        assert process.returncode != 0
        assert (
            "bare.orc is not built: the metastore makes every new managed table of ORC "
            "transactional (metastore.create.as.acid)"
        ) in output.replace("\n", " ").replace("  ", " ")
        assert "PASS=1" in output
        assert sorted(hive.query("SHOW TABLES IN bare")) == [("orders",), ("rebuilt",)]
