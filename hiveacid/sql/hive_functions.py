"""Functions of Hive's SQL that Spark's SQL has under the same name: equal, rewritten, or refused.

Each entry was tried: Hive 4.0.1 and Spark evaluated the same expressions over the same rows
(docs/hive-quirks.md has the table, integration/test_hive_views.py runs it). A function that is on
no list was not tried, and is refused: another result would be wrong rows without an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp

Arguments = Sequence[Any]


class DiffersError(Exception):
    """A part of a view's text that Spark evaluates in another way than Hive; says why."""


def call(name: str, *arguments: Any) -> exp.Expression:
    """Return a call of a function by its name."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def text(value: str) -> exp.Expression:
    """Return a string literal."""
    return exp.Literal.string(value)


def cast(value: exp.Expression, type_: str) -> exp.Expression:
    """Return a cast to a type of Spark's."""
    return exp.Cast(this=value, to=exp.DataType.build(type_, dialect="spark"))


_TRIED = {
    "0": "cume_dist dense_rank percent_rank rank row_number",
    "1": """
        abs avg bin ceil ceiling char_length character_length collect_list collect_set count crc32
        date day dayofmonth dayofweek explode factorial floor hex hour inline isnotnull isnull
        last_day lcase length lower ltrim max md5 min minute month negative ntile octet_length
        posexplode positive quarter reverse rtrim second sha sha1 size sort_array space sqrt sum
        to_date trim ucase upper weekofyear year
        """,
    "1 2": "bround first_value last_value round",
    "1 2 3": "lag lead",
    "1+": "array struct",
    "2": """
        add_months array_contains date_add date_format date_sub datediff find_in_set format_number
        get_json_object instr months_between next_day nullif nvl percentile pmod repeat sha2
        shiftleft shiftright shiftrightunsigned split trunc
        """,
    "2 3": "locate regexp_extract substr substring",
    "2+": "coalesce concat concat_ws elt greatest least map named_struct",
    "3": "lpad regexp_replace replace rpad substring_index translate",
    "3+": "stack",
}
"""Functions by the numbers of arguments with which they were tried; `2+` is two and more."""

ARGUMENTS = {name: numbers for numbers, names in _TRIED.items() for name in names.split()}
"""Numbers of arguments with which each function was tried."""

UNORDERED = frozenset({"collect_set", "collect_list"})
"""Functions whose result has an order that neither of the two promises."""

ORDER_FREE = frozenset({"sort_array", "size", "array_contains"})
"""Functions to whose result the order of an array does not matter."""

_ZONE = "depends on the time zone of Hive's session, which the metastore does not know"
_CLOCK = "depends on the moment and on the session in which Hive evaluates it"
_DIGITS = "may differ in the last digit between Hive's and Spark's arithmetic"

DIFFERENT = {
    "from_unixtime": _ZONE,
    "unix_timestamp": _ZONE,
    "to_unix_timestamp": _ZONE,
    "from_utc_timestamp": _ZONE,
    "to_utc_timestamp": _ZONE,
    "current_date": _CLOCK,
    "current_timestamp": _CLOCK,
    "current_user": _CLOCK,
    "logged_in_user": _CLOCK,
    "current_database": _CLOCK,
    "rand": "is another number each time",
    "uuid": "is another text each time",
    "hash": "is Java's hash in Hive and Murmur3 in Spark",
    "murmur_hash": "is no function of Spark's",
    "ascii": "is a byte in Hive and a code point in Spark",
    "chr": "is empty in Hive for some numbers above 127",
    "soundex": "differs for texts with other letters than A to Z",
    "conv": "reads blanks in another way",
    "unhex": "reads a text with other letters than hexadecimal digits in another way",
    "parse_url": "shows a path for texts that are no URL in Spark, and NULL in Hive",
    "str_to_map": "fails in Spark where a key comes twice",
    "sign": "has another type for decimals",
    "variance": "is that of the population in Hive, and that of a sample in Spark",
    "stddev": "is that of the population in Hive, and that of a sample in Spark",
    "std": "is that of the population in Hive, and that of a sample in Spark",
    "percentile_approx": "is approximated in another way",
    "percentile_disc": "differs from Spark's",
    "base64": "has line breaks in some releases of Spark",
    "map_keys": "is empty in Hive for a map that is NULL",
    "map_values": "is empty in Hive for a map that is NULL",
    "initcap": "treats some letters and tabs in another way",
    "levenshtein": "counts letters outside of Unicode's first plane as two in Hive",
    **dict.fromkeys(
        """
        acos asin atan cbrt corr cos covar_pop covar_samp degrees exp ln log log10 log2 pow power
        radians sin stddev_pop stddev_samp tan var_pop var_samp regr_slope regr_r2
        """.split(),
        _DIGITS,
    ),
}
"""Reasons for which some functions are refused."""


def _strings_of(function: str) -> Callable[[Arguments], exp.Expression]:
    """Return what makes the text of a date: Hive shows a string where Spark shows a date."""
    return lambda arguments: cast(call(function, *arguments), "string")


