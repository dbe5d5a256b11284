from dataclasses import replace

import pytest
import yaml

from hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from hiveacid.errors import InvalidSettingError
from hiveacid.jvm.scratch import Scratch
from hiveacid.metastore.models import Column, Partition, StorageDescriptor, Table, TableName
from hiveacid.reader.columns import NULL_PARTITION
from hiveacid.reader.partition_choice import PartitionChoice
from hiveacid.snapshots.tables import PinnedTable

STORAGE = StorageDescriptor("file:/t", ())


def pinned(*values):
    keys = (Column("day", "date"), Column("region", "char(4)"))
    table = Table(TableName("shop", "orders"), "MANAGED_TABLE", STORAGE, keys, {}, 0)
    partitions = tuple(Partition(value, STORAGE) for value in values)
    return PinnedTable(
        table, partitions, ValidWriteIdList(1), ValidTxnList(1), 7, scratch=Scratch()
    )


TABLE = pinned(
    ("2026-01-31", "eu  "), ("2026-01-31", "us  "), ("2026-02-01", "eu  "), (NULL_PARTITION, "eu  ")
)


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ({}, [0, 1, 2, 3]),
        ({"day": {"2026-01-31"}}, [0, 1]),
        ({"day": {"2026-01-31", None}, "region": {"eu"}}, [0, 3]),
        ({"region": {"e"}}, []),
    ],
)
def test_only_chosen_partitions_are_kept(values, kept):
    choice = PartitionChoice.of({key: frozenset(wanted) for key, wanted in values.items()})
    assert choice.of_table(TABLE).partitions == tuple(TABLE.partitions[i] for i in kept)


def test_all_unknown_keys_are_named_with_the_keys_of_the_table():
    choice = PartitionChoice.of({"day": frozenset("1"), "b": frozenset("1"), "a": frozenset("1")})
    with pytest.raises(
        InvalidSettingError, match="shop.orders names a, b, but .*keys are: day, region"
    ):
        choice.of_table(TABLE)


def test_a_value_that_yaml_may_have_changed_is_refused():
    types = {"day": "date", "month": "char(2)", "n": "decimal(9,2)", "b": "boolean"}
    keys = tuple(Column(name, type) for name, type in types.items())
    table = Table(TableName("shop", "orders"), "MANAGED_TABLE", STORAGE, keys, {}, 0)
    source = PinnedTable(table, (), ValidWriteIdList(1), ValidTxnList(1), 7, scratch=Scratch())

    def choice(text):
        return PartitionChoice.parse(yaml.safe_load(text))

    assert choice("{day: 2026-01-31, month: '01', n: 1.1, b: true}").of_table(source) == source
    with pytest.raises(InvalidSettingError) as error:
        choice("{month: [01, '02', NO], n: no, b: 1}").of_table(source)
    assert (
        "shop.orders has the number 1 for b, which is a boolean, the boolean false for month, "
        "which is a char(2), the number 1 for month, which is a char(2), the boolean false for n, "
        "which is a decimal(9,2). YAML reads"
    ) in str(error.value)


@pytest.mark.parametrize(
    ("type_", "stored", "text", "kept", "unknown"),
    [
        ("decimal(10,5)", ["0.00001", "1.5"], "0.00001", ["0.00001"], []),
        ("decimal(6,2)", ["100", "1.5"], "[100.00, '1.50']", ["100", "1.5"], []),
        ("double", ["1.0E-5", "1.0"], "[1.0E-5, 1]", ["1.0E-5", "1.0"], []),
        ("double", ["NaN", "Infinity"], "['nan', .inf]", ["NaN", "Infinity"], []),
        ("int", ["8", "10"], "'010'", ["10"], []),
        # YAML makes 8 of it.
        ("int", ["10"], "[010, 10]", ["10"], ["n=8"]),
        ("int", ["10", NULL_PARTITION], "[null, many]", [NULL_PARTITION], ["n=many"]),
        ("bigint", ["1"], "null", [], ["n=NULL"]),
        ("string", ["1", "01"], "'01'", ["01"], []),
        ("date", ["2026-01-31"], "2026-02-01", [], ["n=2026-02-01"]),
    ],
)
def test_values_of_numbers_and_values_of_no_partition(type_, stored, text, kept, unknown):
    table = replace(TABLE.table, partition_keys=(Column("n", type_),))
    partitions = tuple(Partition((value,), STORAGE) for value in stored)
    whole = replace(TABLE, table=table, partitions=partitions)
    choice = PartitionChoice.parse(yaml.safe_load(f"n: {text}"))
    assert [partition.values[0] for partition in choice.of_table(whole).partitions] == kept
    assert choice.unknown_in(whole) == unknown
