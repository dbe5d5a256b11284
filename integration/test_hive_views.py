"""Views that Hive has made over ACID tables: our rows are those of Hive's `SELECT * FROM view`."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

import hiveacid
from hiveacid.errors import InvalidSettingError, UnreadableTableError
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import HiveView, TableName
from hiveacid.sql.hive_views.refusals import warn_of_release
from integration.support.dbt_project import DbtProject, node_results
from integration.support.differential import canonical
from integration.support.hive import HiveClient, HiveServer, HiveSettings
from integration.support.metastore import assert_nothing_held
from integration.support.sql_files import cases_of, groups_of, sql_text
from integration.support.tables import ACID
from integration.support.targets import Tables

EXPRESSIONS = groups_of("hive_expressions.sql")


def expressions_noted(**notes: str) -> frozenset[str]:
    """Return the expressions that have these notes in `hive_expressions.sql`."""
    cases = chain.from_iterable(EXPRESSIONS.values())
    return frozenset(it.statement for it in cases if notes.items() <= it.notes.items())


#: Expressions whose decimals have more digits before the point in Spark.
WIDER = expressions_noted(decimals="wider")

Types = list[tuple[str, str]]
"""Columns and their types, as `DataFrame.dtypes` has them."""


@pytest.fixture
def held(hive_client: HiveClient, database: str) -> Iterator[str]:
    """The test's database. No lock is left."""
    yield database
    assert_nothing_held(hive_client, database)


def shown(value: Any) -> str:
    """A value of either client in one notation: Hive sends arrays, maps and structs as JSON."""
    if isinstance(value, bytes):
        value = value.decode()
    if isinstance(value, str):
        value = value.rstrip()  # Values of `char` are read without the blanks behind them.
    if isinstance(value, str) and re.match(r'\[.*\]$|\{".*\}$', value):
        try:
            value = json.loads(value)
        except ValueError:
            return value
    if isinstance(value, Row):
        value = value.asDict()
    if isinstance(value, list | dict):
        return json.dumps(plain(value), sort_keys=True)
    ((text,),) = canonical([(value,)])
    return text.rstrip()


def plain(value: Any) -> Any:
    """A nested value as JSON has it."""
    if isinstance(value, Row):
        value = value.asDict()
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, Decimal | float) and math.isfinite(value):
        return int(value) if value == int(value) else float(value)
    return [plain(inner) for inner in value] if isinstance(value, list) else value


def as_float(text: str) -> str:
    """A float in one notation: Hive's client has its shortest decimal, Spark's its double."""
    try:
        return repr(struct.unpack("f", struct.pack("f", float(text)))[0])
    except (ValueError, OverflowError):
        return text


def differences(
    snapshot: hiveacid.Snapshot,
    client: HiveClient,
    view: str,
    names: list[str],
    types: Types,
) -> dict[str, Any]:
    """By column: Hive's values and ours, where they differ. The first column identifies a row."""
    frame = snapshot.sql(f"select * from {view}")
    ours = sorted(([shown(it) for it in row] for row in frame.collect()), key=lambda row: row[0])
    hives = sorted(
        ([shown(it) for it in row] for row in client.query(f"SELECT * FROM {view}")),
        key=lambda row: row[0],
    )
    assert len(ours) == len(hives) > 0
    found: dict[str, Any] = {}
    for n, (name, type_) in enumerate(zip(names, frame.dtypes, strict=True)):
        pairs = [(it[0], a[n], it[n]) for a, it in zip(ours, hives, strict=True)]
        if type_[1] == "float":
            pairs = [(key, as_float(a), as_float(b)) for key, a, b in pairs]
        wrong = [(key, f"ours {a}", f"Hive's {b}") for key, a, b in pairs if a != b]
        if wrong:
            found[name] = wrong[:4]
        elif type_[1] != types[n][1] and name not in WIDER:
            found[name] = (f"ours {type_[1]}", f"Hive's {types[n][1]}")
    return found


