"""A real HDFS of one name node and one data node, in one Java process, from Hive's own jars."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

from py4j.protocol import Py4JJavaError

from hiveacid.jars.artifacts import Progress
from integration.support.hive.jars import hive_files, say
from integration.support.hive.java import OPEN_OPTIONS
from integration.support.hive.jvm import Jvm
from integration.support.hive.kdc import REALM, SERVER, Kdc

_LOG4J = Path(__file__).with_name("log4j2.properties")

#: Every service on loopback, on a free port, without name look-ups; anybody may do anything.
_SETTINGS = {
    "dfs.namenode.http-address": "127.0.0.1:0",
    "dfs.datanode.address": "127.0.0.1:0",
    "dfs.datanode.http.address": "127.0.0.1:0",
    "dfs.datanode.ipc.address": "127.0.0.1:0",
    "dfs.datanode.hostname": "127.0.0.1",
    "dfs.namenode.datanode.registration.ip-hostname-check": "false",
    "dfs.replication": "1",
    "dfs.permissions.enabled": "false",
    "dfs.namenode.safemode.extension": "0",
}


class HdfsStartError(RuntimeError):
    """HDFS did not start; the message has the Java exception and the log."""


class HdfsServer:
    """One HDFS of one's own, as a context manager; it is gone with all its files afterwards."""

    def __init__(self, *, kdc: Kdc | None = None, progress: Progress = say) -> None:
        """With a KDC, which must run, it asks for Kerberos."""
        self._kdc = kdc
        self.work = Path(tempfile.mkdtemp(prefix="hiveacid-hdfs-"))
        self.log = self.work / "hdfs.log"
        self._progress = progress
        self._jvm: Jvm | None = None
        self._configuration: Any = None
        self._port = 0

    @property
    def uri(self) -> str:
        """The file system's root, without a slash at the end."""
        return f"hdfs://127.0.0.1:{self._port}"

    def __enter__(self) -> HdfsServer:
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
        """Start both nodes and return when files can be written.

        Raises HdfsStartError when they fail, FetchError and JavaError from the preparations.
        """
        options = [
            *OPEN_OPTIONS,
            "-Xmx512m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Djava.net.preferIPv4Stack=true",
            f"-Dlog4j2.configurationFile={_LOG4J}",
        ]
        if self._kdc is not None:
            options.append(f"-Djava.security.krb5.conf={self._kdc.conf}")
        # The pages of the nodes' web servers, which are in no jar on Maven Central.
        for name in ("hdfs", "datanode"):
            (self.work / "class_path" / "webapps" / name).mkdir(parents=True)
        jars = hive_files(self._progress).jars
        self._jvm = Jvm([self.work / "class_path", *jars], options, self.work, self.log)
        try:
            self._start_nodes(self._jvm)
        except Py4JJavaError as error:
            reason = f"{error.java_exception.toString()}\n{self.log.read_text(errors='replace')}"
            self.stop()
            raise HdfsStartError(f"HDFS did not start: {reason}") from error
        self._progress(f"HDFS is up: {self.uri}")

    def stop(self) -> None:
        """End the Java process and remove the files; harmless when repeated."""
        if self._jvm is not None:
            self._jvm.end(orderly=False)
            self._jvm = None
        shutil.rmtree(self.work, ignore_errors=True)

    def _start_nodes(self, jvm: Jvm) -> None:
        hadoop = jvm.packages.org.apache.hadoop
        configuration = hadoop.conf.Configuration()
        for name, value in {**_SETTINGS, **self._kerberos()}.items():
            configuration.set(name, value)
        hadoop.security.UserGroupInformation.setConfiguration(configuration)
        configuration.set("hadoop.tmp.dir", str(self.work / "data"))
        configuration.set("fs.defaultFS", self.uri)
        # Both nodes register metrics of the same names.
        hadoop.metrics2.lib.DefaultMetricsSystem.setMiniClusterMode(True)
        hadoop.hdfs.server.namenode.NameNode.format(configuration)
        name_node = hadoop.hdfs.server.namenode.NameNode(configuration)
        self._port = name_node.getNameNodeAddress().getPort()
        configuration.set("fs.defaultFS", self.uri)
        hadoop.hdfs.server.datanode.DataNode.createDataNode(jvm.strings(), configuration)
        self._configuration = configuration

    def put(self, source: Path, target: str) -> None:
        """Copy a directory of this machine's into the file system, as its superuser."""
        assert self._jvm is not None
        hadoop = self._jvm.packages.org.apache.hadoop
        path = hadoop.fs.Path(f"{self.uri}{target}")
        path.getFileSystem(self._configuration).copyFromLocalFile(
            hadoop.fs.Path(f"file://{source}"), path
        )

    def write_open(self, target: str, content: bytes) -> Any:
        """Write and flush a file, and return the stream that keeps the file under construction."""
        assert self._jvm is not None
        path = self._jvm.packages.org.apache.hadoop.fs.Path(f"{self.uri}{target}")
        stream = path.getFileSystem(self._configuration).create(path, True)
        stream.write(content)
        stream.hflush()
        return stream

    def _kerberos(self) -> dict[str, str]:
        if self._kdc is None:
            return {}
        keytab = str(self._kdc.keytab("hive"))
        return {
            "hadoop.security.authentication": "kerberos",
            "hadoop.rpc.protection": "authentication,privacy",
            "dfs.namenode.kerberos.principal": SERVER,
            "dfs.namenode.keytab.file": keytab,
            "dfs.datanode.kerberos.principal": SERVER,
            "dfs.datanode.keytab.file": keytab,
            "dfs.web.authentication.kerberos.principal": f"HTTP/localhost@{REALM}",
            "dfs.web.authentication.kerberos.keytab": str(self._kdc.keytab("http")),
            "dfs.block.access.token.enable": "true",
            # Else a data node needs a port below 1024, or TLS.
            "ignore.secure.ports.for.testing": "true",
            # The metastore makes directories in the name of its callers.
            "hadoop.proxyuser.hive.hosts": "*",
            "hadoop.proxyuser.hive.groups": "*",
        }
