"""Fixtures of the tests against secured metastores: one Hive with a KDC for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hiveacid.metastore.models import TableName
from hiveacid.metastore.security.delegation_tokens import VARIABLE
from integration.support.hive import HiveClient, HiveSettings
from integration.support.hive.secured import SecuredHive


@pytest.fixture(scope="package")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredHive]:
    """A Hive whose metastore asks for Kerberos."""
    settings = HiveSettings(txn_timeout=60, reaper_interval=2, cleaner_interval=0.5)
    with SecuredHive(settings, work=tmp_path_factory.mktemp("secured")) as server:
        yield server


@pytest.fixture(scope="package")
def orders(secured: SecuredHive) -> TableName:
    """A table of two rows."""
    with HiveClient(secured.hs2_port) as hive:
        hive.script(
            """
            CREATE TABLE orders (id int, amount int) STORED AS ORC
              TBLPROPERTIES ('transactional'='true');
            INSERT INTO orders VALUES (1, 10), (2, 20);
            """
        )
    return TableName("default", "orders")


@pytest.fixture(autouse=True)
def cache(secured: SecuredHive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The ticket cache of the test; empty until `kinit`. No transaction of the test is left."""
    monkeypatch.delenv(VARIABLE, raising=False)
    with secured.kdc.used(tmp_path / "ticket"):
        yield tmp_path / "ticket"
    with HiveClient(secured.hs2_port) as hive:
        left = [row for row in hive.show_transactions() if row["state"] == "OPEN"]
    assert [row for row in left if "dbt" in row["user"]] == []
