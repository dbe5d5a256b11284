"""A Kerberos KDC from Hive's own jars (Kerby), in any Java process that has them.

Kerby is faithful in all but the end of tickets: it lets Java renew what has expired.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from hiveacid.metastore.security.gssapi import Context, Credentials, Name
from integration.support.hive.jvm import Jvm

REALM = "EXAMPLE.COM"
SERVER = f"hive/localhost@{REALM}"
CLIENT = f"dbt@{REALM}"

_KRB5_CONF = """[libdefaults]
 default_realm = {realm}
 dns_lookup_kdc = false
 dns_lookup_realm = false
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1
[realms]
 {realm} = {{
  kdc = 127.0.0.1:{port}
 }}
[domain_realm]
 localhost = {realm}
"""


class Kdc:
    """A KDC of one realm, with its files in one directory. It ends with its Java process."""

    def __init__(self, directory: Path, port: int) -> None:
        """Write krb5.conf, with which Java must start: `-Djava.security.krb5.conf`."""
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._port = port
        self.conf = directory / "krb5.conf"
        self.conf.write_text(_KRB5_CONF.format(realm=REALM, port=port))

    def start(self, jvm: Jvm) -> None:
        """Start it, with the principals of the metastore, of a client, and of others."""
        java_file = jvm.packages.java.io.File
        kdc = jvm.packages.org.apache.kerby.kerberos.kerb.server.SimpleKdcServer()
        (self.directory / "kdc").mkdir(exist_ok=True)
        kdc.setWorkDir(java_file(str(self.directory / "kdc")))
        kdc.setKdcRealm(REALM)
        kdc.setKdcHost("127.0.0.1")
        kdc.setAllowUdp(False)
        kdc.setAllowTcp(True)
        kdc.setKdcTcpPort(self._port)
        key = jvm.packages.org.apache.kerby.kerberos.kerb.server.KdcConfigKey
        kdc.getKdcConfig().setLong(key.MINIMUM_TICKET_LIFETIME, 1)
        kdc.init()
        kdc.start()
        services = {"hive": SERVER, "http": f"HTTP/localhost@{REALM}"}
        for name in ("hive", "http", "dbt", "stranger", "old"):
            principal = services.get(name, f"{name}@{REALM}")
            kdc.createPrincipal(principal)
            kdc.exportPrincipal(principal, java_file(str(self.keytab(name))))

    def keytab(self, name: str) -> Path:
        """The keytab of a principal, by its name without host and realm."""
        return self.directory / f"{name}.keytab"

    def kinit(self, cache: Path, name: str = "dbt", lifetime: int = 86400) -> None:
        """Write a ticket for so many seconds into a cache, as `kinit -k -l` does."""
        conf = self.directory / "kinit.conf"
        text = self.conf.read_text()
        conf.write_text(
            text.replace("[libdefaults]", f"[libdefaults]\n ticket_lifetime = {lifetime}")
        )
        with patch.dict(os.environ, {"KRB5_CONFIG": str(conf)}):
            self._take_ticket(cache, name)

    def _take_ticket(self, cache: Path, name: str) -> None:
        credentials = Credentials(f"{name}@{REALM}", str(self.keytab(name)), f"FILE:{cache}")
        target = Name(SERVER, of_principal=True)
        context = Context(target, credentials)
        # The first use takes the ticket.
        context.step(b"")
        for held in (context, target, credentials):
            held.release()

    @contextmanager
    def used(self, cache: Path) -> Iterator[None]:
        """Let this process use the KDC and a ticket cache."""
        variables = {"KRB5_CONFIG": str(self.conf), "KRB5CCNAME": f"FILE:{cache}"}
        with patch.dict(os.environ, variables):
            yield
