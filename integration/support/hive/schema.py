"""The metastore's database: made once by Hive's schema tool, copied for every server."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from hiveacid.jars.artifacts import Progress
from integration.support.hive.config import HivePorts, HiveSettings, site_properties, write_site
from integration.support.hive.hive_3 import of_metastore
from integration.support.hive.jars import HiveFiles
from integration.support.hive.java import OPEN_OPTIONS, find_java


class SchemaError(RuntimeError):
    """Hive's schema tool failed."""


def create_database(files: HiveFiles, work: Path, progress: Progress) -> None:
    """Put an empty metastore database into `work/metastore_db`.

    Raises SchemaError with the tool's last lines when the database cannot be made.
    """
    template = files.directory / "metastore_db"
    if not template.exists():
        progress("making the metastore's database (once; some 10 s)")
        _make_template(files, template)
    shutil.copytree(template, work / "metastore_db")


def _make_template(files: HiveFiles, template: Path) -> None:
    with tempfile.TemporaryDirectory(dir=template.parent) as scratch:
        work = Path(scratch)
        conf = work / "conf"
        conf.mkdir()
        # No server is started: its ports are never used.
        properties = site_properties(HiveSettings(), HivePorts(0, 0), work, work)
        write_site(properties, conf / "hive-site.xml")
        write_site(of_metastore(properties), conf / "metastore-site.xml")
        class_path = os.pathsep.join([str(conf), *map(str, files.jars)])
        done = subprocess.run(
            [
                str(find_java().executable),
                *OPEN_OPTIONS,
                *("-cp", class_path, files.schema_tool, "-dbType", "derby", "-initSchema"),
            ],
            env={**os.environ, "METASTORE_HOME": str(files.metastore_home)},
            cwd=work,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        if done.returncode:
            tail = "\n".join(done.stdout.splitlines()[-40:])
            raise SchemaError(f"Hive's schema tool ended with {done.returncode}:\n{tail}")
        try:
            (work / "metastore_db").rename(template)
        except OSError:
            # Another process was first.
            if not template.is_dir():
                raise
