"""Settings of Spark's Hive client that follow from the profile, and Spark's login."""

from __future__ import annotations

import os
from unittest.mock import MagicMock

import pytest
from dbt.adapters.exceptions import FailedToConnectError
from py4j.protocol import Py4JError

from dbt.adapters.hiveacid.spark import driver, login
from dbt.adapters.hiveacid.spark.login import SparkLogin
from dbt.adapters.hiveacid.spark.start_failure import describe_catalog_failure, is_catalog_failure
from hiveacid.metastore.security.settings import (
    DelegationToken,
    Jwt,
    Kerberos,
    Password,
    Security,
    Tls,
    UserName,
)

URI = "thrift://metastore:9083"
HIVE, CLIENT = "spark.hadoop.hive.metastore.", "spark.hadoop.metastore.client."
TRUSTED = {f"{HIVE}truststore.path": "/truststore.p12"}
KEYTAB = Kerberos(principal="dbt@A", keytab="/dbt.keytab")


def settings(security, given=(), known_user=lambda: "dbt@A"):
    return SparkLogin(security, known_user).settings(dict(given))


@pytest.mark.parametrize(
    ("security", "expected"),
    [
        (Security(), {}),
        (Security(UserName("ann")), {}),
        (
            Security(Kerberos()),
            {f"{HIVE}sasl.enabled": "true", f"{HIVE}kerberos.principal": "hive/_HOST@A"},
        ),
        (
            Security(Kerberos(server_principal="hms/lb@B")),
            {f"{HIVE}sasl.enabled": "true", f"{HIVE}kerberos.principal": "hms/lb@B"},
        ),
        (
            Security(KEYTAB),
            {
                f"{HIVE}sasl.enabled": "true",
                f"{HIVE}kerberos.principal": "hive/_HOST@A",
                "spark.kerberos.principal": "dbt@A",
                "spark.kerberos.keytab": "/dbt.keytab",
            },
        ),
        (Security(DelegationToken()), {f"{HIVE}sasl.enabled": "true"}),
        (
            Security(Password("dbt", "s3cret")),
            {
                f"{CLIENT}auth.mode": "PLAIN",
                f"{CLIENT}plain.username": "dbt",
                "spark.hadoop.dbt": "s3cret",
                f"{HIVE}execute.setugi": "false",
                "spark.redaction.regex": "(?i)secret|password|token|access[.]?key"
                r"|^(?:spark\.hadoop\.)?dbt$",
            },
        ),
        (
            Security(Jwt("t"), http_path="/hms/"),
            {
                f"{CLIENT}auth.mode": "JWT",
                f"{CLIENT}thrift.transport.mode": "http",
                f"{CLIENT}thrift.http.path": "hms",
            },
        ),
    ],
)
def test_sparks_settings_follow_from_the_keys(security, expected):
    assert settings(security) == expected


def test_what_the_user_gives_stays():
    given = {f"{HIVE}kerberos.principal": "hive/mine@A", "spark.kerberos.keytab": "/mine"}
    derived = settings(Security(KEYTAB), given)
    assert derived.keys().isdisjoint(given)


def test_nothing_is_asked_where_the_principal_is_given():
    def unused():
        raise AssertionError

    settings(Security(Kerberos(server_principal="hive/_HOST@A")), known_user=unused)


def test_java_needs_a_truststore():
    tls = Security(tls=Tls("ca.pem"))
    assert settings(tls, TRUSTED) == {f"{HIVE}use.SSL": "true"}
    with pytest.raises(FailedToConnectError, match=r"keytool -importcert .*truststore\.path"):
        settings(tls)


def test_hadoop_gets_the_name_that_the_metastore_gets():
    login = SparkLogin(Security(UserName("ann")), lambda: None)
    assert login.environment() == {"HADOOP_USER_NAME": "ann"}
    assert SparkLogin(Security(), lambda: None).environment() == {}


def test_secrets_stay_out_of_javas_command_line(monkeypatch):
    launched, started = [], []
    monkeypatch.delenv("HMS_JWT", raising=False)
    monkeypatch.setattr(
        driver,
        "launch_gateway",
        lambda conf, popen_kwargs: launched.append((conf.getAll(), os.environ.get("HMS_JWT"))),
    )
    monkeypatch.setattr(
        driver,
        "SparkContext",
        lambda conf, gateway: started.append(dict(conf.getAll())) or MagicMock(master="yarn"),
    )
    security = Security(Password("dbt", "s3cret"))
    given = {**settings(security), f"{HIVE}truststore.password": "st0re"}
    driver._start(given, None, SparkLogin(security, lambda: None), {})
    driver._start({}, None, SparkLogin(Security(Jwt("a.b.c")), lambda: None), {})
    assert "s3cret" not in str(launched[0]) and "st0re" not in str(launched[0])
    assert started[0] == given
    assert launched[1][1] == "a.b.c" and "HMS_JWT" not in os.environ


