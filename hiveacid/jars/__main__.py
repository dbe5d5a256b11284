"""Command that fetches the client of a Hive 4 metastore for Spark: `python -m hiveacid.jars`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from hiveacid.errors import HiveAcidError
from hiveacid.jars.artifacts import fetch
from hiveacid.jars.hive_client import HIVE_VERSION, client_jars, default_directory, spark_settings


def main(arguments: Sequence[str] | None = None) -> int:
    """Fetch the jars, print the settings that name them, and return the exit code."""
    options = _parser().parse_args(arguments)
    directory: Path = options.directory.expanduser().resolve()
    try:
        fetch(client_jars(), directory, _say)
    except (HiveAcidError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    for name, value in spark_settings(directory).items():
        print(f'{name}: "{value}"')
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m hiveacid.jars",
        description=(
            f"Fetch the client jars of Hive {HIVE_VERSION} from Maven Central, check them, and "
            "print the settings by which Spark finds them (in dbt: server_side_parameters). Jars "
            "that are there and intact are kept."
        ),
    )
    parser.add_argument(
        "directory",
        type=Path,
        nargs="?",
        default=default_directory(),
        help="where to put the jars; default: %(default)s",
    )
    return parser


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
