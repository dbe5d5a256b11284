"""The directories of tables in Spark's catalog."""

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.hiveacid.spark.session import SessionHandle
from dbt.adapters.hiveacid.spark.table_locations import (
    delete_directory,
    directory_if_any,
    follow_directory,
    lies_in,
)
from hiveacid.sql.catalog import table_metadata


@pytest.fixture(scope="module")
def session(spark):
    session = SessionHandle(spark, {}).session
    session.sql("create database files")
    yield session
    session.sql("drop database files cascade")


def test_rows_that_a_rename_has_lost_are_noticed(session):
    session.sql("create table files.renamed using parquet as select 1 as i")
    renamed = table_metadata(session, "files", "renamed")
    directory = directory_if_any(session, renamed)
    assert directory is not None
    assert table_metadata(session, "files", "nothing") is None
    assert directory_if_any(session, None) is None
    follow_directory(session, "files", "renamed", directory)
    delete_directory(session, directory)
    assert directory_if_any(session, renamed) is None
    with pytest.raises(DbtRuntimeError, match="rows of files.renamed are gone: they were in file:"):
        follow_directory(session, "files", "renamed", directory)
    # It had none before the rename, either.
    follow_directory(session, "files", "renamed", None)


@pytest.mark.parametrize(
    ("location", "directory", "is_in_it"),
    [
        ("/w/db/orders/build", "file:/w/db/orders", True),
        ("file:///w/db/orders/build", "/w/db/orders/", True),
        ("/w/db/orders", "/w/db/orders", True),
        ("/w/db/orders_2/build", "/w/db/orders", False),
        ("/w/db", "/w/db/orders", False),
    ],
)
def test_a_place_in_a_directory_is_told_by_the_path(session, location, directory, is_in_it):
    assert lies_in(session, location, directory) is is_in_it
