"""Hive's jars and schema scripts, in a cache outside the project.

The cache is `$HIVEACID_CACHE`, else `~/.cache/dbt-hiveacid`; everything in it can be deleted and
comes back with the next start.
"""

from __future__ import annotations

import os
import shutil
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hiveacid.jars.artifacts import Progress, fetch, read_lock
from integration.support.hive import hive_3
from integration.support.hive.java import jar_of_jobs

HIVE_VERSION = "4.0.1"
VERSIONS = (HIVE_VERSION, hive_3.VERSION)
_SCHEMA_TOOL = "org.apache.hadoop.hive.metastore.tools.schematool.MetastoreSchemaTool"
CACHE_VARIABLE = "HIVEACID_CACHE"

#: The part of the metastore's distribution that its schema tool reads.
_SCRIPTS = "scripts/metastore/upgrade/derby"


@dataclass(frozen=True)
class HiveFiles:
    """What a Hive needs from disk."""

    #: The part of the cache that belongs to this version of Hive.
    directory: Path
    #: The jar that stands before the others where Hive starts jobs.
    jobs: Path
    #: The class path, in the lock file's order.
    jars: tuple[Path, ...]
    #: The metastore's home for the schema tool: holds `scripts/metastore/upgrade/derby`.
    metastore_home: Path
    #: The class that makes the metastore's database.
    schema_tool: str = _SCHEMA_TOOL


def say(message: str) -> None:
    """Print one line of progress to standard error."""
    print(f"[hive] {message}", file=sys.stderr, flush=True)


def cache_directory() -> Path:
    """Where all that is fetched or made once is kept."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen) if chosen else Path.home() / ".cache" / "dbt-hiveacid"


def hive_directory(version: str = HIVE_VERSION) -> Path:
    """The part of the cache that belongs to a version of Hive."""
    return cache_directory() / f"hive-{version}"


def lock_file(version: str = HIVE_VERSION) -> Path:
    """The file that names all jars of a version of Hive."""
    return Path(__file__).with_name(f"hive-{version}.lock")


def hive_files(progress: Progress = say, version: str = HIVE_VERSION) -> HiveFiles:
    """Fetch what is not in the cache yet, and return where everything is.

    Raises FetchError when a file cannot be had, JavaError without the right Java.
    """
    directory = hive_directory(version)
    artifacts = read_lock(lock_file(version))
    paths = fetch(artifacts, directory / "jars", progress)
    jars = tuple(path for path in paths if path.suffix == ".jar")
    (distribution,) = (path for path in paths if path.suffix != ".jar")
    home = directory / "metastore-home"
    if not home.exists():
        _unpack_scripts(distribution, home)
    jobs = jar_of_jobs(jars, directory)
    if version == hive_3.VERSION:
        jars = hive_3.class_path(jars, hive_files(progress).jars, directory)
        return HiveFiles(directory, jobs, jars, home, hive_3.SCHEMA_TOOL)
    return HiveFiles(directory, jobs, jars, home)


def _unpack_scripts(distribution: Path, home: Path) -> None:
    """Unpack the schema scripts of the distribution, and nothing else, as `home`."""
    with tempfile.TemporaryDirectory(dir=home.parent) as scratch:
        with tarfile.open(distribution) as archive:
            for member in archive:
                # The first part of the name is the distribution's own directory.
                name = member.name.partition("/")[2]
                content = archive.extractfile(member)
                if content is None or not name.startswith(f"{_SCRIPTS}/"):
                    continue
                target = Path(scratch) / "home" / name
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as file:
                    shutil.copyfileobj(content, file)
        try:
            (Path(scratch) / "home").rename(home)
        except OSError:
            # Another process was first.
            if not home.is_dir():
                raise
