"""The adapter without Spark and without a metastore: what it answers from what it knows."""

import multiprocessing
import re
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace

import pytest
from dbt.adapters.spark.impl import SparkAdapter
from dbt.adapters.sql import SQLAdapter
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError
from dbt_common.invocation import get_invocation_id
from pyspark.errors import PySparkException
from pyspark.sql import Row

from dbt import selected_resources
from dbt.adapters.hiveacid import HiveAcidAdapter, HiveAcidCredentials
from dbt.adapters.hiveacid.connections import HiveAcidConnectionManager
from dbt.adapters.hiveacid.errors import AcidTargetError
from dbt.adapters.hiveacid.metadata import methods, schemas
from dbt.adapters.hiveacid.sources.read_log import FilesRead
from dbt.adapters.hiveacid.targets import staging
from hiveacid.acid.layout import ListedFile
from hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from hiveacid.errors import MetastoreUnavailableError, TransactionLostError
from hiveacid.metastore.models import Column, StorageDescriptor, Table, TableName
from hiveacid.snapshots.tables import PinnedTable, UnlockedTable

ORDERS, PLAIN = TableName("shop", "orders"), TableName("shop", "plain")
TABLE = Table(
    ORDERS,
    "MANAGED_TABLE",
    StorageDescriptor("/x", (Column("id", "int"), Column("item", "varchar(10)"))),
    (Column("day", "date"),),
    {"transactional": "true"},
    0,
)


def make_adapter(profile_name="shop"):
    config = SimpleNamespace(
        credentials=HiveAcidCredentials(schema="marts", metastore_uri="thrift://127.0.0.1:1"),
        log_cache_events=False,
        profile_name=profile_name,
        target_name="dev",
    )
    return HiveAcidAdapter(config, multiprocessing.get_context("spawn"))


@pytest.fixture
def adapter():
    adapter = make_adapter()
    yield adapter
    adapter.cleanup_connections()


@pytest.fixture
def manifest(adapter):
    source = SimpleNamespace(unique_id="source.orders", schema="Shop", identifier="Orders")
    node = SimpleNamespace(depends_on=SimpleNamespace(nodes=["source.orders"]))
    manifest = SimpleNamespace(sources={"source.orders": source}, nodes={"model.m": node})
    adapter.set_macro_resolver(manifest)
    return manifest


def know(adapter, table):
    adapter.run.tables.get = {table.name: table}.get


@pytest.fixture
def sparks_own(adapter, monkeypatch):
    """The tables in Spark's own catalog that are not transactional."""
    own = set()
    monkeypatch.setattr(adapter, "_session", lambda: None)
    monkeypatch.setattr(methods, "is_plain_table", lambda _, *name: TableName(*name) in own)
    return own


def test_columns_of_a_declared_source_come_from_the_metastore(adapter, manifest, sparks_own):
    know(adapter, TABLE)
    relation = adapter.Relation.create(schema="shop", identifier="orders")
    columns = adapter.get_columns_in_relation(relation)
    assert [(column.name, column.data_type) for column in columns] == [
        ("id", "int"),
        ("item", "varchar(10)"),
        ("day", "date"),
    ]


def test_a_target_with_the_name_of_a_source_has_its_own_columns(
    adapter, manifest, sparks_own, monkeypatch
):
    """The models' tables are in another catalog than the metastore of the sources."""
    know(adapter, TABLE)
    sparks_own.add(ORDERS)
    described = [adapter.Column("day", "date"), adapter.Column("id", "int")]
    monkeypatch.setattr(SparkAdapter, "get_columns_in_relation", lambda *_: described)
    target = adapter.Relation.create(schema="shop", identifier="orders")
    assert [column.name for column in adapter.get_columns_in_relation(target)] == ["day", "id"]
    source = target.read_through("hiveacid__shop__orders__0123abcd")
    names = [column.name for column in adapter.get_columns_in_relation(source)]
    assert names == ["id", "item", "day"]


