"""A real HDFS of one name node and one data node, in one Java process, from Hive's own jars."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from types import TracebackType

from py4j.protocol import Py4JJavaError

from hiveacid.jars.artifacts import Progress
from integration.support.hive.jars import hive_files, say
from integration.support.hive.java import OPEN_OPTIONS
from integration.support.hive.jvm import Jvm

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

    def __init__(self, *, progress: Progress = say) -> None:
        self.work = Path(tempfile.mkdtemp(prefix="hiveacid-hdfs-"))
        self.log = self.work / "hdfs.log"
        self._progress = progress
        self._jvm: Jvm | None = None
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
        for name, value in _SETTINGS.items():
            configuration.set(name, value)
        configuration.set("hadoop.tmp.dir", str(self.work / "data"))
        configuration.set("fs.defaultFS", self.uri)
        # Both nodes register metrics of the same names.
        hadoop.metrics2.lib.DefaultMetricsSystem.setMiniClusterMode(True)
        hadoop.hdfs.server.namenode.NameNode.format(configuration)
        name_node = hadoop.hdfs.server.namenode.NameNode(configuration)
        self._port = name_node.getNameNodeAddress().getPort()
        configuration.set("fs.defaultFS", self.uri)
        hadoop.hdfs.server.datanode.DataNode.createDataNode(jvm.strings(), configuration)
