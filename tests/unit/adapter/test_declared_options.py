"""The one way in which keys of the profile, of sources and of models are declared and read."""

from dataclasses import dataclass, field

import pytest

from dbt.adapters.hiveacid.options import (
    Option,
    declared_options,
    one_of,
    option,
    parse_bool,
    parse_count,
    parse_seconds,
    parse_text,
    positive_seconds,
    read_options,
)


@dataclass(frozen=True)
class Example:
    name: str = option("Its name.", parse_text)
    patience: float = option("How long.", parse_seconds, unit="seconds", default=30.0)
    way: str | None = option("Where to.", one_of("up", "down"), default=None)
    loud: bool = option("Shout.", parse_bool, default=False)
    limit: int | None = option("How many.", parse_count, default=None, shown_default="all")
    settings: dict = option("More.", dict, factory=dict, secret=True)
    other: int = field(default=1)


def test_an_option_is_declared_once_with_all_that_the_reference_shows():
    assert declared_options(Example) == (
        Option("name", "Its name.", "required", required=True),
        Option("patience", "How long.", "`30`", unit="seconds"),
        Option("way", "Where to.", ""),
        Option("loud", "Shout.", "`false`"),
        Option("limit", "How many.", "all"),
        Option("settings", "More.", "", secret=True),
    )


def test_values_are_parsed_and_null_is_as_good_as_missing():
    read = read_options(Example, {"name": 7, "patience": "0.5", "way": None, "loud": True})
    assert read.problems == ()
    assert read.values == {"name": "7", "patience": 0.5, "loud": True}
    assert Example(**read.values) == Example(name="7", patience=0.5, loud=True)


def test_all_problems_are_reported_at_once():
    given = {"nmae": 1, "patience": -1, "way": "left", "loud": "yes", "limit": 0, "other": 2}
    assert read_options(Example, given).problems == (
        "`nmae` is not a key of this adapter",
        "`other` is not a key of this adapter",
        "`name` is missing: Its name.",
        "`patience` must be a number of seconds, 0 or more, not -1",
        "`way` must be one of up, down, not 'left'",
        "`loud` must be true or false, not 'yes'",
        "`limit` must be a whole number from 1 up, not 0",
    )


def test_keys_of_somebody_else_are_no_problem():
    given = {"name": "n", "nmae": 1, "tags": 2}
    assert read_options(Example, given, also_allowed=["tags"]).problems == (
        "`nmae` is not a key of this adapter",
    )
    assert read_options(Example, given, also_allowed=None).problems == ()


@pytest.mark.parametrize("wrong", ["soon", -1, True, None, [], float("nan")])
def test_a_duration_is_a_number_of_seconds(wrong):
    with pytest.raises(ValueError, match="^must be a number of seconds, 0 or more, not"):
        parse_seconds(wrong)


def test_a_duration_may_have_to_be_more_than_0():
    with pytest.raises(ValueError, match="^must be more than 0 seconds: nothing is that fast"):
        positive_seconds("nothing is that fast")("0")
    assert positive_seconds("nothing is that fast")(1) == 1
