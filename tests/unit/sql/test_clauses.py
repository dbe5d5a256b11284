"""Clauses behind the name of a transactional table."""

import pytest

from hiveacid.errors import InvalidSettingError
from hiveacid.metastore.models import TableName
from hiveacid.reader.partition_choice import PartitionChoice
from hiveacid.snapshots.read_options import AsOf, ReadKind
from hiveacid.spark_versions import version_of
from hiveacid.sql.clauses import ReadClauses, refuse_ignored, render_read
from hiveacid.sql.statement import Relation

ORDERS = TableName("shop", "orders")


def clauses(**given):
    return ReadClauses.of(None, ORDERS, Relation(("shop", "orders"), **given))


def test_a_plain_name_reads_the_snapshot():
    assert clauses() == ReadClauses()
    assert render_read("shop.orders", ReadClauses().options()) == "shop.orders"


def test_clauses_are_read():
    choice = PartitionChoice.of({"day": frozenset({"2026-01-31", None})})
    options = {"partitions": choice.to_json(), "static": "TRUE", "read": "optimized"}
    found = clauses(options=options, version="17")
    assert found == ReadClauses(choice, True, AsOf(version=17), ReadKind.OPTIMIZED)


@pytest.mark.parametrize(
    "values, kinds",
    [
        ({"day": frozenset({"it's", 'a "b" \\', None}), "n": frozenset({"01"})}, ()),
        ({"n": frozenset({"1"}), "b": frozenset({"true"})}, [("n", "number", "1")]),
        ({"n": frozenset({"1.1"}), "b": frozenset({"false"})}, [("b", "boolean", "false")]),
    ],
)
def test_a_choice_of_partitions_is_read_as_it_is_written(values, kinds):
    choice = PartitionChoice.of(values, kinds)
    assert PartitionChoice.from_json(choice.to_json()) == choice


def test_options_are_rendered_as_a_clause():
    choice = PartitionChoice.of({"day": frozenset({"it's"})})
    options = ReadClauses(choice, static=True).options()
    assert render_read("shop.orders", options, version_of("4.1.4")) == (
        """shop.orders with (partitions = '{"day": ["it\\'s"]}', static = 'true')"""
    )


def test_options_say_all_that_a_clause_can():
    choice = PartitionChoice.of({"day": frozenset({"2026-01-31"})})
    for found in (ReadClauses(), ReadClauses(choice, True, read=ReadKind.OPTIMIZED)):
        assert ReadClauses.of_options(found.options()) == found


def test_each_option_that_spark_ignores_is_named_once():
    relation = Relation(("recent",), {"read": "optimized", "static": "true", "other": "x"})
    with pytest.raises(InvalidSettingError) as error:
        refuse_ignored(relation, "a temporary view")
    assert error.value.message.startswith(
        "recent is a temporary view, so Spark ignores the option read, static in its `with (…)`."
    )


def test_a_spark_without_the_clause_calls_a_function():
    options = ReadClauses(PartitionChoice.of({"n": frozenset({"1"})}), static=True).options()
    assert render_read("`shop`.orders", options, version_of("3.5.9")) == (
        """acid_table('`shop`.orders', partitions => '{"n": ["1"]}', static => 'true')"""
    )


def test_everything_that_is_wrong_is_told():
    options = {"read": "newest", "static": "maybe", "partitions": "[1]", "x": "1"}
    with pytest.raises(InvalidSettingError) as error:
        clauses(options=options, version="one", is_stream=True)
    assert error.value.message == (
        "The statement cannot read shop.orders so: partitions must be a JSON object of values, but "
        "it is [1]; 'newest' is no kind of read. Allowed kinds: 'snapshot', 'optimized'; static "
        "must be true or false, not 'maybe'; unknown option 'x'; a version is a write id, a whole "
        "number, not 'one'; it cannot be read as a stream. Options of `with (…)` are: partitions, "
        "read, static."
    )
