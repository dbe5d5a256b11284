"""Command that fetches the client of a metastore for Spark: `python -m hiveacid.jars`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from hiveacid.errors import HiveAcidError
from hiveacid.jars.artifacts import fetch
from hiveacid.jars.hive_client import (
    HIVE_VERSION,
    VERSIONS,
    client_jars,
    default_directory,
    spark_settings,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Fetch the jars, print the settings that name them, and return the exit code."""
    options = _parser().parse_args(arguments)
    chosen: Path = options.directory or default_directory(options.hive)
    directory = chosen.expanduser().resolve()
    try:
        fetch(client_jars(options.hive), directory, _say)
    except (HiveAcidError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    for name, value in spark_settings(directory, options.hive).items():
        print(f'{name}: "{value}"')
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m hiveacid.jars",
        description=(
            "Fetch the client jars of Hive from Maven Central, check them, and print the settings "
            "by which Spark finds them (in dbt: server_side_parameters). Jars that are there and "
            "intact are kept."
        ),
    )
    parser.add_argument(
        "directory",
        type=Path,
        nargs="?",
        help=f"where to put the jars; default: {default_directory()}",
    )
    parser.add_argument(
        "--hive",
        choices=VERSIONS,
        default=HIVE_VERSION,
        help="the version of the client; default: %(default)s, which this Spark takes for Hive 4",
    )
    return parser


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
