"""The adapter without Spark and without a metastore: what it answers from what it knows."""

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace

import agate
import click
import pytest
from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.spark import impl as spark_impl
from dbt.adapters.spark.column import SparkColumn
from dbt.adapters.spark.impl import SparkAdapter
from dbt.adapters.sql import SQLAdapter
from dbt.cli.main import cli
from dbt_common.exceptions import DbtRuntimeError
from dbt_common.invocation import get_invocation_id, reset_invocation_id
from pyspark.errors import PySparkException

from dbt import selected_resources
from dbt.adapters.hiveacid import HiveAcidAdapter, HiveAcidCredentials, impl, invocation
from dbt.adapters.hiveacid.connections import HiveAcidConnectionManager
from dbt.adapters.hiveacid.errors import (
    AcidByDefaultError,
    AdapterError,
    PythonModelError,
    UndescribedTargetError,
)
from dbt.adapters.hiveacid.metadata import freshness, schemas
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.sources.missing import missing_among
from dbt.adapters.hiveacid.sources.read_log import FilesRead
from dbt.adapters.hiveacid.targets import staging
from hiveacid.acid.layout import ListedFile
from hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from hiveacid.errors import (
    AcidTargetError,
    MetastoreError,
    MetastoreUnavailableError,
    TransactionLostError,
)
from hiveacid.jvm.scratch import Scratch
from hiveacid.metastore.models import Column, ServerInfo, StorageDescriptor, Table, TableName
from hiveacid.snapshots.tables import PinnedTable

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


def test_another_command_of_the_process_does_not_end_the_first_ones_connections(monkeypatch):
    """dbt's next command begins by cleaning the adapters up, on its own thread."""
    run = click.Context(cli.commands["run"], parent=click.Context(cli), info_name="run")
    docs = click.Context(cli.commands["docs"], parent=click.Context(cli), info_name="docs")

    def refused(use):
        with docs, pytest.raises(AdapterError) as error:
            use()
        return error.value

    with run:
        adapter = make_adapter()
        ended = []
        monkeypatch.setattr(adapter.run, "end", lambda: ended.append(True))
        with ThreadPoolExecutor(1) as other:
            for use in (adapter.cleanup_connections, adapter.acquire_connection):
                error = other.submit(refused, use).result()
                assert error.code == "HIVEACID_ONE_COMMAND_AT_A_TIME"
                assert "`dbt docs` cannot run while `dbt run` runs" in str(error)
            # A node of the run has no command on its thread.
            other.submit(adapter.acquire_connection, "model.m").result()
        assert ended == []
        adapter.cleanup_connections()
    with docs:
        adapter.cleanup_connections()
    assert ended == [True, True]


def test_what_is_no_acid_source_has_dbt_sparks_columns(adapter, monkeypatch):
    described = [SparkColumn("day", "date"), SparkColumn("id", "int")]
    monkeypatch.setattr(SparkAdapter, "get_columns_in_relation", lambda *_: described)
    columns = adapter.get_columns_in_relation(
        adapter.Relation.create(schema="marts", identifier="m")
    )
    assert [(type(column), column.name) for column in columns] == [
        (adapter.Column, "day"),
        (adapter.Column, "id"),
    ]


def test_an_acid_source_has_the_metastores_columns(adapter, monkeypatch):
    columns = [adapter.Column("id", "int")]
    monkeypatch.setattr(adapter._catalog, "acid_columns", lambda relation: columns)
    relation = adapter.Relation.create(schema="shop", identifier="orders")
    assert adapter.get_columns_in_relation(relation) == columns


def test_a_source_in_another_metastore_than_sparks_is_there(adapter, monkeypatch):
    monkeypatch.setattr(SparkAdapter, "get_relation", lambda *_: None)
    monkeypatch.setattr(
        adapter._catalog, "is_acid_elsewhere", lambda relation: relation.identifier == "orders"
    )
    found = adapter.get_relation(None, "shop", "orders")
    assert (str(found), found.is_table) == ("shop.orders", True)
    assert adapter.get_relation(None, "shop", "other") is None