@pytest.mark.parametrize(
    "key", ["sasl.enabled", "use.SSL", "kerberos.principal", "client.socket.lifetime"]
)
def test_how_a_metastore_is_reached_chooses_no_catalog(key, monkeypatch):
    for name in ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "HIVE_CONF_DIR", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)
    for prefix in ("spark.hadoop.hive.metastore.", "spark.hive.metastore."):
        assert driver._catalog({f"{prefix}{key}": "x"}, URI) == {f"{HIVE}uris": URI}


@pytest.fixture
def ugi(monkeypatch):
    """Hadoop's UserGroupInformation, with a login that has credentials."""
    ugi = MagicMock()
    user = ugi.getLoginUser.return_value
    user.hasKerberosCredentials.return_value = True
    user.getTokens.return_value.isEmpty.return_value = True
    user.toString.return_value = "root (auth:SIMPLE)"
    monkeypatch.setattr(login, "java", lambda context, name: ugi)
    monkeypatch.setattr(login, "_ticket_seen", None)
    monkeypatch.delenv("HADOOP_TOKEN_FILE_LOCATION", raising=False)
    return ugi


@pytest.fixture
def ticket(tmp_path, monkeypatch):
    path = tmp_path / "ticket"
    path.touch()
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{path}")
    return path


def test_a_login_without_credentials_is_refused(ugi, ticket):
    kerberos = SparkLogin(Security(Kerberos()), lambda: None)
    kerberos.check(MagicMock())
    user = ugi.getLoginUser.return_value
    user.hasKerberosCredentials.return_value = False
    user.getTokens.return_value.isEmpty.return_value = False
    kerberos.check(MagicMock())
    user.getTokens.return_value.isEmpty.return_value = True
    ugi.isSecurityEnabled.return_value = False
    with pytest.raises(
        FailedToConnectError, match=r"it runs as root \(auth:SIMPLE\).*core-site\.xml"
    ):
        kerberos.check(MagicMock())
    ugi.isSecurityEnabled.return_value = True
    with pytest.raises(FailedToConnectError, match=r"no valid ticket: run kinit .*krb5\.conf"):
        kerberos.check(MagicMock())
    SparkLogin(Security(), lambda: None).check(MagicMock())


def test_a_new_ticket_is_taken_once(ugi, ticket):
    kerberos = SparkLogin(Security(Kerberos()), lambda: None)
    kerberos.check(MagicMock())
    user = ugi.getLoginUser.return_value
    kerberos.renew(MagicMock())
    assert user.forceReloginFromTicketCache.call_count == 0
    ticket.write_bytes(b"one")
    kerberos.renew(MagicMock())
    kerberos.renew(MagicMock())
    ticket.write_bytes(b"one, and a ticket for a service")
    kerberos.renew(MagicMock())
    assert user.forceReloginFromTicketCache.call_count == 1
    ticket.write_bytes(b"two")
    user.forceReloginFromTicketCache.side_effect = Py4JError("no such method")
    kerberos.renew(MagicMock())
    assert user.reloginFromTicketCache.call_count == 1
    ticket.write_bytes(b"three")
    for security in (Security(KEYTAB), Security()):
        SparkLogin(security, lambda: None).renew(MagicMock())
    assert user.forceReloginFromTicketCache.call_count == 2


def test_only_pyspark_itself_tells_of_its_catalog():
    package = "'JavaPackage' object is not callable"
    assert is_catalog_failure(raised_in("py4j.java_gateway", package))
    assert not is_catalog_failure(raised_in("py4j.java_gateway", "'int' object is not callable"))
    assert not is_catalog_failure(raised_in("my_python_model", package))
    assert not is_catalog_failure(TypeError(package))


def raised_in(module, text):
    """The error as if a module had raised it."""
    with pytest.raises(TypeError) as caught:
        exec(f"raise TypeError({text!r})", {"__name__": module})
    return caught.value


def test_a_catalog_that_cannot_be_reached_is_explained(tmp_path):
    log = tmp_path / "spark.log"
    log.write_text(
        "26/11/27 ERROR TSaslTransport: SASL negotiation failure\n"
        "Caused by: GSSException: No valid credentials provided (Mechanism level: Failed to find "
        "any Kerberos tgt)\n\tat a.b.C\n" * 3
    )
    told = describe_catalog_failure(tmp_path)
    assert told.count("Failed to find any Kerberos tgt") == 1
    assert "run kinit" in told and f"is in {log}" in told
    log.write_text("Caused by: java.net.ConnectException: Connection refused\n")
    told = describe_catalog_failure(tmp_path)
    assert "ConnectException: Connection refused" in told and "is running" in told
    assert "JavaPackage" not in told
    assert "could not connect" in describe_catalog_failure(None)