def test_the_docs_of_a_single_source_come_from_the_metastore(
    adapter, manifest, sparks_own, monkeypatch
):
    seen = UnlockedTable(TABLE, (), ValidWriteIdList(12), ValidTxnList(9))
    monkeypatch.setattr(adapter.run, "see", lambda names: {ORDERS: seen})
    monkeypatch.setattr(methods, "states_for_docs", lambda session, seen: None)
    relation = adapter.Relation.create(schema="shop", identifier="orders")
    catalog = adapter.get_catalog_for_single_relation(relation)
    assert catalog.metadata.name == "orders"
    assert list(catalog.columns) == ["id", "item", "day"]
    assert catalog.stats["last_write_id"].value == 12


def test_a_source_in_another_metastore_than_sparks_is_there(adapter, manifest, monkeypatch):
    node = SimpleNamespace(schema="Shop", identifier="Orders")
    node.is_relational, node.is_ephemeral_model = True, False
    manifest.nodes = {}
    adapter.run.tables.get = {ORDERS: TABLE, PLAIN: replace(TABLE, name=PLAIN, parameters={})}.get
    manifest.sources["source.plain"] = SimpleNamespace(schema="shop", identifier="plain")
    monkeypatch.setattr(SparkAdapter, "get_relation", lambda *_: None)
    monkeypatch.setattr(adapter, "_is_sparks_own", lambda relation: False)
    found = adapter.get_relation(None, "shop", "orders")
    assert (str(found), found.is_table) == ("shop.orders", True)
    assert adapter.get_relation(None, "shop", "plain") is None
    assert adapter.get_relation(None, "shop", "other") is None
    manifest.nodes = {"model.orders": node}
    assert adapter.get_relation(None, "shop", "orders") is None, "a model's target, not made yet"


def test_a_raw_name_that_only_the_sources_metastore_knows_is_explained(adapter, monkeypatch):
    monkeypatch.setattr(adapter.run.tables, "asked_for", lambda: {ORDERS: TABLE})
    told = adapter.run.explain_missing_tables([("shop", "orders")])
    assert told.startswith("shop.orders is a source. ")
    assert "has it as a transactional table" in told and "Name it by {{ source(…) }}." in told


def test_a_schema_is_dropped_only_if_no_acid_table_goes_with_it(adapter, monkeypatch):
    dropped = []

    def refuse(session, schema):
        if schema == "shop":
            raise AcidTargetError("shop.orders is a transactional Hive table.")

    monkeypatch.setattr(SQLAdapter, "drop_schema", lambda _, relation: dropped.append(relation))
    monkeypatch.setattr(adapter, "_handle", lambda: SimpleNamespace(session=None))
    monkeypatch.setattr(schemas, "refuse_acid_in_schema", refuse)
    marts = adapter.Relation.create(schema="marts")
    adapter.drop_schema(marts)
    with pytest.raises(AcidTargetError):
        adapter.drop_schema(adapter.Relation.create(schema="shop"))
    assert dropped == [marts]


def test_freshness_is_in_utc_whatever_the_sessions_clock(adapter, monkeypatch):
    monkeypatch.setattr(adapter, "_session", lambda: None)
    monkeypatch.setattr(
        methods,
        "in_utc",
        lambda _, shown: (shown - timedelta(hours=2)).replace(tzinfo=timezone.utc),
    )
    noon, one = datetime(2026, 7, 1, 12), datetime(2026, 7, 1, 13)
    freshness = adapter._create_freshness_response(noon, one)
    assert freshness["max_loaded_at"] == datetime(2026, 7, 1, 10, tzinfo=timezone.utc)
    assert freshness["age"] == 3600
    known = noon.replace(tzinfo=timezone.utc)
    assert adapter._create_freshness_response(known, known)["max_loaded_at"] == known
    assert adapter._create_freshness_response(None, one)["max_loaded_at"].year == 1


def test_sources_of_the_selected_nodes_are_foreseen(adapter, manifest, monkeypatch):
    monkeypatch.setattr(selected_resources, "SELECTED_RESOURCES", ["model.m"])
    assert adapter._foreseen() == {ORDERS}


def test_the_agent_info_names_invocation_and_target(adapter):
    info = adapter.run.snapshot._agent_info
    assert info.startswith("dbt-hiveacid 0.1.0, invocation ")
    assert info.endswith(", target shop.dev")


