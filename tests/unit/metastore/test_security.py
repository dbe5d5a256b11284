"""Logins, TLS and HTTP against servers in this process; Kerberos: integration/secured."""

from __future__ import annotations

import base64
import http.server
import json
import logging
import shutil
import socket
import ssl
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.fb303 import FacebookService
from hmsclient.genthrift.hive_metastore import ttypes
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TMessageType
from thrift.transport.TTransport import TMemoryBuffer

from hiveacid.errors import (
    InvalidSettingError,
    MetastoreSecurityError,
    MetastoreUnavailableError,
)
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.security import gssapi, kerberos
from hiveacid.metastore.security.delegation_tokens import (
    VARIABLE,
    find_token,
    parse_token,
    read_tokens,
)
from hiveacid.metastore.security.digest_md5 import DigestMechanism, _Layer, _Rc4
from hiveacid.metastore.security.failures import HandshakeError, kerberos_advice
from hiveacid.metastore.security.kerberos import KerberosMechanism
from hiveacid.metastore.security.keytabs import check_keytab, principals_of
from hiveacid.metastore.security.settings import (
    DelegationToken,
    Jwt,
    Kerberos,
    Password,
    Security,
    Tls,
    UserName,
)
from tests.unit.metastore import sasl_server
from tests.unit.metastore.thrift_server import HANG_UP, ThriftServer

HANDLERS: dict[str, Callable[..., Any]] = {
    "getVersion": lambda: "4.0.1",
    "get_config_value": lambda key, default: default,
    "set_ugi": lambda user, groups: [user],
}
LONG = "x" * 100_000
PASSWORDS = {"dbt": "s3cret"}


@pytest.fixture
def start() -> Iterator[object]:
    """Starts servers, and closes them after the test."""
    servers: list[ThriftServer] = []

    def make(greet=None, **handlers: Callable[..., Any]) -> ThriftServer:
        servers.append(ThriftServer({**HANDLERS, **handlers}, greet))
        return servers[-1]

    yield make
    for server in servers:
        server.close()


def ask(uri: str, security: Security, connect_timeout: float = 5) -> str:
    with MetastoreClient(uri, 5, connect_timeout, security) as client:
        return client.get_config_value("key", LONG)


def refusal(uri: str, security: Security) -> str:
    started = time.monotonic()
    with pytest.raises(MetastoreUnavailableError) as error:
        ask(uri, security)
    assert time.monotonic() - started < 10
    assert "s3cret" not in str(error.value) and "eyJ" not in str(error.value)
    return error.value.message


class TestPlain:
    def test_a_user_with_his_password(self, start):
        server = start(partial(sasl_server.plain, passwords=PASSWORDS))
        security = Security(Password("dbt", "s3cret"))
        assert ask(server.uri, security) == LONG
        with MetastoreClient(server.uri, security=security) as client:
            assert client.known_user() == "dbt"
            assert client.protocol() == "PLAIN with auth"

    def test_a_wrong_password(self, start):
        server = start(partial(sasl_server.plain, passwords={"dbt": "another"}))
        assert refusal(server.uri, Security(Password("dbt", "s3cret"))) == (
            f"Could not connect to the Hive metastore. Tried:\n"
            f"  {server.uri}: it refused the PLAIN login: Error validating the login\n"
            "Check user and password."
        )
        assert server.connections == 1, "a refused login is not tried again"

    def test_what_is_no_frame_is_told(self, start):
        def not_a_frame(handle):
            frames = sasl_server.plain(handle, PASSWORDS)
            handle.sendall(b"\xff\xff\xff\xfe" * 100)
            return frames

        server = start(not_a_frame)
        told = refusal(server.uri, Security(Password("dbt", "s3cret")))
        assert "after the login it sent fffffffe" in told


def test_no_repr_shows_a_secret():
    shown = repr(
        [
            Security(Password("dbt", "s3cret"), Tls()),
            Security(Jwt("s3cret")),
            partial(MetastoreClient, "thrift://a:1", security=Security(Password("dbt", "s3cret"))),
        ]
    )
    assert "s3cret" not in shown


