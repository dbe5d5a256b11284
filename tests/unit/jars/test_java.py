"""The Java that runs Ivy is looked for as Spark does."""

import pytest

from hiveacid.errors import JavaNotFoundError
from hiveacid.jars.java import bundled_jar, java_command


def make_java(directory):
    java = directory / "java"
    directory.mkdir(parents=True)
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    return java


def test_java_home_goes_before_the_path(tmp_path, monkeypatch):
    of_home, on_path = make_java(tmp_path / "home/bin"), make_java(tmp_path / "on_path")
    monkeypatch.setenv("PATH", str(on_path.parent))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert java_command() == of_home
    monkeypatch.delenv("JAVA_HOME")
    assert java_command() == on_path


def test_no_java(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(JavaNotFoundError, match="JAVA_HOME is not set, and PATH has no java"):
        java_command()
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(JavaNotFoundError, match="JAVA_HOME is /nowhere, and /nowhere/bin/java"):
        java_command()


def test_a_jar_of_pyspark():
    assert bundled_jar("ivy-*.jar").is_file()
    with pytest.raises(FileNotFoundError, match="No nothing.jar in"):
        bundled_jar("nothing.jar")
