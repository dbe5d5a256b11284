"""Tables that `hiveacid.transaction` replaces or gives columns, as Hive shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

import hiveacid
from hiveacid.errors import MetastoreUnavailableError, PublicationError
from hiveacid.metastore.alterations import Change
from hiveacid.metastore.models import TableName
from hiveacid.metastore.writing_client import WritingClient
from hiveacid.writer import publication
from integration.support.hive import HiveClient
from integration.support.shop import ACID, INSERT_ONLY, Shop

CONFLICT, TWICE = "HIVEACID_WRITE_CONFLICT", "HIVEACID_WRITTEN_TWICE"


def make_table(client: HiveClient) -> None:
    """A table of one column, without those that new rows have."""
    client.execute(f"CREATE TABLE t (id INT) {ACID}")
    client.execute("INSERT INTO t VALUES (1)")


def only(client: HiveClient, *tables: str) -> bool:
    """Whether the database has these tables, and no leftover."""
    return sorted(client.query("SHOW TABLES")) == sorted((it,) for it in tables)


def test_a_table_of_another_form_takes_the_place_of_the_old_one(
    shop: Shop, hive_client: HiveClient
) -> None:
    make_table(hive_client)
    t, rows = shop.name("t"), shop.rows((2, 5))
    with shop.transaction() as transaction:
        transaction.create_or_replace(t, rows, comment="New")
        assert shop.shown("t") == [(1,)]
    assert shop.shown("t") == [(2, 5)]
    assert not list(Path(shop.hive.warehouse).glob(f"{shop.database}.db/t/.*"))
    hive_client.execute("UPDATE t SET v = 6 WHERE id = 2")
    assert shop.shown("t") == [(2, 6)] and only(hive_client, "t")
    # Of the same form: overwritten, and described anew.
    with shop.transaction() as transaction:
        transaction.create_or_replace(t, rows, comment="Newer")
    assert shop.shown("t") == [(2, 5)]
    described = hive_client.query("DESCRIBE FORMATTED t")
    comments = [row[2] for row in described if row[1] and "comment" in row[1]]
    assert [it.strip() for it in comments] == ["Newer"]


def test_a_replacement_does_not_lose_what_came_meanwhile(
    shop: Shop, hive_client: HiveClient
) -> None:
    make_table(hive_client)
    t = shop.name("t")
    with pytest.raises(hiveacid.WriteAbortedError, match=CONFLICT):
        with shop.transaction("t") as transaction:
            transaction.create_or_replace(t, transaction.table(t).selectExpr("id", "1 AS v"))
            hive_client.execute("INSERT INTO t VALUES (7)")
    assert shop.shown("t") == [(1,), (7,)] and only(hive_client, "t")
    for call in ("append", "overwrite", "create_or_replace"):
        with pytest.raises(hiveacid.UnwritableTableError, match=TWICE):
            with shop.transaction() as transaction:
                transaction.create_or_replace(t, shop.rows((2, 5)))
                getattr(transaction, call)(t, shop.rows((3, 5)))
    assert shop.shown("t") == [(1,), (7,)] and only(hive_client, "t")


@pytest.mark.parametrize(("nth", "expected"), [(1, [(1,)]), (2, [(2, 5)])])
def test_a_rename_without_an_answer_loses_nothing(
    shop: Shop,
    hive_client: HiveClient,
    monkeypatch: pytest.MonkeyPatch,
    nth: int,
    expected: list[tuple[int, ...]],
) -> None:
    """The metastore renames, and the connection is lost before it says so."""
    make_table(hive_client)
    alter, calls = WritingClient.alter_table, []

    def unanswered(
        self: WritingClient, name: TableName, change: Change, *, cascade: bool = False
    ) -> None:
        alter(self, name, change, cascade=cascade)
        calls.append(name)
        if len(calls) == nth:
            raise MetastoreUnavailableError("The metastore does not answer.")

    monkeypatch.setattr(WritingClient, "alter_table", unanswered)
    try:
        with shop.transaction() as transaction:
            transaction.create_or_replace(shop.name("t"), shop.rows((2, 5)))
    except MetastoreUnavailableError:
        assert nth == 1
    assert shop.shown("t") == expected and only(hive_client, "t")


def test_a_new_table_that_cannot_be_overwritten_is_dropped(
    shop: Shop, hive_client: HiveClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise PublicationError("The file system refused.")

    monkeypatch.setattr(publication, "_move", fail)
    with pytest.raises(PublicationError), shop.transaction() as transaction:
        transaction.create(shop.name("t"), "id int, v int")
        transaction.overwrite(shop.name("t"), shop.rows((1, 1)))
    assert only(hive_client)


def test_columns_are_added_to_tables_and_their_partitions(
    shop: Shop, hive_client: HiveClient
) -> None:
    hive_client.execute(f"CREATE TABLE p (id INT) PARTITIONED BY (k INT) {ACID}")
    hive_client.execute(f"CREATE TABLE io (id INT) {INSERT_ONLY.format('PARQUET')}")
    hive_client.execute("INSERT INTO p VALUES (1, 1)")
    p = shop.name("p")
    with shop.transaction() as transaction:
        transaction.add_columns(p, "v int COMMENT 'New'")
    with shop.transaction() as transaction:
        transaction.append(p, shop.rows((2, 1, 5), (3, 2, 6), schema="id int, k int, v int"))
    hive_client.execute("INSERT INTO p VALUES (4, 7, 1)")
    expected = [(1, None, 1), (2, 5, 1), (3, 6, 2), (4, 7, 1)]
    assert shop.shown("p") == sorted(expected, key=repr)

    rows = shop.rows((9, 9, 9), schema="id int, k int, v int")
    for columns, table, code in (
        ("V int", p, "NOT_SUPPORTED"),
        ("k int", p, "NOT_SUPPORTED"),
        ("a int, A int", p, "NOT_SUPPORTED"),
        ("at timestamp", shop.name("io"), "NOT_SUPPORTED"),
    ):
        with pytest.raises(hiveacid.UnwritableTableError, match=code):
            with shop.transaction() as transaction:
                transaction.add_columns(table, columns)
    with pytest.raises(hiveacid.UnwritableTableError, match=TWICE):
        with shop.transaction() as transaction:
            transaction.add_columns(p, "w int")
            transaction.append(p, rows)
    assert shop.shown("p") == sorted(expected, key=repr)
