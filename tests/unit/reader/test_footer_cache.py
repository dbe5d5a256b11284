"""Footers on disk: what is kept, for which file, and what happens when the file is no good."""

import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from hiveacid.acid.layout import ListedFile
from hiveacid.jvm.orc_readers import Stripe
from hiveacid.reader import footer_cache, orc_footers
from hiveacid.reader.footer_cache import FooterCache, default_directory
from hiveacid.reader.orc_footers import OrcFooter, OrcFooters, RowIdRange

IDS = RowIdRange((7, 9), (536870912, 536936448), (0, 2**40))
ACID = OrcFooter(3, ("a", "b c"), True, IDS, 2, ("int", "struct<x:timestamp>"), (1,))
EMPTY = OrcFooter(0, (), False)
NO_ACID = OrcFooter(
    3,
    ('q"', "ü"),
    False,
    types=("string", "decimal(38,9)"),
    stripes=(Stripe(3, 2), Stripe(2**40, 1)),
    operations=(0, 1),
)


def file(name, length=10, time=1_700_000_000_000):
    return ListedFile(name, f"hdfs://n/t/{name}", length, time)


FOOTERS = {file("a"): ACID, file("b"): EMPTY, file("ü\udc80"): NO_ACID}


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "new" / "cache"


@pytest.fixture
def path(directory):
    FooterCache(directory).put(FOOTERS)
    return directory / footer_cache.FILE_NAME


def test_what_is_kept_comes_back_in_another_run(directory, path):
    assert FooterCache(directory).get([*FOOTERS, file("unknown")]) == FOOTERS


def test_nothing_is_made_before_there_is_something_to_keep(directory):
    assert FooterCache(directory).get(list(FOOTERS)) == {}
    assert not directory.parent.exists()


def test_nobody_else_may_look_into_it(directory, path):
    assert directory.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("other", [file("a", length=11), file("a", time=1), file("A")])
def test_another_path_length_or_time_is_another_file(directory, path, other):
    assert FooterCache(directory).get([other]) == {}


def test_a_file_without_a_time_is_not_kept(directory):
    cache = FooterCache(directory)
    cache.put({file("a", time=0): ACID})
    assert cache.get([file("a", time=0)]) == {}


def test_many_files(directory):
    many = {
        file(f"f{i}"): OrcFooter(i, ("a",), True, RowIdRange((i, i), (0, 0), (0, i)), 2, ("int",))
        for i in range(1_203)
    }
    cache = FooterCache(directory)
    cache.put(many)
    cache.put(many)
    assert cache.get([*many, *FOOTERS]) == many


def test_the_oldest_go_first(directory, path):
    cache = FooterCache(directory, max_footers=4)
    cache.put({file("d"): ACID})
    assert len(cache.get([*FOOTERS, file("d")])) == 4
    cache.put({file("e"): ACID, file("f"): ACID, file("g"): ACID})
    assert set(cache.get([*FOOTERS, *map(file, "defg")])) == set(map(file, "defg"))
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT count(*) FROM shapes").fetchone() == (1,)


def fill_with_zeros(path):
    path.write_bytes(bytes(path.stat().st_size))


def cut(path):
    path.write_bytes(path.read_bytes()[:5_000])


def spoil_the_middle(path):
    content = bytearray(path.read_bytes())
    content[4_096:] = b"\xff" * (len(content) - 4_096)
    path.write_bytes(content)


def change(statement):
    def spoil(path):
        with closing(sqlite3.connect(path)) as database, database:
            database.execute(statement)

    return spoil


@pytest.mark.parametrize(
    "spoil",
    [
        fill_with_zeros,
        cut,
        spoil_the_middle,
        lambda path: path.write_text("not a database, but long enough to be treated as one" * 100),
        lambda path: path.write_bytes(b""),
        change("DROP TABLE shapes"),
        change("ALTER TABLE footers ADD COLUMN more INTEGER"),
        change("DELETE FROM shapes"),
        change("UPDATE shapes SET shape = '[true, [], []]'"),
        change("UPDATE footers SET number_of_rows = number_of_rows + 1"),
        change("UPDATE footers SET shape = (SELECT min(shape) FROM footers)"),
    ],
)
def test_a_broken_or_foreign_file_is_made_again(directory, path, spoil):
    spoil(path)
    cache = FooterCache(directory)
    assert cache.get(list(FOOTERS)) == {}
    cache.put(FOOTERS)
    assert cache.get(list(FOOTERS)) == FOOTERS


def test_a_place_that_cannot_be_used_costs_nothing_but_time(tmp_path):
    (tmp_path / "file").write_text("")
    cache = FooterCache(tmp_path / "file" / "below")
    cache.put(FOOTERS)
    assert cache.get(list(FOOTERS)) == {}


def test_a_busy_database_is_passed_over_and_stays(directory, path, monkeypatch):
    monkeypatch.setattr(footer_cache, "_TIMEOUT", 0.01)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        cache = FooterCache(directory)
        cache.put({file("d"): ACID})
        assert cache.get(list(FOOTERS)) == {}
        other.execute("ROLLBACK")
    assert cache.get([*FOOTERS, file("d")]) == FOOTERS


WRITER = """
import sys
from pathlib import Path
from hiveacid.acid.layout import ListedFile
from hiveacid.reader.footer_cache import FooterCache
from hiveacid.reader.orc_footers import OrcFooter

for i in range(20):
    file = ListedFile("f", f"{sys.argv[2]}/{i}", 1, 1)
    FooterCache(Path(sys.argv[1])).put({file: OrcFooter(i, (sys.argv[2],), False)})
"""


def test_several_processes_write_at_once(directory):
    names = ["one", "two"]
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(directory), name]) for name in names
    ]
    assert [writer.wait() for writer in writers] == [0, 0]
    files = {ListedFile("f", f"{name}/{i}", 1, 1): i for name in names for i in range(20)}
    found = FooterCache(directory).get(list(files))
    assert {file: footer.rows for file, footer in found.items()} == files


def test_the_default_is_where_the_users_caches_are(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_directory() == tmp_path / "dbt-hiveacid"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_directory() == tmp_path / ".cache" / "dbt-hiveacid"


def test_only_what_neither_run_nor_cache_knows_is_read(directory, path, monkeypatch):
    read = []

    class Reader:
        def __init__(self, spark, path):
            pass

        def read(self, files):
            read.extend(files)
            return [ACID for _ in files]

    monkeypatch.setattr(orc_footers, "_FooterReader", Reader)
    footers = OrcFooters(FooterCache(directory))
    new = file("new")
    for _ in range(2):
        assert footers.read(None, [file("b"), new]) == {file("b"): EMPTY, new: ACID}
    assert read == [new]
    assert OrcFooters(FooterCache(directory)).read(None, [new]) == {new: ACID}
    assert read == [new]
