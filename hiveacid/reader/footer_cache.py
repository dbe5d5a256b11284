"""Cache of ORC footers on disk: a file's footer is read once for all runs.

The key of a footer is a digest of the file's path, length and modification time. ACID files never
change, and a file that is written again has another time. The cache is an SQLite database that
several processes may use at once. Losing the cache costs only time, so no write waits for the disk,
and every failure goes to the debug log. A database that cannot be used is ignored. A database that
is corrupt or not ours is created again.

Each row has a checksum. A wrong footer would show wrong rows, and SQLite does not detect enough
damage: its WAL has checksums only until the next checkpoint and needs shared memory, which home
directories on NFS do not have. Of 345 damages (a flipped bit, a lost sector) that gave wrong rows,
`quick_check` missed 188 and `integrity_check` 94; `integrity_check` takes 1.8 seconds for a full
cache. The checksum costs about 7 microseconds a footer.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

from hiveacid.acid.layout import ListedFile
from hiveacid.jvm.orc_readers import Stripe
from hiveacid.reader.orc_footers import OrcFooter, RowIdRange

logger = logging.getLogger("hiveacid")
T = TypeVar("T")
_Shape = tuple[bool, tuple[str | None, ...], tuple[str, ...], tuple[int, ...]]
"""`is_acid`, `columns`, `types` and `nanoseconds` of an `OrcFooter`."""

FILE_NAME = "orc-footers-5.sqlite"
"""Name of the database. The number is increased with each change of the tables or of
`OrcFooter`."""

_TABLES = (
    "CREATE TABLE footers (file BLOB NOT NULL UNIQUE, number_of_rows INTEGER NOT NULL, "
    "min_write_id INTEGER, max_write_id INTEGER, min_bucket INTEGER, max_bucket INTEGER, "
    "min_row INTEGER, max_row INTEGER, acid_version INTEGER, min_operation INTEGER, "
    "max_operation INTEGER, stripes TEXT, shape BLOB NOT NULL, checksum BLOB NOT NULL)",
    "CREATE TABLE shapes (digest BLOB NOT NULL UNIQUE, shape TEXT NOT NULL)",
)
"""Tables of the database. Most files of a table share one shape, stored once by its digest."""

_MAX_FOOTERS = 1_000_000
"""Maximum number of cached footers: about 120 MB. The oldest footers are removed first."""

_ASKED_AT_ONCE = 500
"""Maximum number of footers in one query: SQLite before 3.32 takes 999 parameters."""

_TIMEOUT = 5.0
"""Seconds to wait for the lock of another process that writes."""


def default_directory() -> Path:
    """Return the user's cache directory (XDG Base Directory Specification)."""
    home = os.environ.get("XDG_CACHE_HOME")
    return Path(home if home else Path.home() / ".cache") / "dbt-hiveacid"


class FooterCache:
    """Cache of ORC footers on disk. Threads and processes may share the cache."""

    def __init__(self, directory: Path, max_footers: int = _MAX_FOOTERS) -> None:
        """Create nothing yet: `put` creates `directory`."""
        self._path = directory / FILE_NAME
        self._max_footers = max_footers

    def get(self, files: Sequence[ListedFile]) -> dict[ListedFile, OrcFooter]:
        """Return the cached footers of `files`."""
        if not self._path.exists():
            return {}
        return self._use(partial(_known, files=files), without={})

    def put(self, footers: Mapping[ListedFile, OrcFooter]) -> None:
        """Store footers, and remove the oldest ones beyond the maximum."""
        self._use(partial(_keep, footers=footers, at_most=self._max_footers), without=None)

    def _use(self, use: Callable[[sqlite3.Connection], T], without: T) -> T:
        """Return the result of `use` on the database, or `without` if it fails."""
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, timeout=_TIMEOUT, isolation_level=None)
            with closing(connection) as database:
                database.execute("PRAGMA synchronous = OFF")
                _check_tables(database)
                return use(database)
        except (sqlite3.Error, OSError, ValueError, TypeError) as error:
            logger.debug(f"The cache of footers {self._path} cannot be used: {error!r}")
            if _is_broken(error):
                self._remove()
            return without

    def _remove(self) -> None:
        try:
            # The journal goes first: SQLite would apply it to the next database of this name.
            self._path.with_name(f"{FILE_NAME}-journal").unlink(missing_ok=True)
            self._path.unlink(missing_ok=True)
        except OSError as error:
            logger.debug(f"{self._path} cannot be removed: {error}")


