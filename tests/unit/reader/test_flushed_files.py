"""Copies of files that are being written, on file systems of a stand-in for Hadoop's classes."""

import shutil
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
from py4j.protocol import Py4JJavaError

from hiveacid.acid.layout import ListedFile
from hiveacid.errors import SnapshotEndedError, UnreadableTableError
from hiveacid.jvm import scratch
from hiveacid.jvm.scratch import Scratch
from hiveacid.reader import open_files
from hiveacid.reader.open_files import flushed_part


class JavaError(Py4JJavaError):
    def __init__(self, text):
        self.java_exception = SimpleNamespace(toString=lambda: text)


class Stream:
    """A Java stream over a Python one."""

    def __init__(self, file):
        self.file = file

    def close(self):
        self.file.close()


class FileSystem:
    """A file system of one scheme, whose root is a directory of this machine."""

    def __init__(self, uri, root):
        self.uri, self.root = uri, root
        self.on_exit = set()

    def local(self, path):
        return self.root / urlsplit(path.text).path.lstrip("/")

    def getUri(self):  # noqa: N802
        return SimpleNamespace(toString=lambda: self.uri)

    def makeQualified(self, path):  # noqa: N802
        scheme = urlsplit(path.text).scheme
        if scheme and not self.uri.startswith(scheme):
            raise JavaError(f"java.lang.IllegalArgumentException: Wrong FS: {path.text}")
        return path if scheme else path.made(f"{self.uri}{path.text}")

    def exists(self, path):
        return self.local(path).exists()

    def getFileStatus(self, path):  # noqa: N802
        status = self.local(path).stat()
        return SimpleNamespace(getLen=lambda: status.st_size, getModificationTime=lambda: 7)

    def open(self, path):
        if not self.exists(path):
            raise JavaError(f"java.io.FileNotFoundException: {path.text}")
        return Stream(self.local(path).open("rb"))

    def create(self, path, overwrite):
        if self.exists(path) and not overwrite:
            raise JavaError(f"FileAlreadyExistsException: {path.text}")
        self.local(path).parent.mkdir(parents=True, exist_ok=True)
        return Stream(self.local(path).open("wb"))

    def mkdirs(self, path, permission):
        self.local(path).mkdir(parents=True)

    def delete(self, path, recursive):
        shutil.rmtree(self.local(path), ignore_errors=True)

    def deleteOnExit(self, path):  # noqa: N802
        self.on_exit.add(path.text)

    def cancelDeleteOnExit(self, path):  # noqa: N802
        self.on_exit.remove(path.text)


class ByteArray:
    """`java.io.ByteArrayOutputStream`."""

    def __init__(self):
        self.content = b""
        self.file = SimpleNamespace(write=self.write)

    def write(self, content):
        self.content += content

    def toByteArray(self):  # noqa: N802
        return self.content


class Hadoop:
    """Two file systems, `file:` and `other://host`."""

    def __init__(self, root):
        self.root = root
        self.systems = {
            scheme: FileSystem(uri, root / scheme)
            for scheme, uri in (("file", "file:"), ("other", "other://host"))
        }
        self.session = SimpleNamespace(
            sparkContext=None,
            _jsparkSession=SimpleNamespace(
                sessionState=lambda: SimpleNamespace(newHadoopConf=lambda: None)
            ),
        )
        user = SimpleNamespace(getCurrentUser=lambda: SimpleNamespace(getShortUserName=lambda: "u"))
        self.classes = {
            scratch.PATH: self.path,
            "org.apache.hadoop.security.UserGroupInformation": user,
            "org.apache.hadoop.fs.permission.FsPermission": str,
            "org.apache.commons.io.IOUtils": SimpleNamespace(copyLarge=self.copy),
            "java.io.ByteArrayOutputStream": ByteArray,
        }

    def path(self, parent, child=None):
        text = parent if child is None else f"{parent.text}/{child}"
        scheme = urlsplit(text).scheme or None
        return SimpleNamespace(
            text=text,
            made=self.path,
            toString=lambda: text,
            getName=lambda: text.rpartition("/")[2],
            toUri=lambda: SimpleNamespace(getScheme=lambda: scheme),
            getFileSystem=lambda configuration: self.systems[scheme or "file"],
        )

    @staticmethod
    def copy(source, target, start=0, length=-1):
        source.file.seek(start)
        content = source.file.read(length)
        target.file.write(content)
        return len(content)

    def write(self, name, content, *lengths):
        """A file, and a side file with `lengths`, as a listing has them."""
        local = self.root / "file" / name
        local.parent.mkdir(parents=True, exist_ok=True)
        local.write_bytes(content)
        side_file = Path(f"{local}_flush_length")
        side_file.write_bytes(b"".join(length.to_bytes(8, "big") for length in lengths))
        return ListedFile(name, f"file:/{name}", 1), ListedFile(
            side_file.name, f"file:/{name}_flush_length", 1
        )

    def copies(self, scheme="file", directory="tmp"):
        return sorted((self.root / scheme / directory).rglob("bucket_*"))