@pytest.mark.parametrize(
    ("command", "node", "is_told"),
    [
        ("run", "model.mv", True),
        ("build", "model.mv", True),
        ("run", "model.other", False),
        ("run", "macro_drop", False),
        ("compile", "model.mv", False),
        (None, "model.mv", False),
    ],
)
def test_only_a_node_that_builds_a_table_is_told_that_spark_cannot_describe_it(
    adapter, monkeypatch, command, node, is_told
):
    undescribed = adapter.Relation.create(
        schema="marts", identifier="mv", type=RelationType.External, information="It is odd."
    )
    nodes = {
        f"model.{name}": SimpleNamespace(schema="Marts", alias=name.upper())
        for name in ("mv", "other")
    }
    adapter.set_macro_resolver(SimpleNamespace(nodes=nodes))
    monkeypatch.setattr(SparkAdapter, "get_relation", lambda *_: undescribed)
    monkeypatch.setattr(impl, "get_flags", lambda: SimpleNamespace(WHICH=command))
    monkeypatch.setattr(
        adapter.connections, "get_if_exists", lambda: SimpleNamespace(name=node, _handle=None)
    )
    if is_told:
        with pytest.raises(UndescribedTargetError, match="marts.mv is .* describe: It is odd. So"):
            adapter.get_relation(None, "marts", "mv")
    else:
        assert adapter.get_relation(None, "marts", "mv") is undescribed


@pytest.mark.parametrize(
    ("properties", "node", "is_looked_at"),
    [
        ("[bucketing_version=2, transactional=true]", "model.orders", True),
        ("[bucketing_version=2, transactional=true]", "model.other", False),
        ("[bucketing_version=2, transactional=false]", "model.orders", False),
    ],
)
def test_a_node_is_refused_before_it_is_built_in_the_place_of_an_acid_table(
    adapter, monkeypatch, properties, node, is_looked_at
):
    found = adapter.Relation.create(
        schema="marts",
        identifier="orders",
        type=RelationType.Table,
        information=f"Database: marts\nTable: orders\nTable Properties: {properties}\n",
    )
    nodes = {"model.orders": SimpleNamespace(schema="marts", alias="orders")}
    adapter.set_macro_resolver(SimpleNamespace(nodes=nodes))
    looked_at = []
    monkeypatch.setattr(SparkAdapter, "get_relation", lambda *_: found)
    monkeypatch.setattr(impl, "get_flags", lambda: SimpleNamespace(WHICH="run"))
    monkeypatch.setattr(
        adapter.connections, "get_if_exists", lambda: SimpleNamespace(name=node, _handle=None)
    )
    monkeypatch.setattr(adapter._schemas, "refuse_to_build", looked_at.append)
    assert adapter.get_relation(None, "marts", "orders") is found
    assert looked_at == ([found] if is_looked_at else [])


def test_the_query_of_an_sql_model_is_its_code(adapter):
    model = {"language": "sql", "config": {}}
    assert adapter.hiveacid_model_query(model, "select 1", None) == "select 1"


def test_a_python_model_cannot_take_changes(adapter):
    config = {"incremental_strategy": "acid_changes"}
    model = {"language": "python", "name": "m", "config": config}
    with pytest.raises(PythonModelError, match="Python model m has .* write the model in SQL"):
        adapter.hiveacid_model_query(model, "", None)


def test_a_schema_is_dropped_only_if_no_acid_table_goes_with_it(adapter, monkeypatch):
    dropped = []

    def refuse(schema):
        if schema == "shop":
            raise AcidTargetError("shop.orders is a transactional Hive table.")

    monkeypatch.setattr(SQLAdapter, "drop_schema", lambda _, relation: dropped.append(relation))
    monkeypatch.setattr(adapter._schemas, "refuse_acid", refuse)
    marts = adapter.Relation.create(schema="marts")
    adapter.drop_schema(marts)
    with pytest.raises(AcidTargetError):
        adapter.drop_schema(adapter.Relation.create(schema="shop"))
    assert dropped == [marts]


