import pytest

from hiveacid.reader.orc_footers import _shape

WRITTEN = (
    "struct<operation:int,originalTransaction:bigint,bucket:int,rowId:bigint,"
    "currentTransaction:bigint,row:struct<id:int,s:string>>"
)


@pytest.mark.parametrize("schema", [WRITTEN, WRITTEN.lower()])
def test_acid_columns_in_either_case(schema):
    """Compactions that run as queries write them in lower case."""
    shape = _shape(schema)
    assert shape.is_acid
    assert (shape.columns, shape.types) == (("id", "s"), ("int", "string"))


def test_columns_of_the_users_own():
    shape = _shape("struct<operation:int,row:struct<id:int>>")
    assert not shape.is_acid
    assert shape.columns == ("operation", "row")
