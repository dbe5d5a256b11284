"""Examples of the library, run on the Spark that the tests share."""

from __future__ import annotations

import contextlib
import io
import runpy
import sys
from pathlib import Path

import pytest

from integration.support.hive import HiveServer

EXAMPLES = Path(__file__).parents[2] / "examples" / "library"


def run_here(example: str, hive: HiveServer, *arguments: object) -> str:
    """Run an example to its end; return what it prints."""
    path = str(EXAMPLES / f"{example}.py")
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patched, contextlib.redirect_stdout(printed):
        patched.setattr(sys, "argv", [path, hive.metastore_uri, *map(str, arguments)])
        runpy.run_path(path, run_name="__main__")
    return printed.getvalue()
