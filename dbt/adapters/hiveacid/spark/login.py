"""Login of Spark's own Hive client at a secured metastore, from the same keys of the profile.

Spark and the library log in separately: Spark with Java's Kerberos and Hadoop's
UserGroupInformation.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dbt.adapters.events.logging import AdapterLogger
from py4j.protocol import Py4JError
from pyspark import SparkContext

from dbt.adapters.hiveacid.errors import SparkConnectionError
from hiveacid.jvm.errors import JAVA_ERRORS, short_message
from hiveacid.jvm.py4j import java
from hiveacid.metastore.security.delegation_tokens import token_file
from hiveacid.metastore.security.http import read_jwt
from hiveacid.metastore.security.settings import (
    DelegationToken,
    Jwt,
    Kerberos,
    Password,
    Security,
    UserName,
)

logger = AdapterLogger("HiveAcid")
_HIVE = "spark.hadoop.hive.metastore."
_CLIENT = "spark.hadoop.metastore.client."
_TRUSTSTORES = (f"{_HIVE}truststore.path", "spark.hadoop.metastore.truststore.path")
_TRUSTSTORE_PASSWORDS = (
    f"{_HIVE}truststore.password",
    "spark.hadoop.metastore.truststore.password",
)
_REDACTION = "spark.redaction.regex"
_SPARKS_REDACTION = "(?i)secret|password|token|access[.]?key"
_UGI = "org.apache.hadoop.security.UserGroupInformation"

_ERRORS = (*JAVA_ERRORS, Py4JError)
"""Errors of a call to Java, and of a method that this Hadoop release lacks."""

_relogin = threading.Lock()


@dataclass(frozen=True)
class _SeenCache:
    """A ticket cache as it was when Spark logged in. Only the digest of its bytes is kept."""

    length: int
    digest: bytes

    @classmethod
    def of(cls, content: bytes) -> _SeenCache:
        return cls(len(content), hashlib.sha256(content).digest())

    def is_still_in(self, content: bytes) -> bool:
        """Return whether only service tickets were appended since, as every client does."""
        return self.length > 0 and self == _SeenCache.of(content[: self.length])


_ticket_seen: _SeenCache | None = None
"""The ticket cache of Spark's last login."""


