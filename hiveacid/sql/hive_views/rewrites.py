"""Rewrites of calls: Spark expressions that are equal to a call of a Hive function.

A rewrite refuses the arguments for which no expression is equal.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlglot
from sqlglot import exp

from hiveacid.sql.hive_views.refusals import DiffersError, fail_for_value


@dataclass(frozen=True)
class Call:
    """A call of a function in the text of a view.

    Attributes:
        arguments: its arguments, as sqlglot has parsed them.
        where: the view and the column, for errors that are raised while rows are computed.
    """

    arguments: Sequence[Any]
    where: str

    def literal(self, position: int) -> str:
        """Return the value of an argument that is a string literal; empty for other arguments."""
        if position < len(self.arguments):
            value = self.arguments[position]
            if isinstance(value, exp.Literal) and value.is_string:
                return str(value.this)
        return ""

    def needed_literal(self, position: int, what: str) -> str:
        """Return the value of an argument that must be a string literal.

        Raises:
            DiffersError: it is not a string literal, or it is empty.
        """
        value = self.literal(position)
        if not value:
            raise DiffersError(f"the text that {what} must be a literal, and not be empty")
        return value


Rewrite = Callable[[Call], exp.Expression]


def call(name: str, *arguments: Any) -> exp.Expression:
    """Return a call of a function by its name."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def text(value: str) -> exp.Expression:
    """Return a string literal."""
    return exp.Literal.string(value)


def cast(value: exp.Expression, type_: str) -> exp.Expression:
    """Return a cast to a Spark type."""
    return exp.Cast(this=value, to=exp.DataType.build(type_, dialect="spark"))


def fail_if(condition: exp.Expression, value: exp.Expression, fails: str) -> exp.Expression:
    """Return a value that raises an error in Spark (`fails`) where the condition holds."""
    failing = sqlglot.parse_one(fails, dialect="spark")
    for x in list(failing.find_all(exp.Column)):
        x.replace(value.copy())
    return call("IF", condition, failing, value)


# Conditions on values

_OTHER_PLANES = r"[\x{10000}-\x{10FFFF}]"
"""Java pattern for characters outside the BMP, such as emoji: some Hive functions count two."""

_ODD_JSON = _OTHER_PLANES + r"|\\u[dD][89abAB]|[0-9.][eE][+]?[0-9]{3,}\s*[,}\]]"
"""Java pattern for what Hive and Spark write differently: characters outside the BMP, huge numbers.
"""

_NO_JULIAN_DAYS = dt.date(1582, 10, 15)


def counted(value: exp.Expression, where: str) -> exp.Expression:
    """Return a text; a character that Hive and Spark count differently is an error in Spark."""
    fails = fail_for_value("has characters outside the BMP, which Hive counts as two", where)
    return _fail_if_matched(value, _OTHER_PLANES, fails)


def _fail_if_matched(value: exp.Expression, pattern: str, fails: str) -> exp.Expression:
    if isinstance(value, exp.Literal):
        return value
    matches = exp.RegexpLike(this=exp.paren(value.copy()), expression=text(pattern))
    return fail_if(matches, value, fails)


def without_old_days(value: exp.Expression, where: str) -> exp.Expression:
    """Return a date or a timestamp; one before 1582-10-15 is an error in Spark."""
    if isinstance(value, exp.Literal):
        return value
    first = cast(text(str(_NO_JULIAN_DAYS)), "date")
    is_old = exp.LT(this=exp.paren(value.copy()), expression=first)
    fails = fail_for_value(
        "is a day before 1582-10-15, which Hive 3 counts in two calendars", where
    )
    return fail_if(is_old, value, fails)


# Rewrites

_MOST_MODULUS = 1_000_000_000
"""Highest modulus of `pmod`: twice as much still fits into an `int`."""

