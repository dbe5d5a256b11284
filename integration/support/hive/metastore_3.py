"""The metastore of Hive 3.1.3, alone: the oldest that has write ids.

There is no HiveServer2 beside it. Tables are made through its Thrift calls, over files that another
Hive wrote. It keeps a notification log.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path
from types import TracebackType

from hiveacid.jars.artifacts import fetch, read_lock
from integration.support.hive.config import write_site
from integration.support.hive.jars import cache_directory, hive_files, say
from integration.support.hive.java import OPEN_OPTIONS, find_java
from integration.support.hive.jvm import Jvm
from integration.support.hive.server import START_TIMEOUT, HiveStartError, free_ports

VERSION = "3.1.3"
LOCK_FILE = Path(__file__).with_name(f"hive-metastore-{VERSION}.lock")

_SCHEMA_TOOL = "org.apache.hadoop.hive.metastore.tools.MetastoreSchemaTool"
_METASTORE = "org.apache.hadoop.hive.metastore.HiveMetaStore"
_LISTENER = "org.apache.hive.hcatalog.listener.DbNotificationListener"

#: Hive 4.0.1's jars that the distribution of the metastore lacks, or has too old for Hadoop 3.3.
_BORROWED = (
    "guava-",
    "hadoop-",
    "jackson-core-asl-",
    "jackson-mapper-asl-",
    "woodstox-",
    "stax2-",
    "re2j-",
    "commons-beanutils-",
    "commons-cli-",
    "commons-codec-",
    "commons-compress-",
    "commons-collections-",
    "commons-configuration2-",
    "commons-io-",
    "commons-lang3-",
    "commons-logging-",
    "commons-text-",
    "log4j-",
    "slf4j-api-",
)

#: Hive 4.0.1's jars for the file formats, whose classes the metastore loads to see whether a table
#: can be transactional. They come last.
_FORMATS = ("hive-common-", "hive-serde-", "hive-shims-", "hive-storage-api-", "orc-")


class Metastore3:
    """One such metastore, as a context manager; its database and its log are below `work`."""

    def __init__(self, work: Path) -> None:
        self._work = work
        (self._port,) = free_ports(1)
        self._jvm: Jvm | None = None

    @property
    def uri(self) -> str:
        """Its Thrift address."""
        return f"thrift://127.0.0.1:{self._port}"

    def __enter__(self) -> Metastore3:
        home, listener = _home()
        class_path = [self._work, *_class_path(home), listener]
        write_site(self._properties(), self._work / "metastore-site.xml")
        _make_database(home, class_path, self._work)
        log = self._work / "metastore.log"
        self._jvm = Jvm(
            class_path, [*OPEN_OPTIONS, "-Xmx512m", "-XX:+UseSerialGC"], self._work, log
        )
        self._jvm.start_main(_METASTORE, "-p", str(self._port))
        deadline = time.monotonic() + START_TIMEOUT
        while not self._answers():
            if time.monotonic() > deadline or self._jvm.exit_code is not None:
                self._jvm.end(orderly=False)
                raise HiveStartError(
                    f"It did not start:\n{log.read_text(errors='replace')[-4000:]}"
                )
            time.sleep(0.1)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._jvm is not None:
            self._jvm.end(orderly=False)

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0

    def _properties(self) -> dict[str, str]:
        metastore = "org.apache.hadoop.hive.metastore"
        return {
            "fs.defaultFS": "file:///",
            "javax.jdo.option.ConnectionURL": f"jdbc:derby:{self._work}/metastore_db;create=true",
            "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
            "metastore.thrift.uris": self.uri,
            "metastore.warehouse.dir": f"file://{self._work}/warehouse",
            "metastore.expression.proxy": f"{metastore}.DefaultPartitionExpressionProxy",
            # The default names a class of Hive's, which is not here.
            "metastore.task.threads.always": f"{metastore}.events.EventCleanerTask",
            "metastore.event.db.notification.api.auth": "false",
            "metastore.transactional.event.listeners": _LISTENER,
        }


def _home() -> tuple[Path, Path]:
    """The unpacked distribution and the listener's jar, fetched unless they are in the cache."""
    directory = cache_directory() / f"hive-metastore-{VERSION}"
    distribution, listener = fetch(read_lock(LOCK_FILE), directory, say)
    home = directory / f"apache-hive-metastore-{VERSION}-bin"
    if not (home / "lib").exists():
        with (
            tempfile.TemporaryDirectory(dir=directory) as unpacked,
            tarfile.open(distribution) as archive,
        ):
            archive.extractall(unpacked, filter="data")
            (Path(unpacked) / home.name).rename(home)
    return home, listener


def _class_path(home: Path) -> list[Path]:
    jars = hive_files().jars
    borrowed = [jar for jar in jars if jar.name.startswith(_BORROWED)]
    formats = [jar for jar in jars if jar.name.startswith(_FORMATS)]
    return [*borrowed, *sorted((home / "lib").glob("*.jar")), *formats, _formats_of_hive_exec(home)]


def _formats_of_hive_exec(home: Path) -> Path:
    """The part of hive-exec that is not the metastore of Hive 4, as a jar in the cache."""
    part = home / "hive-exec-formats.jar"
    if not part.exists():
        (whole,) = (jar for jar in hive_files().jars if jar.name.startswith("hive-exec-"))
        hive = "org/apache/hadoop/hive/"
        unfinished = part.with_suffix(".new")
        with zipfile.ZipFile(whole) as source, zipfile.ZipFile(unfinished, "w") as target:
            for entry in source.infolist():
                name = entry.filename
                if name.startswith(hive) and not name.startswith(f"{hive}metastore/"):
                    target.writestr(entry, source.read(entry), zipfile.ZIP_STORED)
        unfinished.rename(part)
    return part


def _make_database(home: Path, class_path: list[Path], work: Path) -> None:
    """The schema tool takes some seconds, so its database is kept in the cache."""
    template = home / "metastore_db"
    if not template.exists():
        done = subprocess.run(
            [
                *(str(find_java().executable), *OPEN_OPTIONS),
                *("-cp", os.pathsep.join(map(str, class_path))),
                *(_SCHEMA_TOOL, "-dbType", "derby", "-initSchema"),
            ],
            env={**os.environ, "METASTORE_HOME": str(home)},
            cwd=work,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        if done.returncode:
            raise HiveStartError(f"The schema tool ended with {done.returncode}:\n{done.stdout}")
        (work / "metastore_db").rename(template)
    shutil.copytree(template, work / "metastore_db")
