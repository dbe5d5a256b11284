"""Settings of secured connections: who the client is, and what protects the connection.

No `repr` of a setting shows a password or a token.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hiveacid.errors import InvalidSettingError

DEFAULT_HTTP_PATH = "metastore"
"""Path of a metastore that speaks HTTP (Hive's `metastore.server.thrift.http.path`)."""


@dataclass(frozen=True)
class Tls:
    """TLS around the connection (Hive's `metastore.use.SSL`).

    Args:
        ca_file: certificates of the authorities to trust, as PEM; None trusts the system's.
        check_hostname: whether the server's certificate must name the host of its address.
    """

    ca_file: str | None = None
    check_hostname: bool = True


@dataclass(frozen=True)
class Kerberos:
    """Kerberos (SASL's GSSAPI), as Hive's `metastore.sasl.enabled` asks for.

    Without a keytab the ticket cache of the process is used (`kinit`, `KRB5CCNAME`). If a file of
    Hadoop's delegation tokens is at hand (`HADOOP_TOKEN_FILE_LOCATION`) and has one for Hive, the
    token is used in place of the ticket, as Hive's own client does.

    Args:
        service_name: first part of the metastore's principal, `hive` in `hive/host@REALM`.
        principal: the principal of the client, such as `dbt@EXAMPLE.COM`; needed with a keytab.
        keytab: the file with the keys of `principal`. Tickets are taken, and renewed, in memory.
        server_principal: the whole principal of the metastore as hive-site.xml has it
            (`hive/_HOST@REALM`), where the address's host is not the one in the principal.
    """

    service_name: str = "hive"
    principal: str | None = None
    keytab: str | None = None
    server_principal: str | None = None

    def __post_init__(self) -> None:
        if (self.keytab is None) != (self.principal is None):
            raise InvalidSettingError(
                "kerberos_principal and kerberos_keytab go together: the keytab has the keys of "
                "the principal. Set both, or neither to use the ticket cache.",
                code="HIVEACID_INVALID_KERBEROS_SETTINGS",
            )


@dataclass(frozen=True)
class Password:
    """User and password (SASL's PLAIN), as Hive's `metastore.authentication` LDAP or CONFIG asks.

    The password is sent as it is: use it over `Tls` only.
    """

    user: str
    password: str = field(repr=False)


@dataclass(frozen=True)
class Jwt:
    """A JSON web token over HTTP, as Hive's `metastore.authentication` JWT asks for.

    Args:
        token: the token itself.
        file: a file that holds the token, read for each connection, so that a token that somebody
            renews there outlasts a run.
    """

    token: str | None = field(default=None, repr=False)
    file: str | None = None

    def __post_init__(self) -> None:
        if (self.token is None) == (self.file is None):
            raise InvalidSettingError(
                "A JWT comes from token or from token_file: set one of the two.",
                code="HIVEACID_INVALID_JWT_SETTINGS",
            )


@dataclass(frozen=True)
class DelegationToken:
    """A delegation token of the metastore (SASL's DIGEST-MD5) from a file of Hadoop's tokens.

    Args:
        file: the file; None takes the one that `HADOOP_TOKEN_FILE_LOCATION` names.
    """

    file: str | None = None


@dataclass(frozen=True)
class UserName:
    """A name that the metastore believes, on an unsecured connection (`set_ugi`)."""

    user: str


Auth = Kerberos | Password | Jwt | DelegationToken | UserName


@dataclass(frozen=True)
class Security:
    """How to connect to a secured metastore.

    Args:
        auth: who the client is; None is nobody in particular.
        tls: whether TLS is around the connection.
        http_path: the path of a metastore that speaks Thrift over HTTP; None speaks it over TCP.
            A `Jwt` goes over HTTP in any case.

    Raises:
        InvalidSettingError: the settings do not go together.
    """

    auth: Auth | None = None
    tls: Tls | None = None
    http_path: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.auth, Jwt) and self.http_path is None:
            object.__setattr__(self, "http_path", DEFAULT_HTTP_PATH)
        if self.http_path is not None and not isinstance(self.auth, Jwt | UserName | None):
            raise InvalidSettingError(
                f"{type(self.auth).__name__} does not go over HTTP: a metastore of Hive that "
                "speaks HTTP takes a JWT or a user's name. Leave out the HTTP transport.",
                code="HIVEACID_AUTH_NOT_OVER_HTTP",
            )


NO_SECURITY = Security()
"""A metastore that asks nobody who he is."""