def test_the_agent_info_fits_into_the_metastores_database():
    """HL_AGENT_INFO has room for 128 characters, in whatever encoding."""
    adapter = make_adapter("größter_" + 100 * "x")
    info = adapter.run.snapshot._agent_info
    adapter.cleanup_connections()
    assert len(info) == 128 and info.isascii()
    assert f", invocation {get_invocation_id()}, target gr??ter_xxx" in info


def test_a_metastore_that_cannot_be_reached_is_named(adapter):
    with pytest.raises(MetastoreUnavailableError, match="127.0.0.1:1"):
        adapter.run.tables.get(ORDERS)


def test_cleaning_up_may_happen_many_times(adapter):
    adapter.cleanup_connections()
    adapter.cleanup_connections()


class Cursor:
    def __init__(self, rows, has_read):
        self.has_read = has_read
        self._rows = rows

    def rows_written(self):
        return self._rows


def reading(write_id):
    write_ids = ValidWriteIdList(write_id, table="shop.orders")
    pinned = PinnedTable(TABLE, (), write_ids, ValidTxnList(9), transaction_id=17)
    return FilesRead.of(pinned, [(ListedFile("a", "/orders/a", 7), 0)], [])


@pytest.mark.parametrize(
    "rows, message", [(None, "OK"), (0, "OK, 0 rows"), (1, "OK, 1 row"), (1204, "OK, 1204 rows")]
)
def test_a_response_tells_the_rows(rows, message):
    response = HiveAcidConnectionManager.get_response(Cursor(rows, frozenset()))
    assert str(response) == message
    assert response.to_dict(omit_none=True).keys() - {"rows_affected"} == {"_message"}


def test_a_response_tells_the_snapshot():
    response = HiveAcidConnectionManager.get_response(Cursor(5, frozenset({reading(12)})))
    assert response.to_dict(omit_none=True) == {
        "_message": "OK, 5 rows",
        "rows_affected": 5,
        "transaction_id": 17,
        "snapshot": {"shop.orders": 12},
        "reads": {
            "shop.orders": {
                "write_ids": "shop.orders:12:9223372036854775807::",
                "files": 1,
                "bytes": 7,
                "partitions": 0,
                "delete_events": 0,
            }
        },
    }


def test_a_replaced_target_gets_its_former_version_back_when_what_follows_fails(
    adapter, monkeypatch
):
    ran = []

    def lost():
        raise TransactionLostError("transaction 17 is lost")

    session = SimpleNamespace(sql=ran.append)
    handle = SimpleNamespace(uninterrupted=nullcontext, session=session)
    monkeypatch.setattr(adapter, "_handle", lambda: handle)
    monkeypatch.setattr(adapter, "drop_relation", ran.append)
    target = adapter.Relation.create(schema="marts", identifier="m", type="table")
    former = target.replace(is_delta=True)
    with pytest.raises(TransactionLostError):
        adapter.hiveacid_or_restore(target, former, 7, caller=lost)
    with pytest.raises(TransactionLostError):
        adapter.hiveacid_or_restore(target, None, None, caller=lost)
    adapter.hiveacid_or_restore(target, former, 7, caller=lambda: None)
    assert ran == ["restore table marts.m to version as of 7", target]


def test_a_model_that_has_read_no_acid_source_does_without_the_transaction(adapter, monkeypatch):
    def lost():
        raise TransactionLostError("transaction 17 is lost")

    handle = SimpleNamespace(has_read=frozenset())
    monkeypatch.setattr(adapter.run.snapshot, "check_alive", lost)
    monkeypatch.setattr(adapter, "_handle", lambda: handle)
    assert not adapter.hiveacid_has_read()
    adapter.hiveacid_check_snapshot()
    handle.has_read |= {reading(12)}
    assert adapter.hiveacid_has_read()
    with pytest.raises(TransactionLostError):
        adapter.hiveacid_check_snapshot()


class Missing(PySparkException):
    """Spark's error for a table that is not there."""

    def getCondition(self):
        return "TABLE_OR_VIEW_NOT_FOUND"