def types_of(metastore_uri: str, database: str, views: Iterable[str]) -> dict[str, Types]:
    """The columns of some views as DESCRIBE shows them, with the types that Spark has for them."""
    with MetastoreClient(metastore_uri, timeout=30) as client:
        tables = client.get_tables([TableName(database, view) for view in views])
    found: dict[str, Types] = {}
    for name, table in tables.items():
        view = HiveView.of(table)
        assert view is not None
        found[name.table] = [
            (it.name, re.sub(r"(var)?char\(\d+\)", "string", it.type)) for it in view.columns
        ]
    return found


def functions_that_differ(
    client: HiveClient,
    metastore_uri: str,
    session: SparkSession,
    database: str,
    left_out: frozenset[str] = frozenset(),
) -> dict[str, Any]:
    """By expression: Hive's values and ours, where they differ."""
    found: dict[str, Any] = {}
    with hiveacid.snapshot(session, metastore_uri, []) as snapshot:
        for name, cases in EXPRESSIONS.items():
            key, tail = ("b", "GROUP BY b") if name == "of_groups" else ("id", "")
            expressions = [it.statement for it in cases if it.statement not in left_out]
            columns = ", ".join(f"{it} AS c{n}" for n, it in enumerate(expressions))
            query = f"SELECT {key}, {columns} FROM every_type {tail}"
            client.execute(f"CREATE VIEW {name} AS {query}")
            names = [key, *expressions]
            types = types_of(metastore_uri, database, [name])[name]
            found |= differences(snapshot, client, f"{database}.{name}", names, types)
    return found


def test_every_function_is_evaluated_as_in_hive(
    hive_client: HiveClient, hive: HiveServer, spark: SparkSession, held: str
) -> None:
    """A unit test has the lists of functions: each is called here, or in the views of sites."""
    hive_client.script(sql_text("every_type.sql"))
    assert functions_that_differ(hive_client, hive.metastore_uri, spark, held) == {}


@pytest.mark.long("starts a Hive 3 and evaluates every function there")
def test_every_function_is_evaluated_as_in_hive_3(tmp_path: Path, spark: SparkSession) -> None:
    """What a Hive 3 evaluates differently is refused, or reading it fails."""
    settings = HiveSettings(txn_timeout=60)
    with (
        HiveServer(settings, work=tmp_path, version="3.1.3") as server,
        HiveClient(server.hs2_port, log=server.log) as client,
    ):
        client.execute("CREATE DATABASE views")
        client.execute("USE views")
        client.script(sql_text("every_type.sql"))
        left_out = expressions_noted(hive3="refused")
        client.execute("CREATE VIEW old_days AS SELECT id, month(da) AS m FROM every_type")
        for number, expression in enumerate(sorted(left_out)):
            over = f"SELECT {expression} AS x FROM every_type"
            client.execute(f"CREATE VIEW refused_{number} AS {over}")
        with hiveacid.snapshot(spark, server.metastore_uri, []) as snapshot:
            old = "views.old_days, column m: '1582-10-04' is a day before 1582-10-15, which"
            with pytest.raises(Exception, match=old):
                snapshot.sql("select * from views.old_days").collect()
            for number, expression in enumerate(sorted(left_out)):
                with pytest.raises(UnreadableTableError, match="cannot be read exactly"):
                    snapshot.sql(f"select * from views.refused_{number}")
                    pytest.fail(f"{expression} was read")
        client.execute("DELETE FROM every_type WHERE da < '1582-10-15'")
        uri = server.metastore_uri
        left_out |= expressions_noted(hive3="fails")
        assert functions_that_differ(client, uri, spark, "views", left_out) == {}


#: Views over the tables of `shop.sql`, and their queries.
VIEWS = {case.name: case.statement for case in cases_of("views_of_shop.sql")}


def names_of(views: dict[str, str]) -> list[str]:
    return [name.partition(" ")[0] for name in views]


