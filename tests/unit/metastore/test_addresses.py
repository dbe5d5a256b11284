import pytest

from hiveacid.errors import InvalidSettingError
from hiveacid.metastore.connection import Address, parse_addresses


def test_one_or_several_with_a_default_port():
    assert parse_addresses("thrift://a:1, thrift://b ,thrift://[::1]:3") == (
        Address("a", 1),
        Address("b", 9083),
        Address("::1", 3),
    )
    assert str(Address("::1", 3)) == "thrift://[::1]:3"


@pytest.mark.parametrize(
    "uris",
    [
        "http://a:1",
        "a:9083",
        "thrift://",
        "thrift://a:1/db",
        "thrift://a:x",
        "thrift://a:99999",
        "thrift://u@a:1",
    ],
)
def test_what_is_no_address_is_quoted(uris):
    with pytest.raises(InvalidSettingError, match="Not a metastore address: ") as error:
        parse_addresses(f"thrift://good:1,{uris}")
    assert repr(uris) in str(error.value.message)


def test_no_address():
    with pytest.raises(InvalidSettingError, match="set metastore_uri"):
        parse_addresses(" , ")


def test_discovery_by_zookeeper_is_refused_with_what_to_write():
    with pytest.raises(InvalidSettingError, match=r"in ZooKeeper: name them, .* thrift://host"):
        parse_addresses("zookeeper://a:2181,b:2181")
