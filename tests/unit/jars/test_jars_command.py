"""`python -m hiveacid.jars`, with a fetcher that fetches nothing."""

from pathlib import Path

import pytest
import yaml

from hiveacid.errors import FetchError
from hiveacid.jars import __main__ as command
from hiveacid.jars.artifacts import read_lock
from hiveacid.jars.hive_client import VERSIONS, client_jars, default_directory
from integration.support.hive.jars import lock_file


@pytest.mark.parametrize("version", VERSIONS)
def test_it_prints_the_settings_that_name_the_jars(version, tmp_path, monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(command, "fetch", lambda *arguments: asked.append(arguments[:2]))
    assert command.main([str(tmp_path / "a" / ".." / "client"), "--hive", version]) == 0
    assert asked == [(client_jars(version), tmp_path / "client")]
    assert yaml.safe_load(capsys.readouterr().out) == {
        "spark.sql.hive.metastore.version": version,
        "spark.sql.hive.metastore.jars": "path",
        "spark.sql.hive.metastore.jars.path": f"file://{tmp_path}/client/*.jar",
    }


def test_it_fails_with_the_reason(tmp_path, monkeypatch, capsys):
    def fail(*_):
        raise FetchError("Could not fetch a:b:1 into here.")

    monkeypatch.setattr(command, "fetch", fail)
    assert command.main([str(tmp_path)]) == 1
    assert capsys.readouterr() == (
        "",
        "[HIVEACID_FETCH_FAILED] Could not fetch a:b:1 into here.\n",
    )


def test_the_jars_are_in_the_users_cache_unless_said_otherwise(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert default_directory("4.0.1") == Path("/cache/dbt-hiveacid/hive-client-4.0.1")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_directory("3.1.3") == Path.home() / ".cache/dbt-hiveacid/hive-client-3.1.3"


@pytest.mark.parametrize("version", VERSIONS)
def test_the_tests_of_hive_run_with_the_same_jars(version):
    """The tests' Spark loads these jars from the cache of the tests' Hive."""
    jars = client_jars(version)
    assert jars and set(jars) <= set(read_lock(lock_file(version)))