def test_shows_what_hive_shows(
    hive_client: HiveClient, hive: HiveServer, spark: SparkSession, held: str
) -> None:
    hive_client.script(sql_text("shop.sql"))
    for name, query in VIEWS.items():
        hive_client.execute(f"CREATE VIEW {name} AS {query}")
    wrong = {}
    types = types_of(hive.metastore_uri, held, names_of(VIEWS))
    session = spark.newSession()
    # The session's own settings do not count, but for its time zone.
    session.conf.set("spark.sql.ansi.enabled", "true")
    for moment in ("before", "after"):
        with hiveacid.snapshot(session, hive.metastore_uri, []) as snapshot:
            # Every view follows the tables behind it in the same way.
            for name in names_of(VIEWS)[:: 1 if moment == "before" else 7]:
                frame = snapshot.sql(f"select * from {held}.{name}")
                ours = sorted(tuple(map(shown, row)) for row in frame.collect())
                hives = hive_client.query(f"SELECT * FROM {held}.{name}")
                expected = sorted(tuple(map(shown, row)) for row in hives)
                if (ours, frame.dtypes) != (expected, types[name]):
                    wrong[moment, name] = (ours, expected, frame.dtypes, types[name])
        if moment == "before":
            hive_client.execute("DELETE FROM orders WHERE id = 2")
    assert wrong == {}


@pytest.mark.long("a hundred views, two minutes")
def test_shows_what_hive_shows_of_views_of_sites(
    hive_client: HiveClient, hive: HiveServer, spark: SparkSession, held: str
) -> None:
    """A hundred views, and two minutes; the others show what is special in each."""
    hive_client.script(sql_text("sites.sql"))
    views = cases_of("views_of_sites.sql")
    for view in views:
        hive_client.execute(f"CREATE VIEW {view.name} AS {view.statement}")
    wrong = {}
    names = [view.name for view in views]
    types = types_of(hive.metastore_uri, held, names)
    with hiveacid.snapshot(spark, hive.metastore_uri, []) as snapshot:
        for name in names:
            frame = snapshot.sql(f"select * from {held}.{name}")
            ours = sorted(tuple(map(shown, row)) for row in frame.collect())
            hives = hive_client.query(f"SELECT * FROM {held}.{name}")
            expected = sorted(tuple(map(shown, row)) for row in hives)
            if (ours, frame.dtypes) != (expected, types[name]):
                wrong[name] = (ours, expected, frame.dtypes, types[name])
    assert wrong == {}


ON_ANOTHER_RELEASE = ("joined", "numbered", "typed", "topmost", "dates", "with_ctes", "rolled")


