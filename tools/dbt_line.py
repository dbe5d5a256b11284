"""Run a cut of the tests on releases of dbt-core that the project is not developed on.

python -m tools.dbt_line 1.12.6

Each release is installed into `.dbt/<version>`, together with requirements that the virtual
environment lacks. On Python's path this directory comes before the virtual environment.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
LINES = ROOT / ".dbt"

NEWEST = "1.12.6"
"""The release on which `make test` runs the short cut."""

#: The parser in Rust is off unless a flag asks for it, and dbt-core calls it only then. Its
#: build downloads its wheel from GitHub.
NOT_NEEDED = {"dbt-core-experimental-parser"}

#: Directories of the unit tests that import dbt.
ADAPTER_TESTS = ["adapter", "incremental", "metadata", "sources", "spark", "targets"]

#: Tests that meet dbt-core's own code: its manifest and its events, the phases of a command, each
#: materialization, threads, a separate process, and what dbt's suites expect of an adapter. Each
#: list runs in its own process: a process has one Spark.
CUTS = {
    "short": [
        # The library's own tests import no dbt: they would show the same on each release.
        [*(f"tests/unit/{name}" for name in ADAPTER_TESTS), "tests/unit/test_conformance.py"],
        ["integration/test_dbt_run.py"],
    ],
    "full": [
        ["tests/unit"],
        ["tests/functional"],
        [
            "integration/test_artifacts.py",
            "integration/test_dbt_errors.py",
            "integration/test_dbt_exit.py",
            "integration/test_dbt_nodes.py",
            "integration/test_dbt_run.py",
            "integration/test_hold.py",
            "integration/test_incremental_dbt.py",
            "integration/test_metadata.py",
            "integration/test_microbatch.py",
        ],
    ],
}


def main() -> int:
    """Install and test each version; return 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("versions", nargs="+", metavar="VERSION", help="a release of dbt-core")
    parser.add_argument("--cut", choices=CUTS, default="full", help="how many tests")
    options = parser.parse_args()
    outcomes = {v: passes(install(v), CUTS[options.cut]) for v in options.versions}
    for version, passed in outcomes.items():
        print(f"dbt-core {version}: {'passed' if passed else 'failed'}")
    return 0 if all(outcomes.values()) else 1


def install(version: str) -> Path:
    """Return the directory of a release of dbt-core; install the release if it is missing."""
    directory = LINES / version
    if directory.exists():
        return directory
    # An interrupted installation leaves a directory of another name.
    half = LINES / f"{version}.half"
    shutil.rmtree(half, ignore_errors=True)
    missing = [f"dbt-core=={version}"]
    while missing:
        pip_install(half, missing)
        missing = sorted(find_missing(half))
    half.rename(directory)
    return directory


def pip_install(directory: Path, requirements: list[str]) -> None:
    """Install packages, without what they require, into a directory."""
    pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--target", str(directory), *requirements], check=True)


def find_missing(directory: Path) -> Iterator[str]:
    """Yield requirements of the packages in a directory that it and the environment lack.

    Versions are those of constraints.txt where these fit.
    """
    installed = list(distributions(path=[str(directory)]))
    pins = read_pins()
    # The first on the path counts.
    versions = {name_of(d): d.version for d in [*distributions(), *installed]}
    for distribution in installed:
        for line in distribution.requires or ():
            requirement = Requirement(line)
            name = canonicalize_name(requirement.name)
            if name in NOT_NEEDED or (requirement.marker and not requirement.marker.evaluate()):
                continue
            if name in versions and requirement.specifier.contains(versions[name]):
                continue
            pin = pins.get(name)
            is_pinned = pin is not None and requirement.specifier.contains(pin)
            yield f"{name}=={pin}" if is_pinned else f"{name}{requirement.specifier}"


def read_pins() -> dict[str, str]:
    """Return the versions that constraints.txt names for this Python, by the package's name."""
    pins: dict[str, str] = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            pin = Requirement(line)
            if pin.marker is None or pin.marker.evaluate():
                pins[canonicalize_name(pin.name)] = str(pin.specifier).removeprefix("==")
    return pins


def name_of(distribution: Distribution) -> str:
    """Return a distribution's name in its canonical form."""
    return canonicalize_name(distribution.metadata["Name"])


def passes(directory: Path, cut: list[list[str]]) -> bool:
    """Return whether all tests of a cut pass on the dbt-core in a directory."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        return all(list(pool.map(lambda tests: pass_together(directory, tests), cut)))


def pass_together(directory: Path, tests: list[str]) -> bool:
    """Run tests in one process; print its output, and return whether the tests pass."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(directory), str(ROOT)]),
        # -m is not on the command line: dbt-core 1.12 looks there for its own, which is deprecated.
        # dbt-core 1.10 imports a name that click 8.5 has deprecated.
        "PYTEST_ADDOPTS": "-m 'not long and not conformance' "
        "-W ignore::DeprecationWarning:dbt.cli.options",
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *tests],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    print(done.stdout, flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
