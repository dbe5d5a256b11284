"""Settings of secured connections: how the client authenticates, and TLS.

No `repr` of a setting shows a password or a token.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hiveacid.errors import InvalidSettingError

DEFAULT_HTTP_PATH = "metastore"
"""Path of a metastore that speaks HTTP (Hive's `metastore.server.thrift.http.path`)."""


@dataclass(frozen=True)
class Tls:
    """TLS for a metastore with `metastore.use.SSL`.

    Args:
        ca_file: path of a PEM file with the certificates of trusted authorities; None trusts the
            system's authorities.
        check_hostname: whether the server's certificate must name the host in `metastore_uri`.
    """

    ca_file: str | None = None
    check_hostname: bool = True


@dataclass(frozen=True)
class Kerberos:
    """Kerberos (SASL GSSAPI), for a metastore with `metastore.sasl.enabled`.

    Without a keytab the ticket cache of the process is used (`kinit`, `KRB5CCNAME`). If
    `HADOOP_TOKEN_FILE_LOCATION` names a file with a delegation token for Hive, the token is used in
    place of the ticket, as Hive's own client does.

    Args:
        service_name: first part of the metastore's principal, `hive` in `hive/host@REALM`.
        principal: the principal of the client, such as `dbt@EXAMPLE.COM`; needed with a keytab.
        keytab: path of the file with the keys of `principal`. Tickets are taken, and renewed, in
            memory.
        server_principal: the whole principal of the metastore as hive-site.xml has it
            (`hive/_HOST@REALM`), if its host is not the one in `metastore_uri`. `_HOST` stands for
            the canonical name of the host in `metastore_uri`, in lower case, as in Hive.

    Raises:
        InvalidSettingError: only one of `principal` and `keytab` is given.
    """

    service_name: str = "hive"
    principal: str | None = None
    keytab: str | None = None
    server_principal: str | None = None

    def __post_init__(self) -> None:
        if (self.keytab is None) != (self.principal is None):
            raise InvalidSettingError(
                "`principal` and `keytab` of Kerberos go together: the keytab has the keys of "
                "the principal. Set both, or neither to use the ticket cache.",
                code="HIVEACID_INVALID_KERBEROS_SETTINGS",
            )


@dataclass(frozen=True)
class Password:
    """User and password (SASL PLAIN), for `metastore.authentication` LDAP or CONFIG.

    The password is sent in clear text: use it over `Tls` only.
    """

    user: str
    password: str = field(repr=False)


@dataclass(frozen=True)
class Jwt:
    """A JSON web token over HTTP, for `metastore.authentication` JWT. Give `token` or `file`.

    Args:
        token: the token itself.
        file: path of a file with the token. It is read for each request, so that a token that is
            renewed there lasts longer than a run.

    Raises:
        InvalidSettingError: both are given, or none.
    """

    token: str | None = field(default=None, repr=False)
    file: str | None = None

    def __post_init__(self) -> None:
        if (self.token is None) == (self.file is None):
            raise InvalidSettingError(
                "A Jwt takes `token` or `file`: set one of the two.",
                code="HIVEACID_INVALID_JWT_SETTINGS",
            )


@dataclass(frozen=True)
class DelegationToken:
    """A delegation token of the metastore (SASL DIGEST-MD5) from a Hadoop token file.

    Args:
        file: path of the file; None takes the one that `HADOOP_TOKEN_FILE_LOCATION` names.
    """

    file: str | None = None


@dataclass(frozen=True)
class UserName:
    """A user's name that an unsecured metastore trusts (`set_ugi`; over HTTP a header)."""

    user: str


Auth = Kerberos | Password | Jwt | DelegationToken | UserName
AUTHS = (Kerberos, Password, Jwt, DelegationToken, UserName)
"""Classes of the ways to authenticate."""

_WRITTEN = {
    "kerberos": "hiveacid.Kerberos()",
    "gssapi": "hiveacid.Kerberos()",
    "plain": "hiveacid.Password(user, password)",
    "password": "hiveacid.Password(user, password)",
    "ldap": "hiveacid.Password(user, password)",
    "custom": "hiveacid.Password(user, password)",
    "jwt": "hiveacid.Jwt(token)",
    "jsonwebtoken": "hiveacid.Jwt(token)",
    "delegation_token": "hiveacid.DelegationToken()",
    "delegationtoken": "hiveacid.DelegationToken()",
    "username": "hiveacid.UserName(user)",
    "tls": 'hiveacid.Security(tls=hiveacid.Tls("ca.pem"))',
    "security": "hiveacid.Security()",
    "none": "None",
    "nosasl": "None",
}
"""How a way to authenticate is written, by its names in lower case."""


def how_to_write(given: object) -> str:
    """Return how settings are written that a name, a class or an object seems to mean."""
    name = given.__name__ if isinstance(given, type) else type(given).__name__
    name = given.strip() if isinstance(given, str) else name
    return _WRITTEN.get(name.lower(), "hiveacid.Kerberos(), or another class of the library")


@dataclass(frozen=True)
class Security:
    """How to connect to a secured metastore, such as `Security(Kerberos(), tls=Tls("ca.pem"))`.

    Args:
        auth: how the client authenticates. None proves nothing: only a user's name is sent,
            `HADOOP_USER_NAME` if it is set, and over HTTP else the operating system's user.
        tls: settings of TLS; None connects without TLS.
        http_path: the path of a metastore that speaks Thrift over HTTP, such as `metastore`; None
            speaks Thrift over TCP. A `Jwt` always goes over HTTP.

    Raises:
        InvalidSettingError: `auth` or `tls` is of another class, or `auth` does not go over HTTP.
    """

    auth: Auth | None = None
    tls: Tls | None = None
    http_path: str | None = None

    def __post_init__(self) -> None:
        if self.auth is not None and not isinstance(self.auth, AUTHS):
            raise InvalidSettingError(
                "`auth` of Security must be a class of the library, not a value of type "
                f"{type(self.auth).__name__}. Write {how_to_write(self.auth)}.",
                code="HIVEACID_INVALID_SECURITY",
            )
        if not isinstance(self.tls, Tls | None):
            raise InvalidSettingError(
                "`tls` of Security must be a Tls, not a value of type "
                f'{type(self.tls).__name__}. Write hiveacid.Tls(), or hiveacid.Tls("ca.pem").',
                code="HIVEACID_INVALID_SECURITY",
            )
        if isinstance(self.auth, Jwt) and self.http_path is None:
            object.__setattr__(self, "http_path", DEFAULT_HTTP_PATH)
        if self.http_path is not None and not isinstance(self.auth, Jwt | UserName | None):
            raise InvalidSettingError(
                f"{type(self.auth).__name__} does not work over HTTP: a Hive metastore that "
                "speaks HTTP takes a JWT or a user name. Leave out `http_path` of Security.",
                code="HIVEACID_AUTH_NOT_OVER_HTTP",
            )


NO_SECURITY = Security()
"""A metastore without authentication and TLS."""
