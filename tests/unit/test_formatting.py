import pytest

from hiveacid.formatting import human_bytes, pluralize


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (9949, "9.9 kB"),
        (9950, "10 kB"),
        (999_600, "1.0 MB"),
        (12_345_678, "12 MB"),
        (5 * 10**16, "50000 TB"),
    ],
)
def test_bytes_are_as_people_read_them(length, text):
    assert human_bytes(length) == text


def test_things_are_counted():
    assert [pluralize(n, "row") for n in (0, 1, 1204)] == ["0 rows", "1 row", "1,204 rows"]
