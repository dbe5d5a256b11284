"""PostgreSQL from Maven Central as the database of several metastores: nothing is installed."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from pathlib import Path

from hiveacid.jars.artifacts import fetch, read_lock
from integration.support.hive.config import write_site
from integration.support.hive.jars import cache_directory, hive_directory, hive_files, say
from integration.support.hive.java import OPEN_OPTIONS, find_java
from integration.support.hive.server import free_ports

VERSION = "16.6.0"
LOCK_FILE = Path(__file__).with_name(f"postgres-{VERSION}.lock")
_SCHEMA_TOOL = "org.apache.hadoop.hive.metastore.tools.schematool.MetastoreSchemaTool"
_SCRIPTS = "scripts/metastore/upgrade/postgres"
_USER = "hive"


class Postgres:
    """One server with an empty metastore database, as a context manager."""

    def __init__(self) -> None:
        # Below /tmp itself: another user than root must reach it.
        self._work = Path(tempfile.mkdtemp(prefix="hiveacid-postgres-", dir="/tmp"))
        self._work.chmod(0o777)
        (self._port,) = free_ports(1)
        self._process: subprocess.Popen[bytes] | None = None
        binaries, self.driver = fetch(
            read_lock(LOCK_FILE), cache_directory() / f"postgres-{VERSION}", say
        )
        self._home = self._work / "postgres"
        with zipfile.ZipFile(binaries) as jar, tempfile.TemporaryDirectory() as scratch:
            (name,) = (name for name in jar.namelist() if name.endswith(".txz"))
            with tarfile.open(jar.extract(name, scratch)) as archive:
                archive.extractall(self._home, filter="data")
        for path in (self._home, *self._home.rglob("*")):
            path.chmod(path.stat().st_mode | 0o555)

    @property
    def properties(self) -> dict[str, str]:
        """Settings of a metastore that keeps its tables there."""
        return {
            "javax.jdo.option.ConnectionURL": f"jdbc:postgresql://127.0.0.1:{self._port}/postgres",
            "javax.jdo.option.ConnectionDriverName": "org.postgresql.Driver",
            "javax.jdo.option.ConnectionUserName": _USER,
            "javax.jdo.option.ConnectionPassword": "unchecked",
            "hive.metastore.schema.verification": "true",
        }

    def __enter__(self) -> Postgres:
        data = self._work / "data"
        self._run("initdb", "-D", str(data), "-U", _USER, "-A", "trust", "-E", "UTF8", "--no-sync")
        options = f"-p {self._port} -h 127.0.0.1 -k {self._work} -c fsync=off"
        self._run(
            *("pg_ctl", "start", "-w", "-D", str(data), "-o", options),
            *("-l", str(self._work / "postgres.log")),
        )
        self._make_schema()
        return self

    def __exit__(self, *error: object) -> None:
        self._run("pg_ctl", "stop", "-m", "immediate", "-D", str(self._work / "data"))
        shutil.rmtree(self._work, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        # PostgreSQL refuses to run as root.
        user = "nobody" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
        done = subprocess.run(
            [str(self._home / "bin" / program), *arguments],
            user=user if os.getuid() == 0 else None,
            cwd=self._work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        assert done.returncode == 0, done.stderr.decode(errors="replace")

    def _make_schema(self) -> None:
        files = hive_files()
        home = self._work / "home"
        distribution = next((hive_directory() / "jars").glob("hive-standalone-metastore*.tar.gz"))
        with tarfile.open(distribution) as archive:
            for member in archive:
                name = member.name.partition("/")[2]
                content = archive.extractfile(member)
                if content is not None and name.startswith(f"{_SCRIPTS}/"):
                    target = home / name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(content.read())
        conf = self._work / "conf"
        conf.mkdir()
        write_site(self.properties, conf / "hive-site.xml")
        class_path = os.pathsep.join([str(conf), str(self.driver), *map(str, files.jars)])
        done = subprocess.run(
            [
                *(str(find_java().executable), *OPEN_OPTIONS, "-cp", class_path),
                *(_SCHEMA_TOOL, "-dbType", "postgres", "-initSchema"),
            ],
            env={**os.environ, "METASTORE_HOME": str(home)},
            cwd=self._work,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        assert done.returncode == 0, done.stdout[-4000:]