_JSON_PATH = re.compile(r"\$(\.\w+|\[\d+\]|\[\*\])+")
_FORMATS = frozenset("yyyy yy y MM M MMM MMMM dd d HH H hh h mm m ss s SSS a E EEE EEEE D".split())
_UNITS = {
    "MM": "MM",
    "MON": "MON",
    "MONTH": "MONTH",
    "YEAR": "YEAR",
    "YYYY": "YYYY",
    "YY": "YY",
    "Q": "QUARTER",
    "QUARTER": "QUARTER",
}


def add_months(of: Call) -> exp.Expression:
    """Return the last day of a month for the last day of another month, as Hive does."""
    day, _ = of.arguments
    later = call("ADD_MONTHS", *of.arguments)
    is_last = exp.EQ(this=cast(day.copy(), "date"), expression=call("LAST_DAY", day.copy()))
    return cast(call("IF", is_last, call("LAST_DAY", later), later.copy()), "string")


def array_contains(of: Call) -> exp.Expression:
    """Return false where Spark returns NULL, as Hive does."""
    return call("COALESCE", call("ARRAY_CONTAINS", *of.arguments), exp.false())


def date_format(of: Call) -> exp.Expression:
    """Refuse patterns that were not tried."""
    pattern = of.needed_literal(1, "is the pattern")
    for letters in re.findall(r"([A-Za-z])(\1*)", pattern):
        if "".join(letters) not in _FORMATS:
            raise DiffersError(
                f"its pattern has {''.join(letters)}, which was not compared between Hive and Spark"
            )
    if "'" in pattern or "[" in pattern:
        raise DiffersError(
            "its pattern has quotes or brackets, which were not compared between Hive and Spark"
        )
    return call("DATE_FORMAT", *of.arguments)


def get_json_object(of: Call) -> exp.Expression:
    """Refuse odd paths, and fail for JSON of which Hive and Spark write parts differently."""
    if not _JSON_PATH.fullmatch(of.literal(1)):
        raise DiffersError("its path must be a literal, of names after dots and of indexes")
    value, path = of.arguments
    fails = fail_for_value(
        "is JSON with characters or numbers that Hive writes differently from Spark", of.where
    )
    return call("GET_JSON_OBJECT", _fail_if_matched(value, _ODD_JSON, fails), path)


def instr(of: Call) -> exp.Expression:
    """Count characters as Hive does, or fail."""
    of.needed_literal(1, "is looked for")
    return call("INSTR", counted(of.arguments[0], of.where), of.arguments[1])


def null_if_any_is(function: str) -> Rewrite:
    """Return a rewrite for a function that is NULL in Hive if any of its arguments is."""

    def rewrite(of: Call) -> exp.Expression:
        nulls = [exp.Is(this=_operand(it), expression=exp.Null()) for it in of.arguments]
        return call("IF", exp.or_(*nulls), exp.Null(), call(function, *of.arguments))

    return rewrite


def _operand(value: exp.Expression) -> exp.Expression:
    copy = value.copy()
    return exp.paren(copy) if isinstance(copy, exp.Binary | exp.Unary | exp.Between) else copy


def pad(function: str) -> Rewrite:
    """Return a rewrite for `lpad` or `rpad`, which count characters."""

    def rewrite(of: Call) -> exp.Expression:
        if not of.needed_literal(2, "fills up").isascii():
            raise DiffersError("the padding must be of ASCII characters")
        return call(function, counted(of.arguments[0], of.where), *of.arguments[1:])

    return rewrite


def pmod(of: Call) -> exp.Expression:
    """Refuse a modulus with which Hive overflows the type."""
    by = of.arguments[1]
    if not (isinstance(by, exp.Literal) and by.is_int and 0 < int(by.name) <= _MOST_MODULUS):
        raise DiffersError(
            f"its modulus must be a literal from 1 to {_MOST_MODULUS}; Hive shows other "
            "results for a negative one, and overflows with a higher one"
        )
    return call("PMOD", *of.arguments)


