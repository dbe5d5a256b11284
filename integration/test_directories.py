"""Directories as each Hive lists them: Hive 4 lists files, Hive 3.1 lists directories."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hiveacid.errors import UnreadableTableError
from integration.support.differential import Differential, canonical
from integration.support.hive import HiveClient, HiveServer, HiveSettings
from integration.support.hive.server import running_or_own
from integration.support.tables import FULL_ACID, INSERT_ONLY
from integration.test_verify import checked, location

HIVE_3, HIVE_4 = "3.1.3", "4.0.1"
DATABASE = "directories"

TABLES = {
    "full_acid": f"STORED AS ORC TBLPROPERTIES ({FULL_ACID})",
    "of_orc": f"STORED AS ORC TBLPROPERTIES ({INSERT_ONLY})",
    "of_parquet": f"STORED AS PARQUET TBLPROPERTIES ({INSERT_ONLY})",
    "of_text": f"STORED AS TEXTFILE TBLPROPERTIES ({INSERT_ONLY})",
}
FIRST, SECOND = "delta_0000001_0000001_0000", "delta_0000002_0000002_0000"
BASE, WIDE = "base_0000002", "delta_0000001_0000002"


@dataclass(frozen=True)
class Case:
    """Files that are laid into a table with the rows 1 and 2, of one write each.

    `without` are directories that are taken out. `shown` are the rows that Hive 4 and Hive 3.1
    show.
    """

    directory: str
    files: tuple[str, ...]
    shown: tuple[list[int], list[int]]
    without: tuple[str, ...] = ()


CASES = {
    "base_without_a_file": Case(BASE, (), ([1], []), (SECOND,)),
    "base_of_impalas_truncate": Case(BASE, ("_empty",), ([1], []), (SECOND,)),
    "base_of_a_job": Case(BASE, ("_SUCCESS",), ([1], []), (SECOND,)),
    "base_with_a_hidden_file": Case(BASE, (".x",), ([1], []), (SECOND,)),
    "base_with_a_hidden_directory": Case(BASE, ("_tmp/000000_0",), ([1], []), (SECOND,)),
    "base_with_the_version": Case(BASE, ("_orc_acid_version",), ([], []), (SECOND,)),
    "base_with_an_empty_file": Case(BASE, ("000000_0",), ([], []), (SECOND,)),
    "wide_delta_without_a_file": Case(WIDE, (), ([1, 2], [])),
    "wide_delta_with_a_hidden_file": Case(WIDE, ("_empty",), ([1, 2], [])),
    "wide_delta_with_the_version": Case(WIDE, ("_orc_acid_version",), ([], [])),
    "insert_without_rows": Case("delta_0000003_0000003_0000", (), ([1, 2], [1, 2])),
}


@pytest.fixture(scope="module")
def hive_3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveServer]:
    """A Hive 3.1.3."""
    settings = HiveSettings(txn_timeout=60, reaper_interval=4)
    with running_or_own(settings, tmp_path_factory.mktemp("hive_3"), HIVE_3) as server:
        yield server


@pytest.fixture(scope="module", params=[HIVE_4, HIVE_3])
def either(
    request: pytest.FixtureRequest, hive: HiveServer, spark: SparkSession
) -> Iterator[Differential]:
    """Each Hive, with a database `DATABASE`."""
    server: HiveServer = hive if request.param == HIVE_4 else request.getfixturevalue("hive_3")
    with HiveClient(server.hs2_port, log=server.log) as client:
        client.execute(f"CREATE DATABASE {DATABASE}")
        yield Differential(server, client, spark)
        client.execute(f"DROP DATABASE {DATABASE} CASCADE")


@pytest.mark.parametrize("kind", TABLES)
def test_directories_without_a_visible_file(
    either: Differential, kind: str, tmp_path: Path
) -> None:
    table = f"{DATABASE}.{kind}"
    either.client.execute(f"CREATE TABLE {table} (id int) {TABLES[kind]}")
    for i in (1, 2, 3):
        either.client.execute(f"INSERT INTO {table} VALUES ({i})")
    root = location(either.hive, table)
    shutil.rmtree(root / "delta_0000003_0000003_0000")
    shutil.copytree(root, tmp_path / "written")
    for name, case in CASES.items():
        if (name, kind, either.hive.version) == ("base_with_an_empty_file", "of_parquet", HIVE_3):
            continue  # Hive 3.1.3 fails on it: "is not a Parquet file".
        shutil.rmtree(root)
        shutil.copytree(tmp_path / "written", root)
        for directory in case.without:
            shutil.rmtree(root / directory)
        (root / case.directory).mkdir()
        for file in case.files:
            (root / case.directory / file).parent.mkdir(exist_ok=True)
            (root / case.directory / file).write_text("2" if "version" in file else "")
        expected = case.shown[either.hive.version == HIVE_3]
        found = either.check(table)
        assert sorted(row[0] for row in found.rows) == expected, name
        problems = checked(either, table).problems
        is_named = any(f"/{case.directory} has no visible file" in problem for problem in problems)
        assert is_named == (case.shown[0] != case.shown[1] and bool(expected)), (name, problems)
    either.client.execute(f"DROP TABLE {table}")


@pytest.mark.parametrize("properties", [FULL_ACID, INSERT_ONLY], ids=["full_acid", "insert_only"])
@pytest.mark.parametrize("hidden", ["_priv", ".dotd"])
def test_a_table_below_a_hidden_directory(
    either: Differential, hidden: str, properties: str, tmp_path: Path
) -> None:
    kind = "insert_only" if properties == INSERT_ONLY else "full_acid"
    table = f"{DATABASE}.{kind}_below{hidden.replace('.', '_')}"
    either.client.execute(
        f"CREATE TABLE {table} (id int) STORED AS ORC LOCATION 'file:{tmp_path}/{hidden}/t' "
        f"TBLPROPERTIES ({properties})"
    )
    either.client.execute(f"INSERT INTO {table} VALUES (1), (2)")
    if either.hive.version == HIVE_3:
        assert canonical(either.check(table).rows) == [("1",), ("2",)]
    else:
        assert either.shown(table) == []
        with pytest.raises(UnreadableTableError, match=f"the name {hidden} in the path") as raised:
            either.read(table)
        assert raised.value.code == "HIVEACID_HIDDEN_LOCATION"
    # What the message advises.
    (tmp_path / "moved").mkdir()
    shutil.move(tmp_path / hidden / "t", tmp_path / "moved" / "t")
    either.client.execute(f"ALTER TABLE {table} SET LOCATION 'file:{tmp_path}/moved/t'")
    assert canonical(either.check(table).rows) == [("1",), ("2",)]
    either.client.execute(f"DROP TABLE {table}")


@pytest.mark.parametrize("properties", [FULL_ACID, INSERT_ONLY], ids=["full_acid", "insert_only"])
def test_a_partition_moved_below_a_hidden_directory(
    either: Differential, properties: str, tmp_path: Path
) -> None:
    table = f"{DATABASE}.parted_{'insert_only' if properties == INSERT_ONLY else 'full_acid'}"
    either.client.execute(
        f"CREATE TABLE {table} (id int) PARTITIONED BY (p int) STORED AS ORC "
        f"TBLPROPERTIES ({properties})"
    )
    for p in (1, 2):
        either.client.execute(f"INSERT INTO {table} PARTITION (p={p}) VALUES ({p})")
    (tmp_path / "_arch").mkdir()
    shutil.move(location(either.hive, table) / "p=2", tmp_path / "_arch" / "p=2")
    either.client.execute(
        f"ALTER TABLE {table} PARTITION (p=2) SET LOCATION 'file:{tmp_path}/_arch/p=2'"
    )
    if either.hive.version == HIVE_3:
        assert canonical(either.check(table).rows) == [("1", "1"), ("2", "2")]
    else:
        assert canonical(either.shown(table)) == [("1", "1")]
        with pytest.raises(UnreadableTableError, match="the name _arch in the path") as raised:
            either.read(table)
        assert raised.value.code == "HIVEACID_HIDDEN_LOCATION"
    either.client.execute(f"DROP TABLE {table}")