class Schema:
    """A Spark whose tables are renamed, one at each look at their names: `names` has the looks."""

    def __init__(self, *names):
        self._looks = list(names)
        self.looked_up = []

    def sql(self, statement):
        if statement == "show tables in marts":
            self._now = self._looks.pop(0) if len(self._looks) > 1 else self._looks[0]
            there = self._now
        else:
            asked = re.fullmatch(r"show table extended in marts like '(.*)'", statement).group(1)
            there = asked.split("|")
            self.looked_up.append(asked)
            if not set(there) <= set(self._looks[0]):
                raise Missing("it is gone")
        rows = [
            Row(namespace="marts", tableName=n, isTemporary=False, information="") for n in there
        ]
        if statement == "show tables in marts":
            rows = [Row(namespace="marts", tableName=n, isTemporary=False) for n in there]
            rows.append(Row(namespace="", tableName="a_temporary_view", isTemporary=True))
        return SimpleNamespace(collect=lambda: rows)


@pytest.fixture
def listing(adapter, monkeypatch):
    """Lists a schema of a fake Spark where dbt-spark gives up."""

    def names(spark):
        monkeypatch.setattr(SparkAdapter, "list_relations_without_caching", lambda *_: [])
        monkeypatch.setattr(adapter, "_handle", lambda: SimpleNamespace(session=spark))
        relations = adapter.list_relations_without_caching(
            adapter.Relation.create(schema="marts", identifier="")
        )
        return sorted(relation.identifier for relation in relations)

    return names


def test_tables_that_are_renamed_while_they_are_listed_are_found(listing):
    before, after = ["a", "b", "old", "z"], ["a", "b", "old__dbt_backup_0123abcd", "z"]
    spark = Schema(before, after)
    assert listing(spark) == after
    assert spark.looked_up == ["a|b|old|z", "a|b", "old|z", "old", "z", "old__dbt_backup_0123abcd"]


def test_an_empty_schema_is_empty(listing):
    assert listing(Schema([])) == []


def test_a_schema_that_cannot_be_listed_is_not_taken_for_empty(listing):
    looks = [[f"stage_{i}"] for i in range(11)]
    with pytest.raises(DbtRuntimeError, match=r"tables of marts cannot be listed.* stage_9\)"):
        listing(Schema(*looks))


def test_a_table_whose_files_spark_would_lose_keeps_its_name(adapter, monkeypatch):
    renamed = []

    def lost(session, database, table, former):
        assert former == "file:/old"
        raise PySparkException("no such directory")

    monkeypatch.setattr(SQLAdapter, "rename_relation", lambda _, *names: renamed.append(names))
    monkeypatch.setattr(adapter, "_handle", lambda: SimpleNamespace(session=None))
    monkeypatch.setattr(schemas, "directory_if_any", lambda _, schema, name: f"file:/{name}")
    monkeypatch.setattr(schemas, "follow_directory", lost)
    monkeypatch.setattr(schemas, "refuse_acid_target", lambda *_: None)
    old = adapter.Relation.create(schema="marts", identifier="old", type="table")
    new = adapter.Relation.create(schema="marts", identifier="new", type="table")
    with pytest.raises(DbtDatabaseError, match="no such directory"):
        adapter.rename_relation(old, new)
    assert renamed == [(old, new), (new, old)]


def test_a_model_that_failed_is_not_hidden_by_what_it_leaves(adapter, monkeypatch):
    def fail(*_):
        raise PySparkException("Invalid method name: 'get_table'")

    target = adapter.Relation.create(schema="marts", identifier="m", type="table")
    handle = SimpleNamespace(
        session=None, write_lock=None, stages={}, uninterrupted=nullcontext, incremental=None
    )
    monkeypatch.setattr(adapter, "_handle", lambda: handle)
    monkeypatch.setattr(schemas, "refuse_acid_target", fail)
    warnings = []
    monkeypatch.setattr(staging.logger, "warning", warnings.append)
    adapter.hiveacid_stage(target)
    adapter.post_model_hook({}, None)
    assert not handle.stages
    assert "marts.m, in which" not in warnings[0] and "marts.m was being built" in warnings[0]
    assert "spark.sql.hive.metastore.version" in warnings[0]