def test_a_schema_of_another_catalog_is_emptied_before_it_is_dropped(adapter, monkeypatch):
    """Iceberg drops an empty schema only."""
    dropped = []
    lake = adapter.Relation.create(schema="lake.marts")
    tables = [adapter.Relation.create(schema="lake.marts", identifier=name) for name in "ab"]
    monkeypatch.setattr(adapter, "list_relations_without_caching", lambda relation: tables)
    monkeypatch.setattr(adapter, "drop_relation", dropped.append)
    monkeypatch.setattr(SQLAdapter, "drop_schema", lambda _, relation: dropped.append(relation))
    adapter.drop_schema(lake)
    assert dropped == [*tables, lake]


def test_docs_take_sources_of_any_quoting(adapter, monkeypatch):
    """`quoting: {schema: true, identifier: true}` on one source of several."""
    quoted = {"schema": True, "identifier": True, "database": True}
    relations = [
        adapter.Relation.create(schema="shop", identifier="orders"),
        adapter.Relation.create(schema="Shop", identifier="items", quote_policy=quoted),
        adapter.Relation.create(schema="lake", identifier="a", quote_policy={"schema": True}),
    ]
    listed = []

    class Executor(ThreadPoolExecutor):
        def submit_connected(self, adapter, name, function, *args):
            return self.submit(function, *args)

    monkeypatch.setattr(adapter, "_get_catalog_relations", lambda configs: relations)
    monkeypatch.setattr(spark_impl, "executor", lambda config: Executor(1))
    monkeypatch.setattr(
        adapter,
        "_get_one_catalog",
        lambda info, schemas, configs: listed.extend(schemas) or agate.Table([]),
    )
    catalogs, exceptions = adapter.get_catalog([], frozenset())
    assert sorted(listed) == ["lake", "shop"] and exceptions == []


@pytest.mark.parametrize(
    ("answered", "shown"),
    [("3.0", "Hive 3.0 or 3.1,"), ("3.1.3000.7", "3.1.3000.7,"), ("4.0.1",) * 2],
)
def test_dbt_debug_shows_the_version_of_the_metastore(adapter, monkeypatch, answered, shown):
    """A metastore of Hive 3.1.3 answers 3.0."""
    client = adapter.run._client
    info = ServerInfo(answered, True, 300.0, False)
    monkeypatch.setattr(client, "server_info", lambda: info)
    monkeypatch.setattr(client, "known_user", lambda: None)
    monkeypatch.setattr(client, "protocol", lambda: "no authentication")
    first, _ = adapter.run.describe_metastore()
    assert shown in first


def test_freshness_is_in_utc_whatever_the_sessions_clock(adapter, monkeypatch):
    monkeypatch.setattr(adapter.connections, "session", lambda: None)
    monkeypatch.setattr(
        freshness,
        "in_utc",
        lambda _, shown: (shown - timedelta(hours=2)).replace(tzinfo=timezone.utc),
    )
    noon, one = datetime(2026, 7, 1, 12), datetime(2026, 7, 1, 13)
    response = adapter._create_freshness_response(noon, one)
    assert response["max_loaded_at"] == datetime(2026, 7, 1, 10, tzinfo=timezone.utc)
    assert response["age"] == 3600
    known = noon.replace(tzinfo=timezone.utc)
    assert adapter._create_freshness_response(known, known)["max_loaded_at"] == known
    assert adapter._create_freshness_response(None, one)["max_loaded_at"].year == 1


def test_a_raw_name_that_only_the_sources_metastore_knows_is_explained(
    adapter, manifest, monkeypatch
):
    monkeypatch.setattr(adapter.run.tables, "asked_for", lambda: {ORDERS: TABLE})
    told = adapter.run.explain_missing_tables([("shop", "orders")])
    assert told.startswith("[HIVEACID_SOURCE_NOT_IN_SPARK] shop.orders is a source. ")
    assert "has it as a transactional table" in told and "run all others in Hive." in told


