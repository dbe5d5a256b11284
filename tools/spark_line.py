"""Run a cut of the tests on other versions of Spark than the one of the development.

python -m tools.spark_line 3.5.9 4.3.0

Each version is installed into `.spark/<version>` and stands before the virtual environment's own on
the path. The cut reads real Hive tables; what needs Delta or Spark's catalog in a Hive 4 metastore
is not part of it, since those exist for single versions of Spark only.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SPARKS = ROOT / ".spark"

CUT = [
    "integration/test_faults.py",
    "integration/test_verify.py",
    "integration/test_reader_transactions.py",
    # These lines take other ways than the one of the development: which columns ORC is asked for,
    # what Spark pushes down, and how it numbers rows.
    "integration/test_delete_forms.py",
    "integration/test_reader_names.py",
    "integration/test_reader_originals.py",
    "integration/test_reader_partitions.py",
    "integration/test_reader_types.py",
    "integration/test_reader_formats.py",
    *(
        f"integration/test_evolution_of_formats.py::{test}"
        for test in (
            "test_every_widening",
            "test_fields_inside_of_columns",
            "test_refused_changes_inside_of_parquet_columns",
            "test_partitions_with_columns_of_other_types",
        )
    ),
]
#: On a Spark with a catalog of its own, in a second process.
FUNCTIONAL_CUT = [
    "tests/functional/test_faults.py",
    # How Spark divides files, and a relation with another session.
    "tests/functional/test_raw_row_ids.py",
    "tests/functional/test_state_stores.py::TestPlain::test_rows_are_appended_with_their_state",
]


def main() -> int:
    """Install and test each version; return 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("versions", nargs="+", metavar="VERSION", help="a release of pyspark")
    versions = parser.parse_args().versions
    failed = [version for version in versions if not passes(install(version))]
    for version in versions:
        print(f"PySpark {version}: {'failed' if version in failed else 'passed'}")
    return 1 if failed else 0


def install(version: str) -> Path:
    """The directory that has this version of pyspark, installed there unless it is."""
    directory = SPARKS / version
    if not (directory / "pyspark").exists():
        pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
        subprocess.run([*pip, "--target", str(directory), f"pyspark=={version}"], check=True)
    return directory


def passes(directory: Path) -> bool:
    """Whether the cut passes on the pyspark in a directory."""
    path = os.pathsep.join([str(directory), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path, "SPARK_HOME": str(directory / "pyspark")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    outcomes = [
        subprocess.run([*command, *cut], cwd=ROOT, env=environment).returncode
        for cut in (CUT, FUNCTIONAL_CUT)
    ]
    return outcomes == [0, 0]


if __name__ == "__main__":
    sys.exit(main())
