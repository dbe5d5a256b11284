import pytest
from dbt.adapters.spark.column import SparkColumn

from dbt.adapters.hiveacid.column import HiveAcidColumn


@pytest.mark.parametrize(
    "kind, checks",
    [
        ("string", {"is_string"}),
        ("varchar(20)", {"is_string"}),
        ("char(1)", {"is_string"}),
        ("tinyint", {"is_integer", "is_number"}),
        ("INT", {"is_integer", "is_number"}),
        ("bigint", {"is_integer", "is_number"}),
        ("decimal(10,2)", {"is_numeric", "is_number"}),
        ("double", {"is_float", "is_number"}),
        ("float", {"is_float", "is_number"}),
        ("array<int>", set()),
        ("struct<a:string>", set()),
    ],
)
def test_kinds_of_sparks_types(kind, checks):
    column = HiveAcidColumn.of(SparkColumn(column="c", dtype=kind, table_name="t"))
    kinds = ("is_string", "is_integer", "is_numeric", "is_float", "is_number")
    assert {check for check in kinds if getattr(column, check)()} == checks
    assert column.table_name == "t"


def test_dbt_widens_no_column():
    short, long = HiveAcidColumn("c", "varchar(1)"), HiveAcidColumn("c", "string")
    assert not short.can_expand_to(long)