class TestDelegationTokens:
    @pytest.mark.parametrize("qop", ["auth", "auth-int", "auth-conf", "auth-conf,auth-int,auth"])
    def test_a_token_logs_in(self, start, qop, tmp_path, monkeypatch):
        path = tmp_path / "tokens"
        path.write_bytes(token_file(("", b"who", b"s3cret")))
        monkeypatch.setenv(VARIABLE, str(path))
        name, secret = (base64.b64encode(part).decode() for part in (b"who", b"s3cret"))
        server = start(partial(sasl_server.digest, passwords={name: secret}, qop=qop))
        for auth in (Kerberos(), DelegationToken()):
            with MetastoreClient(server.uri, security=Security(auth)) as client:
                for _ in range(3):
                    assert client.get_config_value("key", LONG) == LONG
                assert client.protocol() == f"DIGEST-MD5 with {qop.split(',')[0]}"

    def test_a_token_that_the_metastore_does_not_know(self, start, tmp_path):
        path = tmp_path / "tokens"
        path.write_bytes(token_file(("", b"who", b"s3cret")))
        server = start(partial(sasl_server.digest, passwords={}))
        assert refusal(server.uri, Security(DelegationToken(str(path)))) == (
            "Could not connect to the Hive metastore. Tried:\n"
            f"  {server.uri}: it refused the DIGEST-MD5 login: DIGEST-MD5: digest response format "
            "violation. Mismatched response.\n"
            "The delegation token has expired, was cancelled, or is another metastore's: get a "
            "new one, or use a ticket or a keytab."
        )

    def test_no_token(self, monkeypatch, tmp_path):
        monkeypatch.delenv(VARIABLE, raising=False)
        message = refusal("thrift://127.0.0.1:1", Security(DelegationToken()))
        assert f"there is no delegation token of Hive in ${VARIABLE}" in message
        path = tmp_path / "tokens"
        path.write_bytes(b"HDTS\x01")
        message = refusal("thrift://127.0.0.1:1", Security(DelegationToken(str(path))))
        assert "is not a file of Hadoop's tokens in the format of Hadoop 2 and 3" in message
        message = refusal("thrift://127.0.0.1:1", Security(DelegationToken(str(tmp_path / "no"))))
        assert "cannot be read: No such file or directory" in message

    def test_of_several_the_one_without_a_service(self, tmp_path):
        path = tmp_path / "tokens"
        path.write_bytes(token_file(("hiveserver2ClientToken", b"a", b"b"), ("", b"c", b"d")))
        found = find_token(str(path))
        assert found is not None and found.identifier == b"c"
        assert "b'" not in repr(found)
        assert [token.service for token in read_tokens(path.read_bytes())] == [
            "hiveserver2ClientToken",
            "",
        ]

    def test_the_form_of_get_delegation_token(self):
        token = parse_token(
            base64.urlsafe_b64encode(one_token("", b"i" * 200, b"p")).decode().rstrip("=")
        )
        assert (token.identifier, token.password) == (b"i" * 200, b"p")
        assert (token.kind, token.service) == ("HIVE_DELEGATION_TOKEN", "")

    def test_the_example_of_rfc_2831(self):
        digest = DigestMechanism(
            "chris", "secret", uri="imap/elwood.innosoft.com", cnonce="OA6MHXh6VqTrRk"
        )
        challenge = (
            b'realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",qop="auth",'
            b"algorithm=md5-sess,charset=utf-8"
        )
        assert b"response=d388dad90d4bbd760a152321f2143af7" in digest.respond(challenge)
        with pytest.raises(HandshakeError, match="does not know the secret"):
            digest.respond(b"rspauth=00")
        digest.respond(b"rspauth=ea40f60335c427b5527b84dbabcdfffd")
        assert digest.is_complete

    def test_the_cipher_by_rfc_6229(self):
        stream = _Rc4(bytes(range(1, 17)))
        assert stream.apply(bytes(16)).hex() == "9ac7cc9a609d1ef7b2932899cde41b97"
        assert stream.apply(bytes(16)).hex() == "5248c4959014126a6e8a84f11d1a9e1c"

    @pytest.mark.parametrize("cipher", [None, "rc4"])
    def test_a_changed_or_repeated_message_is_noticed(self, cipher):
        server, client, victim = (_Layer(b"k" * 16, "server-to-client", cipher) for _ in range(3))
        sealed = server.protect(b"rows")
        assert client.open(sealed) == b"rows"
        with pytest.raises(HandshakeError, match="was changed on the way"):
            client.open(sealed)
        with pytest.raises(HandshakeError, match="was changed on the way"):
            victim.open(bytes([sealed[0] ^ 1]) + sealed[1:])


def vint(number: int) -> bytes:
    if number <= 127:
        return bytes([number])
    data = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return struct.pack("b", -112 - len(data)) + data


def one_token(service: str, identifier: bytes, password: bytes) -> bytes:
    parts = [identifier, password, b"HIVE_DELEGATION_TOKEN", service.encode()]
    return b"".join(vint(len(part)) + part for part in parts)


