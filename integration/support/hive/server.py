"""Start and stop a real Apache Hive: metastore and HiveServer2 in one Java process.

They share the process because compaction in HiveServer2 opens the metastore's database itself, and
an embedded Derby database admits one process.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import pyspark
from py4j.protocol import Py4JError

from hiveacid.jars.artifacts import Progress
from hiveacid.jars.hive_client import client_jars
from hiveacid.spark_versions import version_of
from integration.support.class_archives import HIVE_ARCHIVE, archive_options
from integration.support.hive import hive_3
from integration.support.hive.config import HivePorts, HiveSettings, site_properties, write_site
from integration.support.hive.jars import HIVE_VERSION, hive_directory, hive_files, say
from integration.support.hive.java import OPEN_OPTIONS, QUICK_START
from integration.support.hive.jvm import Jvm, JvmError
from integration.support.hive.schema import create_database

#: Seconds. An idle machine of two cores needs four, a busy one eleven.
START_TIMEOUT = 180

#: Below the range from which Linux takes the ports of outgoing connections: a port that is free
#: when it is chosen is then still free some seconds later.
_PORTS = range(20000, 32000)

_LOG4J = Path(__file__).with_name("log4j2.properties")
_METASTORE = "org.apache.hadoop.hive.metastore.HiveMetaStore"
_HIVE_SERVER2 = "org.apache.hive.service.server.HiveServer2"

_JAVA_OPTIONS = [
    *OPEN_OPTIONS,
    "-Xmx1g",
    # Short start and small footprint matter here, throughput does not.
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    # Such a Java has room for 48 MB of code. Hive fills it within half an hour; from then on it
    # throws code away and compiles it again, and takes twice the time for everything.
    "-XX:ReservedCodeCacheSize=240m",
    # A large part for what is new: it is collected half as often.
    "-Xms800m",
    "-Xmn400m",
    "-XX:MetaspaceSize=200m",
    *QUICK_START,
    # The database need not survive a power cut.
    "-Dderby.system.durability=test",
    # A metastore asks more than the hundred statements that Derby keeps compiled.
    "-Dderby.language.statementCacheSize=1000",
    "-Djava.net.preferIPv4Stack=true",
]


class HiveStartError(RuntimeError):
    """Hive did not start; the message has the end of its log."""


class HiveServer:
    """One Hive of one's own, as a context manager.

    Everything it writes, its log included, is below `work`: a given directory, which is kept, or a
    temporary one, which is removed at the end.
    """

    def __init__(
        self,
        settings: HiveSettings | None = None,
        *,
        work: Path | None = None,
        warehouse: Path | None = None,
        ports: HivePorts | None = None,
        more_jars: Sequence[Path] = (),
        metastore_only: bool = False,
        progress: Progress = say,
        version: str = HIVE_VERSION,
    ) -> None:
        """`more_jars` come after Hive's own, as a JDBC driver for another database than Derby.

        A server that is `metastore_only` has no HiveServer2.
        """
        self.version = version
        self.settings = settings or HiveSettings()
        self._keep = work is not None
        self.work = work.resolve() if work else Path(tempfile.mkdtemp(prefix="hiveacid-hive-"))
        self.warehouse = warehouse.resolve() if warehouse else self.work / "warehouse"
        self.log = self.work / "hive.log"
        self.ports = ports or HivePorts(*free_ports(2))
        self._progress = progress
        self._more_jars = tuple(more_jars)
        self._metastore_only = metastore_only
        self._jvm: Jvm | None = None
        self.jars: tuple[Path, ...] = ()

    @property
    def metastore_uri(self) -> str:
        """Thrift address of the metastore, as `hive.metastore.uris` has it."""
        return f"thrift://127.0.0.1:{self.ports.metastore}"

    @property
    def hs2_port(self) -> int:
        """Port of HiveServer2 (binary transport, NOSASL) on 127.0.0.1."""
        return self.ports.hs2

    @property
    def spark_client(self) -> str:
        """Value of `spark.sql.hive.metastore.version`, for a Spark that uses this metastore."""
        is_hive_4 = self.version == HIVE_VERSION
        return version_of(pyspark.__version__).hive_4_client if is_hive_4 else self.version

    @property
    def spark_jars(self) -> str:
        """Value of `spark.sql.hive.metastore.jars.path`: the jars that users' Sparks have.

        Fetches Hive's jars unless they are there.
        """
        hive_files(self._progress, self.spark_client)
        directory = hive_directory(self.spark_client) / "jars"
        return ",".join(str(directory / jar.filename) for jar in client_jars(self.spark_client))

    @property
    def exit_code(self) -> int | None:
        """What the Java process ended with, None while it runs."""
        return self._running().exit_code

    @property
    def pid(self) -> int:
        """Process id of the Java process."""
        return self._running().pid

    def __enter__(self) -> HiveServer:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start both services and return when both answer.

        Raises HiveStartError when they do not, FetchError and JavaError from the preparations.
        """
        files = hive_files(self._progress, self.version)
        self.jars = (files.jobs, *files.jars, *self._more_jars)
        started = time.monotonic()
        for directory in (self.work / "conf", self.work / "tmp", self.warehouse):
            directory.mkdir(parents=True, exist_ok=True)
        of_its_own = "javax.jdo.option.ConnectionURL" not in self.settings.extra
        if of_its_own and not (self.work / "metastore_db").exists():
            create_database(files, self.work, self._progress)
        properties = site_properties(self.settings, self.ports, self.warehouse, self.work)
        if self.version == hive_3.VERSION:
            properties = {**hive_3.older_properties(properties), **self.settings.extra}
            own = hive_3.of_metastore(properties)
            write_site(own, self.work / "conf" / "metastore-site.xml")
        write_site(properties, self.work / "conf" / "hive-site.xml")
        jvm = self._launch(self._java_options())
        try:
            self._start_services(jvm)
        except BaseException:
            jvm.end(orderly=False)
            raise
        self._jvm = jvm
        self._progress(
            f"Hive is up after {time.monotonic() - started:.1f} s: metastore {self.metastore_uri}, "
            f"HiveServer2 on port {self.hs2_port}, log {self.log}"
        )

    def kill(self) -> None:
        """End the Java process at once, as kill -9 does."""
        self._running().end(orderly=False)
        self._jvm = None

    def stop(self) -> None:
        """End the Java process; harmless when it has ended already."""
        if self._jvm is not None:
            # A warehouse that is kept deserves an orderly end, with its database closed.
            self._jvm.end(orderly=self._keep)
            self._jvm = None
        if not self._keep:
            shutil.rmtree(self.work, ignore_errors=True)

    def log_tail(self, lines: int = 40) -> str:
        """The last lines of Hive's log, without the frames of Java's stack traces."""
        if not self.log.exists():
            return ""
        text = self.log.read_text(errors="replace")
        told = [line for line in text.splitlines() if not line.startswith(("\tat ", "\t..."))]
        return "\n".join(told[-lines:])

    def _running(self) -> Jvm:
        if self._jvm is None:
            raise RuntimeError("This Hive was not started, or was stopped")
        return self._jvm

    def _java_options(self) -> list[str]:
        """Further options of Java, for a Hive that is derived from this one."""
        return []

    def _launch(self, more_options: list[str]) -> Jvm:
        # Each service sets up its log again, from the file that has its name.
        for service in ("hive", "metastore"):
            shutil.copy(_LOG4J, self.work / "conf" / f"{service}-log4j2.properties")
        options = [
            *_JAVA_OPTIONS,
            f"-Dlog4j2.configurationFile={_LOG4J}",
            f"-Dderby.stream.error.file={self.work}/derby.log",
            f"-Djava.io.tmpdir={self.work}/tmp",
            *more_options,
        ]
        try:
            conf, is_old = self.work / "conf", self.version == hive_3.VERSION
            if is_old:
                return Jvm([conf, *self.jars], options, self.work, self.log, own_loader=True)
            # An archive of classes is for a class path that begins with the same jars.
            options += archive_options(HIVE_ARCHIVE)
            return Jvm([*self.jars, conf], options, self.work, self.log)
        except JvmError as error:
            raise self._start_error(str(error)) from error

    def _start_services(self, jvm: Jvm) -> None:
        metastore = jvm.start_main(_METASTORE, "-p", str(self.ports.metastore))
        self._wait_for_metastore(self.ports.metastore, jvm, metastore)
        if not self._metastore_only:
            self._start_hiveserver2(jvm)

    def _wait_for_metastore(self, port: int, jvm: Jvm, main: Any) -> None:
        """Wait until a metastore answers. Its main method returns only when it fails."""

        def is_up() -> bool:
            if not main.isAlive():
                raise self._start_error("The metastore failed to start")
            return _answers(port)

        self._wait_for("metastore", jvm, is_up)

    def _start_hiveserver2(self, jvm: Jvm) -> None:
        """Start HiveServer2 and wait until it opens sessions.

        Its main method returns when it has started, and ends the process when it fails. Its port
        answers a little earlier: until it has started, it refuses sessions ("inactive HS2
        instance").
        """
        main = jvm.start_main(_HIVE_SERVER2)
        self._wait_for("HiveServer2", jvm, lambda: _answers(self.ports.hs2) and not main.isAlive())

    def _wait_for(self, service: str, jvm: Jvm, is_up: Callable[[], bool]) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        while time.monotonic() < deadline:
            # A process that ends meanwhile does not answer what `is_up` asks.
            with suppress(Py4JError):
                if is_up():
                    return
            if jvm.exit_code is not None:
                raise self._start_error(f"Java ended with {jvm.exit_code} as {service} started")
            time.sleep(0.05)
        raise self._start_error(f"{service} does not answer after {START_TIMEOUT} s")

    def _start_error(self, what: str) -> HiveStartError:
        return HiveStartError(f"{what}. The end of its log, {self.log}:\n{self.log_tail()}")


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_ports(count: int) -> list[int]:
    """Ports of this machine on which nobody listens. Raises HiveStartError if they are too few."""
    free: list[int] = []
    for port in random.sample(_PORTS, len(_PORTS)):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        free.append(port)
        if len(free) == count:
            return free
    raise HiveStartError(f"Fewer than {count} free ports in {_PORTS}")


