"""Run a cut of the tests on releases of Spark that the project is not developed on.

python -m tools.spark_line 3.5.9 4.3.0

Each release is installed into `.spark/<version>`, which comes before the virtual environment on
Python's path. hiveacid/spark_versions.py says how many tests run on a line. The full cut writes
docs/spark-lines.md, and with it docs/install.md.
"""

import argparse
import datetime as dt
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from hiveacid.spark_versions import CUT, version_of
from tools import spark_results, support_matrix
from tools.spark_results import CRASHED, results_of

ROOT = Path(__file__).resolve().parent.parent
SPARKS = ROOT / ".spark"

# Each list of tests has a process of its own: a process has one Spark.
SHORT = [
    [
        "integration/test_kinds_of_tables.py"
        "::test_models_have_the_rows_of_the_hive_that_wrote_them",
        "integration/test_pushdown.py",
    ],
]
FULL = [
    ["tests/unit"],
    [
        "integration/test_kinds_of_tables.py",
        "integration/test_verify.py",
        # These lines differ from the development's in the columns that ORC is asked for, in what
        # Spark pushes down, in how it numbers rows, and in what its parser makes of SQL.
        "integration/test_delete_forms.py",
        "integration/test_names.py",
        "integration/test_pushdown.py",
        "integration/test_reader_names.py",
        "integration/test_reader_originals.py",
        "integration/test_reader_partitions.py",
        "integration/test_reader_types.py",
        "integration/test_reader_formats.py",
        "integration/test_sql_corpus.py",
        "integration/test_views.py",
        *(
            f"integration/test_evolution_of_formats.py::{test}"
            for test in (
                "test_every_widening",
                "test_fields_inside_of_columns",
                "test_refused_changes_inside_of_parquet_columns",
                "test_partitions_with_columns_of_other_types",
            )
        ),
        "integration/test_dbt_run.py",
    ],
    [
        # How Spark divides files, a relation with another session, and the nodes of Spark's plans.
        "tests/functional/test_cross_row_operators.py",
        "tests/functional/test_raw_row_ids.py",
        "tests/functional/test_state_stores.py::TestPlain::test_rows_are_appended_with_their_state",
    ],
]
#: Where the line has Delta and Iceberg.
WITH_LAKES = [
    [
        "integration/test_incremental.py::test_every_kind_of_target_follows_one_history",
        "integration/test_incremental_dbt.py::test_commands_of_dbt",
        "integration/test_incremental_iceberg.py",
        "integration/test_incremental_merge.py",
    ],
]
BUILDS = [["tests/unit", "integration/test_kinds_of_tables.py", "integration/test_pushdown.py"]]


def main() -> int:
    """Install and test each version; return 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("versions", nargs="+", metavar="VERSION", help="a release of pyspark")
    parser.add_argument("--cut", choices=("short", "full"), default="full", help="how many tests")
    parser.add_argument("--run", nargs=argparse.REMAINDER, help="run a module, not the tests")
    options = parser.parse_args()
    if options.run:
        return max(run(install(version), options.run) for version in options.versions)
    outcomes = {}
    for version in options.versions:
        passed, results = run_cut(install(version), cut_of(version, options.cut))
        outcomes[version] = passed
        if options.cut == "full":
            spark_results.write(version, results, dt.date.today())
            support_matrix.write()
    for version, passed in outcomes.items():
        print(f"PySpark {version}: {'passed' if passed else 'failed'}")
    return 0 if all(outcomes.values()) else 1


def cut_of(version: str, cut: str) -> list[list[str]]:
    """Return the tests that run on a version."""
    line = version_of(version)
    if cut == "short":
        return SHORT
    if line.tests != CUT:
        return BUILDS
    return [*FULL, *(WITH_LAKES if line.delta and line.iceberg else [])]


def install(version: str) -> Path:
    """Return the directory of a release of pyspark; install the release if it is missing."""
    directory = SPARKS / version
    if not (directory / "pyspark").exists():
        pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
        pip += ["--no-compile"]
        subprocess.run([*pip, "--target", str(directory), f"pyspark=={version}"], check=True)
    return directory


def run_cut(directory: Path, cut: list[list[str]]) -> tuple[bool, dict[str, str]]:
    """Run the tests of a cut on the pyspark in a directory.

    Return whether all pass, and the results by file.
    """
    passed, results = True, {}
    for tests in cut:
        with tempfile.TemporaryDirectory() as scratch:
            report = Path(scratch) / "report.xml"
            to_report = ["-o", "junit_family=xunit1", f"--junitxml={report}"]
            code = run(directory, ["pytest", "-p", "no:cacheprovider", *to_report, *tests])
            passed &= code == 0
            # Without a report pytest itself has failed.
            results |= results_of(report) if report.exists() else dict.fromkeys(tests, CRASHED)
    return passed, results


def run(directory: Path, arguments: list[str]) -> int:
    """Run a module on the pyspark in a directory; return its exit code."""
    path = os.pathsep.join([str(directory), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path, "SPARK_HOME": str(directory / "pyspark")}
    return subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