def token_file(*tokens: tuple[str, bytes, bytes]) -> bytes:
    entries = b"".join(vint(5) + b"alias" + one_token(*token) for token in tokens)
    return b"HDTS\0" + vint(len(tokens)) + entries + vint(0)


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with ca.pem, another authority's other.pem, and server.pem for `localhost`."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("There is no `openssl` on the PATH, which makes the certificates")
    work = tmp_path_factory.mktemp("certificates")

    def run(*arguments: str) -> None:
        subprocess.run([openssl, *arguments], cwd=work, check=True, capture_output=True)

    new = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    for name in ("ca", "other"):
        run(*new, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem")
    (work / "san").write_text("subjectAltName=DNS:localhost")
    run(
        *("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=server"),
        *("-keyout", "server.key", "-out", "server.csr"),
    )
    run(
        *("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-days", "2"),
        *("-CAcreateserial", "-extfile", "san", "-out", "server.pem"),
    )
    return work


@pytest.fixture
def tls_server(certificates: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    return context


def in_tls(context: ssl.SSLContext, then=lambda handle: handle):
    return lambda handle: then(context.wrap_socket(handle, server_side=True))


def alert(handle: socket.socket) -> None:
    """As Java's TLS answers what is no TLS; OpenSSL closes the connection without a word."""
    handle.recv(5)
    handle.sendall(bytes.fromhex("15030300020228"))
    raise EOFError


def hang_up(handle: socket.socket) -> None:
    """As a plain Hive does that takes the beginning of TLS for a length."""
    handle.recv(1)
    raise EOFError


class TestTls:
    def test_alone_and_around_a_login(self, start, tls_server, certificates):
        tls = Tls(str(certificates / "ca.pem"))
        server = start(in_tls(tls_server))
        uri = f"thrift://localhost:{server.port}"
        assert ask(uri, Security(tls=tls)) == LONG
        both = start(in_tls(tls_server, partial(sasl_server.plain, passwords=PASSWORDS)))
        security = Security(Password("dbt", "s3cret"), tls)
        with MetastoreClient(f"thrift://localhost:{both.port}", security=security) as client:
            assert client.get_config_value("key", LONG) == LONG
            assert client.protocol() == "TLSv1.3, PLAIN with auth"

    def test_an_unknown_authority(self, start, tls_server, certificates):
        server = start(in_tls(tls_server))
        uri = f"thrift://localhost:{server.port}"
        for tls in (Tls(), Tls(str(certificates / "other.pem"))):
            assert refusal(uri, Security(tls=tls)) == (
                "Could not connect to the Hive metastore. Tried:\n"
                f"  {uri}: its TLS certificate is not trusted: unable to get local issuer "
                "certificate\n"
                "Set `ca_file` of Tls to a PEM file with the certificate of the authority that has "
                "signed the metastore's."
            )

    def test_a_certificate_of_another_host(self, start, tls_server, certificates):
        server = start(in_tls(tls_server))
        ca = str(certificates / "ca.pem")
        assert refusal(server.uri, Security(tls=Tls(ca))) == (
            "Could not connect to the Hive metastore. Tried:\n"
            f"  {server.uri}: its TLS certificate is not trusted: IP address mismatch, "
            "certificate is not valid for '127.0.0.1'\n"
            "Use in metastore_uri a host name that the certificate has, or set "
            "Tls(check_hostname=False)."
        )
        assert ask(server.uri, Security(tls=Tls(ca, check_hostname=False))) == LONG

    def test_a_file_without_certificates(self, tmp_path):
        (tmp_path / "empty.pem").write_text("no certificate")
        message = refusal("thrift://127.0.0.1:1", Security(tls=Tls(str(tmp_path / "no.pem"))))
        assert "Connection refused" in message
        listener = socket.create_server(("127.0.0.1", 0))
        uri = f"thrift://127.0.0.1:{listener.getsockname()[1]}"
        with listener:
            message = refusal(uri, Security(tls=Tls(str(tmp_path / "no.pem"))))
            assert (
                "no.pem cannot be read: No such file or directory\nCheck `ca_file` of Tls"
                in message
            )
            message = refusal(uri, Security(tls=Tls(str(tmp_path / "empty.pem"))))
            assert "empty.pem has no certificates in the form of PEM" in message


class TestAnotherProtocolThanTheServers:
    """Which message a user gets who has not said what the server speaks, or said it wrongly."""

    def test_plain_at_tls(self, start):
        server = start(alert)
        expected = "it speaks TLS, and this client plain Thrift. Set `security` (in a profile auth"
        assert expected in refusal(server.uri, Security())
        assert "it speaks TLS\nSet `security` as" in refusal(server.uri, Security(UserName("dbt")))

    def test_plain_at_sasl(self, start):
        server = start(partial(sasl_server.plain, passwords=PASSWORDS))
        message = refusal(server.uri, Security())
        assert "it speaks SASL (Kerberos, a password or a delegation token)" in message

    def test_plain_at_http(self, http_metastore):
        assert "it speaks HTTP, and this client plain" in refusal(http_metastore(), Security())

    def test_sasl_at_plain(self, start):
        server = start()
        assert refusal(server.uri, Security(Password("dbt", "s3cret"))) == (
            "Could not connect to the Hive metastore. Tried:\n"
            f"  {server.uri}: it asks for no login: it speaks plain Thrift\n"
            "Leave the login out of `security`, or check that metastore_uri is the secured "
            "metastore."
        )

    def test_sasl_at_tls_and_http(self, start):
        server = start(alert)
        wrong = Security(Password("dbt", "s3cret"))
        assert "it does not answer in SASL, it speaks TLS\nSet `security`" in refusal(
            server.uri, wrong
        )
        assert "it does not answer in SASL, it speaks HTTP" in refusal(start(jetty).uri, wrong)

    def test_tls_at_plain_sasl_and_http(self, start, http_metastore):
        sasl = start(partial(sasl_server.plain, passwords=PASSWORDS))
        hangs_up = start(hang_up)
        for uri in (sasl.uri, hangs_up.uri, http_metastore()):
            assert (
                f"{uri}: it does not answer in TLS\nLeave out `tls` of Security if the metastore's "
                "hive.metastore.use.SSL is false."
            ) in refusal(uri, Security(tls=Tls()))

    def test_http_at_sasl(self, start):
        server = start(partial(sasl_server.plain, passwords=PASSWORDS))
        message = refusal(server.uri, Security(http_path="metastore"))
        assert "it does not answer in HTTP\nLeave out `http_path` of Security" in message


def jetty(handle: socket.socket) -> None:
    """As Hive's web server answers what is no HTTP; Python's waits for the end of the line."""
    handle.recv(1)
    handle.sendall(b"HTTP/1.1 400 Illegal character CNTL=0x1\r\n\r\n")
    raise EOFError


class HttpHandler(http.server.BaseHTTPRequestHandler):
    """A metastore over HTTP that answers getVersion and get_config_value."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        server: Any = self.server
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server.seen.append((self.path, self.headers.get("Authorization"), self.headers))
        status = 200
        if self.path != "/metastore":
            status = 404
        elif server.token and self.headers.get("Authorization") != f"Bearer {server.token}":
            status = 401
        answer = answer_to(body) if status == 200 else b"<html>no</html>"
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments: object) -> None:
        pass


def answer_to(body: bytes) -> bytes:
    request, answer = TBinaryProtocol(TMemoryBuffer(body)), TMemoryBuffer()
    name, _, seqid = request.readMessageBegin()
    protocol = TBinaryProtocol(answer)
    protocol.writeMessageBegin(name, TMessageType.REPLY, seqid)
    if name == "getVersion":
        FacebookService.getVersion_result("4.0.1").write(protocol)
    else:
        from hmsclient.genthrift.hive_metastore import ThriftHiveMetastore

        arguments = ThriftHiveMetastore.get_config_value_args()
        arguments.read(request)
        ThriftHiveMetastore.get_config_value_result(arguments.defaultValue).write(protocol)
    protocol.writeMessageEnd()
    return answer.getvalue()


@pytest.fixture
def http_metastore(monkeypatch) -> Iterator[object]:
    """Starts metastores over HTTP; returns their addresses."""
    monkeypatch.setenv("no_proxy", "*")
    servers = []

    def make(token: str | None = None, tls: ssl.SSLContext | None = None, seen=None) -> str:
        server: Any = http.server.ThreadingHTTPServer(("127.0.0.1", 0), HttpHandler)
        server.token, server.seen = token, [] if seen is None else seen
        server.handle_error = lambda *arguments: None
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        return f"thrift://{'localhost' if tls else '127.0.0.1'}:{server.server_port}"

    yield make
    for server in servers:
        server.shutdown()
        server.server_close()


def jwt(**claims: object) -> str:
    parts = [{"alg": "RS256"}, claims, {}]
    return ".".join(
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts
    )


class TestHttp:
    def test_a_token_in_each_request(self, http_metastore):
        token, seen = jwt(sub="dbt", exp=time.time() + 60), []
        uri = http_metastore(token, seen=seen)
        security = Security(Jwt(token))
        with MetastoreClient(uri, security=security) as client:
            assert client.get_config_value("key", LONG) == LONG
            assert client.known_user() == "dbt"
            assert client.protocol() == "HTTP with JWT"
        assert {(path, auth) for path, auth, _ in seen} == {("/metastore", f"Bearer {token}")}

    def test_a_token_from_a_file_is_read_anew(self, http_metastore, tmp_path):
        token, path = jwt(sub="dbt"), tmp_path / "token"
        uri = http_metastore(token)
        path.write_text("old")
        security = Security(Jwt(file=str(path)))
        with MetastoreClient(uri, security=security) as client:
            with pytest.raises(MetastoreSecurityError):
                client.get_config_value("key", LONG)
            path.write_text(f"{token}\n")
            assert client.get_config_value("key", LONG) == LONG

    def test_a_token_is_renewed_between_calls_that_are_made_once(self, http_metastore, tmp_path):
        token, path, seen = jwt(sub="dbt"), tmp_path / "token", []
        path.write_text(token)
        uri = http_metastore(seen=seen)
        with MetastoreClient(uri, security=Security(Jwt(file=str(path)))) as client:
            client.get_config_value("key", LONG)
            path.write_text("renewed")
            client._channel.once("a", "b", lambda calls: calls.get_config_value("key", LONG))
        assert [auth for _, auth, _ in seen[-2:]] == [f"Bearer {token}", "Bearer renewed"]

    def test_no_token_goes_to_a_proxy(self, http_metastore, monkeypatch):
        token = jwt(sub="dbt")
        uri = http_metastore(token)
        monkeypatch.delenv("no_proxy")
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
        assert ask(uri, Security(Jwt(token))) == LONG

    def test_a_user_whom_the_metastore_believes(self, http_metastore):
        seen = []
        uri = http_metastore(seen=seen)
        assert ask(uri, Security(UserName("ann"), http_path="/metastore/")) == LONG
        assert {headers["x-actor-username"] for _, _, headers in seen} == {"ann"}

    def test_in_tls(self, http_metastore, tls_server, certificates):
        token = jwt(sub="dbt")
        uri = http_metastore(token, tls_server)
        tls = Tls(str(certificates / "ca.pem"))
        assert ask(uri, Security(Jwt(token), tls)) == LONG
        message = refusal(uri, Security(Jwt(token), Tls()))
        assert "its TLS certificate is not trusted" in message

    def test_an_expired_token(self, http_metastore):
        uri = http_metastore("another")
        message = refusal(uri, Security(Jwt(jwt(exp=1_700_000_000))))
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(1_700_000_000))
        assert message == (
            "Could not connect to the Hive metastore. Tried:\n"
            f"  {uri}: it refused the token: HTTP 401 Unauthorized, since it expired at {when}\n"
            "Get a new token, and check that it is one for this metastore."
        )
        assert "HTTP 401 Unauthorized\nGet a new" in refusal(uri, Security(Jwt(jwt(sub="a"))))

    def test_a_user_where_a_token_is_asked_for_and_a_wrong_path(self, http_metastore):
        uri = http_metastore("token")
        assert "It requires authentication: set `security`, such as Jwt(token)" in refusal(
            uri, Security(http_path="metastore")
        )
        assert "it answers HTTP 404 Not Found\nCheck `http_path`" in refusal(
            uri, Security(http_path="thrift")
        )

    @pytest.mark.parametrize("token", ["", "two words", "a\nb", "ü"])
    def test_what_is_no_token(self, token):
        message = refusal("thrift://127.0.0.1:1", Security(Jwt(token)))
        assert "the token is not a JWT" in message

    def test_a_file_without_a_token(self, tmp_path):
        message = refusal("thrift://127.0.0.1:1", Security(Jwt(file=str(tmp_path / "none"))))
        assert "none cannot be read: No such file or directory\nCheck `file` of Jwt" in message


class TestSettings:
    def test_a_keytab_needs_a_principal(self):
        with pytest.raises(InvalidSettingError, match="go together"):
            Kerberos(keytab="dbt.keytab")
        with pytest.raises(InvalidSettingError, match="go together"):
            Kerberos(principal="dbt")

    def test_one_token(self):
        for given in ({}, {"token": "a", "file": "b"}):
            with pytest.raises(InvalidSettingError, match="set one of the two"):
                Jwt(**given)

    def test_what_does_not_go_over_http(self):
        for auth in (Kerberos(), Password("a", "b"), DelegationToken()):
            with pytest.raises(InvalidSettingError, match="does not work over HTTP"):
                Security(auth, http_path="metastore")
        assert Security(Jwt("a")).http_path == "metastore"


class TestUser:
    def test_a_named_user_is_introduced(self, start, monkeypatch):
        users = []
        server = start(set_ugi=lambda user, groups: users.append((user, groups)) or [user])
        assert ask(server.uri, Security(UserName("ann"))) == LONG
        monkeypatch.setenv("HADOOP_USER_NAME", "bob")
        assert ask(server.uri, Security()) == LONG
        assert users == [("ann", []), ("bob", [])]

    def test_nobody_is_introduced_unasked(self, start, monkeypatch):
        monkeypatch.delenv("HADOOP_USER_NAME", raising=False)
        server = start()
        with MetastoreClient(server.uri) as client:
            assert client.known_user() is None
            assert client.get_config_value("key", "a") == "a"
        assert server.calls == ["get_config_value"]

    def test_a_server_that_hangs_up_or_is_slow_is_asked_again(self, start):
        server = start(set_ugi=lambda user, groups: HANG_UP)
        with pytest.raises(MetastoreUnavailableError) as error:
            ask(server.uri, Security(UserName("ann")))
        assert not isinstance(error.value, MetastoreSecurityError)
        assert server.connections == 3

    def test_a_metastore_without_the_call(self, start):
        server = start()
        del server.handlers["set_ugi"]
        assert ask(server.uri, Security(UserName("ann"))) == LONG


class TestFailOver:
    def test_a_server_that_hangs_in_the_login_is_left_for_the_next(self, start):
        good = start(partial(sasl_server.plain, passwords=PASSWORDS))
        closed = threading.Event()

        def hang(handle: socket.socket) -> None:
            while handle.recv(4096):
                pass
            closed.set()
            raise EOFError

        hanging = start(hang)
        security = Security(Password("dbt", "s3cret"))
        started = time.monotonic()
        assert ask(f"{hanging.uri},{good.uri}", security, connect_timeout=0.3) == LONG
        assert time.monotonic() - started < 3
        assert closed.wait(1), "the socket of the login is closed"
        with pytest.raises(MetastoreUnavailableError, match="no answer within 0.3 s"):
            ask(hanging.uri, security, connect_timeout=0.3)

    def test_goes_on_after_a_refused_login_and_after_tls(self, start, tls_server, certificates):
        refuses = start(partial(sasl_server.plain, passwords={}))
        accepts = start(partial(sasl_server.plain, passwords=PASSWORDS))
        security = Security(Password("dbt", "s3cret"))
        assert ask(f"{refuses.uri},{accepts.uri}", security) == LONG
        tls = Tls(str(certificates / "ca.pem"))
        good = start(in_tls(tls_server))
        uris = f"thrift://127.0.0.1:{good.port},thrift://localhost:{good.port}"
        assert ask(uris, Security(tls=tls)) == LONG

    def test_goes_on_where_a_server_speaks_something_else(self, start):
        assert ask(f"{start(alert).uri},{start().uri}", Security()) == LONG

    def test_is_logged_with_the_reason(self, start, caplog):
        hangs = start(get_config_value=lambda key, default: HANG_UP)
        good = start()
        with caplog.at_level(logging.WARNING, "hiveacid"):
            assert ask(f"{hangs.uri},{good.uri}", Security()) == LONG
        (record,) = [record for record in caplog.records if record.name == "hiveacid"]
        assert record.getMessage().startswith(
            "[HIVEACID_WARN_METASTORE_SWITCHED] "
            f"The metastore is now called at {good.uri}, no longer at {hangs.uri}: The Hive "
            f"metastore at {hangs.uri} failed in get_config_value for key: it closed the connection"
        )


def keytab(*principals: str) -> bytes:
    entries = b""
    for principal in principals:
        name, realm = principal.split("@")
        parts = [realm, *name.split("/")]
        entry = struct.pack(">H", len(parts) - 1)
        entry += b"".join(struct.pack(">H", len(part)) + part.encode() for part in parts)
        entry += struct.pack(">IIBHH", 1, 0, 1, 17, 4) + b"key!"
        entries += struct.pack(">i", len(entry)) + entry
        entries += struct.pack(">i", -3) + b"old"
    return b"\x05\x02" + entries


class TestKerberosWithoutAKdc:
    def test_the_principals_of_a_keytab(self, tmp_path):
        assert principals_of(keytab("dbt@EXAMPLE.COM", "hive/a.b@EXAMPLE.COM")) == [
            "dbt@EXAMPLE.COM",
            "hive/a.b@EXAMPLE.COM",
        ]
        path = tmp_path / "dbt.keytab"
        path.write_bytes(keytab("dbt@EXAMPLE.COM", "hive/a.b@EXAMPLE.COM"))
        check_keytab(str(path), "dbt@EXAMPLE.COM")
        check_keytab(str(path), "hive/a.b")

    def test_a_keytab_without_the_principal(self, tmp_path):
        path = tmp_path / "dbt.keytab"
        path.write_bytes(keytab("dbt@EXAMPLE.COM"))
        with pytest.raises(HandshakeError) as error:
            check_keytab(str(path), "ann@EXAMPLE.COM")
        assert error.value.reason == (
            f"the keytab {path} has no key of ann@EXAMPLE.COM; it has keys of dbt@EXAMPLE.COM"
        )

    def test_what_is_no_keytab(self, tmp_path):
        for content in (b"", b"nothing", b"\x05\x02\0\0\1\0a", keytab("a@B")[:-20]):
            path = tmp_path / "dbt.keytab"
            path.write_bytes(content)
            with pytest.raises(HandshakeError, match=r"is not a keytab|has no key of"):
                check_keytab(str(path), "ann@EXAMPLE.COM")
        with pytest.raises(HandshakeError, match="cannot be read: Is a directory"):
            check_keytab(str(tmp_path), "ann")

    def test_a_kdc_that_does_not_answer_is_told_of_meanwhile(self, tmp_path, monkeypatch, caplog):
        path = tmp_path / "dbt.keytab"
        path.write_bytes(keytab("dbt@EXAMPLE.COM"))
        told_before_the_end = []

        def credentials(*arguments):
            deadline = time.monotonic() + 10
            while not caplog.text and time.monotonic() < deadline:
                time.sleep(0.01)
            told_before_the_end.append("Kerberos has not answered for 0.01 s" in caplog.text)
            raise HandshakeError("Kerberos: Cannot contact any KDC", "")

        monkeypatch.setattr(kerberos, "_SLOW", 0.01)
        monkeypatch.setattr(kerberos, "Credentials", credentials)
        with pytest.raises(HandshakeError):
            KerberosMechanism(Kerberos(principal="dbt@EXAMPLE.COM", keytab=str(path)), "localhost")
        assert told_before_the_end == [True]

    def test_a_machine_without_the_library(self, start, monkeypatch):
        monkeypatch.delenv(VARIABLE, raising=False)
        monkeypatch.setattr(gssapi, "_LIBRARY", "libnothing.so.2")
        monkeypatch.setattr(gssapi.ctypes.util, "find_library", lambda name: None)
        gssapi._library.cache_clear()
        server = start()
        try:
            message = refusal(server.uri, Security(Kerberos()))
            assert ask(server.uri, Security()) == LONG
        finally:
            gssapi._library.cache_clear()
        assert message == (
            "Could not connect to the Hive metastore. Tried:\n"
            f"  {server.uri}: this machine has no libnothing.so.2, which Kerberos needs\n"
            "Install the system's package: libgssapi-krb5-2 (Debian, Ubuntu), krb5-libs (RHEL, "
            "Fedora, Alpine)."
        )

    @pytest.mark.parametrize(
        ("reason", "advice"),
        [
            ("Ticket expired", "run kinit (the running process takes the new ticket)"),
            ("No Kerberos credentials available (default cache: FILE:/tmp/a)", "There is no"),
            ("Server nobody/localhost@A not found in Kerberos database", "no such service"),
            ('Cannot find KDC for realm "B"', "krb5.conf"),
            ("Client 'x@A' not found in Kerberos database", "export the keytab again"),
            ("Clock skew too great", "NTP"),
            ("Clock skew too great in KDC reply of realm EXAMPLE.COM", "NTP"),
            ("Preauthentication failed", "The keytab is stale"),
            ("Decrypt integrity check failed", "The keytab is stale"),
            ("Keytab contains no suitable keys for dbt@A", "The KDC refuses `principal`"),
            ("Anything else", "KRB5_TRACE"),
        ],
    )
    def test_advice(self, reason, advice):
        assert advice in kerberos_advice(reason)


class TestHostOfThePrincipal:
    """`_HOST` stands for the canonical name of the host, as in Hadoop's `SecurityUtil`."""

    @pytest.fixture
    def names(self, monkeypatch):
        """Addresses by name, and names by address."""
        addresses = {"hms": ["10.0.0.1"], "HMS-1.Example.com": ["10.0.0.1", "10.0.0.2"]}
        addresses["spoofed"], addresses["number"] = ["10.0.0.3"], ["10.0.0.4"]
        reverse = {"10.0.0.1": "HMS-1.Example.com", "10.0.0.3": "HMS-1.Example.com"}

        looked_up = []

        def getaddrinfo(host, port, **kind):
            looked_up.append(host)
            if host not in addresses:
                raise socket.gaierror("unknown host")
            v6 = [(socket.AF_INET6, 1, 6, "", ("::1", 0, 0, 0))]
            return v6 + [(socket.AF_INET, 1, 6, "", (it, 0)) for it in addresses[host]]

        def getnameinfo(address, flags):
            if address[0] not in reverse:
                raise socket.gaierror("no name")
            return reverse[address[0]], "0"

        monkeypatch.setattr(kerberos.socket, "getaddrinfo", getaddrinfo)
        monkeypatch.setattr(kerberos.socket, "getnameinfo", getnameinfo)
        kerberos._look_up.cache_clear()
        yield looked_up
        kerberos._look_up.cache_clear()

    @pytest.mark.parametrize(
        ("host", "expected"),
        [
            ("hms", "hive/hms-1.example.com@EXAMPLE.COM"),
            ("spoofed", "hive/spoofed@EXAMPLE.COM"),
            ("number", "hive/number@EXAMPLE.COM"),
            ("Unknown", "hive/unknown@EXAMPLE.COM"),
        ],
    )
    def test_the_canonical_name_in_lower_case(self, names, host, expected):
        settings = Kerberos(server_principal="hive/_HOST@EXAMPLE.COM")
        assert kerberos.server_principal(settings, host) == expected

    def test_a_name_is_looked_up_once_and_a_failure_again(self, names, monkeypatch):
        now = 60.0
        monkeypatch.setattr(kerberos.time, "monotonic", lambda: now)
        for host in ("hms", "hms", "Unknown", "Unknown"):
            kerberos.canonical_name(host)
        assert names == ["hms", "HMS-1.Example.com", "Unknown", "Unknown"]
        now += 31
        kerberos.canonical_name("hms")
        assert names[4:] == ["hms", "HMS-1.Example.com"]

    def test_a_name_server_that_does_not_answer_is_named_meanwhile(
        self, names, monkeypatch, caplog
    ):
        def getaddrinfo(host, port, **kind):
            deadline = time.monotonic() + 10
            while not caplog.text and time.monotonic() < deadline:
                time.sleep(0.01)
            raise socket.gaierror("no answer")

        monkeypatch.setattr(kerberos, "_SLOW", 0.01)
        monkeypatch.setattr(kerberos.socket, "getaddrinfo", getaddrinfo)
        monkeypatch.setattr(kerberos, "Context", lambda *of: None)
        monkeypatch.setattr(kerberos, "Name", lambda text, of_principal: text)
        KerberosMechanism(Kerberos(server_principal="hive/_HOST@A"), "hms")
        assert "that host names are looked up quickly" in caplog.text

    @pytest.mark.parametrize("given", [None, "hive/lb@A", "my_HOST/a@A", "hive/_HOST", "_HOST@A"])
    def test_any_other_principal_stays(self, names, given):
        assert kerberos.server_principal(Kerberos(server_principal=given), "hms") == given

    def test_errors_name_the_host(self, names, monkeypatch):
        class Failing:
            def __init__(self, *of):
                pass

            def step(self, token):
                raise HandshakeError("Kerberos: Server not found in Kerberos database", "")

        monkeypatch.setattr(kerberos, "Context", Failing)
        monkeypatch.setattr(kerberos, "Name", lambda text, of_principal: text)
        by_host = KerberosMechanism(Kerberos(server_principal="hive/_HOST@A"), "hms")
        with pytest.raises(HandshakeError) as error:
            by_host.start()
        assert error.value.reason == (
            "Kerberos: Server not found in Kerberos database (the metastore's principal, by _HOST: "
            "hive/hms-1.example.com@A)"
        )
        assert "ticket for hive/hms-1.example.com@A is" in by_host.explain_refusal("")
        of_service = KerberosMechanism(Kerberos(), "hms")
        with pytest.raises(HandshakeError, match="database$"):
            of_service.start()
        assert "ticket for hive/hms is" in of_service.explain_refusal("")


def test_a_declared_error_passes_through_a_login(start):
    def get_database(name):
        raise ttypes.NoSuchObjectException(name)

    server = start(partial(sasl_server.plain, passwords=PASSWORDS), get_database=get_database)
    with MetastoreClient(server.uri, security=Security(Password("dbt", "s3cret"))) as client:
        with pytest.raises(Exception, match="database nowhere"):
            client.get_database_location("nowhere")
        assert client.get_config_value("key", LONG) == LONG
