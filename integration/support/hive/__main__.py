"""Command line for a real Apache Hive on this machine: `python -m integration.support.hive`."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from hiveacid.errors import FetchError, JavaNotFoundError
from integration.support.hive.client import HiveClient, HiveSqlError, split_statements
from integration.support.hive.config import HivePorts, HiveSettings
from integration.support.hive.jars import HIVE_VERSION, VERSIONS, hive_directory, hive_files
from integration.support.hive.java import JavaError
from integration.support.hive.schema import SchemaError
from integration.support.hive.server import HiveServer, HiveStartError

PROFILE = """\
my_project:
  target: dev
  outputs:
    dev:
      type: hiveacid
      method: session
      schema: analytics
      threads: 4
      metastore_uri: {hive.metastore_uri}
      server_side_parameters:
        spark.sql.hive.metastore.version: "{hive.spark_client}"
        spark.sql.hive.metastore.jars: path
        spark.sql.hive.metastore.jars.path: "{hive.spark_jars}"
"""

_ERRORS = (
    FetchError,
    HiveSqlError,
    HiveStartError,
    JavaError,
    JavaNotFoundError,
    OSError,
    SchemaError,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name; return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        exit_code: int = options.command(options)
    except _ERRORS as error:
        print(error, file=sys.stderr)
        return 1
    return exit_code


def start(options: argparse.Namespace) -> int:
    """Run a Hive until Ctrl-C or SIGTERM."""
    defaults = HiveSettings()
    settings = HiveSettings(
        txn_timeout=options.txn_timeout or defaults.txn_timeout,
        reaper_interval=options.reaper_interval or defaults.reaper_interval,
        automatic_compaction=options.automatic_compaction,
        translate_tables=options.translate_tables,
        extra=dict(options.conf),
    )
    ports = None
    if options.metastore_port and options.hs2_port:
        ports = HivePorts(options.metastore_port, options.hs2_port)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with HiveServer(settings, work=options.work, ports=ports, version=options.hive) as hive:
        print(f"\nA dbt profile for it (profiles.yml):\n\n{PROFILE.format(hive=hive)}")
        python = Path(sys.executable)
        if python.is_relative_to(Path.cwd()):
            python = python.relative_to(Path.cwd())
        command = f"{python} -m integration.support.hive query --port {hive.hs2_port}"
        print(f'SQL:   {command} "SHOW DATABASES"')
        print("Stop:  Ctrl-C" + ("" if options.work else "; its tables are then gone"), flush=True)
        while not ended.wait(1):
            if hive.exit_code is not None:
                print(f"Hive ended with {hive.exit_code}:\n{hive.log_tail()}", file=sys.stderr)
                return 1
    return 0


def query(options: argparse.Namespace) -> int:
    """Run SQL on a running Hive and print its rows, separated by tabs."""
    sql = options.sql or sys.stdin.read()
    with HiveClient(options.port, options.database) as client:
        for statement in split_statements(sql):
            for row in client.query(statement):
                print("\t".join("NULL" if value is None else str(value) for value in row))
    return 0


def jars(_: argparse.Namespace) -> int:
    """Fetch what a Hive needs, unless it is there, and print where the jars are."""
    hive_files()
    print(hive_directory() / "jars")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m integration.support.hive", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    starter = commands.add_parser("start", help=start.__doc__, description=start.__doc__)
    starter.set_defaults(command=start)
    starter.add_argument(
        "--hive",
        choices=VERSIONS,
        default=HIVE_VERSION,
        help="the version; default: %(default)s",
    )
    starter.add_argument(
        "--work", type=Path, metavar="DIR", help="keep tables, metastore and log in this directory"
    )
    starter.add_argument("--metastore-port", type=int, help="with --hs2-port; default: free ones")
    starter.add_argument("--hs2-port", type=int, help="port of HiveServer2")
    starter.add_argument("--txn-timeout", type=int, metavar="SECONDS", help="default: 300")
    starter.add_argument("--reaper-interval", type=int, metavar="SECONDS", help="default: 180")
    starter.add_argument(
        "--automatic-compaction", action="store_true", help="let Hive compact by itself"
    )
    starter.add_argument(
        "--translate-tables",
        action="store_true",
        help="make tables that are not transactional external, as a production Hive does",
    )
    starter.add_argument(
        "--conf",
        type=_name_and_value,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a further property of Hive; repeatable",
    )

    questioner = commands.add_parser("query", help=query.__doc__, description=query.__doc__)
    questioner.set_defaults(command=query)
    questioner.add_argument("--port", type=int, required=True, help="port of HiveServer2")
    questioner.add_argument("--database", default="default", help="default: default")
    questioner.add_argument(
        "sql",
        nargs="?",
        help="statements, each ended by a semicolon at the end of a line; else standard input",
    )

    fetcher = commands.add_parser("jars", help=jars.__doc__, description=jars.__doc__)
    fetcher.set_defaults(command=jars)
    return parser


def _name_and_value(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


if __name__ == "__main__":
    sys.exit(main())
