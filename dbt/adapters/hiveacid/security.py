"""Keys of the profile for authentication, TLS and HTTP of the metastore, checked together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hiveacid.metastore.security.settings import (
    Auth,
    DelegationToken,
    Jwt,
    Kerberos,
    Password,
    Security,
    Tls,
    UserName,
)

NONE, KERBEROS, PLAIN, JWT, DELEGATION_TOKEN = "none kerberos plain jwt delegation_token".split()
_AUTHS = (NONE, KERBEROS, PLAIN, JWT, DELEGATION_TOKEN)

_OTHER_NAMES = {"ldap": PLAIN, "custom": PLAIN, "nosasl": NONE, "gssapi": KERBEROS}
"""Synonyms of `auth` values in dbt-spark, dbt-impala and HiveServer2."""

_ONLY_WITH = {
    "password": (PLAIN,),
    "token": (JWT,),
    "token_file": (JWT,),
    "kerberos_principal": (KERBEROS,),
    "kerberos_keytab": (KERBEROS,),
    "kerberos_server_principal": (KERBEROS,),
    "user": (NONE, PLAIN),
}
"""Keys that are valid only with some values of `auth`."""


def parse_auth(value: Any) -> str:
    """Parse a value of `auth`, in upper or lower case. Raises ValueError."""
    name = str(value).lower()
    name = _OTHER_NAMES.get(name, name)
    if not isinstance(value, str) or name not in _AUTHS:
        raise ValueError(f"must be one of {', '.join(_AUTHS)}, not {value!r}")
    return name


def security_problems(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return all conflicts between the parsed keys of a profile.

    A missing key has its default.
    """
    return tuple(_problems(values))


def _problems(values: Mapping[str, Any]) -> Iterator[str]:
    auth = values.get("auth", NONE)
    given = {key for key, value in values.items() if value is not None}
    for key, auths in _ONLY_WITH.items():
        if key in given and auth not in auths:
            yield f"`{key}` needs `auth: {' or '.join(auths)}`, and `auth` is {auth}"
    if auth == KERBEROS and ("kerberos_principal" in given) != ("kerberos_keytab" in given):
        yield (
            "`kerberos_principal` and `kerberos_keytab` go together; without both, the ticket "
            "cache is used"
        )
    server = values.get("kerberos_server_principal")
    if server is not None and not ("/" in server and "@" in server.partition("/")[2]):
        yield f"`kerberos_server_principal` must be as hive/_HOST@EXAMPLE.COM, not {server!r}"
    if auth == PLAIN:
        missing = [f"`{key}`" for key in ("user", "password") if key not in given]
        if missing:
            yield f"`auth: {PLAIN}` needs {' and '.join(missing)}"
    if auth == JWT and ("token" in given) == ("token_file" in given):
        yield f"`auth: {JWT}` needs one of `token` and `token_file`"
    if "ssl_ca_file" in given and not values.get("use_ssl"):
        yield "`ssl_ca_file` needs `use_ssl: true`"
    if values.get("use_http_transport") and auth not in (NONE, JWT):
        yield f"`use_http_transport` does not work with `auth: {auth}`: it takes {NONE} or {JWT}"


def make_security(values: Mapping[str, Any]) -> Security:
    """Return the library's settings for the parsed keys of a profile, which have no conflicts."""
    tls = None
    if values["use_ssl"]:
        tls = Tls(values["ssl_ca_file"], values["ssl_check_hostname"])
    http = values["use_http_transport"] or values["auth"] == JWT
    return Security(_auth(values), tls, values["http_path"] if http else None)


def _auth(values: Mapping[str, Any]) -> Auth | None:
    auth = values["auth"]
    if auth == KERBEROS:
        return Kerberos(
            values["kerberos_service_name"],
            values["kerberos_principal"],
            values["kerberos_keytab"],
            values["kerberos_server_principal"],
        )
    if auth == PLAIN:
        return Password(values["user"], values["password"])
    if auth == JWT:
        return Jwt(values["token"], values["token_file"])
    if auth == DELEGATION_TOKEN:
        return DelegationToken()
    return None if values["user"] is None else UserName(values["user"])
