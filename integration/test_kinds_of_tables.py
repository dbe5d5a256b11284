"""Models over a table of each kind have the rows that the Hive which wrote it shows.

Both Hives write the same tables. `make spark` runs this file on every line of Spark.
"""

from __future__ import annotations

import datetime as dt
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

import hiveacid
from hiveacid.errors import ConcurrentDdlError, UnreadableTableError
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import LockState, TableName
from hiveacid.spark_versions import ALL_TESTS, LINES, version_of
from integration.support.dbt_project import DbtProject, node_results
from integration.support.differential import canonical, collected, null_partitions
from integration.support.histories.writer import OpenWriter
from integration.support.hive import HiveClient, HiveServer, HiveSettings, HiveSqlError
from integration.support.hive.server import (
    assert_passes_beside,
    running_hive,
    running_or_own,
)
from integration.support.metastore import assert_nothing_held
from integration.support.odd_times import FAR_YEARS, ODD_TIMES
from integration.support.spark_packages import LOCK_FILES
from integration.support.tables import ACID, KINDS_OF_TABLES, PLAIN, make_all_kinds
from integration.support.targets_in_hive import (
    CASES,
    FORMATS,
    compare,
    rows_of_model,
    unequal,
    whole_models,
    write,
)
from integration.test_parquet_times import of_sparks_avro
from integration.test_reader_types import TIMES

KINDS = "kinds_of_tables"


@pytest.fixture(scope="module")
def hive_3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveServer]:
    """A Hive 3.1.3."""
    settings = HiveSettings(txn_timeout=60, reaper_interval=2, cleaner_interval=0.5)
    with running_or_own(settings, tmp_path_factory.mktemp("hive_3"), "3.1.3") as server:
        yield server


Writer = tuple[HiveServer, HiveClient]
"""A Hive that has written all kinds of tables, and a session on it."""


@pytest.fixture(scope="module")
def writers(hive: HiveServer, hive_3: HiveServer) -> Iterator[dict[str, Writer]]:
    """A writer of each version of Hive."""
    with ExitStack() as stack:
        found = {}
        for server in (hive, hive_3):
            client = stack.enter_context(HiveClient(server.hs2_port, log=server.log))
            if running_hive(server.version) is None:
                make_all_kinds(client, KINDS)
            client.execute(f"USE {KINDS}")
            found[server.version] = server, client
        yield found


@pytest.fixture(params=["4.0.1", "3.1.3"])
def writer(request: pytest.FixtureRequest, writers: dict[str, Writer]) -> Writer:
    return writers[request.param]


@pytest.mark.skipif(
    version_of(pyspark.__version__).tests != ALL_TESTS, reason="the Spark of all tests runs it"
)
def test_the_oldest_spark(writers: dict[str, Writer]) -> None:
    """A process with the oldest Spark reads the same tables."""
    hives = [server for server, _ in writers.values()]
    assert_passes_beside(hives, "tools.spark_line", "--cut", "short", LINES[0].tested)


def test_it_is_what_it_says(hive_3: HiveServer) -> None:
    with MetastoreClient(hive_3.metastore_uri, timeout=30) as client:
        info = client.server_info()
    # What 3.1.3 says of itself.
    assert (info.version, info.supports_write_ids) == ("3.0", True)


def test_aborted_writes_and_locks_of_hive_3(hive_3: HiveServer, spark: SparkSession) -> None:
    name = TableName("aborted", "t")
    with (
        HiveClient(hive_3.hs2_port, log=hive_3.log) as hive,
        MetastoreClient(hive_3.metastore_uri, timeout=30) as metastore,
    ):
        hive.execute("CREATE DATABASE aborted")
        hive.execute(f"CREATE TABLE {name} (id int) {ACID}")
        hive.execute(f"INSERT INTO {name} VALUES (1)")
        writer = OpenWriter.begin(metastore, name, None, deletes=False)
        directory = hive_3.warehouse / "aborted.db" / "t"
        (written,) = directory.glob("delta_*")
        shutil.copytree(written, directory / "delta_0000002_0000002_0000")
        assert writer.write_id == 2
        metastore.abort_txn(writer.txn_id)
        hives = canonical(hive.query(f"SELECT * FROM {name}"))
        assert hives == [("1",)]
        with hiveacid.snapshot(spark, hive_3.metastore_uri, [name]) as snapshot:
            assert canonical(map(tuple, snapshot.table(name).collect())) == hives
            assert [lock.state for lock in metastore.show_locks(name)] == [LockState.ACQUIRED]
        assert list(metastore.show_locks(name)) == []
        hive.execute("DROP DATABASE aborted CASCADE")


