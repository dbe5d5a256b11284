"""dbt over secured metastores, in processes of their own: Java and Kerberos read settings once."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes

from hiveacid.metastore.models import TableName
from hiveacid.metastore.security.login import open_connection
from hiveacid.metastore.security.settings import Kerberos, Security
from hiveacid.metastore.thrift import INSERT_ONLY_TABLES, GetTablesRequest
from integration.secured.ask import connect
from integration.support.dbt_project import DbtProject, small_jvm
from integration.support.hive import HiveClient
from integration.support.hive.hdfs import HdfsServer
from integration.support.hive.kdc import CLIENT, REALM
from integration.support.hive.secured import (
    PASSWORD,
    PLAIN_PROPERTIES,
    STORE_PASSWORD,
    SecuredHive,
)

MODELS = {
    "plain": "select id, amount from {{ source('shop', 'orders') }}",
    "followed": (
        "{{ config(materialized='incremental', incremental_strategy='acid_changes', "
        "unique_key='id') }}\n"
        "select id, amount * 2 as twice from {{ acid_changes(source('shop', 'orders')) }}"
    ),
}
TESTS = """
version: 2
models:
  - name: plain
    columns: [{name: id, data_tests: [unique, not_null]}]
  - name: followed
    columns: [{name: id, data_tests: [unique, not_null]}]
