from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JJavaError

from dbt.adapters.hiveacid.acid.listing import Listing
from dbt.adapters.hiveacid.exceptions import UnreadableTableError
from dbt.adapters.hiveacid.reader import hadoop


class JavaError(Py4JJavaError):
    def __init__(self, text):
        self.java_exception = SimpleNamespace(toString=lambda: text)

    def __str__(self):
        return self.java_exception.toString()


def lister(errors):
    """A stand-in for `_Lister` that fails with each of `errors` in turn, then lists nothing."""
    remaining = list(errors)

    class Lister:
        def __init__(self, spark, location):
            self.location = location

        def run(self):
            if remaining:
                raise JavaError(remaining.pop(0))
            return Listing(self.location, ())

    return Lister


def test_a_directory_that_the_cleaner_removes_meanwhile_is_looked_for_again(monkeypatch):
    monkeypatch.setattr(hadoop, "_Lister", lister(["java.io.FileNotFoundException: delta_1"] * 3))
    assert hadoop.list_location(None, "file:/t") == Listing("file:/t", ())


def test_a_location_that_never_stands_still_is_an_error(monkeypatch):
    monkeypatch.setattr(hadoop, "_Lister", lister(["java.io.FileNotFoundException: delta_1"] * 99))
    with pytest.raises(UnreadableTableError, match="file:/t cannot be listed: .*delta_1"):
        hadoop.list_location(None, "file:/t")


def test_other_failures_are_not_repeated(monkeypatch):
    monkeypatch.setattr(hadoop, "_Lister", lister(["AccessControlException: no"]))
    with pytest.raises(UnreadableTableError, match="Check that Spark may read it"):
        hadoop.list_location(None, "file:/t")