def test_an_aborted_overwrite_that_hive_3_cannot_read(
    hive_3: HiveServer, spark: SparkSession
) -> None:
    name = TableName("overwritten", "t")
    with (
        HiveClient(hive_3.hs2_port, log=hive_3.log) as hive,
        MetastoreClient(hive_3.metastore_uri, timeout=30) as metastore,
    ):
        hive.execute("CREATE DATABASE overwritten")
        hive.execute(f"CREATE TABLE {name} (id int) {ACID}")
        hive.execute(f"INSERT INTO {name} VALUES (1)")
        hives = canonical(hive.query(f"SELECT * FROM {name}"))
        writer = OpenWriter.begin(metastore, name, None, deletes=False)
        directory = hive_3.warehouse / "overwritten.db" / "t"
        (written,) = directory.glob("delta_*")
        shutil.copytree(written, directory / f"base_{writer.write_id:07d}")
        metastore.abort_txn(writer.txn_id)
        with pytest.raises(HiveSqlError, match="Not enough history available"):
            hive.query(f"SELECT * FROM {name}")
        with hiveacid.snapshot(spark, hive_3.metastore_uri, [name]) as snapshot:
            assert canonical(map(tuple, snapshot.table(name).collect())) == hives
        hive.execute("DROP DATABASE overwritten CASCADE")