def _operand(value: exp.Expression) -> exp.Expression:
    copy = value.copy()
    return exp.paren(copy) if isinstance(copy, exp.Binary | exp.Unary | exp.Between) else copy


def _null_if_any_is(function: str) -> Callable[[Arguments], exp.Expression]:
    def rewrite(arguments: Arguments) -> exp.Expression:
        nulls = [exp.Is(this=_operand(it), expression=exp.Null()) for it in arguments]
        return call("IF", exp.or_(*nulls), exp.Null(), call(function, *arguments))

    return rewrite


_OTHER_PLANES = r"[\x{10000}-\x{10FFFF}]"
"""Java's pattern for letters such as emoji, which some functions of Hive's count as two."""


def _counted(value: exp.Expression, pattern: str = _OTHER_PLANES) -> exp.Expression:
    """Return a text whose letters both count alike; a text with others is an error in Spark."""
    if isinstance(value, exp.Literal):
        return value
    fails = call(
        "RAISE_ERROR",
        text("A view of Hive's counts or shows some letters of a text in another way than Spark."),
    )
    matches = exp.RegexpLike(this=exp.paren(value.copy()), expression=text(pattern))
    return call("IF", matches, fails, value)


def _sqrt(arguments: Arguments) -> exp.Expression:
    (value,) = arguments
    is_negative = exp.LT(this=exp.paren(value.copy()), expression=exp.Literal.number(0))
    return call("IF", is_negative, exp.Null(), call("SQRT", value))


def _substring(arguments: Arguments) -> exp.Expression:
    value, start, *rest = arguments
    counted = _counted(value)
    if isinstance(start, exp.Literal) and start.is_int:
        return call("SUBSTRING", counted, start, *rest)
    if not isinstance(start, exp.Neg) or not (
        isinstance(start.this, exp.Literal) and start.this.is_int
    ):
        raise DiffersError("the place where it begins must be a number")
    # Hive shows nothing where the text is shorter, Spark the text.
    is_short = exp.LT(this=call("LENGTH", value.copy()), expression=start.this.copy())
    return call("IF", is_short, text(""), call("SUBSTRING", counted, start, *rest))


def _pad(function: str) -> Callable[[Arguments], exp.Expression]:
    def rewrite(arguments: Arguments) -> exp.Expression:
        fill = _with_literal(arguments, 2, "fills up")
        if not fill.isascii():
            raise DiffersError("the text that fills up must be of ASCII")
        return call(function, _counted(arguments[0]), *arguments[1:])

    return rewrite


def _instr(arguments: Arguments) -> exp.Expression:
    _with_literal(arguments, 1, "is looked for")
    return call("INSTR", _counted(arguments[0]), arguments[1])


def _replace(arguments: Arguments) -> exp.Expression:
    _with_literal(arguments, 1, "is replaced")
    return call("REPLACE", *arguments)


_MOST_MODULUS = 1_000_000_000
"""Twice as much has room in an `int`."""


def _pmod(arguments: Arguments) -> exp.Expression:
    by = arguments[1]
    if not (isinstance(by, exp.Literal) and by.is_int and 0 < int(by.name) <= _MOST_MODULUS):
        raise DiffersError(
            f"it must be by a number from 1 to {_MOST_MODULUS} that is written out; Hive adds a "
            "negative one, and goes over the end of the type"
        )
    return call("PMOD", *arguments)


def _split(arguments: Arguments) -> exp.Expression:
    pattern = _with_literal(arguments, 1, "separates")
    try:
        finds_nothing = re.search(pattern, "") is not None
    except re.error:
        finds_nothing = True
    if finds_nothing:
        raise DiffersError("its pattern may match an empty text, after which the two go on apart")
    return call("SPLIT", *arguments)


def _regexp_extract(arguments: Arguments) -> exp.Expression:
    pattern = _with_literal(arguments, 1, "is looked for")
    if re.search(r"\||\)[?*]|\)\{0", pattern):
        raise DiffersError(
            "its pattern has a group that may take no part in a match, for which Hive shows NULL "
            "and Spark an empty text"
        )
    return call("REGEXP_EXTRACT", *arguments)


def _sha2(arguments: Arguments) -> exp.Expression:
    if arguments[-1].name not in ("0", "224", "256", "384", "512"):
        raise DiffersError("its length must be 0, 224, 256, 384 or 512")
    return call("SHA2", *arguments)


def _struct(arguments: Arguments) -> exp.Expression:
    named = [it for i, value in enumerate(arguments) for it in (text(f"col{i + 1}"), value)]
    return call("NAMED_STRUCT", *named)


def _add_months(arguments: Arguments) -> exp.Expression:
    day, _ = arguments
    later = call("ADD_MONTHS", *arguments)
    # In Hive the last day of a month comes to the last day of the other.
    is_last = exp.EQ(this=cast(day.copy(), "date"), expression=call("LAST_DAY", day.copy()))
    return cast(call("IF", is_last, call("LAST_DAY", later), later.copy()), "string")


def _array_contains(arguments: Arguments) -> exp.Expression:
    return call("COALESCE", call("ARRAY_CONTAINS", *arguments), exp.false())


