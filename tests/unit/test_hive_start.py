"""When a Hive of the tests has started."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from integration.support.hive import HiveServer
from integration.support.hive.config import HivePorts


class Main:
    """Java thread of a main method that returns after so many questions; never if None."""

    def __init__(self, questions: int | None) -> None:
        self.questions = questions

    def isAlive(self) -> bool:  # noqa: N802
        if self.questions is None:
            return True
        self.questions -= 1
        return self.questions >= 0


class Process:
    """Java process whose services answer at once."""

    exit_code = None

    def __init__(self) -> None:
        self.metastore, self.hiveserver2 = Main(None), Main(3)

    def start_main(self, class_name: str, *arguments: str) -> Main:
        return self.metastore if class_name.endswith("HiveMetaStore") else self.hiveserver2


def test_hiveserver2_opens_sessions_once_its_main_method_has_returned(tmp_path: Path) -> None:
    """Its port answers a little earlier: it refuses sessions of an "inactive HS2 instance"."""
    process: Any = Process()
    with ExitStack() as open_ports:
        listening = (socket.create_server(("127.0.0.1", 0)) for _ in range(2))
        ports = [open_ports.enter_context(it).getsockname()[1] for it in listening]
        HiveServer(work=tmp_path, ports=HivePorts(*ports))._start_services(process)
    assert not process.hiveserver2.isAlive()
