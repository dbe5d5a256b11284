"""MIT's KDC, which ends tickets as a company's does; Kerby lets Java renew what has expired.

Its programs are those of Debian's packages krb5-kdc and krb5-admin-server: installed, or unpacked
by `dpkg -x` into a directory that `HIVEACID_MIT_KDC` names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from integration.support.hive.jvm import Jvm
from integration.support.hive.kdc import CLIENT, REALM, SERVER, Kdc

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
