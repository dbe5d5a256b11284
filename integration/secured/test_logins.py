"""Logins by tickets, keytabs, delegation tokens, TLS, passwords and JSON web tokens."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hmsclient.genthrift.hive_metastore import ttypes

from hiveacid.errors import MetastoreSecurityError, MetastoreUnavailableError
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import LockState, TableName, TransactionState
from hiveacid.metastore.security.delegation_tokens import VARIABLE, parse_token
from hiveacid.metastore.security.login import open_connection
from hiveacid.metastore.security.settings import (
    DelegationToken,
    Jwt,
    Kerberos,
    Password,
    Security,
    Tls,
    UserName,
)
from hiveacid.snapshots.run_snapshot import RunSnapshot
from hiveacid.snapshots.transaction import SnapshotSettings
from integration.secured.ask import TICKET, connect, refusal, speak
from integration.support.hive.kdc import CLIENT, REALM, SERVER
from integration.support.hive.secured import (
    PASSWORD,
    PLAIN_PROPERTIES,
    SecuredHive,
    SecuredMetastore3,
)
from integration.support.metastore import eventually


class TestKerberos:
    def test_a_ticket(self, secured: SecuredHive, orders: TableName, cache: Path) -> None:
        secured.kdc.kinit(cache)
        snapshot = RunSnapshot(
            lambda: connect(secured.metastore_uri, TICKET),
            SnapshotSettings(heartbeat_interval=1),
            "dbt-hiveacid test",
        )
        snapshot.pin([orders])
        with connect(secured.metastore_uri, TICKET) as client:
            assert client.known_user() == CLIENT
            assert client.protocol() == "GSSAPI with auth-conf"
            assert [lock.user for lock in client.show_locks(orders)] == [CLIENT]
            time.sleep(1.5)
            snapshot.check_alive()
            snapshot.end()
            assert client.show_locks(orders) == ()

    def test_a_keytab_needs_no_cache_and_leaves_the_users_alone(
        self, secured: SecuredHive, cache: Path
    ) -> None:
        keytab = str(secured.kdc.keytab("dbt"))
        for principal in (CLIENT, "dbt"):
            with connect(
                secured.metastore_uri, Security(Kerberos(principal=principal, keytab=keytab))
            ) as client:
                assert client.known_user() == CLIENT
        assert not cache.exists()

    def test_a_ticket_that_ends_in_mid_run(
        self,
        secured: SecuredHive,
        orders: TableName,
        cache: Path,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        secured.kdc.kinit(cache, lifetime=3)
        clients: list[MetastoreClient] = []

        def make_client() -> MetastoreClient:
            clients.append(connect(secured.metastore_uri, TICKET))
            return clients[-1]

        snapshot = RunSnapshot(make_client, SnapshotSettings(heartbeat_interval=1), "ends")
        snapshot.pin([orders])
        time.sleep(4)
        # A connection that stands outlives the ticket.
        snapshot.check_alive()
        for client in clients:
            client.close()
        assert eventually(lambda: "Ticket expired" in caplog.text)
        with pytest.raises(MetastoreSecurityError, match="run kinit"):
            snapshot.check_alive()
        secured.kdc.kinit(cache)
        assert eventually(lambda: "sends heartbeats again" in caplog.text)
        snapshot.check_alive()
        snapshot.end()
        assert "unless a heartbeat succeeds before" in caplog.text

    @pytest.mark.long("starts a Hive 3 with Kerberos")
    def test_a_metastore_of_hive_3(self, secured: SecuredHive, cache: Path, tmp_path: Path) -> None:
        secured.kdc.kinit(cache)
        with (
            SecuredMetastore3(tmp_path / "metastore", secured.kdc) as metastore,
            connect(metastore.metastore_uri, TICKET) as client,
        ):
            assert client.server_info().supports_write_ids
            assert (client.known_user(), client.protocol()) == (CLIENT, "GSSAPI with auth-conf")
            assert client.get_database_location("default").startswith("file:")
            id_ = client.open_txn(CLIENT, "here", "dbt-hiveacid test", read_only=False)
            name = TableName("default", "nothing")
            lock = client.lock_shared_read(id_, [name], CLIENT, "here", "dbt-hiveacid test")
            assert lock.state == LockState.ACQUIRED
            assert [held.user for held in client.show_locks(name)] == [CLIENT]
            assert client.heartbeat(id_) is TransactionState.OPEN
            client.commit_txn(id_)
            with pytest.raises(MetastoreUnavailableError) as error:
                connect(metastore.metastore_uri, Security()).get_config_value(
                    "metastore.nothing", ""
                )
            assert "it speaks SASL (Kerberos, a password" in error.value.message

    @pytest.mark.parametrize(
        ("protection", "spoken"),
        [("authentication", "auth"), ("integrity", "auth-int"), ("privacy", "auth-conf")],
    )
    def test_each_protection(
        self, secured: SecuredHive, cache: Path, protection: str, spoken: str
    ) -> None:
        secured.kdc.kinit(cache)
        uri = secured.start_metastore({}, kerberos=True, protection=protection)
        assert speak(uri, TICKET) == f"GSSAPI with {spoken}"

    def test_the_principal_of_a_metastore_behind_another_name(
        self, secured: SecuredHive, cache: Path
    ) -> None:
        secured.kdc.kinit(cache)
        by_number = f"thrift://127.0.0.1:{secured.ports.metastore}"
        assert "not found in Kerberos database" in refusal(by_number, TICKET)
        named = Security(Kerberos(server_principal=SERVER))
        assert speak(by_number, named) == "GSSAPI with auth-conf"
        assert "auth-conf" in speak(
            secured.metastore_uri, Security(Kerberos(server_principal=f"hive/_HOST@{REALM}"))
        )


class TestDelegationTokens:
    def test_a_token_in_place_of_a_ticket(
        self, secured: SecuredHive, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        secured.kdc.kinit(cache)
        # In one Java process, the metastore that was started last makes the tokens.
        for protection, spoken in (
            ("privacy", "auth-conf"),
            ("authentication", "auth"),
            ("integrity", "auth-int"),
        ):
            uri = secured.start_metastore({}, kerberos=True, protection=protection)
            opened = open_connection("localhost", int(uri.rpartition(":")[2]), TICKET, 10, 20)
            text = opened.calls.get_delegation_token("dbt", "dbt")
            opened.transport.close()
            path = tmp_path / f"{spoken}.tokens"
            path.write_bytes(_token_file(text))
            # The ticket is no longer there.
            monkeypatch.setenv("KRB5CCNAME", "FILE:/nowhere")
            monkeypatch.setenv(VARIABLE, str(path))
            for auth in (Kerberos(), DelegationToken()):
                assert speak(uri, Security(auth)) == f"DIGEST-MD5 with {spoken}"
            path.write_bytes(_token_file(text, password=b"guessed"))
            assert refusal(uri, Security(DelegationToken())) == (
                "it refused the DIGEST-MD5 login: DIGEST-MD5: digest response format violation. "
                "Mismatched response.\n"
                "The delegation token has expired, was cancelled, or is another metastore's: get "
                "a new one, or use a ticket or a keytab."
            )
            monkeypatch.delenv(VARIABLE)
            monkeypatch.setenv("KRB5CCNAME", f"FILE:{cache}")


class TestTls:
    def test_alone_and_around_kerberos(self, secured: SecuredHive, cache: Path) -> None:
        secured.kdc.kinit(cache)
        tls = Tls(str(secured.authority))
        alone = secured.start_metastore(secured.tls_properties())
        assert speak(alone, Security(tls=tls)) == "TLSv1.3, no authentication"
        both = secured.start_metastore(secured.tls_properties(), kerberos=True)
        # The server leaves protection to TLS.
        assert speak(both, Security(Kerberos(), tls)) == "TLSv1.3, GSSAPI with auth"

        by_number = both.replace("localhost", "127.0.0.1")
        assert refusal(by_number, Security(Kerberos(server_principal=SERVER), tls)) == (
            "its TLS certificate is not trusted: IP address mismatch, certificate is not valid "
            "for '127.0.0.1'\n"
            "Use in metastore_uri a host name that the certificate has, or set "
            "Tls(check_hostname=False)."
        )
        assert refusal(alone, Security(tls=Tls())).startswith(
            "its TLS certificate is not trusted: self-signed certificate\nSet `ca_file` of Tls"
        )
        assert refusal(alone, TICKET).startswith(
            "it does not answer in SASL, it speaks TLS\nSet `security`"
        )
        with pytest.raises(MetastoreUnavailableError, match="it speaks TLS, and this client"):
            connect(alone, Security()).get_config_value("metastore.nothing", "")


class TestPasswords:
    def test_a_user_and_a_password(self, secured: SecuredHive) -> None:
        uri = secured.start_metastore(PLAIN_PROPERTIES)
        assert speak(uri, Security(Password("dbt", PASSWORD))) == "PLAIN with auth"
        for user, password in (("dbt", f"{PASSWORD}!"), ("somebody", PASSWORD)):
            assert refusal(uri, Security(Password(user, password))) == (
                "it refused the PLAIN login: Error validating the login\nCheck user and password."
            )


class TestHttp:
    def test_a_json_web_token(self, secured: SecuredHive) -> None:
        issuer = secured.jwt_issuer()
        uri = secured.start_metastore(issuer.properties)
        with connect(uri, Security(Jwt(issuer.token()))) as client:
            assert client.known_user() == "dbt"
            assert client.protocol() == "HTTP with JWT"
            assert client.server_info().supports_write_ids
            txn = client.open_txn("dbt", "here", "dbt-hiveacid test")
            client.heartbeat(txn)
            client.commit_txn(txn)
        reason = refusal(uri, Security(Jwt(issuer.token(lifetime=-3600))))
        assert reason.startswith(
            "it refused the token: HTTP 401 Unauthorized, since it expired at "
        )
        forged = issuer.token("root").split(".")[:2] + issuer.token("dbt").split(".")[2:]
        assert refusal(uri, Security(Jwt(".".join(forged)))).startswith(
            "it refused the token: HTTP 401 Unauthorized\nGet a new token"
        )
        assert "It requires authentication" in refusal(uri, Security(http_path="metastore"))
        assert "it does not answer in SASL, it speaks HTTP" in refusal(
            uri, Security(Password("dbt", PASSWORD))
        )
        assert "it does not answer in TLS" in refusal(uri, Security(Jwt(issuer.token()), Tls()))
        with pytest.raises(MetastoreUnavailableError, match="it speaks HTTP, and this client"):
            connect(uri, Security()).get_config_value("metastore.nothing", "")

    def test_a_user_who_is_believed(self, secured: SecuredHive) -> None:
        uri = secured.start_metastore({"metastore.server.thrift.transport.mode": "http"})
        assert speak(uri, Security(UserName("ann"), http_path="metastore")) == (
            "HTTP with a user's name"
        )
        assert refusal(uri, Security(http_path="elsewhere")) == (
            "it answers HTTP 405 Method Not Allowed\n"
            "Check `http_path` of Security, and that metastore_uri is the metastore's."
        )


def _token_file(text: str, password: bytes | None = None) -> bytes:
    token = parse_token(text)
    parts = [token.identifier, password or token.password, token.kind.encode(), b""]
    entries = b"".join(_vint(len(part)) + part for part in parts)
    return b"HDTS\0\1" + _vint(1) + b"a" + entries + b"\0"


def _vint(number: int) -> bytes:
    return bytes([number]) if number < 128 else b"\x8f" + bytes([number])


def test_owners_are_who_was_named(secured: SecuredHive) -> None:
    uri = secured.start_metastore({"hive.metastore.execute.setugi": "true"})
    port = int(uri.rpartition(":")[2])
    for user in ("ann", "bob"):
        opened = open_connection("localhost", port, Security(UserName(user)), 10, 20)
        name = f"of_{user}"
        opened.calls.create_database(
            ttypes.Database(name=name, locationUri=f"file:{secured.work}/{name}.db")
        )
        made = opened.calls.get_database(name)
        opened.calls.drop_database(name, True, True)
        opened.transport.close()
        assert made.ownerName == user
