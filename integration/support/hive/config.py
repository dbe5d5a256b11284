"""Settings that a test may choose for its Hive, and the hive-site.xml that they become."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

BARE_LOCAL = "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem"
"""A file system of local files. Hadoop's own starts a process, `chmod`, for each file that it
makes: it has no native library here."""


@dataclass(frozen=True)
class HiveSettings:
    """The choices of one Hive. The defaults are Hive's own where they matter to a reader."""

    #: Seconds without a heartbeat after which a transaction counts as lost.
    txn_timeout: int = 300
    #: Seconds between two looks for lost transactions.
    reaper_interval: int = 180
    #: Seconds between two looks of the cleaner for directories that compaction made obsolete.
    cleaner_interval: float = 1
    #: Whether Hive compacts by itself; compaction on request works either way.
    automatic_compaction: bool = False
    #: Whether `CREATE TABLE` without properties is rewritten (managed to external, transactional
    #: by default), as a production Hive 4 does. Without it a plain managed table can be made, and
    #: converted to a transactional one later, as in older Hives.
    translate_tables: bool = False
    #: Whether compactions run as queries on Tez, as by default in a production Hive 4; REBALANCE
    #: has no other way. A session that sets `ON_MAPREDUCE` runs its own statements as elsewhere.
    query_compaction: bool = False
    #: Further Hive or Hadoop properties; they win over all others.
    extra: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class HivePorts:
    """Loopback ports of one Hive."""

    metastore: int
    hs2: int


def site_properties(
    settings: HiveSettings, ports: HivePorts, warehouse: Path, work: Path
) -> dict[str, str]:
    """All properties of a Hive whose tables are in `warehouse` and whose rest is in `work`."""
    scratch = work / "scratch"
    properties = {
        # One process, local files, no cluster.
        "fs.defaultFS": "file:///",
        "fs.file.impl": BARE_LOCAL,
        "hadoop.tmp.dir": f"{scratch}/hadoop",
        "hive.execution.engine": "mr",
        "mapreduce.framework.name": "local",
        "mapreduce.cluster.local.dir": f"{scratch}/mapred",
        "mapreduce.jobtracker.staging.root.dir": f"{scratch}/staging",
        "hive.exec.scratchdir": f"{scratch}/hive",
        "hive.exec.local.scratchdir": f"{scratch}/local",
        "hive.downloaded.resources.dir": f"{scratch}/resources",
        "hive.querylog.location": f"{scratch}/querylog",
        "hive.server2.logging.operation.enabled": "false",
        # What the log says of a query must be there when the answer is.
        "hive.async.log.enabled": "false",
        # The local MapReduce polls its job at these intervals: a second each by default.
        "mapreduce.client.progressmonitor.pollinterval": "20",
        "mapreduce.client.completion.pollinterval": "20",
        "hive.exec.counters.pull.interval": "20",
        # Each task that sorts allocates so many megabytes, 100 by default, for a handful of rows.
        "mapreduce.task.io.sort.mb": "8",
        # Both services on loopback; the metastore's port is an argument of its main method.
        "hive.metastore.uris": f"thrift://127.0.0.1:{ports.metastore}",
        "hive.metastore.thrift.bind.host": "127.0.0.1",
        "hive.metastore.warehouse.dir": f"file://{warehouse}",
        "hive.server2.thrift.bind.host": "127.0.0.1",
        "hive.server2.thrift.port": str(ports.hs2),
        "hive.server2.webui.port": "0",
        "hive.server2.authentication": "NOSASL",
        "hive.server2.enable.doAs": "false",
        "hive.server2.max.start.attempts": "1",
        # A jar that stands before the directory of settings has a file of the same name.
        "hive.log4j.file": f"{work}/conf/hive-log4j2.properties",
        "hive.server2.tez.initialize.default.sessions": "false",
        "hive.notification.event.poll.interval": "-1s",
        "hive.metastore.event.db.notification.api.auth": "false",
        "hive.scheduled.queries.executor.enabled": "false",
        # The metastore's database; created only when Hive's schema tool runs.
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:{work}/metastore_db;create=true",
        "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
        # Transactions.
        "hive.support.concurrency": "true",
        "hive.txn.manager": "org.apache.hadoop.hive.ql.lockmgr.DbTxnManager",
        "hive.exec.dynamic.partition.mode": "nonstrict",
        "hive.txn.timeout": f"{settings.txn_timeout}s",
        "hive.timedout.txn.reaper.interval": f"{settings.reaper_interval}s",
        "hive.metastore.acid.housekeeper.interval": f"{settings.reaper_interval}s",
        "hive.metastore.housekeeping.threads.on": "true",
        # Compaction.
        "hive.compactor.initiator.on": str(settings.automatic_compaction).lower(),
        "hive.compactor.cleaner.on": "true",
        "hive.compactor.cleaner.run.interval": f"{round(settings.cleaner_interval * 1000)}ms",
        # When the cleaner has met a deadlock in Derby, it tries again after seconds, not minutes.
        "hive.compactor.cleaner.retry.retention.time": "1s",
        "hive.compactor.worker.threads": "1",
        "hive.compactor.worker.sleep.time": "250ms",
        "hive.compactor.worker.max.sleep.time": "1s",
        "hive.compactor.crud.query.based": "false",
        "hive.metastore.runworker.in": "hs2",
        # Every answer is read from the table's files: a Hive that others are compared with must
        # not answer from statistics or from an earlier answer.
        "hive.stats.autogather": "false",
        "hive.compute.query.using.stats": "false",
        "hive.query.results.cache.enabled": "false",
        # The default combines splits, and then refuses original files (error 30022).
        "hive.input.format": "org.apache.hadoop.hive.ql.io.HiveInputFormat",
        # A map join would start a second Java by Hadoop's script, which is not there.
        "hive.auto.convert.join": "false",
    }
    if not settings.translate_tables:
        # Blank, not empty: an empty value counts as not set, which brings the default back.
        properties["metastore.metadata.transformer.class"] = " "
    if settings.query_compaction:
        properties |= _tez_properties(scratch)
    return {**properties, **settings.extra}


ON_MAPREDUCE = "SET hive.execution.engine=mr"
"""For a session of a Hive whose compactions run on Tez: there each query takes a second more."""


def _tez_properties(scratch: Path) -> dict[str, str]:
    """Return what runs Tez in the process of Hive, without a cluster and without jars to ship."""
    return {
        "hive.compactor.crud.query.based": "true",
        "hive.execution.engine": "tez",
        # Else each compaction of a partition by a decimal fails: Hive's own query compares the
        # column with a text.
        "hive.strict.checks.type.safety": "false",
        "hive.tez.container.size": "256",
        "hive.user.install.directory": f"file://{scratch}/tez-install",
        "tez.ignore.lib.uris": "true",
        "tez.local.mode": "true",
        "tez.local.mode.without.network": "true",
        "tez.runtime.io.sort.mb": "8",
        "tez.runtime.optimize.local.fetch": "true",
        "tez.staging-dir": f"{scratch}/tez",
    }


def write_site(properties: Mapping[str, str], path: Path) -> None:
    """Write properties in the form of hive-site.xml."""
    lines = [
        f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>"
        for name, value in properties.items()
    ]
    path.write_text(
        "<configuration>\n" + "\n".join(lines) + "\n</configuration>\n", encoding="utf-8"
    )