def test_a_missing_model_is_not_called_a_source(adapter, manifest, monkeypatch):
    other = replace(ORDERS, table="model")
    monkeypatch.setattr(adapter.run.tables, "asked_for", lambda: {ORDERS: None, other: None})
    told = adapter.run.explain_missing_tables([("shop", "orders"), ("shop", "model")])
    assert told.startswith("[HIVEACID_SOURCE_NOT_IN_SPARK] shop.orders is a source. The metastore ")
    assert "shop.model" not in told
    monkeypatch.setattr(adapter.run.tables, "asked_for", lambda: {other: TABLE})
    told = adapter.run.explain_missing_tables([("shop", "model")])
    assert told.startswith("[HIVEACID_SOURCE_NOT_IN_SPARK] shop.model is no source. The metastore ")


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"relationName": "`missing_table`"}, []),
        ({"relationName": "`Raw`.`t1`"}, [("raw", "T1")]),
        ({"relationName": "`spark_catalog`.`raw`.`t1`"}, [("raw", "T1")]),
        ({"relationName": "`lake`.`raw`.`t1`"}, []),
        ({"schemaName": "`spark_catalog`.`raw`"}, [("raw", "T1")]),
        ({"schemaName": "`marts`"}, []),
        ({}, [("raw", "T1"), ("x",)]),
    ],
)
def test_only_the_table_that_sparks_error_names_is_missing(parameters, expected):
    """`{{ source('raw', 't1') }} join missing_table`: Spark has the source."""
    error = PySparkException("not found")
    error.getMessageParameters = lambda: parameters
    assert missing_among(error, [("raw", "T1"), ("x",)]) == expected


def test_sources_of_the_selected_nodes_are_foreseen(adapter, manifest, monkeypatch):
    monkeypatch.setattr(selected_resources, "SELECTED_RESOURCES", ["model.m"])
    assert adapter.run.hooks.selected_sources() == {ORDERS}


def test_a_source_says_in_the_project_that_it_is_static(adapter, manifest):
    source = manifest.sources["source.orders"]
    source.config, source.meta = {"hiveacid": {"static": True}}, {}
    assert adapter.run.sources.is_static(ORDERS)
    assert not adapter.run.sources.is_static(replace(ORDERS, table="other"))


def test_the_agent_info_names_invocation_and_target(adapter):
    info = adapter.run.snapshot._agent_info
    assert info.startswith("dbt-hiveacid 0.2.0, invocation ")
    assert info.endswith(", target shop.dev")


def test_the_agent_info_fits_into_the_metastores_database():
    """HL_AGENT_INFO has room for 128 characters, in whatever encoding."""
    adapter = make_adapter("größter_" + 100 * "x")
    info = adapter.run.snapshot._agent_info
    adapter.cleanup_connections()
    assert len(info) == 128 and info.isascii()
    assert f", invocation {get_invocation_id()}, target gr??ter_xxx" in info


def test_the_invocation_stays_when_another_command_of_the_process_is_refused(adapter, monkeypatch):
    """dbt has given the process another id by then."""
    own = get_invocation_id()
    monkeypatch.setattr("dbt_common.invocation._INVOCATION_ID", own)
    reset_invocation_id()
    assert adapter.hiveacid_build_location("s3a://lake", "marts", "orders") == (
        f"s3a://lake/orders/marts__dbt_build_{own[:8]}"
    )


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
    pinned = PinnedTable(
        TABLE, (), write_ids, ValidTxnList(9), transaction_id=17, scratch=Scratch()
    )
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


def test_a_replaced_target_gets_its_previous_version_back_when_what_follows_fails(
    adapter, monkeypatch
):
    ran = []

    def lost():
        raise TransactionLostError("transaction 17 is lost")

    session = SimpleNamespace(sql=ran.append)
    node = SimpleNamespace(uninterrupted=nullcontext, session=session)
    recovery = adapter._recovery
    monkeypatch.setattr(recovery, "_statements", SimpleNamespace(node=node, session=session))
    monkeypatch.setattr(adapter, "drop_relation", ran.append)
    target = adapter.Relation.create(schema="marts", identifier="m", type="table")
    previous = target.replace(is_delta=True)
    with pytest.raises(TransactionLostError):
        recovery.run_or_restore(target, previous, 7, lost)
    with pytest.raises(TransactionLostError):
        recovery.run_or_restore(target, None, None, lost)
    recovery.run_or_restore(target, previous, 7, lambda: None)
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