def regexp_extract(of: Call) -> exp.Expression:
    """Refuse a pattern with a group for which Hive may show NULL."""
    pattern = of.needed_literal(1, "is looked for")
    if re.search(r"\||\)[?*]|\)\{0", pattern):
        raise DiffersError(
            "its pattern has a group that may not take part in a match: Hive shows NULL for "
            "it, and Spark an empty text"
        )
    return call("REGEXP_EXTRACT", *of.arguments)


def replace(of: Call) -> exp.Expression:
    """Refuse to replace a text that is not written out."""
    of.needed_literal(1, "is replaced")
    return call("REPLACE", *of.arguments)


def sha2(of: Call) -> exp.Expression:
    """Refuse lengths that Hive or Spark does not support."""
    if of.arguments[-1].name not in ("0", "224", "256", "384", "512"):
        raise DiffersError("its length must be 0, 224, 256, 384 or 512")
    return call("SHA2", *of.arguments)


def sort_array(of: Call) -> exp.Expression:
    """Refuse an array that other columns of the view may show, too."""
    (array,) = of.arguments
    is_collected = isinstance(array, exp.Anonymous) and str(array.this).lower() in (
        "collect_list",
        "collect_set",
    )
    if not is_collected:
        raise DiffersError(
            "Hive sorts the array in place, so other columns of the view that compute it show "
            "it sorted, too; only the array of collect_set or collect_list can be sorted"
        )
    return call("SORT_ARRAY", array)


def split(of: Call) -> exp.Expression:
    """Refuse a pattern that may match an empty text."""
    pattern = of.needed_literal(1, "separates")
    try:
        finds_nothing = re.search(pattern, "") is not None
    except re.error:
        finds_nothing = True
    if finds_nothing:
        raise DiffersError(
            "its pattern may match an empty text, after which Hive and Spark continue differently"
        )
    return call("SPLIT", *of.arguments)


def sqrt(of: Call) -> exp.Expression:
    """Return NULL for a negative number, as Hive does. Spark returns NaN."""
    (value,) = of.arguments
    is_negative = exp.LT(this=exp.paren(value.copy()), expression=exp.Literal.number(0))
    return call("IF", is_negative, exp.Null(), call("SQRT", value))


def string_of(function: str) -> Rewrite:
    """Return a rewrite for a function that returns a string in Hive and a date in Spark."""
    return lambda of: cast(call(function, *of.arguments), "string")


def struct(of: Call) -> exp.Expression:
    """Name the fields `col1`, `col2`, and so on, as Hive does."""
    named = [it for i, value in enumerate(of.arguments) for it in (text(f"col{i + 1}"), value)]
    return call("NAMED_STRUCT", *named)


def substring(of: Call) -> exp.Expression:
    """Return an empty text if a negative start is before the text, as Hive does.

    Spark returns characters of the text.
    """
    value, start, *rest = of.arguments
    checked = counted(value, of.where)
    if isinstance(start, exp.Literal) and start.is_int:
        return call("SUBSTRING", checked, start, *rest)
    if not isinstance(start, exp.Neg) or not (
        isinstance(start.this, exp.Literal) and start.this.is_int
    ):
        raise DiffersError("the position at which it begins must be a literal")
    is_short = exp.LT(this=call("LENGTH", value.copy()), expression=start.this.copy())
    return call("IF", is_short, text(""), call("SUBSTRING", checked, start, *rest))


def to_date(of: Call) -> exp.Expression:
    """Return a cast, which `date(x)` and `to_date(x)` are."""
    (value,) = of.arguments
    return cast(value, "date")


def trunc(of: Call) -> exp.Expression:
    """Return a string, and refuse units that Hive lacks."""
    unit = _UNITS.get(of.literal(1).upper())
    if unit is None:
        raise DiffersError(f"its unit must be one of {', '.join(_UNITS)}")
    return cast(call("TRUNC", of.arguments[0], text(unit)), "string")
