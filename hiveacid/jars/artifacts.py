"""Files of a Maven repository, fetched with PySpark's Ivy and verified by checksum.

This needs Python and Java, but no Maven and no other package manager. A *lock file* lists the
files: in each line a Maven coordinate and the SHA-256.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from hiveacid.errors import FetchError
from hiveacid.jars.java import bundled_jar, java_command, proxy_options

Progress = Callable[[str], None]

PARALLEL = 4
"""Number of parallel Ivy processes; each mostly waits for the network."""

ATTEMPTS = 3
"""Maximum number of attempts; each continues where the previous one stopped."""

VERIFIED = ".verified.json"
"""File in a directory that records the verified files: name → [size, mtime in ns, SHA-256]."""

SETTINGS_VARIABLE = "HIVEACID_IVY_SETTINGS"
"""Environment variable with the path of the user's own Ivy settings file."""


@dataclass(frozen=True)
class Artifact:
    """One file of a Maven repository."""

    organisation: str
    name: str
    revision: str
    extension: str
    classifier: str
    sha256: str

    @property
    def filename(self) -> str:
        """Maven's name of the file: `name-revision[-classifier].extension`."""
        classifier = f"-{self.classifier}" if self.classifier else ""
        return f"{self.name}-{self.revision}{classifier}.{self.extension}"

    @property
    def coordinate(self) -> str:
        """Coordinate in a lock file: `organisation:name:revision[:extension[:classifier]]`."""
        parts = [self.organisation, self.name, self.revision]
        if self.classifier or self.extension != "jar":
            parts += [self.extension, self.classifier]
        return ":".join(parts).rstrip(":")


def read_lock(path: Path) -> list[Artifact]:
    """Return the artifacts in a lock file: lines `coordinate sha256`; `#` starts a comment."""
    artifacts = []
    for line in path.read_text(encoding="utf-8").splitlines():
        line = line.partition("#")[0].strip()
        if not line:
            continue
        coordinate, sha256 = line.split()
        organisation, name, revision, *rest = coordinate.split(":")
        extension, classifier = (*rest, *("jar", "")[len(rest) :])
        artifacts.append(Artifact(organisation, name, revision, extension, classifier, sha256))
    return artifacts


