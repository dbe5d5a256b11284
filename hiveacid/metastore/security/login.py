"""Login at the metastore, when a connection opens: TCP, then TLS, then SASL; or HTTP.

Modules for secured metastores are imported where they are used, so that an unsecured metastore does
not cost their import time.
"""

from __future__ import annotations

import getpass
import os
import socket
import struct
from dataclasses import dataclass

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TApplicationException, TException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportBase, TTransportException

from hiveacid.metastore.security.failures import HandshakeError, describe_other_protocol, is_closed
from hiveacid.metastore.security.sasl import Mechanism, PlainMechanism, SaslTransport
from hiveacid.metastore.security.settings import (
    DelegationToken,
    Jwt,
    Kerberos,
    Password,
    Security,
    UserName,
)
from hiveacid.metastore.thrift import ThriftMetastore

_SUSPICIOUS_SILENCE = 3.0
"""Seconds without an answer to the first message of SASL, after which plain Thrift is tried."""


@dataclass(frozen=True)
class Opened:
    """An open connection, its user and its protocol.

    `user` is the client's user at the metastore, None if it is not known. `protocol` describes the
    protocol for people.
    """

    transport: TTransportBase
    user: str | None
    protocol: str

    @property
    def calls(self) -> ThriftMetastore:
        """The metastore's calls on this connection."""
        return ThriftMetastore(TBinaryProtocolAccelerated(self.transport))


def operating_system_user() -> str:
    """Return the name of this process's user, or the number of a user without a name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # As in a container that runs under an arbitrary user id, which has no name.
        return str(os.getuid())


def open_connection(
    host: str, port: int, security: Security, connect_timeout: float, read_timeout: float
) -> Opened:
    """Connect and authenticate.

    Timeouts are in seconds: `connect_timeout` for each wait until the connection stands,
    `read_timeout` for each wait for an answer afterwards.

    Raises:
        HandshakeError: the login failed, or the server speaks another protocol.
        OSError, TTransportException: no connection.
    """
    if security.http_path is not None:
        return _open_http(host, port, security, connect_timeout, read_timeout)
    # Look for a ticket or a token before connecting.
    mechanism = _mechanism(security, host)
    try:
        handle, protocol = _connect(host, port, security, connect_timeout)
    except BaseException:
        if mechanism is not None:
            mechanism.close()
        raise
    thrift_socket = TSocket(host, port)
    thrift_socket.setHandle(handle)
    if mechanism is None:
        thrift_socket.setTimeout(read_timeout * 1000)
        named = isinstance(security.auth, UserName) or "HADOOP_USER_NAME" in os.environ
        opened = Opened(
            TBufferedTransport(thrift_socket),
            _claimed_user(security) if named else None,
            f"{protocol}no authentication",
        )
        if opened.user is not None:
            _introduce(opened, opened.user)
        return opened
    transport = SaslTransport(thrift_socket, mechanism)
    try:
        _negotiate(transport, thrift_socket, security, connect_timeout)
    except BaseException:
        transport.close()
        raise
    thrift_socket.setTimeout(read_timeout * 1000)
    protocol += f"{mechanism.name} with {mechanism.protection}"
    return Opened(transport, mechanism.user, protocol)


def _connect(
    host: str, port: int, security: Security, connect_timeout: float
) -> tuple[socket.socket, str]:
    # Not TSocket.open: it logs to the root logger and hides the reason of a failure.
    handle = socket.create_connection((host, port), timeout=connect_timeout)
    handle.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if security.tls is None:
        return handle, ""
    from hiveacid.metastore.security.tls import wrap_in_tls

    try:
        wrapped = wrap_in_tls(handle, security.tls, host)
    except BaseException:
        handle.close()
        raise
    return wrapped, f"{wrapped.version()}, "


def _mechanism(security: Security, host: str) -> Mechanism | None:
    auth = security.auth
    if isinstance(auth, Password):
        return PlainMechanism(auth.user, auth.password)
    if not isinstance(auth, DelegationToken | Kerberos):
        return None
    from hiveacid.metastore.security.delegation_tokens import VARIABLE, find_token, token_file
    from hiveacid.metastore.security.digest_md5 import DigestMechanism
    from hiveacid.metastore.security.kerberos import KerberosMechanism

    if isinstance(auth, DelegationToken):
        path = auth.file or token_file()
        token = None if path is None else find_token(path)
        if token is None:
            raise HandshakeError(
                f"there is no delegation token of Hive in {path or f'${VARIABLE}'}",
                "Let the program that starts this process get one for the metastore, or use a "
                "keytab.",
            )
        return DigestMechanism.of(token)
    path = token_file() if auth.keytab is None else None
    token = None if path is None else find_token(path)
    return KerberosMechanism(auth, host) if token is None else DigestMechanism.of(token)


def _negotiate(
    transport: SaslTransport, thrift_socket: TSocket, security: Security, timeout: float
) -> None:
    def refuse_plain() -> None:
        if _speaks_plain(thrift_socket.host, thrift_socket.port, security, timeout):
            raise HandshakeError(
                "it asks for no login: it speaks plain Thrift",
                "Leave the login out of `security`, or check that metastore_uri is the secured "
                "metastore.",
            )

    thrift_socket.setTimeout(timeout * 1000)
    try:
        transport.negotiate(min(timeout, _SUSPICIOUS_SILENCE), refuse_plain)
    except TTransportException as error:
        if error.type == TTransportException.TIMED_OUT:
            raise TimeoutError from error
        if is_closed(error):
            refuse_plain()
            raise HandshakeError(
                "it closed the connection during the login",
                "Set `security` to what the metastore speaks; its log has the reason.",
            ) from error
        raise


def _speaks_plain(host: str, port: int, security: Security, timeout: float) -> bool:
    """Whether a metastore answers without a login. A plain one never answers to SASL."""
    wait = min(timeout, _SUSPICIOUS_SILENCE)
    try:
        opened = open_connection(host, port, Security(tls=security.tls), wait, wait)
    except (HandshakeError, OSError, TTransportException):
        return False
    try:
        opened.calls.getVersion()
        return True
    except Exception:  # any other answer is not plain Thrift
        return False
    finally:
        opened.transport.close()


def _claimed_user(security: Security) -> str:
    if isinstance(security.auth, UserName):
        return security.auth.user
    return os.environ.get("HADOOP_USER_NAME") or operating_system_user()


def _introduce(opened: Opened, user: str) -> None:
    """Send the user's name to an unsecured metastore, which acts as the user from then on."""
    try:
        opened.calls.set_ugi(user, [])
    except TApplicationException:
        pass  # A metastore without the call acts as itself, as it did before.
    except (TException, OSError, EOFError, struct.error) as error:
        sent = opened.transport.cstringio_buf.getvalue()[:8]
        opened.transport.close()
        if isinstance(error, TTransportException) and not sent:
            if error.type == TTransportException.TIMED_OUT:
                raise TimeoutError from error
            if is_closed(error):
                raise ConnectionError(
                    "it closed the connection, as a metastore with Kerberos or TLS also does"
                ) from error
        protocol = describe_other_protocol(sent)
        said = "does not answer in plain Thrift" if protocol is None else f"speaks {protocol}"
        raise HandshakeError(
            f"it {said}",
            "Set `security` as the metastore requires.",
        ) from error