def test_a_model_that_failed_is_not_hidden_by_what_it_leaves(adapter, monkeypatch):
    def fail(*_):
        raise PySparkException("Invalid method name: 'get_table'")

    target = adapter.Relation.create(schema="marts", identifier="m", type="table")
    handle = SimpleNamespace(session=None, write_lock=None, stages={}, uninterrupted=nullcontext)
    monkeypatch.setattr(adapter._staging._statements, "_node", lambda: handle)
    monkeypatch.setattr(adapter, "_handle", lambda: handle)
    monkeypatch.setattr(adapter.connections, "session", lambda: None)
    monkeypatch.setattr(schemas, "refuse_acid_target", fail)
    warnings = []
    monkeypatch.setattr(staging.logger, "warning", warnings.append)
    adapter.hiveacid_stage(target)
    adapter.post_model_hook({}, None)
    assert not handle.stages
    assert "marts.m, in which" not in warnings[0] and "marts.m was being built" in warnings[0]
    assert "spark.sql.hive.metastore.version" in warnings[0]


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("_get_one_catalog", (None, {"shop"}, None)),
        ("list_relations_without_caching", (None,)),
        ("drop_relation", (None,)),
    ],
)
def test_an_error_of_the_library_is_dbts_error(adapter, monkeypatch, method, arguments):
    def fail(*_):
        raise MetastoreError("The metastore does not answer.")

    for collaborator, name in (
        (adapter._catalog, "of_schemas"),
        (adapter._schemas, "relations"),
        (adapter._schemas, "drop"),
    ):
        monkeypatch.setattr(collaborator, name, fail)
    with pytest.raises(DbtRuntimeError, match="The metastore does not answer") as error:
        getattr(adapter, method)(*arguments)
    assert isinstance(error.value, MetastoreError)


@pytest.mark.parametrize(
    ("config", "setting", "in_the_metastore", "is_refused"),
    [
        ({"file_format": "orc"}, "true", True, True),
        ({"file_format": "orc"}, "false", True, False),
        ({"file_format": "orc"}, "true", False, False),
        ({"file_format": "orc", "location_root": "/x"}, "true", True, False),
        ({"file_format": "parquet"}, "true", True, False),
    ],
)
def test_orc_that_would_become_transactional_is_refused(
    adapter, monkeypatch, config, setting, in_the_metastore, is_refused
):
    monkeypatch.setattr(invocation, "has_its_tables_in", lambda context, uri: in_the_metastore)
    monkeypatch.setattr(adapter.run._client, "get_config_value", lambda key, default: setting)
    session = SimpleNamespace(sparkContext=None)
    monkeypatch.setattr(adapter, "_handle", lambda: SimpleNamespace(session=session))
    target = HiveAcidRelation.create(schema="marts", identifier="orders")
    if is_refused:
        with pytest.raises(AcidByDefaultError, match=r"marts\.orders is not built: .*create\.as\."):
            adapter.hiveacid_refuse_acid_by_default(target, config)
    else:
        adapter.hiveacid_refuse_acid_by_default(target, config)


_OF_PY4J = {"__name__": "py4j.java_gateway"}


def test_what_pyspark_makes_of_a_catalog_that_cannot_be_reached_is_explained(adapter):
    with pytest.raises(DbtRuntimeError, match="could not connect to the metastore of its own"):
        with adapter.connections.exception_handler("select 1"):
            exec("""raise TypeError("'JavaPackage' object is not callable")""", _OF_PY4J)
    with pytest.raises(TypeError), adapter.connections.exception_handler("select 1"):
        raise TypeError("another one")
