"""Where Spark's own tables live, without starting Spark."""

from unittest.mock import MagicMock

import pytest
from dbt.adapters.contracts.connection import Connection
from dbt.adapters.exceptions import FailedToConnectError

from dbt.adapters.hiveacid.connections import HiveAcidConnectionManager
from dbt.adapters.hiveacid.credentials import HiveAcidCredentials
from dbt.adapters.hiveacid.spark import driver
from dbt.adapters.hiveacid.spark.driver import _catalog, _is_in
from dbt.adapters.hiveacid.spark.time_zones import SESSION_ZONE
from hiveacid.metastore.security.settings import Kerberos, Security

URI = "thrift://metastore:9083"
SAME = {"spark.hadoop.hive.metastore.uris": URI}


@pytest.fixture(autouse=True)
def no_spark_on_this_machine(monkeypatch):
    directories = ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "HIVE_CONF_DIR", "SPARK_HOME")
    for name in (*directories, "SPARK_SUBMIT_OPTS", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS"):
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

    def start(given, log, login, variables):
        settings.append({**given, **variables})
        running = MagicMock()
        monkeypatch.setattr(driver.SparkContext, "_active_spark_context", running)
        return running

    monkeypatch.setattr(driver, "_start", start)
    monkeypatch.setattr(driver, "_started", None)
    monkeypatch.setattr(driver.SparkContext, "_active_spark_context", None)
    monkeypatch.setattr(driver, "SparkSession", MagicMock())
    monkeypatch.setattr(driver, "install_gate", MagicMock())
    # Which Spark's file systems tell: tests/functional/test_process.py.
    monkeypatch.setattr(driver, "_is_same_directory", lambda *_: False)
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
    driver.root_session(parameters, URI, lambda: "hdfs://lake/default", None)
    (settings,) = started
    assert settings.get("spark.sql.warehouse.dir") == expected


JAVA = {"spark.driver.extraJavaOptions": "-Xss4m -Duser.timezone=UTC"}


@pytest.mark.parametrize(
    ("hive_zone", "parameters", "driver_in", "executors_in"),
    [
        ("Europe/Berlin", {}, "Europe/Berlin", "Europe/Berlin"),
        ("UTC", {"spark.driver.extraJavaOptions": "-Xss4m"}, "UTC", "UTC"),
        (None, {}, None, None),
        (None, {SESSION_ZONE: "Europe/Berlin"}, None, None),
        ("Europe/Berlin", JAVA, None, None),
        ("UTC", {"spark.executor.extraJavaOptions": "-Duser.timezone=UTC"}, None, None),
        ("UTC", {"spark.executor.defaultJavaOptions": "-Duser.timezone=UTC"}, None, None),
        ("UTC", {"spark.executorEnv.TZ": "Asia/Tokyo"}, None, "Asia/Tokyo"),
    ],
)
def test_spark_starts_in_the_time_zone_of_hive(
    hive_zone, parameters, driver_in, executors_in, started
):
    """Spark reads ORC and text by the clock of its Java: no other key may move existing tables.

    One zone for the driver and another one for executors end each query of ORC timestamps.
    """
    settings = start(hive_zone, parameters, started)
    assert settings.get("TZ") == driver_in
    assert settings.get("spark.executorEnv.TZ") == executors_in


def start(hive_zone, parameters, started):
    """Start Spark for a profile. Return Spark's settings and the driver's variables."""
    credentials = HiveAcidCredentials(
        schema="marts",
        metastore_uri=URI,
        hive_time_zone=hive_zone,
        server_side_parameters={**parameters, "spark.sql.catalogImplementation": "in-memory"},
    )
    connection = Connection("hiveacid", "master", credentials)
    HiveAcidConnectionManager.open(connection)
    (settings,) = started
    return settings


@pytest.mark.parametrize(
    ("defaults", "is_chosen"),
    [
        ("# spark.driver.extraJavaOptions -Duser.timezone=UTC\n\nspark.master yarn", False),
        ("spark.driver.extraJavaOptions   -Xss4m -Duser.timezone=UTC", True),
        ("spark.executor.defaultJavaOptions=-Duser.timezone=UTC", True),
        ("  spark.executorEnv.TZ : Asia/Tokyo", True),
    ],
)
@pytest.mark.parametrize(("variable", "folder"), [("SPARK_CONF_DIR", ""), ("SPARK_HOME", "conf")])
def test_defaults_of_spark_choose_a_time_zone(
    defaults, is_chosen, variable, folder, tmp_path, monkeypatch, started
):
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / "spark-defaults.conf").write_text(defaults)
    monkeypatch.setenv(variable, str(tmp_path))
    settings = start("Europe/Berlin", {}, started)
    assert settings.get("TZ") == (None if is_chosen else "Europe/Berlin")
    assert settings.get("spark.executorEnv.TZ") == settings.get("TZ")