"""


@pytest.fixture
def shop(secured: SecuredHive, request: pytest.FixtureRequest) -> str:
    """A database with the table `orders`."""
    name = f"shop_{request.node.name}"
    with HiveClient(secured.hs2_port) as hive:
        hive.script(
            f"""
            CREATE DATABASE {name};
            CREATE TABLE {name}.orders (id int, amount int) STORED AS ORC
              TBLPROPERTIES ('transactional'='true');
            INSERT INTO {name}.orders VALUES (1, 10), (2, 20), (3, 30);
            """
        )
    return name


def make_project(
    path: Path,
    secured: SecuredHive,
    shop: str,
    profile: Mapping[str, Any],
    spark: Mapping[str, str] | None = None,
) -> DbtProject:
    """Return a project whose Spark has its tables in the metastore of the sources."""
    java = f"-Duser.timezone=UTC {small_jvm()} -Djava.security.krb5.conf={secured.kdc.conf}"
    uri = profile.get("metastore_uri", secured.metastore_uri)
    settings = {
        "spark.driver.extraJavaOptions": java,
        "spark.hadoop.hive.metastore.uris": uri,
        **(spark or {}),
    }
    project = DbtProject(path, secured, shop, profile=profile, spark=settings, threads=2)
    project.sources("orders")
    project.models(**MODELS)
    project.write("models/tests.yml", TESTS)
    return project


def run(project: DbtProject, *arguments: str, seconds: float = 240) -> tuple[int, str]:
    """Run a dbt command in a process of its own; return its exit code and what it printed."""
    process = project.start(*arguments)
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return process.returncode, output


def build_twice(project: DbtProject, secured: SecuredHive, shop: str) -> str:
    """Build, change the source, build again; targets are as Hive has the source. Return output."""
    first = build(project, secured, shop)
    with HiveClient(secured.hs2_port) as hive:
        hive.execute(f"UPDATE {shop}.orders SET amount = 21 WHERE id = 2")
        hive.execute(f"DELETE FROM {shop}.orders WHERE id = 3")
    return first + build(project, secured, shop)


def build(project: DbtProject, secured: SecuredHive, shop: str) -> str:
    """Build; targets are as Hive has the source. Return output."""
    code, output = run(project, "--debug", "build")
    assert code == 0, output
    with HiveClient(secured.hs2_port) as hive:
        source = sorted(hive.query(f"SELECT id, amount FROM {shop}.orders"))
        assert sorted(hive.query(f"SELECT id, amount FROM {shop}.plain")) == source
        doubled = [(id_, 2 * amount) for id_, amount in source]
        assert sorted(hive.query(f"SELECT id, twice FROM {shop}.followed")) == doubled
        assert [lock for lock in hive.show_locks() if lock["database"] == shop] == []
    assert "JavaPackage" not in output
    return output


def assert_no_secret(project: DbtProject, output: str, *secrets: str) -> None:
    """No secret is in what dbt and Spark printed, logged or left; the profile has it."""
    files = [path for path in project.path.rglob("*") if path.is_file()]
    assert any(path.name == "spark.log" for path in files)
    for secret in secrets:
        assert secret not in output
        with_it = {p.name for p in files if secret.encode() in p.read_bytes()}
        assert with_it <= {"profiles.yml"}, with_it


def test_a_ticket(
    secured: SecuredHive, shop: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(secured.hadoop_conf))
    secured.kdc.kinit(cache)
    project = make_project(tmp_path / "project", secured, shop, {"auth": "kerberos"})
    build(project, secured, shop)
    code, output = run(project, "debug")
    assert code == 0, output
    assert f"Connection to the metastore: GSSAPI with auth-conf, as {CLIENT}" in output


def test_spark_without_a_login(
    secured: SecuredHive, shop: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    secured.kdc.kinit(cache)
    project = make_project(tmp_path / "project", secured, shop, {"auth": "kerberos"})
    code, output = run(project, "run")
    assert code != 0
    assert "Spark has not logged in to Kerberos: it runs as" in output
    assert "put the cluster's core-site.xml on its class path" in output
    assert "JavaPackage" not in output


@pytest.mark.long("a Spark of its own; a login that Spark lacks gives the same message")
def test_spark_with_a_wrong_principal(
    secured: SecuredHive, shop: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(secured.hadoop_conf))
    secured.kdc.kinit(cache)
    wrong = {"spark.hadoop.hive.metastore.kerberos.principal": f"hive/nobody@{REALM}"}
    project = make_project(tmp_path / "project", secured, shop, {"auth": "kerberos"}, wrong)
    code, output = run(project, "run")
    assert code != 0
    assert "Spark could not connect to the metastore of its own tables." in output
    assert "GSSException" in output and "spark.log" in output
    assert "JavaPackage" not in output


def test_no_ticket(secured: SecuredHive, shop: str, cache: Path, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project", secured, shop, {"auth": "kerberos"})
    code, output = run(project, "run")
    assert code != 0
    assert f"No Kerberos credentials available (default cache: FILE:{cache})" in output
    assert "There is no Kerberos ticket: run kinit, or set Kerberos(principal=" in output
    assert "Traceback" not in output and "JavaPackage" not in output
    assert "Starting Spark" not in output


@pytest.mark.long("a process with a Spark of its own")
def test_a_keytab_without_a_ticket_cache(
    secured: SecuredHive, shop: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(secured.hadoop_conf))
    keytab = secured.kdc.keytab("dbt")
    keys = {"auth": "kerberos", "kerberos_principal": CLIENT, "kerberos_keytab": str(keytab)}
    project = make_project(tmp_path / "project", secured, shop, keys)
    build_twice(project, secured, shop)
    assert not cache.exists()


@pytest.mark.long("starts a metastore, and a process with a Spark of its own")
def test_tls_around_kerberos(
    secured: SecuredHive, shop: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(secured.hadoop_conf))
    secured.kdc.kinit(cache)
    uri = secured.start_metastore(secured.tls_properties(), kerberos=True)
    keys = {
        "auth": "kerberos",
        "metastore_uri": uri,
        "use_ssl": True,
        "ssl_ca_file": str(secured.authority),
    }
    truststore = {
        "spark.hadoop.hive.metastore.truststore.path": str(secured.truststore),
        "spark.hadoop.hive.metastore.truststore.password": STORE_PASSWORD,
    }
    project = make_project(tmp_path / "project", secured, shop, keys, truststore)
    build_twice(project, secured, shop)
    code, output = run(project, "debug")
    assert code == 0 and f"TLSv1.3, GSSAPI with auth, as {CLIENT}" in output, output


@pytest.mark.long("starts a metastore, and a process with a Spark of its own")
def test_a_password(secured: SecuredHive, shop: str, tmp_path: Path) -> None:
    uri = secured.start_metastore(PLAIN_PROPERTIES)
    keys = {"auth": "ldap", "user": "dbt", "password": PASSWORD, "metastore_uri": uri}
    project = make_project(tmp_path / "project", secured, shop, keys)
    output = build_twice(project, secured, shop)
    code, debug = run(project, "--debug", "debug")
    assert code == 0 and "PLAIN with auth, as dbt" in debug, debug
    assert_no_secret(project, output + debug, PASSWORD)


@pytest.mark.long("starts a metastore, and a process with a Spark of its own")
def test_a_json_web_token(secured: SecuredHive, shop: str, tmp_path: Path) -> None:
    issuer = secured.jwt_issuer()
    uri, token = secured.start_metastore(issuer.properties), issuer.token()
    project = make_project(
        tmp_path / "project", secured, shop, {"auth": "jwt", "token": token, "metastore_uri": uri}
    )
    output = build_twice(project, secured, shop)
    assert_no_secret(project, output, token)


@pytest.mark.long("starts an HDFS, and a process with a Spark of its own")
def test_sources_and_targets_on_an_hdfs_with_kerberos(
    secured: SecuredHive, shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(secured.hadoop_conf))
    keytab = str(secured.kdc.keytab("dbt"))
    with HiveClient(secured.hs2_port) as hive:
        hive.execute(f"UPDATE {shop}.orders SET amount = 21 WHERE id = 2")
        rows = sorted(hive.query(f"SELECT id, amount FROM {shop}.orders"))
    with HdfsServer(kdc=secured.kdc) as hdfs, secured.kept_secure():
        login = Security(Kerberos(principal=CLIENT, keytab=keytab))
        move_table(secured, login, hdfs, TableName(shop, "orders"))
        keys = {"auth": "kerberos", "kerberos_principal": CLIENT, "kerberos_keytab": keytab}
        project = make_project(tmp_path / "project", secured, shop, keys)
        project.models(
            plain="{{ config(location_root='"
            + f"{hdfs.uri}/targets/{shop}"
            + "') }} "
            + MODELS["plain"],
            followed=MODELS["followed"].replace(
                "unique_key", f"location_root='{hdfs.uri}/targets/{shop}', unique_key"
            ),
        )
        for _ in range(2):
            code, output = run(project, "build")
            assert code == 0, output
        code, shown = run(project, "show", "--select", "plain", "--output", "json")
        assert code == 0, shown
        with connect(secured.metastore_uri, login) as client:
            assert client.get_table(TableName(shop, "orders")).storage.location.startswith(hdfs.uri)
            for model in MODELS:
                location = client.get_table(TableName(shop, model)).storage.location
                assert location.startswith(f"{hdfs.uri}/targets/{shop}/")
        for id_, amount in rows:
            assert re.search(rf'"id": {id_},\s+"amount": {amount}', shown), shown


def move_table(secured: SecuredHive, login: Security, hdfs: HdfsServer, name: TableName) -> None:
    """Copy the files of a table into an HDFS, and let the metastore look for them there."""
    opened = open_connection("localhost", secured.ports.metastore, login, 10, 60)
    request = GetTablesRequest(
        dbName=name.database,
        tblNames=[name.table],
        capabilities=ttypes.ClientCapabilities(values=[INSERT_ONLY_TABLES]),
    )
    (table,) = opened.calls.get_table_objects_by_name_req(request).tables
    location = f"/warehouse/{name.database}/{name.table}"
    hdfs.put(Path(table.sd.location.removeprefix("file:")), location)
    table.sd.location = f"{hdfs.uri}{location}"
    # The library's struct has no such field (`hiveacid/metastore/thrift.py`).
    table.sd.skewedInfo = None
    kept = ("tableName", "dbName", "owner", "createTime", "sd", "partitionKeys", "parameters")
    moved = ttypes.Table(tableType=table.tableType, **{key: getattr(table, key) for key in kept})
    opened.calls.alter_table(name.database, name.table, moved)
    opened.transport.close()