def test_another_release_is_read_as_the_nearest_with_a_warning(
    hive_client: HiveClient,
    hive: HiveServer,
    spark: SparkSession,
    held: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Hive 4.1 and Cloudera's 3.1.3000 say other versions; here a Hive 4.0.1 says one."""
    hive_client.script(sql_text("shop.sql"))
    for name in ON_ANOTHER_RELEASE:
        hive_client.execute(f"CREATE VIEW {name} AS {VIEWS[name]}")
    server_info = MetastoreClient.server_info
    monkeypatch.setattr(
        MetastoreClient, "server_info", lambda self: replace(server_info(self), version="4.1.0")
    )
    warn_of_release.cache_clear()
    for hive_views, warns in ((None, True), ("4.0", False)):
        caplog.clear()
        with hiveacid.snapshot(spark, hive.metastore_uri, [], hive_views=hive_views) as snapshot:
            for name in ON_ANOTHER_RELEASE:
                ours = snapshot.sql(f"select * from {held}.{name}").collect()
                hives = hive_client.query(f"SELECT * FROM {held}.{name}")
                assert sorted(tuple(map(shown, row)) for row in ours) == sorted(
                    tuple(map(shown, row)) for row in hives
                ), name
        # dbt's log may have it, too.
        own = [it.getMessage() for it in caplog.records if it.name == "hiveacid"]
        told = [it for it in own if "is that of Hive 4.1.0, which was not compared" in it]
        assert len(told) == warns
    with hiveacid.snapshot(spark, hive.metastore_uri, [], hive_views="3.1") as snapshot:
        with pytest.raises(UnreadableTableError, match="Hive 3 writes no zeros"):
            snapshot.sql(f"select * from {held}.typed")
        assert len(snapshot.sql(f"select * from {held}.joined").collect()) == 4
    with hiveacid.snapshot(spark, hive.metastore_uri, [], hive_views="refuse") as snapshot:
        with pytest.raises(
            UnreadableTableError, match=r"the metastore is that of Hive 4\.1\.0, wh"
        ):
            snapshot.sql(f"select * from {held}.joined")


WIDENED = """
CREATE TABLE grown (id int, a int, b decimal(10,2), c varchar(3), f float) {ACID};
INSERT INTO grown VALUES (1, 5, 1.25, 'abc', 1.5);
CREATE VIEW of_grown AS SELECT id, a, b, c FROM grown;
CREATE VIEW of_sums AS SELECT a + 1 AS n, b * 2 AS d, concat(c, '!') AS t FROM grown;
CREATE VIEW of_most AS SELECT max(o.a) AS a, max(o.c) AS c FROM of_grown o;
CREATE VIEW of_float AS SELECT f FROM grown;
ALTER TABLE grown CHANGE COLUMN a a bigint;
ALTER TABLE grown CHANGE COLUMN b b decimal(20,4);
ALTER TABLE grown CHANGE COLUMN c c varchar(10);
ALTER TABLE grown CHANGE COLUMN f f string;
INSERT INTO grown VALUES (2, 3000000000, 123456789012.1234, 'abcdefgh', 'text')
"""


def test_columns_that_became_wider_after_the_view(
    hive_client: HiveClient, hive: HiveServer, spark: SparkSession, held: str
) -> None:
    hive_client.script(WIDENED.format(ACID=ACID))
    with hiveacid.snapshot(spark, hive.metastore_uri, []) as snapshot:
        for name in ("of_grown", "of_sums", "of_most"):
            ours = snapshot.sql(f"select * from {held}.{name}").collect()
            expected = canonical(hive_client.query(f"SELECT * FROM {held}.{name}"))
            assert canonical(map(tuple, ours)) == expected
            assert "3000000000" in str(expected) or "3000000001" in str(expected)
        with pytest.raises(UnreadableTableError, match="f: it is float in Hive, and string in Sp"):
            snapshot.sql(f"select * from {held}.of_float")


PLAIN_CHARS = f"""
CREATE TABLE codes (code char(4), label varchar(9)) STORED AS ORC
  TBLPROPERTIES ('transactional'='false');
INSERT INTO codes VALUES ('A', 'gold'), ('B', 'silver'), (null, 'none');
CREATE TABLE nested_codes (code array<char(4)>) STORED AS ORC
  TBLPROPERTIES ('transactional'='false');
CREATE TABLE accounts (id int, code char(4)) {ACID};
INSERT INTO accounts VALUES (1, 'A'), (2, 'B'), (3, 'A');
CREATE TABLE names (id int, name string) {ACID};
INSERT INTO names VALUES (1, 'Ann'), (2, 'Bob');
CREATE VIEW labelled AS SELECT a.id, c.label, concat(c.code, '|') AS k, length(c.code) AS n,
  c.code LIKE 'A' AS is_a FROM accounts a JOIN codes c ON a.code = c.code;
CREATE VIEW named AS SELECT n.name, c.label FROM accounts a JOIN codes c ON a.code = c.code
  JOIN names n ON n.id = a.id;
CREATE VIEW nested AS SELECT a.id, c.code FROM accounts a CROSS JOIN nested_codes c;
CREATE VIEW plain_nested AS SELECT count(code) AS n FROM nested_codes;
CREATE TABLE by_code (id int) PARTITIONED BY (code char(4)) {ACID};
INSERT INTO by_code PARTITION (code='A  ') VALUES (1), (2);
INSERT INTO by_code PARTITION (code='B') VALUES (3);
CREATE TABLE plain_by_code (id int) PARTITIONED BY (code char(4)) STORED AS ORC
  TBLPROPERTIES ('transactional'='false');
INSERT INTO plain_by_code PARTITION (code='A  ') VALUES (1);
CREATE VIEW in_partitions AS SELECT b.id, concat(b.code, '|') AS k, length(b.code) AS n,
  b.code LIKE 'A' AS is_a, p.id AS plain, concat(p.code, '|') AS p FROM by_code b
  LEFT JOIN plain_by_code p ON b.code = p.code;
CREATE VIEW one_partition AS SELECT id FROM by_code WHERE code = 'A';
CREATE VIEW per_partition AS SELECT code, count(*) AS n FROM by_code GROUP BY code
"""


def test_plain_tables_with_char(
    hive_client: HiveClient, hive: HiveServer, spark: SparkSession, held: str
) -> None:
    """Spark fills char of plain tables up: nothing would be equal to the char of ACID tables."""
    hive_client.script(PLAIN_CHARS)
    with hiveacid.snapshot(spark, hive.metastore_uri, []) as snapshot:
        # Spark's catalog is asked for several tables together where a query has three.
        counts = {"labelled": 3, "named": 2}
        counts |= {"in_partitions": 3, "one_partition": 2, "per_partition": 2}
        for name, count in counts.items():
            rows = snapshot.sql(f"select * from {held}.{name}").collect()
            ours = sorted(tuple(map(shown, row)) for row in rows)
            hives = hive_client.query(f"SELECT * FROM {held}.{name}")
            assert ours == sorted(tuple(map(shown, row)) for row in hives)
            assert len(ours) == count
        with pytest.raises(UnreadableTableError, match=r"column code is array<char\(4\)>"):
            snapshot.sql(f"select * from {held}.nested")
        # No ACID table is behind it, so it is Spark's own matter.
        assert snapshot.sql(f"select n from {held}.plain_nested").collect() == [(0,)]


#: Views that cannot be read exactly, and words of the reasons.
REFUSED = {
    case.name: (case.statement, case.notes["reason"]) for case in cases_of("refused_views.sql")
}


def test_is_refused_with_its_reason(
    hive_client: HiveClient, hive: HiveServer, spark: SparkSession, held: str
) -> None:
    hive_client.script(sql_text("shop.sql"))
    for name, (query, _) in REFUSED.items():
        hive_client.execute(f"CREATE VIEW {name} AS {query}")
    hive_client.execute("CREATE VIEW of_regions AS SELECT region, hash(city) AS h FROM regions")
    hive_client.execute("CREATE VIEW days AS SELECT id, cast(status AS date) AS d FROM orders")
    hive_client.execute("INSERT INTO orders (id, status, day) VALUES (9, '10:00:00', 'x')")
    wrong = {}
    with hiveacid.snapshot(spark, hive.metastore_uri, []) as snapshot:
        for name, (_, reason) in REFUSED.items():
            try:
                snapshot.sql(f"select * from {held}.{name}").collect()
                wrong[name] = "it was read"
            except UnreadableTableError as error:
                start = f"{held}.{'hashed' if name == 'above_hashed' else name} is a Hive view"
                if not error.message.startswith(start) or reason not in str(error):
                    wrong[name] = str(error)
                assert "Its text in Hive: SELECT" in str(error)
        assert wrong == {}
        for clause in ("with (partitions = '{}')", "version as of 1"):
            with pytest.raises(InvalidSettingError, match="is a view over transactional Hive"):
                snapshot.sql(f"select * from {held}.days {clause}")
        odd = f"{held}.days, column d: '10:00:00' is cast to date differently by Hive and"
        with pytest.raises(Exception, match=odd):
            snapshot.sql(f"select * from {held}.days").collect()
        with pytest.raises(UnreadableTableError, match="days is a Hive view, and only tables"):
            snapshot.table(f"{held}.days")
        with pytest.raises(UnreadableTableError, match="days is a Hive view, and only tables"):
            snapshot.changes(f"{held}.days")
        # No ACID table is behind it, so it is Spark's own matter.
        assert snapshot.sql(f"select region from {held}.of_regions").count() == 2


FOLLOWED = (
    "{{ config(materialized='incremental', incremental_strategy='acid_changes', unique_key='id') }}"
)


def test_sources_that_are_views(
    dbt_project: DbtProject, hive_client: HiveClient, held: str, tables: Tables
) -> None:
    """Two views are one snapshot, whose tables are locked in one request."""
    hive_client.script(sql_text("shop.sql"))
    for name in ("joined", "above", "grouped", "quoted"):
        hive_client.execute(f"CREATE VIEW {name} AS {VIEWS[name]}")
    hive_client.execute(f"CREATE VIEW states AS {VIEWS['two_columns']}")
    dbt_project.sources("above", "grouped", "states", "orders")
    dbt_project.models(
        filtered="select * from {{ source('shop', 'states') }} where id > 2 or status = 'paid'",
        appended="{{ config(materialized='incremental') }} select * from "
        "{{ source('shop', 'states') }} {% if is_incremental() %} where id > "
        "(select max(id) from {{ this }}) {% endif %}",
        # The query of the view, over its table.
        followed=FOLLOWED + "select id, status from {{ acid_changes(source('shop', 'orders')) }}",
        unfollowed=FOLLOWED + "select * from {{ acid_changes(source('shop', 'above')) }}",
        first="select * from {{ source('shop', 'above') }}",
        second="select g.n, f.name from {{ source('shop', 'grouped') }} g"
        " left join {{ ref('first') }} f on f.id = g.customer_id",
        stored="{{ config(materialized='view') }} select id from {{ source('shop', 'above') }}",
        third="select * from {{ ref('stored') }}",
        refused="select * from {{ source('shop', 'above') }} version as of 1",
    )
    result = dbt_project.invoke("run")
    messages = {node.node.name: str(node.message) for node in node_results(result)}
    assert "is a view over transactional Hive tables" in messages.pop("refused")
    unfollowed = f"acid_changes({held}.above), which is a Hive view over {held}.customers, {held}."
    assert unfollowed in messages.pop("unfollowed")
    assert all(it.startswith("OK") for it in messages.values()), messages
    above = canonical(hive_client.query("SELECT * FROM above"))
    assert tables.rows("*", "first") == above
    assert tables.rows("id", "third") == [(row[0],) for row in above]
    locked = dbt_project.artifact("hiveacid_snapshot.json")["sources"]
    assert {it["table"] for it in locked} == {f"{held}.orders", f"{held}.customers"}
    # `grouped` reads one of them, and was foreseen.
    assert len({it["lock_wait_seconds"] for it in locked}) == 1

    def compare() -> None:
        states = "SELECT * FROM states"
        expected = canonical(hive_client.query(states))
        assert tables.rows("*", "followed") == expected
        assert {*tables.rows("id", "appended")} == {row[:1] for row in expected}
        where = "WHERE id > 2 OR status = 'paid'"
        assert tables.rows("*", "filtered") == canonical(hive_client.query(f"{states} {where}"))

    compare()
    hive_client.execute("INSERT INTO orders (id, status, day) VALUES (7, 'new', '2024-11-04')")
    hive_client.execute("UPDATE orders SET status = 'sent' WHERE id IN (1, 3)")
    dbt_project.succeed("run", "--select", "filtered", "appended", "followed")
    compare()
