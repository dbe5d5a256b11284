"""Hive 4.0.1's jars and schema scripts, in a cache outside the project.

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

HIVE_VERSION = "4.0.1"
LOCK_FILE = Path(__file__).with_name(f"hive-{HIVE_VERSION}.lock")
CACHE_VARIABLE = "HIVEACID_CACHE"

#: The part of the metastore's distribution that its schema tool reads.
_SCRIPTS = "scripts/metastore/upgrade/derby"


@dataclass(frozen=True)
class HiveFiles:
    """What a Hive needs from disk."""

    #: The class path, in the lock file's order.
    jars: tuple[Path, ...]
    #: The metastore's home for the schema tool: holds `scripts/metastore/upgrade/derby`.
    metastore_home: Path


def say(message: str) -> None:
    """Print one line of progress to standard error."""
    print(f"[hive] {message}", file=sys.stderr, flush=True)


def cache_directory() -> Path:
    """Where all that is fetched or made once is kept."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen) if chosen else Path.home() / ".cache" / "dbt-hiveacid"


def hive_directory() -> Path:
    """The part of the cache that belongs to this version of Hive."""
    return cache_directory() / f"hive-{HIVE_VERSION}"


def hive_files(progress: Progress = say) -> HiveFiles:
    """Fetch what is not in the cache yet, and return where everything is.

    Raises FetchError when a file cannot be had, JavaError without the right Java.
    """
    artifacts = read_lock(LOCK_FILE)
    paths = fetch(artifacts, hive_directory() / "jars", progress)
    jars = tuple(path for path in paths if path.suffix == ".jar")
    (distribution,) = (path for path in paths if path.suffix != ".jar")
    home = hive_directory() / "metastore-home"
    if not home.exists():
        _unpack_scripts(distribution, home)
    return HiveFiles(jars, home)


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
