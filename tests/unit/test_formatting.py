import pytest

from hiveacid.formatting import first_few, human_bytes, pluralize, quoted


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


@pytest.mark.parametrize(
    ("items", "text"),
    [("", ""), ("a", "a"), ("abc", "a, b, c"), ("abcd", "a, b, c and 1 more")],
)
def test_a_long_list_is_cut(items, text):
    assert first_few(list(items), 3) == text


def test_a_long_list_of_sentences_has_its_own_separator_and_a_readable_count():
    assert first_few(["a, b", "c", *"d" * 1500], 2, separator="; ") == "a, b; c and 1,500 more"


def test_names_are_quoted_for_sparks_parser():
    assert quoted("a`b") == "`a``b`"
    assert quoted("shop", "big orders") == "`shop`.`big orders`"