def test_the_profile_replaces_defaults_of_spark(tmp_path, monkeypatch, started):
    (tmp_path / "spark-defaults.conf").write_text(
        "spark.driver.extraJavaOptions -Duser.timezone=UTC"
    )
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    settings = start("Europe/Berlin", {"spark.driver.extraJavaOptions": "-Xss4m"}, started)
    assert settings["TZ"] == settings["spark.executorEnv.TZ"] == "Europe/Berlin"


def test_the_environment_chooses_a_time_zone(monkeypatch, started):
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xss4m -Duser.timezone=UTC")
    assert not {"TZ", "spark.executorEnv.TZ"} & start("Europe/Berlin", {}, started).keys()


OTHER = "thrift://another:9083"
LAKE = {"spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog"}
EMBEDDED = {"spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:derby:;databaseName=secret"}


@pytest.mark.parametrize(
    ("first", "second", "uri", "refused"),
    [
        ({}, {}, URI, None),
        ({}, {}, OTHER, "spark.hadoop.hive.metastore.uris"),
        ({}, {"spark.hive.metastore.uris": URI}, OTHER, None),
        ({}, {"spark.hive.metastore.uris": OTHER}, URI, "spark.hive.metastore.uris"),
        ({}, EMBEDDED, URI, "spark.hadoop.javax.jdo.option.ConnectionURL"),
        (EMBEDDED, {}, URI, "spark.hadoop.hive.metastore.uris"),
        (EMBEDDED, EMBEDDED, OTHER, None),
        ({}, LAKE, URI, "spark.sql.catalog.lake"),
        (LAKE, LAKE, URI, None),
        (LAKE, {}, URI, None),
        ({}, {"spark.sql.warehouse.dir": "/mine"}, URI, "spark.sql.warehouse.dir"),
        ({}, {"spark.sql.warehouse.dir": "hdfs://lake/default"}, URI, None),
        ({}, {"spark.sql.catalogImplementation": "hive"}, URI, None),
        ({}, {"spark.sql.shuffle.partitions": "7", "spark.executor.memory": "9g"}, URI, None),
    ],
)
def test_a_second_target_does_not_use_the_tables_of_the_first(first, second, uri, refused, started):
    driver.root_session(first, URI, lambda: "hdfs://lake/default", None)
    if refused is None:
        driver.root_session(second, uri, lambda: "unused", None)
    else:
        with pytest.raises(FailedToConnectError, match=f"other values of {refused} than") as raised:
            driver.root_session(second, uri, lambda: "unused", None)
        assert "secret" not in str(raised.value)
    assert len(started) == 1


@pytest.mark.parametrize(
    ("parameters", "refused"),
    [
        ({}, None),
        ({"spark.sql.catalogImplementation": "in-memory"}, None),
        ({"spark.sql.catalogImplementation": "hive"}, "spark.sql.catalogImplementation"),
        (LAKE, "spark.sql.catalog.lake"),
    ],
)
def test_a_spark_of_others_is_used_unless_the_profile_says_where(parameters, refused, started):
    running = MagicMock()
    running.getConf.return_value.getAll.return_value = [("spark.master", "local[2]")]
    driver.SparkContext._active_spark_context = running
    if refused is None:
        driver.root_session(parameters, URI, lambda: "unused", None)
    else:
        with pytest.raises(FailedToConnectError, match=f"other values of {refused} than"):
            driver.root_session(parameters, URI, lambda: "unused", None)
    assert started == []


@pytest.mark.parametrize(
    "uris", [URI, f"thrift://another:9083, {URI}", "thrift://another:9083", None]
)
def test_a_spark_whose_tables_are_in_the_metastore_must_have_logged_in(uris, started, monkeypatch):
    # Also where a hive-site.xml says so, which Spark reads.
    login, running = MagicMock(), MagicMock()
    login.settings.return_value = {}
    login.security = Security(Kerberos())
    running._jsc.hadoopConfiguration.return_value.get.return_value = uris
    monkeypatch.setattr(driver, "_start", lambda *given: running)
    driver.root_session({"spark.sql.catalogImplementation": "hive"}, URI, lambda: "", None, login)
    assert login.check.called == (uris is not None and URI in uris)