@pytest.fixture
def hadoop(tmp_path, monkeypatch):
    hadoop = Hadoop(tmp_path)
    for module in (scratch, open_files):
        monkeypatch.setattr(module, "java", lambda context, name: hadoop.classes[name])
    return hadoop


def test_a_copy_that_fails_leaves_nothing_and_stops_no_other(hadoop):
    copies = Scratch()
    cut = hadoop.write("t/delta_1_3/bucket_00000", b"12345", 9)
    with pytest.raises(UnreadableTableError, match="has 5 bytes, but its writer has flushed 9"):
        flushed_part(hadoop.session, copies, *cut)
    assert hadoop.copies() == []
    other = hadoop.write("u/delta_1_3/bucket_00000", b"abcdef", 2, 4)
    assert flushed_part(hadoop.session, copies, *other).length == 4
    hadoop.write("t/delta_1_3/bucket_00000", b"123456789", 9)
    assert flushed_part(hadoop.session, copies, *cut).length == 9
    assert sorted(path.read_bytes() for path in hadoop.copies()) == [b"123456789", b"abcd"]


def test_the_last_of_very_many_lengths_counts(hadoop):
    files = hadoop.write("t/delta_1_3/bucket_00000", b"abcdef", *[1] * (1 << 21), 5)
    assert flushed_part(hadoop.session, Scratch(), *files).length == 5


def test_a_file_that_is_closed_while_its_side_file_is_read_counts_as_it_is(hadoop, monkeypatch):
    files = hadoop.write("t/delta_1_3/bucket_00000", b"abcdef", 4)
    last_length = open_files._last_length

    def closed_first(*args):
        (hadoop.root / "file" / "t/delta_1_3/bucket_00000_flush_length").unlink()
        return last_length(*args)

    monkeypatch.setattr(open_files, "_last_length", closed_first)
    flushed = flushed_part(hadoop.session, Scratch(), *files)
    assert (flushed.length, flushed.file) == (
        None,
        ListedFile("t/delta_1_3/bucket_00000", "file:/t/delta_1_3/bucket_00000", 6, 7),
    )


def test_the_copies_may_be_on_another_file_system(hadoop):
    copies = Scratch("other://host/scratch")
    flushed = flushed_part(
        hadoop.session, copies, *hadoop.write("t/delta_1_3/bucket_00000", b"ab", 2)
    )
    assert flushed.file.path.startswith("other://host/scratch/hiveacid-u-")
    assert [path.read_bytes() for path in hadoop.copies("other", "scratch")] == [b"ab"]


def test_nothing_is_copied_after_the_end(hadoop):
    copies = Scratch()
    files = hadoop.write("t/delta_1_3/bucket_00000", b"ab", 2)
    flushed_part(hadoop.session, copies, *files)
    assert len(hadoop.systems["file"].on_exit) == 1
    copies.remove()
    assert hadoop.copies() == []
    assert hadoop.systems["file"].on_exit == set()
    with pytest.raises(SnapshotEndedError, match="was removed when the snapshot ended"):
        flushed_part(hadoop.session, copies, *files)
    assert hadoop.copies() == []


def test_a_signal_handler_may_remove_the_copies_while_its_thread_makes_one(hadoop, monkeypatch):
    copies = Scratch()
    is_free = []

    def interrupted(*args):
        # A plain lock would not be had a second time.
        is_free.append(copies._lock.acquire(timeout=1))
        copies._lock.release()
        return 2

    monkeypatch.setattr(open_files, "_last_length", interrupted)
    flushed_part(hadoop.session, copies, *hadoop.write("t/delta_1_3/bucket_00000", b"ab", 2))
    assert is_free == [True]