@dataclass(frozen=True)
class SparkLogin:
    """Spark's login at the metastore of its own tables.

    `known_user` returns our user name at the metastore, such as `dbt@EXAMPLE.COM`; None if the
    metastore does not return it.
    """

    security: Security
    known_user: Callable[[], str | None]

    def settings(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return the settings of Spark's Hive client that are not among `given`.

        Raises:
            SparkConnectionError: Java needs a truststore, which only the user can give.
        """
        derived = {**self._auth_settings(), **self._tls_settings(given)}
        settings = {key: value for key, value in derived.items() if key not in given}
        if _REDACTION in derived and _REDACTION in given:
            settings[_REDACTION] = f"{given[_REDACTION]}|{derived[_REDACTION]}"
        return settings

    @property
    def secrets(self) -> frozenset[str]:
        """Settings to keep out of Java's command line, which every user of the machine can see.

        Hive's client reads a password from the setting with the user's name.
        """
        auth = self.security.auth
        of_user = [f"spark.hadoop.{auth.user}"] if isinstance(auth, Password) else []
        return frozenset([*of_user, *_TRUSTSTORE_PASSWORDS])

    def environment(self) -> dict[str, str]:
        """Return variables for Java's process: Hadoop's user name, or Hive's JSON web token."""
        auth = self.security.auth
        if isinstance(auth, UserName):
            return {"HADOOP_USER_NAME": auth.user}
        return {"HMS_JWT": read_jwt(auth)} if isinstance(auth, Jwt) else {}

    def _auth_settings(self) -> dict[str, str]:
        auth = self.security.auth
        if isinstance(auth, Kerberos | DelegationToken):
            return {f"{_HIVE}sasl.enabled": "true", **self._kerberos_settings()}
        if isinstance(auth, Password):
            return {
                f"{_CLIENT}auth.mode": "PLAIN",
                f"{_CLIENT}plain.username": auth.user,
                f"spark.hadoop.{auth.user}": auth.password,
                f"{_HIVE}execute.setugi": "false",
                # Spark shows Hadoop's settings without their prefix, too.
                _REDACTION: (rf"{_SPARKS_REDACTION}|^(?:spark\.hadoop\.)?{re.escape(auth.user)}$"),
            }
        http = {}
        if self.security.http_path is not None:
            http = {
                f"{_CLIENT}thrift.transport.mode": "http",
                f"{_CLIENT}thrift.http.path": self.security.http_path.strip("/"),
            }
        if isinstance(auth, Jwt):
            return {f"{_CLIENT}auth.mode": "JWT", **http}
        return http

    def _kerberos_settings(self) -> dict[str, str]:
        auth = self.security.auth
        if not isinstance(auth, Kerberos):
            return {}
        settings = {}
        principal = auth.server_principal
        if principal is None:
            _, at, realm = (self.known_user() or "").rpartition("@")
            principal = f"{auth.service_name}/_HOST@{realm}" if at else None
        if principal is not None:
            settings[f"{_HIVE}kerberos.principal"] = principal
        if auth.principal is not None and auth.keytab is not None:
            settings["spark.kerberos.principal"] = auth.principal
            settings["spark.kerberos.keytab"] = auth.keytab
        return settings

    def _tls_settings(self, given: Mapping[str, str]) -> dict[str, str]:
        if self.security.tls is None:
            return {}
        if not any(key in given for key in _TRUSTSTORES):
            raise SparkConnectionError(
                "Spark's tables are in the metastore of metastore_uri, which speaks TLS, and "
                "Spark's Hive client needs a Java truststore. Create one from the authority's "
                "certificate (keytool -importcert -file ca.pem -keystore truststore.p12), and "
                f"set {_TRUSTSTORES[0]} and {_HIVE}truststore.password in "
                "server_side_parameters.",
                code="HIVEACID_SPARK_TRUSTSTORE_MISSING",
            )
        return {f"{_HIVE}use.SSL": "true"}

    def check(self, context: SparkContext) -> None:
        """Check that Spark has logged in: without a login, Hadoop continues silently.

        Raises:
            SparkConnectionError: Spark has no Kerberos credentials and no delegation token.
        """
        global _ticket_seen
        if not isinstance(self.security.auth, Kerberos):
            return
        if _ticket_seen is None:
            # Empty if there is no ticket yet: a ticket from kinit is then new.
            _ticket_seen = _SeenCache.of(_ticket_cache() or b"")
        ugi = java(context, _UGI)
        try:
            login = ugi.getLoginUser()
            if login.hasKerberosCredentials() or not login.getTokens().isEmpty():
                return
            secured, name = bool(ugi.isSecurityEnabled()), str(login.toString())
        except _ERRORS as error:
            secured, name = True, short_message(error)
        raise SparkConnectionError(
            f"{_not_logged_in(name)}{_missing(secured)}", code="HIVEACID_SPARK_NOT_LOGGED_IN"
        )

    def renew(self, context: SparkContext) -> None:
        """Make Spark log in again if kinit has brought a new ticket, which Spark does not notice.

        With a keytab Spark renews its tickets itself. Does nothing if `check` has seen no login
        with a ticket.
        """
        global _ticket_seen
        auth = self.security.auth
        if not isinstance(auth, Kerberos) or auth.keytab is not None or token_file() is not None:
            return
        if _ticket_seen is None:
            return
        cache = _ticket_cache()
        with _relogin:
            if not cache or _ticket_seen.is_still_in(cache):
                return
            try:
                login = java(context, _UGI).getLoginUser()
                try:
                    # `reloginFromTicketCache` does nothing within a minute of the last login.
                    login.forceReloginFromTicketCache()
                except _ERRORS:
                    login.reloginFromTicketCache()
            except _ERRORS as error:
                logger.debug(f"Spark has not taken the new Kerberos ticket: {short_message(error)}")
                return
            _ticket_seen = _SeenCache.of(cache)
            logger.info("Spark has logged in with the new Kerberos ticket")


def no_login() -> SparkLogin:
    """Return the login at a metastore without authentication."""
    return SparkLogin(Security(), lambda: None)


def _not_logged_in(name: str) -> str:
    return (
        f"Spark has not logged in to Kerberos: it runs as {name}, so it cannot reach the metastore "
        "of its tables. "
    )


def _missing(secured: bool) -> str:
    if not secured:
        return (
            "Its Java finds no hadoop.security.authentication=kerberos: put the cluster's "
            "core-site.xml on its class path (the variable HADOOP_CONF_DIR, or "
            "spark.driver.extraClassPath). A setting spark.hadoop.… comes too late."
        )
    return (
        "Java found no valid ticket: run kinit with a cache of the kind FILE (KRB5CCNAME), or set "
        "kerberos_principal and kerberos_keytab. Java does not read KRB5_CONFIG: where krb5.conf "
        "is not /etc/krb5.conf, set spark.driver.extraJavaOptions: "
        "-Djava.security.krb5.conf=<path>."
    )


def _ticket_cache() -> bytes | None:
    name = os.environ.get("KRB5CCNAME") or f"/tmp/krb5cc_{os.getuid()}"
    try:
        return Path(name.removeprefix("FILE:")).read_bytes()
    except OSError:
        return None
