import pytest
from hypothesis import given
from hypothesis import strategies as st

from hiveacid.acid.layout import BucketProperty, decode_bucket

twelve_bits = st.integers(min_value=0, max_value=4095)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (536870912, BucketProperty(bucket=0, statement_id=0)),
        (537001985, BucketProperty(bucket=2, statement_id=1)),
        (7, BucketProperty(bucket=7, statement_id=0, version=0)),
    ],
)
def test_values_that_hive_writes(value, expected):
    assert decode_bucket(value) == expected


@given(twelve_bits, twelve_bits)
def test_encoding_and_decoding_are_inverse(bucket, statement_id):
    bucket_property = BucketProperty(bucket, statement_id)
    assert decode_bucket(bucket_property.encode()) == bucket_property


@pytest.mark.parametrize("bucket_property", [BucketProperty(4096, 0), BucketProperty(0, -1)])
def test_what_does_not_fit_is_refused(bucket_property):
    with pytest.raises(ValueError, match="outside the range"):
        bucket_property.encode()


def test_an_unknown_version_is_refused():
    with pytest.raises(ValueError, match="version 2"):
        decode_bucket(2 << 29)


@given(st.integers(min_value=-(2**31), max_value=2**31 - 1))
def test_every_value_of_the_column_is_understood_or_refused(value):
    try:
        decoded = decode_bucket(value)
    except ValueError:
        assert value & 0xFFFFFFFF >= 2 << 29
        return
    if decoded.version == 0:
        assert (decoded.bucket, decoded.statement_id) == (value, 0)
    else:
        # The reserved bits are not kept: Hive leaves them 0.
        assert decoded.encode() == value & 0x2FFF0FFF