_ROOT = Path(__file__).parents[3]
_VARIABLE = "HIVES_OF_TESTS"


@contextmanager
def running_or_own(
    settings: HiveSettings, work: Path, version: str = HIVE_VERSION
) -> Iterator[HiveServer]:
    """Yield the Hive of a version that runs already, else one of this process with these settings.

    `work` is the directory of the latter.
    """
    running = running_hive(version)
    if running is not None:
        yield running
        return
    with HiveServer(settings, work=work, version=version) as server:
        yield server


def assert_passes_beside(hives: Iterable[HiveServer], module: str, *arguments: str) -> None:
    """Assert that a module of `tools` passes that runs tests with these Hives.

    The Hives are of one version each.
    """
    told = {hive.version: [str(hive.work), hive.ports.metastore, hive.ports.hs2] for hive in hives}
    ran = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=_ROOT,
        env={**os.environ, _VARIABLE: json.dumps(told)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout


def running_hive(version: str) -> HiveServer | None:
    """Return the Hive of a version that this process was told of, None if it must start its own.

    Who has started the Hive ends it.
    """
    told = json.loads(os.environ.get(_VARIABLE, "{}"))
    if version not in told:
        return None
    work, metastore, hs2 = told[version]
    return HiveServer(work=Path(work), ports=HivePorts(metastore, hs2), version=version)
