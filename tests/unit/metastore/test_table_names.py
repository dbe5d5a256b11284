"""Names of tables, as users write them."""

import pytest

from hiveacid.errors import InvalidSettingError
from hiveacid.metastore.models import TableName


@pytest.mark.parametrize("text", ["shop.orders", "Shop.ORDERS", "`shop`.orders", "`Shop`.`Orders`"])
def test_a_name_is_that_of_one_table(text):
    assert TableName.parse(text) == TableName("shop", "orders")


def test_a_quoted_name_may_have_any_character():
    assert TableName.parse("`my-shop`.`größe.2`") == TableName("my-shop", "größe.2")


@pytest.mark.parametrize(
    "text", ["", "orders", "shop.", ".orders", "`shop.orders`", "spark_catalog.shop.orders", "a.`b"]
)
def test_another_form_is_refused(text):
    with pytest.raises(InvalidSettingError, match="is not the name of a table. Write it as"):
        TableName.parse(text)