def _open_http(
    host: str, port: int, security: Security, connect_timeout: float, read_timeout: float
) -> Opened:
    from hiveacid.metastore.security.http import (
        HttpStatusError,
        explain_status,
        http_transport,
        is_listening,
        subject_of,
    )
    from hiveacid.metastore.security.tls import tls_failure

    claimed = _claimed_user(security)
    transport = http_transport(security, host, port, connect_timeout, claimed)
    is_listening(host, port, connect_timeout)
    auth = security.auth
    user = subject_of(auth) if isinstance(auth, Jwt) else claimed
    kind = "JWT" if isinstance(auth, Jwt) else "a user's name"
    opened = Opened(
        TBufferedTransport(transport),
        user,
        f"{'HTTP' if security.tls is None else 'HTTPS'} with {kind}",
    )
    try:
        # HTTP sends nothing before the first call, and each address must be tried.
        opened.calls.getVersion()
    except HttpStatusError as error:
        opened.transport.close()
        raise explain_status(error, security) from error
    except TimeoutError:
        opened.transport.close()
        raise
    except OSError as error:
        opened.transport.close()
        if security.tls is not None:
            raise tls_failure(error) from error
        raise _no_http() from error
    except Exception as error:  # whatever it is, it is not Thrift over HTTP
        opened.transport.close()
        raise _no_http() from error
    transport.setTimeout(read_timeout * 1000)
    return opened


def _no_http() -> HandshakeError:
    return HandshakeError(
        "it does not answer in HTTP",
        "Leave out `http_path` of Security if the metastore's transport mode is binary.",
    )