def _is_broken(error: Exception) -> bool:
    """Return whether the file is corrupt or not ours, not just busy, read-only or unreachable."""
    return isinstance(error, ValueError | TypeError) or type(error) is sqlite3.DatabaseError


def _check_tables(database: sqlite3.Connection) -> None:
    if _tables(database):
        return
    with database:
        database.execute("BEGIN IMMEDIATE")
        # Another process may have created them meanwhile.
        if not _tables(database):
            for table in _TABLES:
                database.execute(table)


def _tables(database: sqlite3.Connection) -> bool:
    """Return whether the tables exist. Raises ValueError if the database has other tables."""
    found = database.execute("SELECT sql FROM sqlite_master WHERE type = 'table' ORDER BY name")
    tables = tuple(sql for (sql,) in found)
    if tables not in ((), _TABLES):
        raise ValueError("it has other tables than this cache")
    return bool(tables)


def _digest(*values: object) -> bytes:
    text = "\0".join(map(str, values))
    return blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()


def _key(file: ListedFile) -> bytes:
    return _digest(file.path, file.length, file.modification_time)


def _known(
    database: sqlite3.Connection, files: Sequence[ListedFile]
) -> dict[ListedFile, OrcFooter]:
    by_key = {_key(file): file for file in files}
    keys = list(by_key)
    shapes: dict[bytes, _Shape] = {}
    known = {}
    for start in range(0, len(keys), _ASKED_AT_ONCE):
        some = keys[start : start + _ASKED_AT_ONCE]
        rows = database.execute(
            f"SELECT * FROM footers WHERE file IN ({','.join('?' * len(some))})",
            some,
        )
        for *row, checksum in rows.fetchall():
            if checksum != _digest(*row):
                raise ValueError("a footer does not have its checksum")
            key, count, *numbers, version, low, high, stripes, digest = row
            if digest not in shapes:
                shapes[digest] = _shape(database, digest)
            is_acid, columns, types, nanoseconds = shapes[digest]
            row_ids = None if None in numbers else RowIdRange.of(numbers)
            known[by_key[key]] = OrcFooter(
                count,
                columns,
                is_acid,
                row_ids,
                version,
                types,
                nanoseconds,
                () if stripes is None else tuple(map(Stripe._make, json.loads(stripes))),
                None if low is None else (low, high),
            )
    return known


def _shape(database: sqlite3.Connection, digest: bytes) -> _Shape:
    row = database.execute("SELECT shape FROM shapes WHERE digest = ?", (digest,)).fetchone()
    if row is None or _digest(row[0]) != digest:
        raise ValueError("a shape is missing or does not have its digest")
    is_acid, columns, types, nanoseconds = json.loads(row[0])
    return is_acid, tuple(columns), tuple(types), tuple(nanoseconds)


def _keep(
    database: sqlite3.Connection, footers: Mapping[ListedFile, OrcFooter], at_most: int
) -> None:
    digests = {shape: _digest(json.dumps(shape)) for shape in map(_shape_of, footers.values())}
    with database:
        database.execute("BEGIN IMMEDIATE")
        database.executemany(
            "INSERT OR IGNORE INTO shapes VALUES (?, ?)",
            ((digest, json.dumps(shape)) for shape, digest in digests.items()),
        )
        database.executemany(
            f"INSERT OR IGNORE INTO footers VALUES ({', '.join('?' * 14)})",
            (
                (*row, _digest(*row))
                for file, footer in footers.items()
                # Without a time nothing distinguishes a rewritten file from the old one.
                if file.modification_time > 0
                for row in [_row(file, footer, digests[_shape_of(footer)])]
            ),
        )
        removed = database.execute(
            "DELETE FROM footers WHERE rowid <= (SELECT max(rowid) FROM footers) - ?", (at_most,)
        )
        if removed.rowcount > 0:
            database.execute("DELETE FROM shapes WHERE digest NOT IN (SELECT shape FROM footers)")


def _shape_of(footer: OrcFooter) -> _Shape:
    return footer.is_acid, footer.columns, footer.types, footer.nanoseconds


def _row(file: ListedFile, footer: OrcFooter, shape: bytes) -> tuple[object, ...]:
    ids = footer.row_id_range
    numbers = (None,) * 6 if ids is None else ids.numbers
    stripes = json.dumps(footer.stripes) if footer.stripes else None
    operations = footer.operations or (None, None)
    return _key(file), footer.rows, *numbers, footer.acid_version, *operations, stripes, shape
