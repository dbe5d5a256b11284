"""Fetching by lock file, from a small repository on disk in place of Maven Central."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from hiveacid.errors import FetchError
from hiveacid.jars.artifacts import SETTINGS_VARIABLE, Artifact, fetch, read_lock
from hiveacid.jars.java import proxy_options
from integration.support.hive.jars import lock_file
from integration.support.hive.java import JavaError, find_java

CONTENT = b"not really a jar"
JAR = Artifact("org.example", "tool", "1.0", "jar", "", hashlib.sha256(CONTENT).hexdigest())
ARCHIVE = Artifact("org.example", "tool", "1.0", "tar.gz", "bin", JAR.sha256)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory in Maven's layout with both files, named by an Ivy settings file."""
    root = tmp_path / "repository"
    version = root / "org/example/tool/1.0"
    version.mkdir(parents=True)
    for artifact in (JAR, ARCHIVE):
        (version / artifact.filename).write_bytes(CONTENT)
    settings = tmp_path / "settings.xml"
    settings.write_text(
        '<ivysettings><settings defaultResolver="disk"/><property name="ivy.checksums" value=""/>'
        f'<resolvers><filesystem name="disk" m2compatible="true"><artifact pattern="{root}/'
        '[organisation]/[module]/[revision]/[artifact]-[revision](-[classifier]).[ext]"/>'
        "</filesystem></resolvers></ivysettings>"
    )
    monkeypatch.setenv(SETTINGS_VARIABLE, str(settings))
    return version


def test_fetches_then_reuses(repository: Path, tmp_path: Path) -> None:
    said: list[str] = []
    store = tmp_path / "store"
    assert fetch([JAR, ARCHIVE], store, said.append) == [
        store / "tool-1.0.jar",
        store / "tool-1.0-bin.tar.gz",
    ]
    assert (store / "tool-1.0.jar").read_bytes() == CONTENT
    said.clear()
    (repository / JAR.filename).unlink()
    fetch([JAR, ARCHIVE], store, said.append)
    assert said == []


def test_fetches_a_damaged_file_again(repository: Path, tmp_path: Path) -> None:
    said: list[str] = []
    (path,) = fetch([JAR], tmp_path / "store", said.append)
    path.write_bytes(CONTENT[:-1])
    assert fetch([JAR], tmp_path / "store", said.append) == [path]
    assert path.read_bytes() == CONTENT
    assert f"{path} is damaged, fetching it again" in said


def test_notices_damage_that_keeps_size_and_name(repository: Path, tmp_path: Path) -> None:
    (path,) = fetch([JAR], tmp_path / "store", print)
    path.write_bytes(CONTENT.swapcase())
    fetch([JAR], tmp_path / "store", print)
    assert path.read_bytes() == CONTENT


def test_refuses_other_bytes(repository: Path, tmp_path: Path) -> None:
    (repository / JAR.filename).write_bytes(b"something else")
    with pytest.raises(FetchError, match=f"org.example:tool:1.0: SHA-256 is .*{JAR.sha256}"):
        fetch([JAR], tmp_path / "store", print)
    assert not (tmp_path / "store" / JAR.filename).exists()


def test_names_what_is_not_there(repository: Path, tmp_path: Path) -> None:
    (repository / ARCHIVE.filename).unlink()
    with pytest.raises(FetchError, match="Could not fetch org.example:tool:1.0:tar.gz:bin") as told:
        fetch([JAR, ARCHIVE], tmp_path / "store", print)
    assert SETTINGS_VARIABLE in str(told.value)
    assert (tmp_path / "store" / JAR.filename).exists(), "files that have arrived are kept"


def test_hives_lock_file() -> None:
    artifacts = read_lock(lock_file())
    assert len({artifact.filename for artifact in artifacts}) == len(artifacts)
    assert all(len(artifact.sha256) == 64 for artifact in artifacts)
    assert [a.coordinate for a in artifacts if a.extension != "jar"] == [
        "org.apache.hive:hive-standalone-metastore-server:4.0.1:tar.gz:bin"
    ]
    lines = lock_file().read_text().splitlines()
    assert all(f"{artifact.coordinate} {artifact.sha256}" in lines for artifact in artifacts)


def test_proxy_variables_become_java_properties() -> None:
    environment = {
        "https_proxy": "http://user:secret@proxy.example:3128",
        "HTTP_PROXY": "proxy.example",
        "no_proxy": "localhost, .example",
    }
    assert proxy_options(environment) == [
        "-Dhttp.proxyHost=proxy.example",
        "-Dhttps.proxyHost=proxy.example",
        "-Dhttps.proxyPort=3128",
        "-Dhttp.nonProxyHosts=localhost|*.example",
    ]
    assert proxy_options({"no_proxy": "localhost"}) == []


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ('openjdk version "11.0.2" 2019-01-15', r"Java 17 is needed, but JAVA_HOME=.* is Java 11"),
        ('java version "1.8.0_392"', r"Java 17 is needed, but JAVA_HOME=.* is Java 8"),
        ("something else", "gave no version but: something else"),
    ],
)
def test_wrong_java(
    answer: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho '{answer}' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaError, match=f"{message}.* Install a JDK 17"):
        find_java.__wrapped__()


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    with pytest.raises(JavaError, match="No Java found: .* Install a JDK 17"):
        find_java.__wrapped__()