_JSON_PATH = re.compile(r"\$(\.\w+|\[\d+\]|\[\*\])+")
_ODD_JSON = _OTHER_PLANES + r"|\\u[dD][89abAB]|[0-9.][eE][+]?[0-9]{3,}\s*[,}\]]"
"""Java's pattern for what Hive and Spark write differently: letters of other planes, huge numbers.
"""


def _get_json_object(arguments: Arguments) -> exp.Expression:
    if not _JSON_PATH.fullmatch(_literal(arguments, 1)):
        raise DiffersError("its path must be written out, as names after dots and as indexes")
    return call("GET_JSON_OBJECT", _counted(arguments[0], _ODD_JSON), arguments[1])


def _sort_array(arguments: Arguments) -> exp.Expression:
    (array,) = arguments
    if not isinstance(array, exp.Anonymous) or str(array.this).lower() not in UNORDERED:
        raise DiffersError(
            "Hive sorts the array where it is, so that other columns of the view show it sorted, "
            "too, also what is computed twice; only the array of collect_set or collect_list can "
            "be sorted"
        )
    return call("SORT_ARRAY", array)


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


def _trunc(arguments: Arguments) -> exp.Expression:
    unit = _UNITS.get(_literal(arguments, 1).upper())
    if unit is None:
        raise DiffersError(f"its unit must be one of {', '.join(_UNITS)}")
    return cast(call("TRUNC", arguments[0], text(unit)), "string")


_FORMATS = frozenset("yyyy yy y MM M MMM MMMM dd d HH H hh h mm m ss s SSS a E EEE EEEE D".split())


def _date_format(arguments: Arguments) -> exp.Expression:
    pattern = _with_literal(arguments, 1, "is the pattern")
    for letters in re.findall(r"([A-Za-z])(\1*)", pattern):
        if "".join(letters) not in _FORMATS:
            raise DiffersError(f"its pattern has {''.join(letters)}, which was not tried")
    if "'" in pattern or "[" in pattern:
        raise DiffersError("its pattern has quotes or brackets, which were not tried")
    return call("DATE_FORMAT", *arguments)


def _to_date(arguments: Arguments) -> exp.Expression:
    (value,) = arguments
    return cast(value, "date")


REWRITTEN: dict[str, Callable[[Arguments], exp.Expression]] = {
    "add_months": _add_months,
    "array_contains": _array_contains,
    "date": _to_date,
    "date_format": _date_format,
    "get_json_object": _get_json_object,
    "greatest": _null_if_any_is("GREATEST"),
    "instr": _instr,
    "last_day": _strings_of("LAST_DAY"),
    "least": _null_if_any_is("LEAST"),
    "lpad": _pad("LPAD"),
    "next_day": _strings_of("NEXT_DAY"),
    "pmod": _pmod,
    "regexp_extract": _regexp_extract,
    "replace": _replace,
    "rpad": _pad("RPAD"),
    "sha2": _sha2,
    "sort_array": _sort_array,
    "split": _split,
    "sqrt": _sqrt,
    "struct": _struct,
    "substr": _substring,
    "substring": _substring,
    "to_date": _to_date,
    "trunc": _trunc,
}
"""Functions for which another expression shows in Spark what Hive shows, or which are equal under a
condition; a function of the arguments."""


EQUAL = ARGUMENTS.keys() - REWRITTEN.keys() - UNORDERED
"""Functions that show the same in both, as far as the types of their arguments are the same."""


def translated(name: str, arguments: Arguments) -> exp.Expression:
    """Return what shows in Spark what a function of Hive's shows.

    Raises:
        DiffersError: there is nothing, or it was not tried.
    """
    numbers = ARGUMENTS.get(name)
    if numbers is None:
        reason = DIFFERENT.get(
            name,
            "is not among the functions that were tried in Hive next to Spark, so it may differ",
        )
        raise DiffersError(f"it {reason}")
    if not _is_among(len(arguments), numbers):
        raise DiffersError(
            f"in Hive next to Spark it was tried with {_in_words(numbers)}, not with "
            f"{len(arguments)}"
        )
    rewrite = REWRITTEN.get(name)
    return call(name.upper(), *arguments) if rewrite is None else rewrite(arguments)


def _is_among(number: int, numbers: str) -> bool:
    if numbers.endswith("+"):
        return number >= int(numbers[:-1])
    return str(number) in numbers.split()


def _in_words(numbers: str) -> str:
    if numbers.endswith("+"):
        return f"{numbers[:-1]} arguments or more"
    return f"{' or '.join(numbers.split())} argument{'' if numbers == '1' else 's'}"


def _literal(arguments: Arguments, position: int) -> str:
    if position < len(arguments):
        value = arguments[position]
        if isinstance(value, exp.Literal) and value.is_string:
            return str(value.this)
    return ""


def _with_literal(arguments: Arguments, position: int, what: str) -> str:
    value = _literal(arguments, position)
    if not value:
        raise DiffersError(f"the text that {what} must be written out, and not be empty")
    return value