def fetch(artifacts: Sequence[Artifact], directory: Path, progress: Progress) -> list[Path]:
    """Fetch all files into `directory`, and return their paths in the order of `artifacts`.

    Intact files are kept. A file with the size and time of its last verification is not read again;
    any other file is hashed, and fetched again if it is damaged. A file appears under its name only
    when it is complete and verified. Processes that fetch into one directory wait for each other.

    Raises:
        FetchError: a file cannot be fetched; with Ivy's output.
        JavaNotFoundError: there is no Java to run Ivy.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with _exclusive(directory / ".lock", progress):
        verified = _read_verified(directory)
        missing = [a for a in artifacts if not _is_intact(a, directory, verified, progress)]
        if missing:
            _fetch_missing(missing, directory, verified, progress)
        _write_verified(directory, verified)
    return [directory / artifact.filename for artifact in artifacts]


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _fetch_missing(
    missing: Sequence[Artifact],
    directory: Path,
    verified: dict[str, list[int | str]],
    progress: Progress,
) -> None:
    started = time.monotonic()
    progress(f"fetching {len(missing)} files into {directory} (once; some minutes)")
    ivy_caches = directory / ".ivy"
    counter = _Counter(len(missing), progress)
    for attempt in range(1, ATTEMPTS + 1):
        with ThreadPoolExecutor(PARALLEL) as pool:
            parts = [missing[i::PARALLEL] for i in range(PARALLEL)]
            jobs = [
                pool.submit(_run_ivy, part, directory, ivy_caches / str(number), counter)
                for number, part in enumerate(parts)
                if part
            ]
            complaints = [complaint for job in jobs for complaint in job.result()]
        missing = [a for a in missing if not _is_intact(a, directory, verified, progress)]
        if not missing:
            break
        if attempt < ATTEMPTS:
            progress(f"{len(missing)} files did not arrive, trying again")
    else:
        names = ", ".join(artifact.coordinate for artifact in missing[:5])
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise FetchError(
            f"Could not fetch {names}{more} into {directory}.\n"
            + "\n".join(complaints[-15:])
            + "\nCheck that this machine reaches Maven Central (https_proxy is used), or name "
            f"an Ivy settings file with a mirror in {SETTINGS_VARIABLE}. Then fetch again: "
            "files that have arrived are kept."
        )
    shutil.rmtree(ivy_caches, ignore_errors=True)
    progress(f"fetched in {time.monotonic() - started:.0f} s")


def _run_ivy(
    artifacts: Sequence[Artifact], directory: Path, ivy_cache: Path, counter: _Counter
) -> list[str]:
    """Run one Ivy process, move the verified files to `directory`, and return the errors."""
    ivy_cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ivy_cache) as scratch:
        module = Path(scratch) / "ivy.xml"
        module.write_text(_module_descriptor(artifacts), encoding="utf-8")
        settings = os.environ.get(SETTINGS_VARIABLE) or Path(__file__).with_name("ivysettings.xml")
        command = [
            str(java_command()),
            *proxy_options(os.environ),
            *("-jar", str(bundled_jar("ivy-*.jar"))),
            *("-settings", str(settings)),
            *("-cache", str(ivy_cache)),
            *("-ivy", str(module)),
            *("-retrieve", f"{scratch}/[artifact]-[revision](-[classifier]).[ext]"),
        ]
        complaints = _run_counting(command, counter)
        for artifact in artifacts:
            arrived = Path(scratch) / artifact.filename
            if not arrived.exists():
                continue
            actual = sha256_of(arrived)
            if actual == artifact.sha256:
                arrived.replace(directory / artifact.filename)
            else:
                complaints.append(
                    f"{artifact.coordinate}: SHA-256 is {actual}, expected {artifact.sha256}"
                )
                # Otherwise the next attempt would get the same bytes from Ivy's own cache.
                shutil.rmtree(ivy_cache / artifact.organisation / artifact.name, ignore_errors=True)
        return complaints


def _run_counting(command: Sequence[str], counter: _Counter) -> list[str]:
    complaints: list[str] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "[SUCCESSFUL ]" in line:
                counter.add_one()
            elif any(word in line for word in ("FAILED", "not found", "Exception", "ERROR")):
                complaints.append(line.strip())
    if process.returncode and not complaints:
        complaints.append(f"Ivy ended with exit code {process.returncode}")
    return complaints


def _module_descriptor(artifacts: Sequence[Artifact]) -> str:
    """Return an Ivy module descriptor of exactly these files, without their dependencies."""
    lines = []
    for artifact in artifacts:
        name = quoteattr(artifact.name)
        lines.append(
            f"<dependency org={quoteattr(artifact.organisation)} name={name} "
            f'rev={quoteattr(artifact.revision)} transitive="false" conf="default->default">'
            f"<artifact name={name} type={quoteattr(artifact.extension)} "
            f"ext={quoteattr(artifact.extension)}"
            + (f" m:classifier={quoteattr(artifact.classifier)}" if artifact.classifier else "")
            + "/></dependency>"
        )
    return (
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">'
        '<info organisation="dbt-hiveacid" module="jars"/>'
        '<configurations><conf name="default"/></configurations>'
        f"<dependencies>{''.join(lines)}</dependencies></ivy-module>"
    )


class _Counter:
    """Number of fetched files over all threads, reported at most every three seconds."""

    def __init__(self, total: int, progress: Progress) -> None:
        self._total = total
        self._progress = progress
        self._count = 0
        self._reported = time.monotonic()
        self._lock = threading.Lock()

    def add_one(self) -> None:
        with self._lock:
            self._count += 1
            now = time.monotonic()
            if now - self._reported >= 3:
                self._reported = now
                self._progress(f"{self._count} of {self._total} files")


@contextmanager
def _exclusive(path: Path, progress: Progress) -> Iterator[None]:
    """Hold a lock between processes; the lock ends with the process, even if it is killed."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress(f"another process is busy in {path.parent}, waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _is_intact(
    artifact: Artifact, directory: Path, verified: dict[str, list[int | str]], progress: Progress
) -> bool:
    path = directory / artifact.filename
    try:
        status = path.stat()
    except FileNotFoundError:
        return False
    current: list[int | str] = [status.st_size, status.st_mtime_ns, artifact.sha256]
    if verified.get(artifact.filename) == current:
        return True
    if sha256_of(path) != artifact.sha256:
        progress(f"{path} is damaged, fetching it again")
        return False
    verified[artifact.filename] = current
    return True


def _read_verified(directory: Path) -> dict[str, list[int | str]]:
    try:
        found: dict[str, list[int | str]] = json.loads((directory / VERIFIED).read_text())
    except (FileNotFoundError, ValueError):
        # Nothing was verified yet, or the record is truncated: the files themselves decide.
        return {}
    return found


def _write_verified(directory: Path, verified: dict[str, list[int | str]]) -> None:
    text = json.dumps(verified)
    note = directory / VERIFIED
    if not note.exists() or note.read_text() != text:
        partial = directory / f"{VERIFIED}.partial"
        partial.write_text(text)
        partial.replace(note)
