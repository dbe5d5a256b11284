"""Set up a fresh clone: virtual environment, packages, Hive's jars. Standard library only.

python tools/bootstrap.py packages
python tools/bootstrap.py hive

The Makefile calls it. The packages need a Python 3.10 to 3.14 (this one, else one on PATH), and
Hive needs a JDK 17; everything else is downloaded. A second run continues where the first stopped.
"""

import os
import re
import runpy
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
#: Make compares the times of these two with those of the files that each step depends on.
READY = VENV / "ready"
HIVE_READY = VENV / "hive-ready"
#: The best one first. All tests run on dbt-core 1.11, which does not run on Python 3.14.
SUPPORTED = [(3, 13), (3, 12), (3, 11), (3, 10), (3, 14)]
#: Files below this size are not worth a line.
LARGE_MEGABYTES = 5

STARTED = time.monotonic()


def main() -> int:
    """Do the step that the command line names; return the exit code."""
    if sys.version_info[:2] not in SUPPORTED:
        return run_with_supported_python()
    steps = {"packages": set_up_packages, "hive": set_up_hive}
    try:
        steps[sys.argv[1]]()
    # java.py was run, not imported: its JavaError, a RuntimeError, has no name here.
    except (SetUpError, RuntimeError) as error:
        print(f"\nSet-up failed: {error}", file=sys.stderr)
        return 1
    step("Set up")
    return 0


def set_up_packages() -> None:
    """Make the virtual environment and install the packages."""
    step(f"Virtual environment {VENV.relative_to(ROOT)}")
    make_virtual_environment()
    step("Python packages (the first time: about 500 MB, some minutes)")
    install_packages()
    READY.touch()


def set_up_hive() -> None:
    """Find Java and fetch Hive's jars."""
    step("Java")
    java = runpy.run_path(str(ROOT / "integration" / "support" / "hive" / "java.py"))
    found = java["find_java"]()
    print(f"    Java {found.major}: {found.executable}")
    step("Apache Hive's jars (the first time: 400 MB, some minutes)")
    run([python(), "-m", "integration.support.hive", "jars"])
    HIVE_READY.touch()


class SetUpError(Exception):
    """A step failed; the message says what to do."""


def step(name: str) -> None:
    """Print the name of the step that begins, after the seconds since the start."""
    print(f"[{time.monotonic() - STARTED:5.0f} s] {name}", flush=True)


def run_with_supported_python() -> int:
    """Run this script again with a Python of a supported version, if PATH has one."""
    for major, minor in SUPPORTED:
        candidate = shutil.which(f"python{major}.{minor}")
        # A name on PATH may be a version manager's stand-in that does not run.
        if candidate and subprocess.run([candidate, "-c", ""], capture_output=True).returncode == 0:
            os.execv(candidate, [candidate, *sys.argv])
    print(
        f"Set-up failed: Python 3.10 to 3.14 is needed, this is {sys.version.split()[0]}, and PATH "
        "has none of them. Install one, or name it: make PYTHON=/path/to/python3.13 …",
        file=sys.stderr,
    )
    return 1


def make_virtual_environment() -> None:
    """Make `.venv`, unless it is there and of this Python's version."""
    if python().exists():
        version = subprocess.run(
            [python(), "-c", "import sys; print(*sys.version_info[:2], sep='.')"],
            capture_output=True,
            text=True,
        ).stdout.strip()
        if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
            print(f"    is there, with Python {version}")
            return
        shutil.rmtree(VENV)
    done = subprocess.run(
        [sys.executable, "-m", "venv", VENV],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        shutil.rmtree(VENV, ignore_errors=True)
        raise SetUpError(
            f"{done.stdout.strip()}\nOn Debian and Ubuntu the package python3-venv is needed."
        )
    print(f"    made with Python {sys.version.split()[0]}")


def install_packages() -> None:
    """Install both distributions (editable) and what their development needs, as pinned."""
    # The pip that comes with Python takes twice as long for the rest. The build backends are
    # installed once, pinned: pip would download the newest for each distribution that it builds.
    pip_install("pip", "hatchling", "setuptools")
    requirements = ("-r", "requirements-dev.txt", "-e", "./hiveacid", "-e", ".")
    pip_install("--no-build-isolation", *requirements)
    print("    all there")


def pip_install(*requirements: str) -> None:
    """Install requirements in the pinned versions; print the steps that take long."""
    command: list[str | Path] = [
        python(),
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--no-color",
    ]
    # Python compiles what it imports; pip would compile thousands of files that are never imported.
    command += ["--no-compile", "-c", "constraints.txt", *requirements]
    output = []
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=ROOT,
    ) as pip:
        assert pip.stdout is not None
        for line in pip.stdout:
            output.append(line)
            shown = progress_of(line)
            if shown:
                print(f"    {shown}", flush=True)
    if pip.returncode:
        tail = "".join(output[-30:])
        raise SetUpError(
            f"pip ended with {pip.returncode}:\n{tail}\nIf the network is the reason, run it again."
        )


def progress_of(line: str) -> str:
    """Return what to print of a line of pip's output: a long step, or nothing."""
    download = re.search(r"Downloading (\S+?-\d[\d.]*\d)\S* \(([\d.]+) MB\)", line)
    if download:
        name, megabytes = download.groups()
        return f"{name} ({megabytes} MB)" if float(megabytes) >= LARGE_MEGABYTES else ""
    return "installing" if line.startswith("Installing collected packages") else ""


def run(command: "list[str | Path]") -> None:
    """Run a command in the project's directory, its output passed on."""
    if subprocess.run(command, cwd=ROOT).returncode:
        raise SetUpError(f"{' '.join(map(str, command))} failed, see above")


def python() -> Path:
    """Return the virtual environment's Python."""
    return VENV / "bin" / "python"


if __name__ == "__main__":
    sys.exit(main())
