"""Files of streaming writers: by Hive 3.1.3's client, as NiFi uses it, or made without a writer."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import pyorc

from hiveacid.acid.layout import BucketProperty
from hiveacid.jars.artifacts import Progress, fetch, read_lock
from integration.support.hive import hive_3
from integration.support.hive.config import write_site
from integration.support.hive.jars import hive_directory, hive_files, say
from integration.support.hive.java import OPEN_OPTIONS
from integration.support.hive.jvm import Jvm

_LOCK_FILE = Path(__file__).with_name("hive-streaming-3.1.3.lock")
_LOG4J = Path(__file__).with_name("log4j2.properties")


class StreamingClient:
    """A Java process with the client, as a context manager. It can be killed with its writers."""

    def __init__(self, metastore_uri: str, work: Path, progress: Progress = say) -> None:
        """Start it; its files are below `work`.

        It sends no heartbeats: `HiveStreamingConnection.TransactionBatch` makes its heartbeat
        before it has transactions. Whoever wants a batch to outlive the metastore's timeout sends
        them.
        """
        (work / "conf").mkdir(parents=True)
        files = hive_files(progress, hive_3.VERSION)
        own = fetch(read_lock(_LOCK_FILE), hive_directory(hive_3.VERSION) / "streaming", progress)
        self._uri = metastore_uri
        properties = {
            "hive.metastore.uris": metastore_uri,
            "metastore.thrift.uris": metastore_uri,
            "fs.defaultFS": "file:///",
            # With checksums, the local file system shows a file only when it is closed.
            "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
            "hive.exec.scratchdir": f"{work}/scratch",
            "hive.exec.local.scratchdir": f"{work}/local",
            "hive.async.log.enabled": "false",
        }
        write_site(properties, work / "conf" / "hive-site.xml")
        options = [
            *OPEN_OPTIONS,
            "-Xmx512m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            f"-Dlog4j2.configurationFile={_LOG4J}",
        ]
        class_path = [work / "conf", *files.jars, *own]
        self._jvm = Jvm(class_path, options, work, work / "streaming.log")

    def __enter__(self) -> StreamingClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.kill()

    def kill(self) -> None:
        """End the process at once, with all its writers; harmless when repeated."""
        self._jvm.end(orderly=False)

    def open(
        self, database: str, table: str, batch: int, partition: Sequence[str] = ()
    ) -> StreamingWriter:
        """Open a batch of transactions on a table, or on one of its partitions."""
        hive = self._jvm.packages.org.apache.hive.streaming
        conf = self._jvm.packages.org.apache.hadoop.hive.conf.HiveConf()
        conf.set("hive.metastore.uris", self._uri)
        conf.set("metastore.thrift.uris", self._uri)
        rows = hive.StrictDelimitedInputWriter.newBuilder().withFieldDelimiter(",").build()
        builder = (
            hive.HiveStreamingConnection.newBuilder()
            .withDatabase(database)
            .withTable(table)
            .withAgentInfo("streaming test")
            .withTransactionBatchSize(batch)
            .withRecordWriter(rows)
            .withHiveConf(conf)
        )
        if partition:
            values = self._jvm.packages.java.util.ArrayList()
            for value in partition:
                values.add(value)
            builder = builder.withStaticPartitionValues(values)
        return StreamingWriter(builder.connect())


class StreamingWriter:
    """A batch of transactions, which are written one after the other."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def begin(self, *rows: str) -> None:
        """Begin the next transaction and write rows, whose columns are joined by commas."""
        self._connection.beginTransaction()
        self.write(*rows)

    def write(self, *rows: str) -> None:
        """Write rows of the transaction that has begun."""
        for row in rows:
            self._connection.write(row.encode())

    def commit(self, *rows: str) -> None:
        """Write a whole transaction."""
        self.begin(*rows)
        self.commit_open()

    def commit_open(self) -> None:
        """Commit the transaction that has begun."""
        self._connection.commitTransaction()

    def abort(self, *rows: str) -> None:
        """Write a transaction and abort it."""
        self.begin(*rows)
        self.abort_open()

    def abort_open(self) -> None:
        """Abort the transaction that has begun."""
        self._connection.abortTransaction()

    def close(self) -> None:
        """Close the batch; transactions that have not begun are aborted."""
        self._connection.close()


ACID_FILE = (
    "struct<operation:int,originalTransaction:bigint,bucket:int,rowId:bigint,"
    "currentTransaction:bigint,row:struct<id:int,v:string>>"
)
BUCKET = BucketProperty(0, 0).encode()


class Batch:
    """A file of a batch as its writer leaves it, next to a side file."""

    def __init__(self, delta: Path) -> None:
        """Take the directory of the delta, which is there."""
        self.file = delta / "bucket_00000"
        self.side_file = delta / "bucket_00000_flush_length"

    def write(self, write_ids: int) -> int:
        """Two rows for each of the first write ids; the length of the file."""
        with (
            self.file.open("wb") as file,
            pyorc.Writer(file, ACID_FILE, row_index_stride=0) as writer,
        ):
            writer.set_user_metadata(**{"hive.acid.version": b"2"})
            for write_id in range(1, write_ids + 1):
                for row in range(2):
                    key = (0, write_id, BUCKET, row, write_id)
                    writer.write((*key, (10 * write_id + row, f"of {write_id}")))
        return self.file.stat().st_size

    def flushed(self, *lengths: int, torn: bytes = b"") -> None:
        """Let the side file have these lengths."""
        self.side_file.write_bytes(struct.pack(f">{len(lengths)}q", *lengths) + torn)
