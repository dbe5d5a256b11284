"""Kerberos KDCs: Kerby from Hive's own jars, in any Java process that has them, and MIT's.

Kerby is faithful in all but the end of tickets: it lets Java renew what has expired. MIT's KDC ends
tickets as a company's does. MIT's programs are those of Debian's packages krb5-kdc and
krb5-admin-server: installed, or unpacked by `dpkg -x` into a directory that `HIVEACID_MIT_KDC`
names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
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


VARIABLE = "HIVEACID_MIT_KDC"
_PROGRAMS = ("krb5kdc", "kdb5_util", "kadmin.local")


def mit_programs() -> dict[str, str] | None:
    """Return the paths of the KDC's programs; None if this machine does not have them."""
    root = os.environ.get(VARIABLE, "")
    paths = os.pathsep.join([f"{root}/usr/sbin", os.environ.get("PATH", ""), "/usr/sbin"])
    found = {name: shutil.which(name, path=paths) for name in _PROGRAMS}
    return None if None in found.values() else {name: str(path) for name, path in found.items()}


class MitKdc(Kdc):
    """Such a KDC of one realm, as a context manager; its tickets live for `lifetime` seconds."""

    def __init__(self, directory: Path, port: int, lifetime: int) -> None:
        """Write its configuration, and make the principals of the metastore and of a client."""
        programs = mit_programs()
        assert programs is not None, "ask mit_programs before"
        self._programs = programs
        super().__init__(directory, port)
        root = os.environ.get(VARIABLE, "")
        plugins = next(Path(f"{root}/usr/lib").glob("*/krb5/plugins/kdb"))
        self.conf.write_text(f"{self.conf.read_text()}[dbmodules]\n db_module_dir = {plugins}\n")
        (directory / "kdc.conf").write_text(
            f"[kdcdefaults]\n kdc_listen = 127.0.0.1:{port}\n kdc_tcp_listen = 127.0.0.1:{port}\n"
            f"[realms]\n {REALM} = {{\n  database_name = {directory}/principal\n"
            f"  key_stash_file = {directory}/stash\n  acl_file = {directory}/acl\n }}\n"
        )
        self._environment = {
            **os.environ,
            "KRB5_CONFIG": str(self.conf),
            "KRB5_KDC_PROFILE": str(directory / "kdc.conf"),
            "LD_LIBRARY_PATH": os.pathsep.join(
                {str(path.parent) for path in Path(root or "/nowhere").rglob("lib*.so.*")}
            ),
        }
        self._run("kdb5_util", "create", "-r", REALM, "-s", "-P", "master")
        for name, principal in (("hive", SERVER), ("dbt", CLIENT)):
            self._run("kadmin.local", "-q", f"addprinc -randkey {principal}")
            self._run("kadmin.local", "-q", f"ktadd -k {self.keytab(name)} {principal}")
        self._run("kadmin.local", "-q", f'modprinc -maxlife "{lifetime} seconds" {CLIENT}')
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, jvm: Jvm) -> None:
        """Do nothing: it is not in that Java process."""

    def __enter__(self) -> MitKdc:
        self._process = subprocess.Popen(
            [self._programs["krb5kdc"], "-n"],
            env=self._environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return self

    def __exit__(self, *error: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self._programs[program], *arguments],
            env=self._environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