def test_models_have_the_rows_of_the_hive_that_wrote_them(
    writer: Writer,
    hive: HiveServer,
    database: str,
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    server, client = writer
    profile = {"metastore_uri": server.metastore_uri}
    project = DbtProject(tmp_path / "project", hive, database, profile=profile)
    project.sources(*(kind.name for kind in KINDS_OF_TABLES), schema=KINDS)
    project.models(
        **{
            f"of_{kind.name}": f"select {kind.notes.get('selected', '*')} "
            f"from {{{{ source('shop', '{kind.name}') }}}}"
            for kind in KINDS_OF_TABLES
        }
    )
    project.succeed("build")
    assert_nothing_held(client, KINDS)
    differing = {}
    for kind in KINDS_OF_TABLES:
        table = kind.name
        model = spark.newSession().table(f"{database}.of_{table}")
        expected = [
            null_partitions(row, 1, len(row)) for row in client.query(f"SELECT * FROM {table}")
        ]
        if "selected" in kind.notes:
            # What the client of a Hive 3 makes of an array.
            expected = [
                tuple(v.decode() if isinstance(v, bytes) else v for v in r) for r in expected
            ]
        ours, hives = canonical(map(tuple, model.collect())), canonical(expected)
        if ours != hives:
            differing[table] = (ours, hives)
    assert differing == {}, "what we show, what Hive shows"


def test_times_in_parquet_of_hive_3(
    hive_3: HiveServer,
    hive: HiveServer,
    hive_client: HiveClient,
    database: str,
    spark: SparkSession,
) -> None:
    """The file of a Hive 3, in its own table and in one of Hive 4."""
    shown = "id, cast(at AS string)"
    with HiveClient(hive_3.hs2_port, log=hive_3.log) as old:
        old.execute("CREATE DATABASE times")
        for client, table in ((old, "times.own"), (hive_client, f"{database}.loaded")):
            client.execute(
                f"CREATE TABLE {table} (id int, at timestamp) STORED AS PARQUET TBLPROPERTIES "
                "('transactional'='true', 'transactional_properties'='insert_only')"
            )
        rows = ", ".join(f"({i}, '{time}')" for i, time in enumerate(TIMES))
        old.execute(f"INSERT INTO times.own VALUES {rows}")
        (file,) = (hive_3.warehouse / "times.db" / "own").glob("delta_*/0*")
        hive_client.execute(f"LOAD DATA LOCAL INPATH '{file}' INTO TABLE {database}.loaded")
        for server, client, table in (
            (hive_3, old, "times.own"),
            (hive, hive_client, f"{database}.loaded"),
        ):
            hives = canonical(client.query(f"SELECT {shown} FROM {table}"))
            with hiveacid.snapshot(
                spark, server.metastore_uri, [table], parquet_time_zone="UTC"
            ) as snapshot:
                rows_read = snapshot.table(table).selectExpr(*shown.split(", ")).collect()
                assert canonical(rows_read) == hives, table
        old.execute("DROP DATABASE times CASCADE")


def test_odd_texts_of_dates_and_timestamps(
    writer: Writer, spark: SparkSession, tmp_path: Path
) -> None:
    """Also inside of arrays and maps: what each Hive shows of texts that it does not write."""
    server, client = writer
    is_moved = server.version == "3.1.3"
    texts = [*ODD_TIMES, *(() if is_moved else FAR_YEARS)]
    table = "odd_texts.t"
    client.execute("CREATE DATABASE odd_texts")
    client.execute(
        f"CREATE TABLE {table} (id int, day date, at timestamp, days array<date>, "
        "times map<string,timestamp>) ROW FORMAT DELIMITED FIELDS TERMINATED BY '|' COLLECTION "
        "ITEMS TERMINATED BY ';' MAP KEYS TERMINATED BY '=' STORED AS TEXTFILE TBLPROPERTIES "
        "('transactional'='true', 'transactional_properties'='insert_only')"
    )
    lines = (f"{i}|{it}|{it}|{it};{it}|k={it}\n" for i, it in enumerate(texts))
    (tmp_path / "odd").write_text("".join(lines))
    client.execute(f"LOAD DATA LOCAL INPATH '{tmp_path}/odd' INTO TABLE {table}")
    values = ("day", "at", "days[1]", "times['k']")
    columns = [
        f"if(id < {len(ODD_TIMES)}, cast({value} AS string), "
        f"cast(datediff({value}, '2000-01-01') AS string))"
        for value in values
    ]
    hives = client.query(f"SELECT id, {', '.join(columns)} FROM {table}")
    with hiveacid.snapshot(spark, server.metastore_uri, [table]) as snapshot:
        ours = snapshot.table(table).selectExpr("id", *columns).collect()
    client.execute("DROP DATABASE odd_texts CASCADE")
    shown = {
        text: (tuple(row[1:]), tuple(hive[1:]))
        for text, row, hive in zip(texts, sorted(ours), sorted(hives), strict=True)
    }
    assert shown["2023-02-29"][1][0] == ("2023-03-01" if is_moved else None)
    assert {text: both for text, both in shown.items() if both[0] != both[1]} == {}, "ours, Hive's"


def test_what_models_write_is_read_by_hive_3(
    hive_3: HiveServer, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each type in each format, with dbt in New York. For Hive 4: test_targets_in_hive.py."""
    monkeypatch.setenv("TZ", "America/New_York")
    with HiveClient(hive_3.hs2_port, log=hive_3.log) as client:
        ((line,),) = client.query("SET system:user.timezone")
        zone = line.partition("=")[2]
        output, failed = write(hive_3, "targets", zone, tmp_path / "dbt", whole_models())
        assert not failed, output
        rows = rows_of_model(spark, zone)
        for name in FORMATS:
            shown = zip(CASES, compare(client, f"targets.all_{name}", rows), strict=True)
            differing = {case.title: str(it) for case, it in shown if not it.is_equal}
            assert differing.keys() == unequal(name, hive_3.version, zone), (name, differing)
        client.execute("DROP DATABASE targets CASCADE")


#: Spark reads Avro with a module of its own, which the tests have for some lines.
AVRO = ("AVRO",) if pyspark.__version__.rpartition(".")[0] in LOCK_FILES else ()


@pytest.mark.skipif(not AVRO, reason="Spark lacks its module for Avro")
def test_times_in_avro_of_spark_in_hive_3(
    hive_3: HiveServer, spark: SparkSession, tmp_path: Path
) -> None:
    """Hive 3.1 has no legacy conversion: days before 1582-10-15 stay as they are."""
    table, shown = "avro_times.t", "id, cast(at AS string)"
    file = of_sparks_avro(spark, tmp_path / "avro")
    with HiveClient(hive_3.hs2_port, log=hive_3.log) as client:
        client.execute("CREATE DATABASE avro_times")
        client.execute(
            f"CREATE TABLE {table} (id int, at timestamp) STORED AS AVRO TBLPROPERTIES "
            "('transactional'='true', 'transactional_properties'='insert_only')"
        )
        client.execute(f"LOAD DATA LOCAL INPATH '{file}' INTO TABLE {table}")
        hives = canonical(client.query(f"SELECT {shown} FROM {table}"))
        with hiveacid.snapshot(
            spark, hive_3.metastore_uri, [table], avro_time_zone="UTC"
        ) as snapshot:
            ours = snapshot.table(table).selectExpr(*shown.split(", ")).collect()
        client.execute("DROP DATABASE avro_times CASCADE")
    assert len(hives) == len(TIMES) and canonical(ours) == hives


INSERT_ONLY = (
    "STORED AS ORC TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only')"
)
_RENAME = """
    ALTER TABLE {t} CHANGE COLUMN v label string;
    INSERT INTO {t} VALUES (3, 'c');
    ALTER TABLE {t} ADD COLUMNS (v string);
    INSERT INTO {t} VALUES (4, 'd', 'e')
"""
#: Partitions have columns of their own, which follow with CASCADE only.
_RENAME_IN_PARTITIONS = """
    INSERT INTO {t} PARTITION (p) VALUES (1, 'a', 'x'), (2, null, 'y');
    ALTER TABLE {t} CHANGE COLUMN v label string;
    INSERT INTO {t} PARTITION (p) VALUES (3, 'a', 'x'), (4, 'd', 'z');
    ALTER TABLE {t} ADD COLUMNS (v string) CASCADE;
    INSERT INTO {t} PARTITION (p) VALUES (5, 'a', 'e', 'x'), (6, 'd', 'a', 'z')
"""
#: Tables whose columns have got other names and places.
RENAMED = {
    "full_acid": f"""
        CREATE TABLE {{t}} (id int, v string) {ACID};
        INSERT INTO {{t}} VALUES (1, 'a'), (2, null);
        {_RENAME}
        """,
    "raw": f"""
        CREATE TABLE {{t}} (id int, v string) {PLAIN};
        INSERT INTO {{t}} VALUES (1, 'a'), (2, null);
        ALTER TABLE {{t}} SET TBLPROPERTIES ('transactional'='true');
        {_RENAME}
        """,
    "insert_only": f"""
        CREATE TABLE {{t}} (id int, v string) {INSERT_ONLY};
        INSERT INTO {{t}} VALUES (1, 'a'), (2, null);
        {_RENAME}
        """,
    "swapped": f"""
        CREATE TABLE {{t}} (id int, v string, label string) {ACID};
        INSERT INTO {{t}} VALUES (1, 'a', 'b'), (2, 'c', 'a');
        ALTER TABLE {{t}} CHANGE COLUMN v x string;
        ALTER TABLE {{t}} CHANGE COLUMN label v string;
        ALTER TABLE {{t}} CHANGE COLUMN x label string;
        INSERT INTO {{t}} VALUES (3, 'a', 'd'), (4, 'e', 'a');
        DELETE FROM {{t}} WHERE id = 4
        """,
    "parts": f"""
        CREATE TABLE {{t}} (id int, v string) PARTITIONED BY (p string) {ACID};
        {_RENAME_IN_PARTITIONS}
        """,
    "insert_only_parts": f"""
        CREATE TABLE {{t}} (id int, v string) PARTITIONED BY (p string) {INSERT_ONLY};
        {_RENAME_IN_PARTITIONS}
        """,
}


@pytest.fixture(scope="module")
def renamed(hive_3: HiveServer) -> Iterator[HiveClient]:
    """A session on a Hive 3 with tables whose columns have got other names and places."""
    with HiveClient(hive_3.hs2_port, log=hive_3.log) as client:
        client.execute("CREATE DATABASE renamed")
        for table, script in RENAMED.items():
            client.script(script.format(t=f"renamed.{table}"))
        yield client
        client.execute("DROP DATABASE renamed CASCADE")


@pytest.mark.parametrize(("orc_columns", "forced"), [("name", "false"), ("position", "true")])
def test_renamed_columns_are_shown_as_hive_3_shows_them(
    orc_columns: str, forced: str, renamed: HiveClient, hive_3: HiveServer, spark: SparkSession
) -> None:
    renamed.execute(f"SET orc.force.positional.evolution={forced}")
    names = [f"renamed.{table}" for table in RENAMED]
    differing = {}
    with hiveacid.snapshot(spark, hive_3.metastore_uri, names, orc_columns=orc_columns) as snapshot:
        for name in names:
            frame = snapshot.table(name)
            found = collected(frame.where("label = 'a' or v = 'a'").select("id"))
            ours = canonical(map(tuple, frame.collect())), canonical(found)
            hives = tuple(
                canonical(renamed.query(query))
                for query in (
                    f"SELECT * FROM {name}",
                    f"SELECT id FROM {name} WHERE label = 'a' OR v = 'a'",
                )
            )
            if ours != hives:
                differing[name] = (ours, hives)
    assert differing == {}, "what we show, what Hive shows"


def test_each_source_says_how_hive_3_finds_its_columns(
    renamed: HiveClient,
    hive_3: HiveServer,
    hive: HiveServer,
    database: str,
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    said = {"full_acid": "name", "raw": "position", "insert_only": None}
    forced = {"name": "false", "position": "true"}
    profile = {"metastore_uri": hive_3.metastore_uri}
    project = DbtProject(tmp_path / "project", hive, database, profile=profile)
    project.sources(
        schema="renamed",
        tables=[
            {"name": table, "config": {"hiveacid": {"orc_columns": word}}}
            for table, word in said.items()
        ],
    )
    project.models(
        **{f"of_{table}": f"select * from {{{{ source('shop', '{table}') }}}}" for table in said}
    )
    nodes = {node.node.name: node for node in node_results(project.invoke("build"))}
    for table, word in said.items():
        node = nodes[f"of_{table}"]
        if word is None:
            assert "a column v where the table has label" in str(node.message)
            continue
        assert node.status == "success", node.message
        renamed.execute(f"SET orc.force.positional.evolution={forced[word]}")
        hives = renamed.query(f"SELECT * FROM renamed.{table}")
        ours = spark.newSession().table(f"{database}.of_{table}").collect()
        assert canonical(map(tuple, ours)) == canonical(hives), table


def test_renamed_columns_of_hive_3_are_refused_without_a_word(
    renamed: HiveClient, hive_3: HiveServer, spark: SparkSession
) -> None:
    for table in RENAMED:
        name = f"renamed.{table}"
        with hiveacid.snapshot(spark, hive_3.metastore_uri, [name]) as snapshot:
            with pytest.raises(UnreadableTableError, match="a column v where the table has label"):
                snapshot.table(name)


def test_tables_of_hive_3_that_are_met_late(hive_3: HiveServer, spark: SparkSession) -> None:
    """It does not trace what is dropped or truncated, but its notification log tells of it."""
    with HiveClient(hive_3.hs2_port, log=hive_3.log) as client:
        client.execute("CREATE DATABASE late")
        client.execute(f"CREATE TABLE late.first (id int) {ACID}")
        for table in ("plain", "emptied"):
            client.execute(f"CREATE TABLE late.{table} (id int) {ACID}")
            client.execute(f"INSERT INTO late.{table} VALUES (1)")
        for table in ("kept", "dropped", "truncated"):
            name = f"late.{table}"
            client.execute(f"CREATE TABLE {name} (id int) PARTITIONED BY (p string) {ACID}")
            client.execute(f"INSERT INTO {name} PARTITION (p) VALUES (1, 'a'), (2, 'b')")
        hives = canonical(client.query("SELECT * FROM late.kept"))
        with hiveacid.snapshot(spark, hive_3.metastore_uri, ["late.first"]) as snapshot:
            client.execute("ALTER TABLE late.dropped DROP PARTITION (p = 'b')")
            client.execute("TRUNCATE TABLE late.truncated PARTITION (p = 'b')")
            client.execute("TRUNCATE TABLE late.emptied")
            assert canonical(map(tuple, snapshot.table("late.kept").collect())) == hives
            assert canonical(map(tuple, snapshot.table("late.plain").collect())) == [("1",)]
            for table, what in (
                ("dropped", "has partitions and was not locked"),
                ("truncated", "has partitions and was not locked"),
                ("emptied", "was not locked .* and no directory is from its write ids"),
            ):
                with pytest.raises(ConcurrentDdlError, match=f"late.{table} {what}"):
                    snapshot.table(f"late.{table}")
        client.execute("DROP DATABASE late CASCADE")


def test_old_dates_of_hive_3(hive_3: HiveServer, spark: SparkSession) -> None:
    """Hive 3.1 counts in the Gregorian calendar, and its files do not say so."""
    values = "(1, '1500-03-01', '1500-03-01 12:00:00'), (2, '0001-01-01', '1582-10-04 23:59:59')"
    names = []
    with HiveClient(hive_3.hs2_port, log=hive_3.log) as client:
        client.execute("CREATE DATABASE old_dates")
        for format in ("ORC", "PARQUET", "TEXTFILE", *AVRO):
            for kind in ("default", "insert_only") if format == "ORC" else ("insert_only",):
                names.append(f"old_dates.{format}_{kind}".lower())
                client.execute(
                    f"CREATE TABLE {names[-1]} (id int, d date, ts timestamp) STORED AS {format} "
                    f"TBLPROPERTIES ('transactional'='true', 'transactional_properties'='{kind}')"
                )
                client.execute(f"INSERT INTO {names[-1]} VALUES {values}")
        hives = {name: canonical(client.query(f"SELECT * FROM {name}")) for name in names}
        with hiveacid.snapshot(spark, hive_3.metastore_uri, names) as snapshot:
            shown = ["id", "cast(d as string)", "cast(ts as string)"]
            ours = {
                name: canonical(map(tuple, snapshot.table(name).selectExpr(*shown).collect()))
                for name in names
            }
        assert ours == hives
        with hiveacid.snapshot(spark, hive_3.metastore_uri, names, old_dates="file") as snapshot:
            as_file = snapshot.table(names[0]).selectExpr(*shown).collect()
        assert canonical(map(tuple, as_file)) != hives[names[0]]
        client.execute("DROP DATABASE old_dates CASCADE")


def test_sparks_own_client_lists_a_schema_with_an_insert_only_table(
    hive_3: HiveServer, tmp_path: Path
) -> None:
    """It cannot describe such a table of Hive 3, and fails to list all tables of the schema."""
    settings = ("version", "jars", "jars.path")
    built_in = {f"spark.sql.hive.metastore.{name}": None for name in settings}
    with HiveClient(hive_3.hs2_port, log=hive_3.log) as client:
        client.execute("CREATE DATABASE own_client")
        client.execute("CREATE TABLE own_client.orders (id int) " + ACID)
        client.execute(f"CREATE TABLE own_client.events (id int, v string) {INSERT_ONLY}")
        client.execute("INSERT INTO own_client.orders VALUES (1), (2)")
        client.execute("INSERT INTO own_client.events VALUES (1, 'a')")
        project = DbtProject(tmp_path / "project", hive_3, "own_client", spark=built_in)
        project.sources("orders", "events")
        project.models(
            joined="select id, v from {{ source('shop', 'orders') }} "
            "join {{ source('shop', 'events') }} using (id)",
            again="select * from {{ ref('joined') }}",
        )
        process = project.start("build")
        output, _ = process.communicate(timeout=300)
        assert process.returncode == 0, output
        assert client.query("SELECT * FROM own_client.again") == [(1, "a")]
        client.execute("DROP DATABASE own_client CASCADE")


STEPS = (
    "INSERT INTO visits VALUES (1, 'a'), (2, 'b')",
    "INSERT INTO visits VALUES (3, 'a')",
    "DELETE FROM visits WHERE id = 1",
    "UPDATE visits SET id = 22 WHERE id = 2",
)


def test_times_are_mapped_by_the_notification_log(
    hive_3: HiveServer, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hive 3.1.3's is the log that the tests have."""
    said: list[str] = []
    monkeypatch.setattr("hiveacid.changes.commit_times.logger.info", said.append)
    with HiveClient(hive_3.hs2_port, log=hive_3.log) as client:
        client.execute("CREATE DATABASE logged")
        client.execute("USE logged")
        client.execute(
            "CREATE TABLE visits (id int) PARTITIONED BY (day string) STORED AS ORC "
            "TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"
        )
        shown, moments = [], []
        for step in ("", *STEPS):
            if step:
                client.execute(step)
            shown.append(canonical(client.query("SELECT * FROM visits")))
            time.sleep(1.1)  # The log has whole seconds.
            moments.append(time.time())
            time.sleep(1.1)
        name = "logged.visits"
        with hiveacid.snapshot(spark, hive_3.metastore_uri, [name], lock_timeout=60) as snapshot:
            for write_id, (moment, expected) in enumerate(zip(moments, shown, strict=True)):
                at = dt.datetime.fromtimestamp(moment, dt.timezone.utc)
                rows = snapshot.table(name, timestamp_as_of=at).collect()
                assert canonical(rows) == expected, write_id
                assert said.pop() == (
                    f"{name} as of timestamp '{at.isoformat(' ')}' is at write id {write_id}, "
                    "according to the metastore's notification log."
                )
            feed = snapshot.table_changes(name, 2, 4).collect()
            found = sorted((row["id"], row["_change_type"], row["_commit_version"]) for row in feed)
            assert found == [(1, "delete", 3), (2, "delete", 4), (22, "insert", 4)]
            for row in feed:
                committed = row["_commit_timestamp"].timestamp()
                write_id = row["_commit_version"]
                assert moments[write_id - 1] - 1 < committed <= moments[write_id], row
        client.execute("TRUNCATE TABLE visits PARTITION (day = 'b')")
        with hiveacid.snapshot(spark, hive_3.metastore_uri, [name], lock_timeout=60) as snapshot:
            assert canonical(snapshot.table(name).collect()) == [("3", "a")]
            with pytest.raises(hiveacid.InstantLostError, match="was dropped or truncated since"):
                snapshot.table(name, version_as_of=3)
        client.execute("ALTER TABLE visits DROP PARTITION (day = 'b')")
        with hiveacid.snapshot(spark, hive_3.metastore_uri, [name], lock_timeout=60) as snapshot:
            assert canonical(snapshot.table(name).collect()) == [("3", "a")]
            with pytest.raises(
                hiveacid.InstantLostError, match="log shows that a partition was dropped"
            ):
                snapshot.table(name, version_as_of=3)
        overlapped = TableName("logged", "overlapped")
        client.execute(f"CREATE TABLE {overlapped} (id int) {ACID}")
        client.execute(f"INSERT INTO {overlapped} VALUES (1)")
        with MetastoreClient(hive_3.metastore_uri, timeout=30) as metastore:
            writer = OpenWriter.begin(metastore, overlapped, None, deletes=False)
            writer.insert([2])
            client.execute(f"INSERT INTO {overlapped} VALUES (3)")
            expected = canonical(client.query(f"SELECT * FROM {overlapped}"))
            time.sleep(1.1)
            at = dt.datetime.fromtimestamp(time.time(), dt.timezone.utc)
            time.sleep(1.1)
            metastore.commit_txn(writer.txn_id)
        with hiveacid.snapshot(spark, hive_3.metastore_uri, [overlapped]) as snapshot:
            rows = snapshot.table(overlapped, timestamp_as_of=at).collect()
            assert canonical(rows) == expected == [("1",), ("3",)]
            assert (
                "is at write id 3 without 2, committed later, according to the metastore's"
                in said.pop()
            )
            assert snapshot.table(overlapped, version_as_of=3).count() == 3
        client.execute("USE default")
        client.execute("DROP DATABASE logged CASCADE")
