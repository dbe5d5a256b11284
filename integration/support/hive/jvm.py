"""A Java process that runs main methods of classes, and ends with the process that started it.

py4j's gateway does both without any Java code of ours: Python calls methods through it, and it ends
the Java process when its standard input closes, which happens even after kill -9 of the starter.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway

from hiveacid.jars.java import bundled_jar
from integration.support.hive.java import find_java


class JvmError(RuntimeError):
    """The Java process did not start."""


class Jvm:
    """One such process; what it writes to standard error goes to a log file."""

    def __init__(
        self,
        class_path: Sequence[Path],
        options: Sequence[str],
        work: Path,
        log: Path,
        *,
        own_loader: bool = False,
    ) -> None:
        """Start it. Raises JvmError when it ends at once, JavaError without the right Java.

        With `own_loader` the classes are those of a `URLClassLoader`, as programs made for Java 8
        want it.
        """
        loaded, class_path = (class_path, []) if own_loader else ([], class_path)
        class_path = [bundled_jar("py4j-*.jar"), *class_path]
        command = [
            str(find_java().executable),
            *("-cp", os.pathsep.join(map(str, class_path))),
            *options,
            *("py4j.GatewayServer", "--die-on-broken-pipe", "--enable-auth", "0"),
        ]
        greeting = work / "gateway.out"
        with greeting.open("wb") as output, log.open("ab") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=errors,
                cwd=work,
                # Ctrl-C in a terminal must reach the process that stops this one, not this one.
                start_new_session=True,
            )
        port, token = self._read_greeting(greeting)
        self._gateway = JavaGateway(
            gateway_parameters=GatewayParameters(
                port=port,
                auth_token=token,
                # A dozen objects live as long as the process; releasing each of them costs a
                # message, and an error in the log if the process has ended before.
                enable_memory_management=False,
            )
        )
        self._loader = self._make_loader(loaded) if own_loader else None

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """What it ended with, None while it runs."""
        return self._process.poll()

    @property
    def packages(self) -> Any:
        """Its Java packages: `jvm.packages.java.util.ArrayList()` makes a list there."""
        return self._gateway.jvm

    def strings(self, *values: str) -> Any:
        """A Java array of strings."""
        array = self._gateway.new_array(self.packages.java.lang.String, len(values))
        for index, value in enumerate(values):
            array[index] = value
        return array

    def start_main(self, class_name: str, *arguments: str) -> Any:
        """Call a class's main method on a new Java thread; return that java.lang.Thread."""
        java = self.packages.java
        parameters = self._gateway.new_array(java.lang.Object, 1)
        parameters[0] = self.strings(*arguments)
        # A thread takes a Runnable, and java.beans makes one of any method call.
        loader = self._loader or java.lang.ClassLoader.getSystemClassLoader()
        main_class = java.lang.Class.forName(class_name, True, loader)
        call = java.beans.Statement(main_class, "main", parameters)
        runnable = java.lang.Class.forName("java.lang.Runnable")
        thread = java.lang.Thread(java.beans.EventHandler.create(runnable, call, "execute"))
        thread.setContextClassLoader(loader)
        thread.start()
        return thread

    def _make_loader(self, class_path: Sequence[Path]) -> Any:
        java = self.packages.java
        urls = self._gateway.new_array(java.net.URL, len(class_path))
        for index, path in enumerate(class_path):
            urls[index] = java.io.File(str(path)).toURI().toURL()
        platform = java.lang.ClassLoader.getPlatformClassLoader()
        return java.net.URLClassLoader(urls, platform)

    def _read_greeting(self, greeting: Path) -> tuple[int, str]:
        """Port and secret of the gateway, which are the first two lines of its output."""
        while (text := greeting.read_text()).count("\n") < 2:
            if self._process.poll() is not None:
                raise JvmError(f"The Java process ended at once with {self._process.returncode}")
            time.sleep(0.02)
        port, token = text.splitlines()[:2]
        return int(port), token

    def end(self, *, orderly: bool, timeout: float = 20) -> None:
        """End it: with its shutdown hooks (killed after `timeout` seconds), or at once."""
        if orderly:
            self._process.terminate()
        else:
            self._process.kill()
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._gateway.close()
