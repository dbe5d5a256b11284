"""Where Spark's own tables live, without starting Spark."""

from unittest.mock import MagicMock

import pytest

from dbt.adapters.hiveacid.spark import process
from dbt.adapters.hiveacid.spark.process import _catalog, _is_in

URI = "thrift://metastore:9083"
SAME = {"spark.hadoop.hive.metastore.uris": URI}


@pytest.fixture(autouse=True)
def no_spark_on_this_machine(monkeypatch):
    for name in ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "HIVE_CONF_DIR", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"spark.master": "yarn", "spark.sql.warehouse.dir": "/warehouse"},
        {"spark.sql.hive.metastore.version": "4.0.1", "spark.sql.hive.metastore.jars": "path"},
    ],
)
def test_they_live_with_the_sources_when_nothing_is_said(parameters):
    assert _catalog(parameters, URI) == SAME


@pytest.mark.parametrize(
    "key",
    [
        "spark.hadoop.hive.metastore.uris",
        "spark.hive.metastore.uris",
        "spark.hadoop.javax.jdo.option.ConnectionURL",
        "spark.sql.catalogImplementation",
    ],
)
def test_a_setting_of_the_catalog_decides(key):
    assert _catalog({key: "anything"}, URI) == {}


@pytest.mark.parametrize(
    "variable, folder", [("HADOOP_CONF_DIR", ""), ("SPARK_CONF_DIR", ""), ("SPARK_HOME", "conf")]
)
def test_a_hive_site_decides(variable, folder, tmp_path, monkeypatch):
    (tmp_path / folder).mkdir(exist_ok=True)
    monkeypatch.setenv(variable, str(tmp_path))
    assert _catalog({}, URI) == SAME
    (tmp_path / folder / "hive-site.xml").touch()
    assert _catalog({}, URI) == {}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"spark.hadoop.hive.metastore.uris": "thrift://a:9083"}, True),
        ({"spark.hive.metastore.uris": "thrift://b:9083, thrift://c:9083"}, True),
        ({"spark.hadoop.hive.metastore.uris": "thrift://c:9083"}, False),
        ({}, False),
    ],
)
def test_spark_may_share_the_sources_metastore(settings, expected):
    assert _is_in(settings, "thrift://a:9083,thrift://b:9083") is expected


@pytest.fixture
def started(monkeypatch):
    """The settings that Spark would be started with, in the order of the starts."""
    settings = []
    monkeypatch.setattr(process, "_start", lambda given, log: settings.append(given))
    monkeypatch.setattr(process.SparkContext, "_active_spark_context", None)
    monkeypatch.setattr(process, "SparkSession", MagicMock())
    return settings


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, "hdfs://lake/default"),
        ({"spark.sql.warehouse.dir": "/mine"}, "/mine"),
        ({"spark.hadoop.hive.metastore.uris": "thrift://another:9083"}, None),
        ({"spark.sql.catalogImplementation": "in-memory"}, None),
    ],
)
def test_new_databases_are_where_the_metastore_has_its_own(parameters, expected, started):
    process.root_session(parameters, URI, lambda: "hdfs://lake/default", None)
    (settings,) = started
    assert settings.get("spark.sql.warehouse.dir") == expected
