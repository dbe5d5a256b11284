import pytest

from hiveacid.metastore.models import parse_seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("300s", 300),
        ("300", 300),
        ("5min", 300),
        ("5 minutes", 300),
        ("2h", 7200),
        ("1d", 86400),
        ("1500ms", 1.5),
        ("1500 msec", 1.5),
        ("10SEC", 10),
    ],
)
def test_hives_units(text, seconds):
    assert parse_seconds(text) == pytest.approx(seconds)


def test_a_number_alone_counts_the_default_unit():
    assert parse_seconds("2", default_unit="min") == 120


@pytest.mark.parametrize("text", ["", "s", "-5s", "5 fortnights", "1.5s"])
def test_anything_else(text):
    with pytest.raises(ValueError, match="not a duration"):
        parse_seconds(text)
